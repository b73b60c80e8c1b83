"""Which pages may be fetched: those that a search here has found, and no others.

An id is the address with a signature before it, so that it is known again by every process that has the same
secret. A bare address is known while this process remembers it.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256

_LENGTH = 16
_REMEMBERED = 10_000


class Addresses:
    """Remembers what was found, the latest at the end."""

    def __init__(self, secret: bytes, remembered: int = _REMEMBERED) -> None:
        self._secret = secret
        self._remembered = remembered
        self._known: dict[str, None] = {}

    def found(self, url: str) -> str:
        """Remember an address; the result is its id."""
        self._known.pop(url, None)
        self._known[url] = None
        if len(self._known) > self._remembered:
            del self._known[next(iter(self._known))]
        return f"{self._signature(url)}.{url}"

    def address(self, name: str) -> str:
        """The address that an id or a known address means; empty if it is neither."""
        signature, _, url = name.partition(".")
        if url and hmac.compare_digest(signature.encode(), self._signature(url).encode()):
            return url
        return name if name in self._known else ""

    def _signature(self, url: str) -> str:
        digest = hmac.new(self._secret, b"mcp-fetch:" + url.encode("utf-8", "replace"), sha256).digest()
        return urlsafe_b64encode(digest)[:_LENGTH].decode()
