"""Streams: data-only server-sent events, or one JSON array told piece by piece.

There are no event names, no sentinel and, towards clients, no comments: Google's own clients take a comment
for broken JSON. Decoding leaves all sense to the reader of chunks. Encoding tells words as they come, calls
when their arguments are complete, and everything else in the last chunk.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply, StreamDecoder, StreamEncoder
from groundwire.dialects.extras import add_extension
from groundwire.dialects.gemini.errors import encode_error
from groundwire.dialects.gemini.losses import LOSSES
from groundwire.dialects.gemini.parts import VERBATIM, encode_call, encode_part, parse_object, show_part
from groundwire.dialects.gemini.reading import AnswerReader
from groundwire.dialects.gemini.response import (
    encode_ending,
    encode_head,
    encode_metadata,
)
from groundwire.dialects.gemini.usage import encode_usage
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.proto_json import NAME, extras_of, read_body
from groundwire.dialects.sse import Frame
from groundwire.errors import GroundwireError, UpstreamWireError, WireError
from groundwire.model import (
    Assembler,
    Event,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)


class Decoder(StreamDecoder):
    """Chunks in, events out; the end of the bytes is the end of the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._answer = AnswerReader(self.emit)

    def on_frame(self, frame: Frame) -> None:
        if frame.data in (b"", b"[DONE]"):  # Google sends no sentinel, some who speak like it do
            return
        try:
            body = load_json(frame.data, UpstreamWireError)
            for chunk in body if isinstance(body, list) else [body]:
                self._answer.read(read_body(chunk, UpstreamWireError))
        except WireError:
            self._answer.settle()
            raise

    def on_end(self) -> None:
        self._answer.end()


class Encoder(StreamEncoder):
    """Events in, chunks out."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._head = encode_head("", reply)
        self._words: list[str] = []
        self._calls: dict[int, list[ToolCallDelta]] = {}
        self._extras: dict[int, JsonObject] = {}
        self._spoken: dict[int, bool] = {}
        """Parts that have been told, and whether they are thoughts."""

    def ping(self) -> bytes:
        return b""

    def on_event(self, event: Event) -> None:
        self._assembler.feed(event)
        match event:
            case TextDelta(part, text):
                self._speak(part, text, thought=False)
            case ReasoningDelta(part, text):
                self._speak(part, text, thought=True)
            case ToolCallDelta(part):
                self._calls.setdefault(part, []).append(event)
            case ExtrasSeen(part, extras):
                self._note_extras(part, extras)
            case SearchCalled(part, whole) | SearchReturned(part, whole):
                self._show_server_part(part, whole.extras)
            case PartAdded(_, value):
                self._release_calls()
                self._send_part(encode_part(value))
            case Started(model=model):
                self._head = encode_head(model, self.reply)
            case Finished():
                self._finish()
            case Failed(error):
                self._fail(error)

    def _speak(self, part: int, text: str, *, thought: bool) -> None:
        extras = self._extras.pop(part, None)
        if not text and not extras:
            return
        if self._calls:
            self._release_calls()
        self._spoken[part] = thought
        if not thought:
            self._words.append(text)
        piece: JsonObject = {"text": text, "thought": True} if thought else {"text": text}
        if extras:
            self._send_part({**piece, **extras})
        else:
            self._send_shown(piece)

    def _note_extras(self, part: int, extras: Extras) -> None:
        """A signature goes with its part; where the words are out already, with an empty piece after them."""
        own = extras.get(NAME)
        if not own:
            return
        if VERBATIM in own:
            self._show_server_part(part, extras)
            return
        self._extras[part] = {**self._extras.get(part, {}), **own}
        if part in self._spoken:
            self._speak(part, "", thought=self._spoken[part])

    def _show_server_part(self, part: int, extras: Extras) -> None:
        whole = extras.get(NAME, {}).get(VERBATIM)
        if isinstance(whole, dict) and part not in self._spoken:
            self._spoken[part] = False
            self._send_part(whole)

    def _release_calls(self, *, all_of_them: bool = False) -> None:
        """Send calls whose arguments are complete; a client must never be told half a call."""
        for part, deltas in list(self._calls.items()):
            call = ToolCall(
                next((delta.id for delta in reversed(deltas) if delta.id), ""),
                next((delta.name for delta in reversed(deltas) if delta.name), ""),
                "".join(delta.arguments for delta in deltas),
                extras_of(self._extras.get(part, {})),
            )
            if all_of_them or (call.name and parse_object(call.arguments) is not None):
                del self._calls[part]
                self._send_part(encode_call(call))

    def _send_part(self, part: JsonObject | None) -> None:
        shown = show_part(part) if part is not None else None
        if shown is not None:
            self._send_shown(shown)

    def _send_shown(self, part: JsonObject) -> None:
        candidate: JsonObject = {"content": {"parts": [part], "role": "model"}, "index": 0}
        self.send("", {"candidates": [candidate], **self._head})

    def _finish(self) -> None:
        self._release_calls(all_of_them=True)
        answer = self._assembler.answer()
        # Some readers pass over grounding in a chunk without content.
        self.send("", encode_ending(answer, "".join(self._words), [{"text": ""}], self.reply))

    def _fail(self, error: GroundwireError) -> None:
        self._release_calls()
        answer = self._assembler.answer()
        if metadata := encode_metadata(answer, "".join(self._words)):
            usage = encode_usage(answer.usage)
            self.send("", {"candidates": [{**metadata, "index": 0}], "usageMetadata": usage, **self._head})
        # Official clients know an error by its first key.
        self.send("", add_extension(encode_error(error, self.reply).body, answer, LOSSES))


class JsonArrayEncoder(Encoder):
    """The same chunks as the elements of one JSON array: the stream of who calls without `alt=sse`."""

    content_type = "application/json"

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._separator = "["

    def ping(self) -> bytes:
        return b" "  # blanks between values are JSON

    def on_event(self, event: Event) -> None:
        super().on_event(event)
        if self._ended:
            self.send_raw(b"\r\n]")

    def send(self, _name: str, payload: JsonObject) -> None:
        self.send_raw(f"{self._separator}{dump_json(payload)}".encode("utf-8", "replace"))
        self._separator = "\r\n,\r\n"
