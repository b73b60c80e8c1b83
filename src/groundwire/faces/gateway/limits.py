"""What is refused before it is looked into: how large, how deep, how many, how slow.

Everything here costs one or two passes over the bytes, so refusing is cheaper than sending.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery, TurnedAway
from groundwire.model import Request

HEAD_SECONDS = 10.0
"""Until a head must be complete."""
HEAD_BYTES = 64 * 1024
BODY_SECONDS = 30.0
"""Until a body must be complete, with a second more for every `BODY_RATE` bytes of it."""
BODY_RATE = 50_000

MAX_DEPTH = 64
MAX_MEMBERS = 250_000
"""Members of all objects and lists of a body: what parsing costs. Whole libraries are one string."""
MAX_DOMAINS = 100
MAX_QUERY = 8 * 1024

_MARKS = b",[{"
_SKELETON = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STRING = re.compile(rb'"[^"]*"')
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def check_document(data: bytes) -> None:
    """Refuse a JSON text that would cost too much to read."""
    if len(data) > MAX_MEMBERS and _marks(data) > MAX_MEMBERS and _has_too_many_members(data):
        raise TurnedAway(status=413, message=f"the body has more than {MAX_MEMBERS:,} members")
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and depth_of(data) > MAX_DEPTH:
        raise ClientWireError(f"nested deeper than {MAX_DEPTH}")


def depth_of(data: bytes) -> int:
    """How deep a JSON text is nested; brackets in strings do not count."""
    deepest = depth = 0
    for byte in _STRING.sub(b"", _unescaped(data).translate(None, _SKELETON)):
        depth += _STEPS.get(byte, 0)
        deepest = max(deepest, depth)
    return deepest


def _has_too_many_members(data: bytes) -> bool:
    plain = _unescaped(data)
    if plain.count(b'"') > 4 * MAX_MEMBERS:
        return True
    return _marks(b"".join(plain.split(b'"')[::2])) > MAX_MEMBERS


def _unescaped(data: bytes) -> bytes:
    """The text without escaped quotes, which are those behind a backslash that is not escaped itself."""
    return data.replace(rb"\\", b"").replace(rb"\"", b"")


def _marks(data: bytes) -> int:
    return len(data) - len(data.translate(None, _MARKS))


def check_domains(*lists: Sequence[str]) -> None:
    """Refuse lists of domains that no search engine takes."""
    if any(len(domains) > MAX_DOMAINS for domains in lists):
        raise InvalidArguments(f"a list of domains has more than {MAX_DOMAINS} entries")


def check_request(request: Request) -> None:
    """Refuse what no provider should be asked."""
    if request.search is not None:
        check_domains(request.search.allowed_domains, request.search.blocked_domains)


def check_query(query: str) -> None:
    """Refuse a query that is a document."""
    if len(query.encode("utf-8", "replace")) > MAX_QUERY:
        raise InvalidQuery(f"the query is longer than {MAX_QUERY:,} bytes")
