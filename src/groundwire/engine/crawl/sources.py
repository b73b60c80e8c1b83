"""What somebody names, and how its pages are gathered: an address, a sitemap, a site, a file, a folder."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.crawl.files import gather_path
from groundwire.engine.crawl.frontier import Frontier
from groundwire.engine.crawl.outcomes import Gathered, Outcome, Scope
from groundwire.engine.crawl.pace import Pace
from groundwire.engine.crawl.site import gather_site
from groundwire.engine.crawl.sitemap import gather_sitemap, looks_like_sitemap
from groundwire.engine.crawl.visits import Visitor, host_of
from groundwire.engine.pages import Page
from groundwire.errors import RequestError
from groundwire.model.value import replace
from groundwire.text.urls import safe_url
from groundwire.transport.fetch import Fetcher

What: TypeAlias = str | Path
"""A web address, or where a file or folder is."""


def recognise(text: str, cwd: str = "") -> What:
    """What is meant; `RequestError` if it is neither a web address nor a file."""
    if text.lower().startswith(("http://", "https://")):
        address = safe_url(text).partition("#")[0]
        if not host_of(address):
            raise RequestError(f"{text!r} is no web address")
        return address
    path = Path(os.path.join(cwd, os.path.expanduser(text)))
    if not path.exists():
        raise RequestError(f"there is no file or folder {text!r}; web addresses begin with https://")
    return path


class Gathering:
    """Everything that is named, one after the other.

    Who keeps the pages says so by `checkpoint`; an interrupted crawl then goes on from there.
    """

    def __init__(
        self, fetcher: Fetcher, scope: Scope, *, kept: Path | None = None, pace: Pace | None = None
    ) -> None:
        self._visitor = Visitor(fetcher, pace or Pace())
        self._scope = scope
        self._kept = kept
        self._frontier: Frontier | None = None
        self._finished: list[Frontier] = []

    async def outcomes(
        self, whats: Iterable[What], *, collection: str = "", language: str = ""
    ) -> AsyncGenerator[Outcome, None]:
        """Each page with its collection; where pages do not tell their language, with that."""
        for what in whats:
            name = collection or collection_of(what)
            async for outcome in self._gather(what):
                yield _labelled(outcome, name, language)

    def checkpoint(self) -> None:
        """All that was told so far is kept."""
        for frontier in self._finished:
            frontier.forget()
        self._finished.clear()
        if self._frontier is not None:
            self._frontier.save()

    async def _gather(self, what: What) -> AsyncGenerator[Outcome, None]:
        if isinstance(what, Path):
            found = gather_path(what, self._scope)
        elif looks_like_sitemap(what):
            found = gather_sitemap(what, self._scope, self._visitor)
        elif self._scope.follow:
            found = self._crawl(what)
        else:
            yield (await self._visitor.visit(what, asking=False)).outcome
            return
        async for outcome in found:
            yield outcome

    async def _crawl(self, start: str) -> AsyncGenerator[Outcome, None]:
        self._frontier = Frontier(start, self._kept)
        async for outcome in gather_site(start, self._scope, self._visitor, self._frontier):
            yield outcome
        self._finished.append(self._frontier)
        self._frontier = None


def collection_of(what: What) -> str:
    """What its pages are kept under unless somebody says otherwise: the folder's name, or the host."""
    if isinstance(what, Path):
        folder = what if what.is_dir() else what.parent
        return os.fsencode(folder.resolve().name).decode("utf-8", "replace") or "files"
    return host_of(what)


def _labelled(outcome: Outcome, collection: str, language: str) -> Outcome:
    if not isinstance(outcome, Gathered):
        return outcome
    page: Page = outcome.page
    return Gathered(replace(page, collection=collection, language=page.language or language))
