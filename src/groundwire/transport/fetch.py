"""Fetching pages of strangers: the only way out to an address that was not configured.

Every hop is checked: scheme, port, and the socket address that is really dialled. Nothing of ours goes along:
no cookies, no keys, no proxy of the environment.
"""

from __future__ import annotations

from typing import Protocol

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


class Fetcher(Protocol):
    """Gets pages under the guard. Raises `FetchRefused` for what the guard forbids, and the usual errors of
    transport (`Unreachable`, `TimedOut`, `UpstreamWireError`) for the rest."""

    async def get(self, url: str, *, accept: str = "text/html", limit: int = 2_000_000) -> Fetched:
        """The page, whatever its status."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
