"""Heads: a request's as it is written, an answer's as it is read (RFC 9112).

Nothing that is written can end a line but we. What is read may end its lines with a bare line feed, and fold
them; everything else that is not by the book is no HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from groundwire.model.value import value

MAX_HEAD = 64 * 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: .*)?")
_FOLD = re.compile(r"\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")


class NotHttp(ValueError):
    """What came is not by the book."""


@value
class Head:
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names; one that was told several times has its texts joined by commas."""
    newest: bool = True
    """HTTP/1.1, and not 1.0?"""


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The head of a request; raises `ValueError` if it cannot be written."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, text in headers:
        if not is_token(name):
            raise ValueError("a header has no proper name")
        lines.append(f"{name}: {text}")
    head = "\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count("\n") != breaks or head.count("\r") != breaks or "\0" in head or lines[0].count(" ") != 2:
        raise ValueError("a header holds the end of a line")
    return head.encode() + b"\r\n\r\n"


def decode_response(data: bytes) -> Head:
    """An answer's head, without the blank line that ends it; raises `NotHttp`."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        raise NotHttp("a line holds what others take for its end")
    first, _, rest = text.partition("\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise NotHttp("the first line tells no status")
    headers: dict[str, str] = {}
    for line in _FOLD.sub(" ", rest).split("\n") if rest else ():
        name, colon, told = line.partition(":")
        if not colon or not is_token(name):
            raise NotHttp("a header has no name")
        name, told = name.lower(), told.strip(" \t")
        headers[name] = f"{headers[name]}, {told}" if name in headers else told
    return Head(int(status[2]), headers, status[1] == "1")


def length_in(headers: Mapping[str, str]) -> int | None:
    """How long a head says that its body is, if it says so; raises `NotHttp`."""
    told = headers.get("content-length")
    if told is None:
        return None
    first, *others = (text.strip(" \t") for text in told.split(","))
    if not _LENGTH.fullmatch(first) or any(text != first for text in others):
        raise NotHttp("the length is no number")
    return int(first)


def is_kept_alive(head: Head) -> bool:
    """Does the other side leave the connection open?"""
    wishes = head.headers.get("connection")
    return head.newest and (wishes is None or "close" not in wishes.lower())


@lru_cache(maxsize=512)
def is_token(name: str) -> bool:
    """May it name a header?"""
    return _TOKEN.fullmatch(name) is not None
