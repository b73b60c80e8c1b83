"""Unsafe URLs: finds and removes URLs that must not be followed in the bytes of a response.

Decoders keep only http and https (`text/urls.py`), and the source keeps its title. A passthrough response is
not decoded, so unsafe URLs are removed from its bytes. Quotation marks inside strings are escaped in JSON,
so these fields cannot occur there. Images may be `data:` URLs; everything else that a browser or a desktop
would run or open is not the URL of a source.
"""

from __future__ import annotations

import re

from groundwire.model import Warned
from groundwire.text.lazy_pattern import lazy_pattern

ADDRESS_REMOVED = Warned(
    "address_removed", "The URL of a source was not a web URL (http, https) and was removed."
)

_URL_FIELD = rb'"(?:url|uri|source|document_uri|source_uri|sourceUri|retrieved_url|retrievedUrl)"\s*:\s*'
_FIELD_AND_VALUE = lazy_pattern(rb"(" + _URL_FIELD + rb')"((?:[^"\\]|\\.)*)"')
_NOT_WEB_URL = lazy_pattern(_URL_FIELD + rb'"(?!https?:)')
_INVISIBLE = lazy_pattern("[\x00-\x20\x7f-\x9f\u200b\u2060\ufeff]")
_UNSAFE_SCHEME = lazy_pattern(
    "(?:javascript|vbscript|livescript|file|blob|filesystem|about|view-source|jar|intent|ms-[a-z-]+"
    "|data(?!:image/(?:png|jpe?g|gif|webp|avif)[;,])):",
    re.IGNORECASE,
)
_ESCAPE = lazy_pattern(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAX_SCHEME = 512
"""How many bytes of a URL are examined."""


def remove_unsafe_urls(data: bytes) -> bytes:
    """Replace unsafe URLs with empty strings."""
    if not _may_have_url(data) or _are_all_web(data):
        return data
    return _FIELD_AND_VALUE.sub(_empty_if_unsafe, data)


def has_unsafe_url(data: bytes) -> bool:
    """Whether any URL field contains an unsafe URL."""
    if not _may_have_url(data) or _are_all_web(data) or _NOT_WEB_URL.search(data) is None:
        return False
    return any(_is_unsafe(match[2]) for match in _FIELD_AND_VALUE.finditer(data))


def _may_have_url(data: bytes) -> bool:
    """Whether a URL field may occur. This runs for every frame: two letters rule most of them out."""
    # `find`, because `in` raises and clears an exception for every search in bytes.
    return data.find(b"ur") >= 0 or data.find(b"Url") >= 0


_FIELD_ENDS = tuple((end, end + b':"http') for end in (b'rl"', b'ri"', b'"source"'))
"""Every URL field ends with one of these, as do a few others; and what follows if its value is a web URL."""


def _are_all_web(data: bytes) -> bool:
    """Whether `:"http` follows every field that may contain a URL. Counting is cheaper than a search."""
    for end, web in _FIELD_ENDS:
        count = data.count(end)
        if count and count != data.count(web):
            return False
    return True


def _empty_if_unsafe(match: re.Match[bytes]) -> bytes:
    return match[1] + b'""' if _is_unsafe(match[2]) else match[0]


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _SHORT_ESCAPES.get(match[2], match[2])


def _is_unsafe(value: bytes) -> bool:
    if value.startswith((b"https:", b"http:")):
        return False
    text = value[:_MAX_SCHEME].decode("utf-8", "replace")
    if "\\" in text:
        text = _ESCAPE.sub(_unescape, text)
    return _UNSAFE_SCHEME.match(_INVISIBLE.sub("", text)) is not None
