"""Addresses that must not be followed, found in the bytes of an answer.

Decoders keep http and https alone (`text/urls.py`), and the source keeps its title. What is passed on as
it came is not decoded, so such addresses are taken out of its bytes. Quotation marks inside of texts are
escaped in JSON, so that these fields do not occur there. Pictures may be data; everything else that a browser
or a desktop would run or open is not an address of a source.
"""

from __future__ import annotations

import re

from groundwire.model import Warned

ADDRESS_REMOVED = Warned(
    "address_removed", "An address of a source was not one of the web (http, https); it was left out."
)

_NAMED = rb'"(?:url|uri|source|document_uri|source_uri|sourceUri|retrieved_url|retrievedUrl)"\s*:\s*'
_FIELD = re.compile(rb"(" + _NAMED + rb')"((?:[^"\\]|\\.)*)"')
_NOT_OF_THE_WEB = re.compile(_NAMED + rb'"(?!https?:)')
_BLANKS = re.compile("[\x00-\x20\x7f-\x9f\u200b\u2060\ufeff]")
_UNSAFE = re.compile(
    "(?:javascript|vbscript|livescript|file|blob|filesystem|about|view-source|jar|intent|ms-[a-z-]+"
    "|data(?!:image/(?:png|jpe?g|gif|webp|avif)[;,])):",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LONGEST_SCHEME = 512
"""Bytes at the beginning of an address that are looked at."""


def remove_unsafe_urls(data: bytes) -> bytes:
    """The same bytes, with empty texts in the place of addresses that must not be followed."""
    return _FIELD.sub(_emptied, data) if _names_an_address(data) else data


def has_unsafe_url(data: bytes) -> bool:
    """Does any field for an address hold such a one?"""
    if not _names_an_address(data) or _NOT_OF_THE_WEB.search(data) is None:
        return False
    return any(_is_unsafe(match[2]) for match in _FIELD.finditer(data))


def _names_an_address(data: bytes) -> bool:
    """Is any of the fields there? Every frame is asked: two letters rule most of them out, and loops cost."""
    if b"ur" not in data and b'Url"' not in data:
        return False
    return b'url"' in data or b'uri"' in data or b'"source"' in data or b'Url"' in data or b'Uri"' in data


def _emptied(match: re.Match[bytes]) -> bytes:
    return match[1] + b'""' if _is_unsafe(match[2]) else match[0]


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _SHORT.get(match[2], match[2])


def _is_unsafe(value: bytes) -> bool:
    if value.startswith((b"https:", b"http:")):
        return False
    text = value[:_LONGEST_SCHEME].decode("utf-8", "replace")
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return _UNSAFE.match(_BLANKS.sub("", text)) is not None
