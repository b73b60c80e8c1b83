"""Engines for tests, with services and pages on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential, Secret
from groundwire.engine.engines.api import ApiEngine, ApiEngineSpec
from groundwire.engine.engines.results import PageOpener
from groundwire.engine.pages import Page
from groundwire.errors import FetchRefused, GroundwireError
from groundwire.model import SearchOptions, Source
from groundwire.model.value import replace
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from groundwire.text.urls import domain_of
from groundwire.transport.fetch import Fetched
from groundwire.transport.http import Http
from groundwire.transport.ssrf import REFUSED

KEY = "k-4f9a8b7c6d5e4f3a2b1c0d"
NOW = 1_763_164_800.0
"""2025-11-15."""
ANY = SearchOptions()


def admits(options: SearchOptions, source: Source) -> bool:
    """Apply domain lists to the host alone."""

    def covers(entry: str) -> bool:
        host = domain_of(source.url)
        return host == entry or host.endswith(f".{entry}")

    allowed, blocked = options.allowed_domains, options.blocked_domains
    return not any(map(covers, blocked)) and (not allowed or any(map(covers, allowed)))


class FakeFetcher:
    """A fetcher with a fixed set of pages, which records the requested URLs."""

    def __init__(self, pages: Mapping[str, str | Fetched | GroundwireError]) -> None:
        self._pages = pages
        self.requested: list[str] = []

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        self.requested.append(url)
        found = self._pages.get(url, FetchRefused(REFUSED))
        if isinstance(found, GroundwireError):
            raise found
        return found if isinstance(found, Fetched) else fetched(url, found)

    async def aclose(self) -> None:
        """Nothing to close."""


def fetched(url: str, text: str, status: int = 200) -> Fetched:
    return Fetched(url, status, "text/html", "utf-8", text.encode())


def read(item: Fetched) -> Page | None:
    """A page whose text is the body, and whose canonical URL is not its own."""
    return Page("https://bank.example/", "", item.body.decode()) if item.status == 200 else None


def opener(pages: Mapping[str, str | Fetched | GroundwireError] | None = None) -> PageOpener:
    return PageOpener(admits) if pages is None else PageOpener(admits, fetcher=FakeFetcher(pages), read=read)


@asynccontextmanager
async def service(
    row: ApiEngineSpec,
    script: Script | ScriptedResponse,
    *,
    key: str = KEY,
    pages: Mapping[str, str | Fetched | GroundwireError] | None = None,
) -> AsyncIterator[tuple[ApiEngine, Upstream]]:
    """An engine whose service is scripted."""

    async def credential() -> Credential | None:
        return Credential(Secret(key), "api", "test") if key else None

    async with Upstream(script) as upstream, Http({}) as http:
        at_home = replace(row, base_url=upstream.url + "/")
        yield ApiEngine(at_home, http, credential, Redactor(), opener(pages), lambda: NOW), upstream
