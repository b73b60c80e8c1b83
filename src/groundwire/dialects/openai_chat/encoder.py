"""Encodes events as a stream of chunks.

Order: the role, the content as it arrives, one last delta with all annotations and the `finish_reason`, as
OpenAI does, the usage if requested, and `[DONE]`. Reasoning is sent as `reasoning_content`, which most
clients read. Nothing follows an error, not even `[DONE]`.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.errors import encode_error_object
from groundwire.dialects.openai_chat.history import (
    REASONING_DETAILS,
    ContentLayout,
    encode_image,
    encode_reasoning,
)
from groundwire.dialects.openai_chat.response import add_found_pages, encode_finish_fields
from groundwire.dialects.openai_chat.search import NAME, as_extras, own_extras
from groundwire.dialects.openai_chat.tools import (
    encode_call,
    encode_call_delta,
    encode_legacy_call,
    expects_legacy,
)
from groundwire.dialects.openai_chat.usage import encode_usage
from groundwire.errors import GroundwireError
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    JsonObject,
    PartAdded,
    ReasoningDelta,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)

_UNFINISHED: JsonObject = {"finish_reason": None}


class Encoder(StreamEncoder):
    """Encodes events as a stream of `chat.completion.chunk`s."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._assembler = Assembler()
        self._layout = ContentLayout()
        self._refusals: set[int] = set()
        self._call_indexes: dict[int, int] = {}
        self._call_extras: dict[int, JsonObject] = {}
        self._legacy = expects_legacy(reply.request)
        self._model = reply.model
        self._opened = False
        self._text_head = self._text_tail = b""

    def on_event(self, event: Event) -> None:
        """Encode one event."""
        self._assembler.feed(event)
        match event:
            case TextDelta():
                self._send_text(event)
            case ReasoningDelta(text=text) if text:
                self._send_delta({"reasoning_content": text})
            case ToolCallDelta():
                self._send_call(event)
            case PartAdded(value=Image() as image):
                self._send_delta({"images": [encode_image(image)]})
            case ExtrasSeen(part, extras) if NAME in extras:
                self._store_call_fields(part, extras[NAME])
            case Started():
                self._model = self._model or event.model
                self._open()
            case Finished():
                self._finish()
            case Failed(error):
                self._fail(error)

    def _send_text(self, event: TextDelta) -> None:
        if event.phase == "refusal":
            self._refusals.add(event.part)
        is_refusal = event.part in self._refusals
        self._layout.add(event.part, len(event.text), shown=not is_refusal)
        if is_refusal:
            self._send_delta({"refusal": event.text})
        elif event.text:
            self._open()
            self.send_text(self._text_head, event.text, self._text_tail)

    def _store_call_fields(self, part: int, verbatim: JsonObject) -> None:
        """Store verbatim fields of a call for its first delta; send them now if that is already out."""
        self._call_extras[part] = {**self._call_extras.get(part, {}), **verbatim}
        fields = {key: value for key, value in verbatim.items() if key != "type"}
        if fields and part in self._call_indexes and not self._legacy:
            empty_delta = encode_call_delta(ToolCall("", "", "", as_extras(self._call_extras[part])))
            self._send_delta({"tool_calls": [{"index": self._call_indexes[part], **fields, **empty_delta}]})

    def _send_call(self, event: ToolCallDelta) -> None:
        is_new = event.part not in self._call_indexes
        index = self._call_indexes.setdefault(event.part, len(self._call_indexes))
        call_id = event.id or f"call_{self.reply.id}_{index}"
        call = ToolCall(
            call_id, event.name, event.arguments, as_extras(self._call_extras.get(event.part, {}))
        )
        if self._legacy:
            if index == 0:
                function_call = encode_legacy_call(call)
                self._send_delta(
                    {"function_call": function_call if is_new else {"arguments": event.arguments}}
                )
        else:
            self._send_delta(
                {"tool_calls": [{"index": index, **(encode_call if is_new else encode_call_delta)(call)}]}
            )

    def _finish(self) -> None:
        self._open()
        answer = self._assembler.answer()
        chunk = self._chunk(self._last_delta(answer), encode_finish_fields(answer, legacy=self._legacy))
        self.send("", add_found_pages(chunk, answer))
        if answer.usage != Usage() and self._wants_usage():
            self.send("", {**self._chunk_header(), "choices": [], "usage": encode_usage(answer.usage)})
        self.send_raw(b"data: [DONE]\n\n")

    def _fail(self, error: GroundwireError) -> None:
        """Send the citations so far, if any, then the error."""
        answer = self._assembler.answer()
        chunk = add_found_pages(self._chunk(self._last_delta(answer), _UNFINISHED), answer)
        if answer.citations or chunk.keys() - self._chunk_header().keys() - {"choices"}:
            self._open()
            self.send("", chunk)
        self.send("", {"error": encode_error_object(error)})

    def _last_delta(self, answer: Answer) -> JsonObject:
        delta: JsonObject = {"annotations": self._layout.annotations(answer.parts, answer.citations)}
        details = encode_reasoning(answer.parts).get(REASONING_DETAILS)
        return {**delta, REASONING_DETAILS: details} if details else delta

    def _wants_usage(self) -> bool:
        """Whether to send the usage: callers of this dialect request it explicitly, others always get it."""
        extras = self.reply.request.extras
        if NAME not in extras:
            return True
        return as_object(own_extras(extras).get("stream_options")).get("include_usage") is True

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            # Most chunks are text: the JSON around the text is encoded once.
            before, _, after = dump_json(self._chunk({"content": 0}, _UNFINISHED)).rpartition('"content":0')
            self._text_head = f'data: {before}"content":'.encode()
            self._text_tail = f"{after}\n\n".encode()
            self._send_delta({"role": "assistant", "content": "", "refusal": None})

    def _send_delta(self, delta: JsonObject) -> None:
        self._open()
        self.send("", self._chunk(delta, _UNFINISHED))

    def _chunk(self, delta: JsonObject, finish: JsonObject) -> JsonObject:
        return {**self._chunk_header(), "choices": [{"index": 0, "delta": delta, **finish}]}

    def _chunk_header(self) -> JsonObject:
        return {
            "id": f"chatcmpl-{self.reply.id}",
            "object": "chat.completion.chunk",
            "created": self.reply.created,
            "model": self._model,
        }
