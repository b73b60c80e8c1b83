"""Fetching web pages at URLs that were not configured: the interface, which `transport/safe_fetch.py`
implements.

Every hop is checked: scheme, port, and the address of the connection. Requests carry no cookies and no keys,
and use no proxy of the environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from groundwire.errors import GroundwireError, TimedOut
from groundwire.model.value import value


@value
class Fetched:
    """A fetched page."""

    url: str
    """The final URL, after redirects."""
    status: int
    content_type: str
    """The media type in lower case, without parameters."""
    charset: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names."""
    is_cut: bool = False
    """Is the body only the beginning of a larger one?"""


Outcome: TypeAlias = Fetched | GroundwireError

NO_SUCH_HOST = "no_such_host"
"""The `upstream_code` of `Unreachable` if the host name does not exist: asking again will not help."""


def media_of(content_type: str) -> tuple[str, str]:
    """Media type and charset of a `Content-Type` header."""
    media, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(" \"'")
    return media.strip(), charset


class Fetcher(Protocol):
    """Fetches pages. Raises `FetchRefused` for URLs that the SSRF policy forbids, and transport errors
    (`Unreachable`, `TimedOut`, `UpstreamWireError`)."""

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        """The page, whatever its status."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


async def fetch_all(
    fetcher: Fetcher, urls: Iterable[str], *, at_once: int = 8, within: float = 5.0, accept: str = "text/html"
) -> dict[str, Outcome]:
    """Fetch several URLs; each with its page or its error, `TimedOut` for those that are late.

    When this returns or is cancelled, no request is left running.
    """
    slots = asyncio.Semaphore(at_once)

    async def fetch(url: str) -> Outcome:
        async with slots:
            try:
                return await fetcher.get(url, accept=accept)
            except GroundwireError as error:
                return error

    tasks = {url: asyncio.ensure_future(fetch(url)) for url in dict.fromkeys(urls)}
    if not tasks:
        return {}
    try:
        await asyncio.wait(tasks.values(), timeout=within)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    late = TimedOut("the page did not arrive in time")
    return {url: late if task.cancelled() else task.result() for url, task in tasks.items()}
