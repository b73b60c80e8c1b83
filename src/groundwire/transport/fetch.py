"""Fetching pages of strangers: the only way out to an address that was not configured.

Every hop is checked: scheme, port, and the socket address that is really dialled. Nothing of ours goes along:
no cookies, no keys, no proxy of the environment. `transport/safe_fetch.py` does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from groundwire.errors import GroundwireError, TimedOut
from groundwire.model.value import value


@value
class Fetched:
    """A page that came back."""

    url: str
    """Where it was found in the end, after redirects."""
    status: int
    content_type: str
    """Media type alone, lower case, without parameters."""
    charset: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names."""


Outcome: TypeAlias = Fetched | GroundwireError


def media_of(content_type: str) -> tuple[str, str]:
    """The media type that a header names, and its charset."""
    media, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(" \"'")
    return media.strip(), charset


class Fetcher(Protocol):
    """Gets pages under the guard. Raises `FetchRefused` for what the guard forbids, and the usual errors of
    transport (`Unreachable`, `TimedOut`, `UpstreamWireError`) for the rest."""

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        """The page, whatever its status."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


async def fetch_all(
    fetcher: Fetcher, urls: Iterable[str], *, at_once: int = 8, within: float = 5.0, accept: str = "text/html"
) -> dict[str, Outcome]:
    """Each address, in order, with its page or its error; what is not there in time is `TimedOut`.

    When this returns or is cancelled, nothing of it runs any more.
    """
    room = asyncio.Semaphore(at_once)

    async def fetch(url: str) -> Outcome:
        async with room:
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
    late = TimedOut("the page did not come in time")
    return {url: late if task.cancelled() else task.result() for url, task in tasks.items()}
