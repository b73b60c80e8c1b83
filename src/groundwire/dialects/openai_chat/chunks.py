"""Content of an answer as a list of chunks.

Mistral tells sources between the pieces of text that lean on them: `tool_reference` chunks are pages, and
the `reference_ids` of a `reference` chunk are numbers of what the client itself sent. `thinking` holds
chunks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_chat.annotations import Annotation, cite, decode_page
from groundwire.model import Json


class ContentChunk(NamedTuple):
    """What one chunk says. The place of a note is where the chunk stands."""

    text: str = ""
    thought: str = ""
    notes: tuple[Annotation, ...] = ()
    references: tuple[int, ...] = ()


def read_chunks(message: Fields) -> Iterator[ContentChunk]:
    """The chunks of `content`; those without meaning for an answer are passed over."""
    for chunk in message.objs("content"):
        match chunk.text("type", "text"):
            case "text":
                yield ContentChunk(chunk.text("text"))
            case "refusal":
                yield ContentChunk(chunk.text("refusal"))
            case "thinking":
                yield ContentChunk(thought=_thought(chunk))
            case "tool_reference":
                page = decode_page(chunk.rest("type"), "cited")
                if page.url or page.title:
                    yield ContentChunk(notes=(Annotation(cite(page), 0, 0),))
            case "reference":
                yield ContentChunk(references=tuple(map(_number, chunk.items("reference_ids"))))


def _thought(chunk: Fields) -> str:
    if isinstance(chunk.get("thinking"), str):
        return chunk.text("thinking")
    return "".join(inner.text("text") for inner in chunk.objs("thinking"))


def _number(value: Json) -> int:
    """A number that may be written as text; -1 for one that names nothing."""
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if text.isdecimal() and len(text) < 9 else -1
