"""What is refused before it is looked into: how large, how deep, how many, how slow.

Everything here costs a few passes over the bytes, so refusing is cheaper than sending.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.dialects.json import JsonScan
from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery, TurnedAway
from groundwire.model import Request

HEAD_SECONDS = 10.0
"""Until a head must be complete."""
HEAD_BYTES = 64 * 1024
BODY_SECONDS = 30.0
"""Until a body must be complete, with a second more for every `BODY_RATE` bytes of it."""
BODY_RATE = 50_000

MAX_DEPTH = 64
MAX_MEMBERS = 100_000
"""Members of all objects and lists of a body: what parsing costs, in one step that nothing interrupts. Whole
libraries are one string."""
MAX_MESSAGES = 10_000
MAX_TOOLS = 1_000
MAX_DOMAINS = 100
MAX_QUERY = 8 * 1024

_PIECE = 64 * 1024


class DocumentLimits:
    """Refuses a JSON text that would cost too much to read, at the first piece that exceeds a limit."""

    __slots__ = ("_first", "_scan")

    def __init__(self) -> None:
        self._scan: JsonScan | None = None
        self._first = b""
        """A piece that exceeds nothing by itself, not scanned before there is another."""

    def feed(self, data: bytes) -> None:
        """Look at the next piece."""
        if self._scan is not None:
            self._check(self._scan, data)
        elif not self._first and _is_small(data):
            self._first = data
        else:
            self._scan = JsonScan()
            self._check(self._scan, self._first + data)

    def _check(self, scan: JsonScan, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            seen = scan.feed(data[start : start + _PIECE] if len(data) > _PIECE else data)
            # A member is at most two strings: its name and its value.
            if seen.members > MAX_MEMBERS or seen.strings > 2 * MAX_MEMBERS + 1:
                raise TurnedAway(status=413, message=f"the body has more than {MAX_MEMBERS:,} members")
            if seen.deepest > MAX_DEPTH:
                raise ClientWireError(f"nested deeper than {MAX_DEPTH}")


def _is_small(data: bytes) -> bool:
    """Can the text not exceed a limit, whatever it says?"""
    return len(data) <= MAX_MEMBERS and data.count(b"[") + data.count(b"{") <= MAX_DEPTH


def check_document(data: bytes) -> None:
    """Refuse a JSON text that would cost too much to read."""
    DocumentLimits().feed(data)


def check_domains(*lists: Sequence[str]) -> None:
    """Refuse lists of domains that no search engine takes."""
    if any(len(domains) > MAX_DOMAINS for domains in lists):
        raise InvalidArguments(f"a list of domains has more than {MAX_DOMAINS} entries")


def check_request(request: Request) -> None:
    """Refuse what no provider should be asked."""
    for name, count, most in (
        ("messages", len(request.messages), MAX_MESSAGES),
        ("tools", len(request.tools), MAX_TOOLS),
    ):
        if count > most:
            raise InvalidArguments(f"the request has {count:,} {name}; at most {most:,} are possible")
    if request.search is not None:
        check_domains(request.search.allowed_domains, request.search.blocked_domains)


def check_query(query: str) -> None:
    """Refuse a query that is a document."""
    if len(query.encode("utf-8", "replace")) > MAX_QUERY:
        raise InvalidQuery(f"the query is longer than {MAX_QUERY:,} bytes")
