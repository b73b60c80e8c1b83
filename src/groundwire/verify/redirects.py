"""Resolves the redirect addresses under which Gemini cites pages.

It is off unless the user asks for it: Google's terms leave these addresses to the reader. Only the known
redirect service is asked, for one `Location` header; the page it names is not contacted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from groundwire.errors import GroundwireError
from groundwire.model import Answer, Citation, Evidence, SearchResult, Source
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


def with_targets(answer: Answer, targets: dict[str, str]) -> Answer:
    """The answer with other addresses in all its sources; spans and text stay."""

    def moved(source: Source) -> Source:
        target = targets.get(source.url)
        if target is None:
            return source
        extras = merge_extras(source.extras, {"groundwire": {ORIGINAL: source.url}})
        return replace(source, url=target, extras=extras)

    def evidence(item: Evidence) -> Evidence:
        return replace(item, source=moved(item.source))

    def citation(item: Citation) -> Citation:
        return replace(item, evidence=tuple(map(evidence, item.evidence)))

    parts = tuple(
        replace(part, sources=tuple(map(moved, part.sources))) if isinstance(part, SearchResult) else part
        for part in answer.parts
    )
    return replace(answer, parts=parts, citations=tuple(map(citation, answer.citations)))
