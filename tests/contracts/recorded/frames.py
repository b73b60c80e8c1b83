"""Recorded streams as frames and as bytes; splitting and reformatting them.

Deliberately plain: recordings hold one `data:` line for each frame, so that splitting at blank lines is all
there is to reading them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from random import Random

from groundwire.dialects.base import StreamDecoder
from groundwire.model import Event, Json, JsonObject
from tests.contracts.recorded.lookup import string

LINE_ENDS = {"LF": b"\n", "CRLF": b"\r\n", "CR": b"\r"}


def sse_of_lines(data: bytes) -> bytes:
    """One JSON object for each line, as server-sent events with their names."""
    return b"".join(_frame(line) for line in data.splitlines() if line.strip())


def _frame(line: bytes) -> bytes:
    payload: Json = json.loads(line)
    name = string(payload, "type") or string(payload, "event_type")
    return b"event: " + name.encode() + b"\ndata: " + line + b"\n\n"


def payloads(data: bytes) -> list[JsonObject]:
    """The JSON of every frame; `[DONE]` and comments left out."""
    if not is_sse(data):
        array: Json = json.loads(data)
        return [item for item in array if isinstance(item, dict)] if isinstance(array, list) else []
    found: list[JsonObject] = []
    for line in _plain(data).split(b"\n"):
        body = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and body != b"[DONE]":
            value: Json = json.loads(body)
            found.append(value if isinstance(value, dict) else {})
    return found


def borders(data: bytes) -> list[int]:
    """Where frames begin, the first excepted; in a bare JSON body, offsets all over it."""
    if not is_sse(data):
        return list(range(1, len(data), len(data) // 50 + 1))
    blank = b"\r\n\r\n" if b"\r\n" in data else b"\n\n"
    return [match.end() for match in re.finditer(re.escape(blank), data) if match.end() < len(data)]


def is_sse(data: bytes) -> bool:
    """Server-sent events, or a bare JSON body?"""
    return data.lstrip()[:1] not in (b"{", b"[")


def with_line_ends(data: bytes, end: bytes) -> bytes:
    """The same stream with other line ends."""
    return _plain(data).replace(b"\n", end)


def _unspaced(data: bytes) -> bytes:
    return data.replace(b"data: ", b"data:").replace(b"event: ", b"event:")


def _commented(data: bytes) -> bytes:
    return b": hello\n\n" + _plain(data).replace(b"\n\n", b"\n\n: keep-alive\n\n:\n\n")


def _with_ids(data: bytes) -> bytes:
    return re.sub(rb"(?m)^data:", b"id: 7\nretry: 3000\nunknown: x\nunknown\ndata:", _plain(data))


def _unfinished(data: bytes) -> bytes:
    return _plain(data).rstrip(b"\n")


def _marked(data: bytes) -> bytes:
    return b"\xef\xbb\xbf\n \n" + data


FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "without spaces after the colon": _unspaced,
    "with comments": _commented,
    "with unused fields": _with_ids,
    "without the last blank line": _unfinished,
    "after a byte-order mark and blanks": _marked,
}
"""Other forms of the same server-sent events, all within the standard."""


def _plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def pieces_of(data: bytes, size: int) -> Iterator[bytes]:
    """Pieces of one size, the last one shorter."""
    return (data[start : start + size] for start in range(0, len(data), size))


def random_pieces(data: bytes, random: Random) -> Iterator[bytes]:
    """Chunks split at up to twenty offsets; empty ones are possible."""
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randint(1, 20)))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        yield data[start:end]


def decode(decoder: StreamDecoder, pieces: Iterable[bytes]) -> list[Event]:
    """Decode these bytes into events."""
    events: list[Event] = []
    for piece in pieces:
        events += decoder.feed(piece)
    return events + decoder.close()
