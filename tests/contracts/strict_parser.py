"""Strict parsers of server-sent events and JSON, used by the stream checkers.

They share no code with the codecs and refuse what the standards refuse.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple, NoReturn

from groundwire.model import Json, JsonObject

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKERS = re.compile("[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


class Violation(AssertionError):
    """The stream is not what its dialect allows."""


class Sent(NamedTuple):
    """One server-sent event: its name and its data, undecoded."""

    name: str
    data: str


def need(condition: bool, message: str) -> None:
    """Require a condition."""
    if not condition:
        raise Violation(message)


def text(holder: JsonObject, key: str) -> str:
    """A string that must be there."""
    value = holder.get(key)
    if not isinstance(value, str):
        raise Violation(f"{key}: no string in {str(holder)[:200]}")
    return value


def number(holder: JsonObject, key: str) -> int:
    """A whole number that must be there and not be negative."""
    value = holder.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Violation(f"{key}: no number in {str(holder)[:200]}")
    return value


def obj(holder: JsonObject, key: str) -> JsonObject:
    """An object that must be there."""
    value = holder.get(key)
    if not isinstance(value, dict):
        raise Violation(f"{key}: no object in {str(holder)[:200]}")
    return value


def objs(holder: JsonObject, key: str) -> list[JsonObject]:
    """A list of objects that must be there."""
    value = holder.get(key)
    if not isinstance(value, list):
        raise Violation(f"{key}: no list in {str(holder)[:200]}")
    found = [item for item in value if isinstance(item, dict)]
    need(len(found) == len(value), f"{key}: not all objects")
    return found


def strict_json(data: str) -> JsonObject:
    """An object without NaN, infinities and halves of pairs."""

    def refuse(name: str) -> NoReturn:
        raise Violation(f"{name} is not JSON")

    try:
        value: Json = json.loads(data, parse_constant=refuse)
    except ValueError as error:
        raise Violation(f"no JSON: {error}: {data[:80]!r}") from None
    need(isinstance(value, dict), "data is not an object")
    # What json reads from `\ud800` it would write again only as an escape.
    need(not _SURROGATE.search(json.dumps(value, ensure_ascii=False)), "half a surrogate pair")
    assert isinstance(value, dict)
    return value


def decoded(data: bytes) -> str:
    """Bytes that must be UTF-8."""
    try:
        return data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise Violation(f"no UTF-8: {error}") from None


def events(data: bytes, *, comments: bool) -> list[Sent]:
    """The events of a stream whose every block is whole."""
    stream = decoded(data).replace("\r\n", "\n")
    need(not _BREAKERS.search(stream), "a character at which careless readers end a line")
    need(not stream or stream.endswith("\n\n"), "the last block is not closed")
    found = []
    for block in stream.split("\n\n")[:-1]:
        lines = block.split("\n")
        if all(line.startswith(":") for line in lines):
            need(comments, "a comment its clients break on")
            continue
        fields = [line.partition(": ")[::2] for line in lines]
        names = [value for field, value in fields if field == "event"]
        pieces = [value for field, value in fields if field == "data"]
        need(len(names) <= 1 and len(pieces) == 1, f"a block with {len(pieces)} data lines")
        need({field for field, _ in fields} <= {"event", "data"}, f"an odd line in {block[:80]!r}")
        found.append(Sent(names[0] if names else "", pieces[0]))
    return found


class Checker:
    """Takes the events of one stream; subclasses name a method for each type."""

    comments = True
    type_key = "type"
    named = True
    live = False

    def __init__(self) -> None:
        self.ended = False
        self.failed = False

    def check(self, data: bytes) -> None:
        """The whole stream, which must have its end."""
        for event in events(data, comments=self.comments):
            need(not self.ended, f"{event.data[:80]} after the end")
            self.take(event)
        need(self.ended, "no end")

    def take(self, event: Sent) -> None:
        """One event, by the method its type is spelled in."""
        body = strict_json(event.data)
        kind = text(body, self.type_key)
        need(event.name == kind or not self.named, f"event {event.name} has type {kind}")
        handler = getattr(self, "on_" + kind.replace(".", "_"), None)
        if not callable(handler):
            raise Violation(f"unknown event {kind}")
        handler(body)

    def end(self, *, failed: bool = False) -> None:
        """This was the last event."""
        self.ended, self.failed = True, failed
