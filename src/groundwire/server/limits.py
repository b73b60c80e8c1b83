"""Limits of requests: size, depth, number of members, messages and tools, time.

The checks cost a few passes over the bytes, so refusing a request is cheaper than sending it.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.dialects.json import JsonScan, has_many_brackets
from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery, TurnedAway
from groundwire.model import Request

HEAD_SECONDS = 10.0
"""Deadline for the request head."""
HEAD_BYTES = 64 * 1024
BODY_SECONDS = 30.0
"""Deadline for the request body, plus a second for every `BODY_RATE` bytes."""
BODY_RATE = 50_000

MAX_DEPTH = 64
MAX_MEMBERS = 100_000
"""Members of all objects and lists of a body. They determine how long parsing blocks the event loop; long
texts do not count, because each is a single string."""
MAX_MESSAGES = 10_000
MAX_TOOLS = 1_000
MAX_DOMAINS = 100
MAX_QUERY = 8 * 1024

_SCAN_BYTES = 64 * 1024


class DocumentLimits:
    """Incremental check of a JSON text; refuses it at the first chunk that exceeds a limit."""

    __slots__ = ("_first", "_scan")

    def __init__(self) -> None:
        self._scan: JsonScan | None = None
        self._first = b""
        """A first chunk that cannot exceed a limit; it is scanned only if another one follows."""

    def feed(self, data: bytes) -> None:
        """Check the next chunk."""
        if self._scan is not None:
            self._check(self._scan, data)
        elif not self._first and _is_small(data):
            self._first = data
        else:
            self._scan = JsonScan()
            self._check(self._scan, self._first + data)

    def _check(self, scan: JsonScan, data: bytes) -> None:
        for start in range(0, len(data), _SCAN_BYTES):
            counts = scan.feed(data[start : start + _SCAN_BYTES] if len(data) > _SCAN_BYTES else data)
            # A member is at most two strings: its name and its value.
            if counts.members > MAX_MEMBERS or counts.strings > 2 * MAX_MEMBERS + 1:
                raise TurnedAway(
                    status=413, message=f"the request body has more than {MAX_MEMBERS:,} members"
                )
            if counts.deepest > MAX_DEPTH:
                raise ClientWireError(f"nested deeper than {MAX_DEPTH}")


def _is_small(data: bytes) -> bool:
    """Is the text too short to exceed a limit?"""
    return len(data) <= MAX_MEMBERS and not has_many_brackets(data, MAX_DEPTH)


def check_document(data: bytes) -> None:
    """Check a complete JSON text."""
    DocumentLimits().feed(data)


def check_domains(*lists: Sequence[str]) -> None:
    """Refuse lists of domains that are too long."""
    for domains in lists:
        if len(domains) > MAX_DOMAINS:
            raise InvalidArguments(f"a list of domains has more than {MAX_DOMAINS} entries")


def check_request(request: Request) -> None:
    """Refuse a request with too many messages, tools or domains."""
    for name, count, most in (
        ("messages", len(request.messages), MAX_MESSAGES),
        ("tools", len(request.tools), MAX_TOOLS),
    ):
        if count > most:
            raise InvalidArguments(f"the request has {count:,} {name}; at most {most:,} are allowed")
    if request.search is not None:
        check_domains(request.search.allowed_domains, request.search.blocked_domains)


def check_query(query: str) -> None:
    """Refuse a query that is too long."""
    if len(query.encode("utf-8", "replace")) > MAX_QUERY:
        raise InvalidQuery(f"the query is longer than {MAX_QUERY:,} bytes")
