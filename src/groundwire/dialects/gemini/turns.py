"""The parts of a model's turn, read one by one: of an answer as it comes in, or of a turn sent back.

Pieces of text that follow each other are one part, and so are pieces of a thought, because a stream cuts them
anywhere. A signature belongs to the part it came with, on its last piece or on an empty piece after it, and
closes it: what follows is another part. The result of a search is told at the end of the turn, since
the server tool's own part names no pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini.parts import (
    NO_ID,
    decode_blob,
    decode_file,
    decode_search_call,
    decode_search_result,
    encode_arguments,
)
from groundwire.dialects.proto_json import NAME, many
from groundwire.model import (
    Event,
    ExtrasSeen,
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    TextDelta,
    ToolCallDelta,
)

SIGNATURE = "thoughtSignature"
_ODD = re.compile(r"[^A-Za-z0-9_-]+")


class TurnReader:
    """Takes wire parts, tells events."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.emit = emit
        self.name_call: Callable[[], str] = self._number_call
        self.response_id = ""
        self.text_parts: list[int] = []
        self.part_starts: list[int] = []
        """How much text stands before each wire part, in code points."""
        self.calls: list[SearchCall] = []
        self.results: list[tuple[int, SearchResult]] = []
        """What came back from server tools and is not told yet, with the part reserved for it."""
        self.called = 0
        self._words: list[str] = []
        self._length = 0
        self._parts = 0
        self._open: type[TextDelta | ReasoningDelta] | None = None
        self._open_part = 0

    @property
    def text(self) -> str:
        """All words so far; thoughts are none."""
        return "".join(self._words)

    def next_part(self) -> int:
        """A number for a new part; it ends the text before it."""
        self._open = None
        self._parts += 1
        return self._parts - 1

    def read(self, content: Fields) -> None:
        """The parts of a content."""
        parts = content.get("parts")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(words := _plain_words(parts[0]), str):
            self.part_starts.append(self._length)  # nearly every chunk of a stream is just this
            self._say(TextDelta, words)
            return
        for part in many(content, "parts"):
            self.part_starts.append(self._length)
            self._read_part(part)

    def _read_part(self, part: Fields) -> None:
        if part.raw.get("text") is not None:
            self._read_text(part)
            return
        for key, read in _KINDS.items():
            if part.has(key):
                read(self, part)
                return
        self._add_opaque(part)

    def _read_text(self, part: Fields) -> None:
        text = part.text("text")
        kind = ReasoningDelta if part.flag("thought") else TextDelta
        rest = _spelled(part.rest("text", "thought"))
        if not text and rest and kind is TextDelta and kind is not self._open:
            self._add_opaque(part)  # a signature that no text goes with
            return
        self._say(kind, text, rest)
        if SIGNATURE in rest:
            self._open = None

    def _say(self, kind: type[TextDelta | ReasoningDelta], text: str, rest: JsonObject | None = None) -> None:
        if not text and not rest:
            return
        if kind is not self._open:
            self._begin(kind)
        if rest:
            self.emit(ExtrasSeen(self._open_part, {NAME: rest}))
        self.emit(kind(self._open_part, text))
        if kind is TextDelta:
            self._words.append(text)
            self._length += len(text)

    def _begin(self, kind: type[TextDelta | ReasoningDelta]) -> None:
        self._open_part = self.next_part()
        self._open = kind
        if kind is TextDelta:
            self.text_parts.append(self._open_part)
        else:
            self.emit(ExtrasSeen(self._open_part, {NAME: {}}))

    def _read_call(self, part: Fields) -> None:
        call = part.obj("functionCall")
        number = self.next_part()
        name = call.text("name")
        call_id = call.text("id")
        extras = _spelled(part.rest("functionCall"))
        if not call_id:
            extras[NO_ID] = True
        if extras:
            self.emit(ExtrasSeen(number, {NAME: extras}))
        arguments = encode_arguments(call.obj("args").raw)
        self.emit(ToolCallDelta(number, call_id or self.name_call(), name, arguments))
        self.called += 1

    def _number_call(self) -> str:
        """An id for a call that has none: the same whenever this answer is read, another in each answer."""
        answer = _ODD.sub("", self.response_id)[:40]
        return f"call_{answer}_{self.called}" if answer else f"call_{self.called}"

    def _read_server_call(self, part: Fields) -> None:
        call = decode_search_call(part, len(self.calls))
        if call is None:
            self._add_opaque(part)
            return
        self.calls.append(call)
        self.emit(SearchCalled(self.next_part(), call))

    def _read_server_response(self, part: Fields) -> None:
        result = decode_search_result(part, self.calls[-1].id if self.calls else "search_0")
        if result is None:
            self._add_opaque(part)
            return
        number = self.next_part()
        self.emit(ExtrasSeen(number, result.extras))
        self.results.append((number, result))

    def _read_blob(self, part: Fields) -> None:
        self.emit(PartAdded(self.next_part(), decode_blob(part)))

    def _read_file(self, part: Fields) -> None:
        self.emit(PartAdded(self.next_part(), decode_file(part)))

    def _add_opaque(self, part: Fields) -> None:
        if part.rest():
            self.emit(PartAdded(self.next_part(), Opaque(NAME, part.raw)))


_KINDS: dict[str, Callable[[TurnReader, Fields], None]] = {
    "functionCall": TurnReader._read_call,
    "toolCall": TurnReader._read_server_call,
    "toolResponse": TurnReader._read_server_response,
    "inlineData": TurnReader._read_blob,
    "fileData": TurnReader._read_file,
}


def _plain_words(part: Json) -> Json:
    """The text of a part that has nothing else."""
    return part.get("text") if isinstance(part, dict) and len(part) == 1 else None


def _spelled(rest: JsonObject) -> JsonObject:
    """The same with the signature under the one name it is looked for."""
    if "thought_signature" in rest:
        rest = {**rest, SIGNATURE: rest["thought_signature"]}
        del rest["thought_signature"]
    return rest
