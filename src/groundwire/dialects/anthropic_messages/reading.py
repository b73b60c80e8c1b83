"""Blocks as they come in: one small class for each kind, found by a table.

A block is opened with what its start says, fed deltas, and closed; a block that comes whole is one that is
opened and closed at once. What a kind does not know it passes over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from groundwire.dialects.anthropic_messages.citations import decode_citation
from groundwire.dialects.anthropic_messages.documents import Documents, fetched_in
from groundwire.dialects.anthropic_messages.pairs import SearchReader
from groundwire.dialects.anthropic_messages.parts import (
    RESULT_BLOCKS,
    SEARCH_TOOLS,
    Listed,
    decode_arguments,
    decode_search_call,
    decode_search_result,
    encode_arguments,
    rest_of,
)
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.fields import Fields
from groundwire.dialects.signed_tokens import is_ours
from groundwire.model import (
    Event,
    Evidence,
    Extras,
    ExtrasSeen,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    Span,
    TextDelta,
    TextSettled,
    ToolCallDelta,
)


class Teller(Protocol):
    """Who hears what the blocks say."""

    key: bytes
    documents: Documents
    searches: SearchReader

    def emit(self, event: Event) -> None: ...
    def next_part(self) -> int: ...
    def cite(self, part: int, evidence: Evidence, span: Span | None) -> None: ...
    def cite_page(self, page: Listed) -> None: ...


class Block:
    """A block of no known kind, kept whole."""

    def __init__(self, teller: Teller, fields: Fields) -> None:
        self.teller = teller
        self.fields = fields
        self.part = teller.next_part()
        self.begin()

    def begin(self) -> None:
        """Tell what the opening says."""

    def delta(self, delta: Fields) -> None:
        """Tell more."""

    def end(self) -> None:
        """Tell what only the whole block says."""
        if self.fields.text("type"):
            self.teller.emit(PartAdded(self.part, Opaque(NAME, self.fields.raw)))

    def add_extras(self, extras: Extras) -> None:
        if extras:
            self.teller.emit(ExtrasSeen(self.part, extras))


class TextBlock(Block):
    """Citations are told before the text they speak of; they are placed when the text is complete."""

    def begin(self) -> None:
        self._citations = list(self.fields.objs("citations"))
        text = self.fields.text("text")
        if text:
            self.teller.emit(TextDelta(self.part, text))

    def delta(self, delta: Fields) -> None:
        kind = delta.text("type")
        if kind == "text_delta":
            self.teller.emit(TextDelta(self.part, delta.text("text")))
        elif kind == "citations_delta":
            self._citations.append(delta.obj("citation"))

    def end(self) -> None:
        for citation in self._citations:
            self.teller.cite(self.part, *decode_citation(citation, self.teller.key, self.teller.documents))
        self.add_extras(rest_of(self.fields, "text", "citations"))
        self.teller.emit(TextSettled(self.part))


class ThinkingBlock(Block):
    """Thinking with its signature, or redacted and then all signature."""

    def begin(self) -> None:
        self._signature = self.fields.text("signature")
        self.teller.emit(ReasoningDelta(self.part, self.fields.text("thinking")))

    def delta(self, delta: Fields) -> None:
        kind = delta.text("type")
        if kind == "thinking_delta":
            self.teller.emit(ReasoningDelta(self.part, delta.text("thinking")))
        elif kind == "signature_delta":
            self._signature += delta.text("signature")

    def end(self) -> None:
        kept = self.fields.rest("thinking", "signature")
        if self._signature and not is_ours(self._signature):
            self.add_extras({NAME: {**kept, "signature": self._signature}})
        elif "data" in kept:
            self.add_extras({NAME: kept})


class InputBlock(Block):
    """A block whose `input` comes in the opening, or as fragments of JSON text."""

    def begin(self) -> None:
        self._fragments: list[str] = []

    def delta(self, delta: Fields) -> None:
        if delta.text("type") == "input_json_delta":
            self._fragments.append(delta.text("partial_json"))

    def whole(self) -> JsonObject:
        """The block with its input filled in."""
        fragments = "".join(self._fragments)
        return {**self.fields.raw, "input": decode_arguments(fragments)} if fragments else self.fields.raw


class ToolUseBlock(InputBlock):
    """A call for the client."""

    def begin(self) -> None:
        super().begin()
        self.teller.emit(ToolCallDelta(self.part, self.fields.text("id"), self.fields.text("name")))

    def delta(self, delta: Fields) -> None:
        super().delta(delta)
        fragment = delta.text("partial_json")
        if fragment:
            self.teller.emit(ToolCallDelta(self.part, arguments=fragment))

    def end(self) -> None:
        if not any(self._fragments):
            arguments = encode_arguments(self.fields.obj("input").raw)
            self.teller.emit(ToolCallDelta(self.part, arguments=arguments))
        self.add_extras(rest_of(self.fields, "id", "name", "input"))


class SearchCallBlock(InputBlock):
    """A search or a fetch by the provider itself."""

    def begin(self) -> None:
        super().begin()
        self.teller.searches.start(self.part, self.fields.text("id") or f"search_{self.part}")

    def end(self) -> None:
        block = self.whole()
        call = decode_search_call(block, self.fields.with_raw(block), f"search_{self.part}")
        self.teller.searches.call(self.part, call)


class ServerToolBlock(InputBlock):
    """Another tool of the provider's (code execution): kept whole."""

    def end(self) -> None:
        if self.fields.text("id") and self.fields.text("name"):
            self.teller.emit(PartAdded(self.part, Opaque(NAME, self.whole())))


class SearchResultBlock(Block):
    """Results come whole in the opening."""

    def begin(self) -> None:
        block = decode_search_result(self.fields, self.teller.key)
        self.teller.searches.result(self.part, block)
        for page in block.cited:
            self.teller.cite_page(page)
        self.teller.documents.extend(fetched_in(self.fields.raw))

    def end(self) -> None:
        """All was told."""


_SEARCHING = frozenset({"server_tool_use", *RESULT_BLOCKS})
_Kind: TypeAlias = Callable[[Teller, Fields], Block]
_KINDS: dict[str, _Kind] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": ThinkingBlock,
    "tool_use": ToolUseBlock,
    **dict.fromkeys(RESULT_BLOCKS, SearchResultBlock),
}


def open_block(teller: Teller, fields: Fields) -> Block:
    """Begin to read a block."""
    kind = fields.text("type")
    if kind not in _SEARCHING:
        teller.searches.flush()
    if kind == "server_tool_use":
        is_search = fields.text("name") in SEARCH_TOOLS
        return (SearchCallBlock if is_search else ServerToolBlock)(teller, fields)
    return _KINDS.get(kind, Block)(teller, fields)
