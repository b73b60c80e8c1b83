"""Resolves the redirect addresses under which Gemini cites pages.

It is off unless the user asks for it: Google's terms leave these addresses to the reader. Only the known
redirect service is asked, for one `Location` header; the page it names is not contacted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing

from groundwire.errors import GroundwireError
from groundwire.model import Answer, Citation, Cited, Event, SearchResult, SearchReturned, Source
from groundwire.model.batch import with_path_of
from groundwire.model.extras import merge_extras
from groundwire.model.value import replace
from groundwire.text.urls import domain_of
from groundwire.verify.addresses import redirect_target
from groundwire.verify.fetch import PageProber

REDIRECT_HOSTS = frozenset({"vertexaisearch.cloud.google.com"})
AT_ONCE = 8
SECONDS = 8.0
KEPT_SECONDS = 3600.0
_MOST_KEPT = 10_000
ORIGINAL = "redirect"
"""The name of the original address in the extras `groundwire` of a source."""


class RedirectResolver:
    """Finds the targets of redirect addresses, and remembers them for an hour."""

    def __init__(
        self,
        prober: PageProber,
        clock: Callable[[], float],
        *,
        hosts: frozenset[str] = REDIRECT_HOSTS,
        seconds: float = SECONDS,
    ) -> None:
        self._prober = prober
        self._clock = clock
        self._hosts = hosts
        self._seconds = seconds
        self._known: dict[str, tuple[float, str]] = {}

    async def resolved(self, answer: Answer) -> Answer:
        """The answer with the addresses of the pages; the redirect addresses are kept in the extras. What
        cannot be resolved in time stays as it is."""
        targets = await self._targets(_urls(answer))
        return with_targets(answer, targets) if targets else answer

    async def resolved_batches(
        self, batches: AsyncGenerator[Sequence[Event], None]
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The events of a stream with the addresses of the pages. An event with a redirect address waits for
        its target, and so does what follows it; Gemini sends its citations after the text."""
        async with aclosing(batches) as arriving:
            async for batch in arriving:
                targets = await self._targets(url for event in batch for url in _event_urls(event))
                yield with_path_of(batch, [_moved(event, targets) for event in batch]) if targets else batch

    async def _targets(self, urls: Iterable[str]) -> dict[str, str]:
        wanted = [url for url in dict.fromkeys(urls) if domain_of(url) in self._hosts]
        now = self._clock()
        self._known = {url: kept for url, kept in self._known.items() if kept[0] > now}
        missing = [url for url in wanted if url not in self._known]
        slots = asyncio.Semaphore(AT_ONCE)

        async def resolve(url: str) -> None:
            async with slots:
                target = await self._target(url)
            if target and len(self._known) < _MOST_KEPT:
                self._known[url] = (now + KEPT_SECONDS, target)

        tasks = [asyncio.ensure_future(resolve(url)) for url in missing]
        if tasks:
            try:
                await asyncio.wait(tasks, timeout=self._seconds)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        return {url: self._known[url][1] for url in wanted if url in self._known}

    async def _target(self, url: str) -> str:
        try:
            fetched = await self._prober.probe(url, lambda _, __: False, accept="text/html", limit=0)
        except GroundwireError:
            return ""
        is_redirect = 300 <= fetched.status < 400 and domain_of(fetched.url) in self._hosts
        return redirect_target(fetched) if is_redirect else ""


def _urls(answer: Answer) -> Iterable[str]:
    return (source.url for source in answer.sources)


def _event_urls(event: Event) -> Iterable[str]:
    if isinstance(event, Cited):
        return (item.source.url for item in event.citation.evidence)
    return (source.url for source in event.result.sources) if isinstance(event, SearchReturned) else ()


def with_targets(answer: Answer, targets: Mapping[str, str]) -> Answer:
    """The answer with other addresses in all its sources; spans and text stay."""
    parts = tuple(
        _moved_result(part, targets) if isinstance(part, SearchResult) else part for part in answer.parts
    )
    citations = tuple(_moved_citation(item, targets) for item in answer.citations)
    return replace(answer, parts=parts, citations=citations)


def _moved(event: Event, targets: Mapping[str, str]) -> Event:
    if isinstance(event, Cited):
        return Cited(_moved_citation(event.citation, targets))
    if isinstance(event, SearchReturned):
        return replace(event, result=_moved_result(event.result, targets))
    return event


def _moved_result(result: SearchResult, targets: Mapping[str, str]) -> SearchResult:
    return replace(result, sources=tuple(_moved_source(source, targets) for source in result.sources))


def _moved_citation(citation: Citation, targets: Mapping[str, str]) -> Citation:
    return replace(
        citation,
        evidence=tuple(
            replace(item, source=_moved_source(item.source, targets)) for item in citation.evidence
        ),
    )


def _moved_source(source: Source, targets: Mapping[str, str]) -> Source:
    target = targets.get(source.url)
    if target is None:
        return source
    extras = merge_extras(source.extras, {"groundwire": {ORIGINAL: source.url}})
    return replace(source, url=target, extras=extras)
