"""Tags in the text of Brave's answers (`/res/v1/chat/completions`), each with JSON inside.

| tag | content |
|---|---|
| `<citation>` | a page that supports the text before it: `url`, `snippet`, `number` |
| `<enum_item>` | an entry of a list: its text in `original_tokens`, its pages in `citations` |
| `<usage>` | requests, queries, tokens and cost, by the names of response headers |
| `<answer>` | the answer of the research mode |
| the others | the progress of the research mode |

A stream sends each tag as one chunk; a tag that is split is put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage

_NAMES = (
    *("citation", "enum_item", "usage", "enum_start", "enum_end"),
    *("queries", "analyzing", "thinking", "progress", "blindspots"),
)
_TAG = re.compile(rf"<({'|'.join(_NAMES)})>(.*?)</\1>|</?answer>", re.DOTALL)
_OPENING = re.compile(rf"<(?:{'|'.join(_NAMES)})>", re.DOTALL)
_LONGEST_NAME = max(map(len, ("</answer>", *(f"<{name}>" for name in _NAMES))))
_LONGEST_TAG = 20_000
"""Characters after which an opening tag without its end is taken for text."""


class TaggedText(NamedTuple):
    """Text, or the content of a tag."""

    text: str = ""
    tag: str = ""
    content: JsonObject = {}  # noqa: RUF012  never changed


def is_brave(model: str) -> bool:
    """Whether an answer of this model has tags."""
    return model.partition("-")[0] == "brave"


class BraveTagReader:
    """Separates the tags from a text that arrives in chunks."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> Iterator[TaggedText]:
        """Take the next chunk; yields text and tags as far as they are complete."""
        if not self._rest and "<" not in text:
            yield TaggedText(text)
            return
        text = self._rest + text
        cut = _incomplete_tag(text)
        self._rest = text[cut:]
        yield from _separated(text[:cut])

    def close(self) -> Iterator[TaggedText]:
        """The text that was held back."""
        rest, self._rest = self._rest, ""
        yield from _separated(rest)


def _separated(text: str) -> Iterator[TaggedText]:
    position = 0
    for match in _TAG.finditer(text):
        if match.start() > position:
            yield TaggedText(text[position : match.start()])
        position = match.end()
        if match[1]:
            yield TaggedText(tag=match[1], content=_json(match[2]))
    if position < len(text):
        yield TaggedText(text[position:])


def _incomplete_tag(text: str) -> int:
    """Where a tag begins that may be completed by the next chunk; the length of the text without one."""
    opened = [match.start() for match in _OPENING.finditer(text)]
    closed = [match.end() for match in _TAG.finditer(text)]
    last = opened[-1] if opened else -1
    if last >= (closed[-1] if closed else 0) and len(text) - last < _LONGEST_TAG:
        return last
    begun = text.rfind("<", max(len(text) - _LONGEST_NAME, 0))
    if begun >= 0 and any(tag.startswith(text[begun:]) for tag in _TAGS):
        return begun
    return len(text)


_TAGS = ("<answer>", "</answer>", *(f"<{name}>" for name in _NAMES))


def _json(text: str) -> JsonObject:
    try:
        return as_object(load_json(text, UpstreamWireError))
    except UpstreamWireError:
        return {}


def tagged_usage(content: JsonObject) -> Usage:
    """The usage in a tag."""
    fields = Fields(content, UpstreamWireError)
    return Usage(
        input_tokens=fields.count("X-Request-Tokens-In"),
        output_tokens=fields.count("X-Request-Tokens-Out"),
        searches=fields.count("X-Request-Queries"),
        cost=fields.amount("X-Request-Total-Cost"),
    )
