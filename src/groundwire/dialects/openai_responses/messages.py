"""The conversation: `input` items and messages.

An input is a string or a list of items. What the assistant said in one turn is a row of items (reasoning,
searches, calls, messages) and becomes one message; results of functions in a row become one message of the
user's. Items and content parts nobody knows are carried whole: an item as it stands, a content part under the
key `content_part`, so that each goes back to where it was. Text of the past is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.openai_responses.citations import Annotation, decode_annotation, place
from groundwire.dialects.openai_responses.output import replay_items
from groundwire.dialects.openai_responses.parts import (
    decode_call,
    decode_search,
    message_extras,
    part_extras,
    reasoning_extras,
    reasoning_texts,
)
from groundwire.dialects.openai_responses.server_tools import ToolUse
from groundwire.dialects.openai_responses.wire import NAME, PHASES, native
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Evidence,
    Extras,
    Image,
    Json,
    JsonObject,
    Message,
    Opaque,
    Part,
    Reasoning,
    SearchCall,
    Span,
    Text,
    ToolResult,
)
from groundwire.model.extras import merge_extras
from groundwire.model.parts import Phase
from groundwire.model.request import Role
from groundwire.model.source import MAX_EVIDENCE
from groundwire.model.value import replace
from groundwire.text.spans import LinkLocator

_ROLES: dict[str, Role] = {"user": "user", "system": "system", "developer": "developer"}
_TEXTS = frozenset({"input_text", "output_text", "text"})
_Content: TypeAlias = Text | Image | Opaque


def decode_input(body: Fields) -> tuple[Message, ...]:
    """The messages of an `input`."""
    said = body.get("input")
    if isinstance(said, str):
        return (Message("user", (Text(said),)),)
    reader = _InputReader()
    for item in body.objs("input"):
        reader.take(item)
    return reader.messages()


class _Turn:
    """A message of several items while it is put together."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.parts: list[Part] = []
        self.citations: list[Citation] = []
        self.length = 0

    def cite(self, citations: Iterable[Citation]) -> None:
        self.citations += islice(citations, MAX_EVIDENCE - len(self.citations))

    def message(self) -> Message:
        return Message(self.role, tuple(self.parts), tuple(self.citations))


class _InputReader:
    """Takes items one by one and puts those of one turn together."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._turn: _Turn | None = None
        self._functions: dict[str, str] = {}
        self._tools = ToolUse()
        self._searches = 0

    def take(self, item: Fields) -> None:
        """One item."""
        kind = item.text("type") or ("message" if item.has("role") else "item_reference")
        role = item.text("role")
        if kind == "message" and role in _ROLES:
            self._end()
            rest = item.rest("type", "role", "content")
            extras: Extras = {NAME: rest} if rest else NO_EXTRAS
            self._messages.append(Message(_ROLES[role], tuple(decode_content(item)), extras=extras))
        elif kind == "message" and role == "assistant":
            self._say(item)
        elif kind == "function_call_output":
            self._on("user").parts.append(self._result(item))
        elif self._tools.is_search(item):
            self._search(item)
        elif kind == "reasoning":
            text = "\n\n".join(text for _, _, text in reasoning_texts(item) if text)
            self._on("assistant").parts.append(Reasoning(text, reasoning_extras(item)))
        elif kind == "function_call":
            call = decode_call(item)
            self._functions[call.id] = call.name
            self._on("assistant").parts.append(call)
        else:
            self._keep(item, kind)

    def messages(self) -> tuple[Message, ...]:
        """All that was taken."""
        self._end()
        return tuple(self._messages)

    def _on(self, role: Role) -> _Turn:
        if self._turn is None or self._turn.role != role:
            self._end()
            self._turn = _Turn(role)
        return self._turn

    def _end(self) -> None:
        if self._turn is not None:
            self._messages.append(self._turn.message())
            self._turn = None

    def _say(self, item: Fields) -> None:
        turn = self._on("assistant")
        phase = PHASES.get(item.text("phase"), "")
        beside = message_extras(item)
        if isinstance(item.get("content"), str):
            turn.parts.append(Text(item.text("content"), phase, beside))
            turn.length += len(item.text("content"))
            return
        for part in item.objs("content"):
            if part.text("type") in _TEXTS or part.text("type") == "refusal":
                self._say_text(turn, part, phase, beside)
            else:
                whole: JsonObject = {"type": "message", "role": "assistant", "content": [part.raw]}
                turn.parts.append(Opaque(NAME, whole))

    def _say_text(self, turn: _Turn, part: Fields, phase: Phase, beside: Extras) -> None:
        is_refusal = part.text("type") == "refusal"
        text = part.text("refusal" if is_refusal else "text")
        others: list[Json] = []
        links = LinkLocator(text)
        for fields in part.objs("annotations"):
            annotation = decode_annotation(fields)
            if annotation is None:
                others.append(fields.raw)
            else:
                turn.cite(_history(annotation, text, turn.length, links))
        extras = merge_extras(beside, part_extras(part, others))
        turn.parts.append(Text(text, "refusal" if is_refusal else phase, extras))
        turn.length += len(text)

    def _search(self, item: Fields) -> None:
        turn = self._on("assistant")
        call, result = decode_search(item, item.text("id") or f"search_{self._searches}")
        self._searches += 1
        turn.parts += [part for part in (call, result) if part is not None]

    def _result(self, item: Fields) -> ToolResult:
        call_id = item.text("call_id")
        content: tuple[_Content, ...]
        if isinstance(item.get("output"), str):
            content = (Text(item.text("output")),)
        else:
            content = tuple(_decode_part(part) for part in item.objs("output"))
        rest = item.rest("type", "call_id", "output")
        extras: Extras = {NAME: rest} if rest else NO_EXTRAS
        return ToolResult(call_id, content, self._functions.get(call_id, ""), extras=extras)

    def _keep(self, item: Fields, kind: str) -> None:
        """An item of this dialect's alone, on the side it came from."""
        role = _ROLES.get(item.text("role"))
        if role is None:
            role = "user" if kind.endswith(("_output", "_response")) else "assistant"
        self._on(role).parts.append(Opaque(NAME, {**item.raw, "type": kind}))


def decode_content(item: Fields) -> Iterator[_Content]:
    """The content of a message that is not the assistant's."""
    if isinstance(item.get("content"), str):
        yield Text(item.text("content"))
    else:
        yield from (_decode_part(part) for part in item.objs("content"))


def _decode_part(part: Fields) -> _Content:
    kind = part.text("type")
    if kind in _TEXTS:
        rest = part.rest("type", "text")
        return Text(part.text("text"), extras={NAME: rest} if rest else NO_EXTRAS)
    if kind == "input_image" and part.has("image_url"):
        return _decode_image(part)
    return Opaque(NAME, {"content_part": part.raw})


def _decode_image(part: Fields) -> Image:
    url = part.text("image_url")
    rest = part.rest("type", "image_url")
    extras: Extras = {NAME: rest} if rest else NO_EXTRAS
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Image(head.removeprefix("data:").removesuffix(";base64"), data, extras=extras)
    return Image(url=url, extras=extras)


def _history(annotation: Annotation, text: str, start: int, links: LinkLocator) -> Iterator[Citation]:
    """The citations of an earlier turn, each with the offsets to give back where they are not its span's."""
    for citation in place(annotation, text, lambda offset: offset, links):
        span = citation.span
        if span == (annotation.start, annotation.end):
            evidence = annotation.evidence
        else:
            offsets: JsonObject = {"start_index": annotation.start, "end_index": annotation.end}
            evidence = _with_offsets(annotation.evidence, offsets)
        moved = None if span is None else Span(start + span.start, start + span.end)
        yield Citation(moved, (evidence,), citation.anchor)


def _with_offsets(evidence: Evidence, offsets: JsonObject) -> Evidence:
    return replace(evidence, extras=merge_extras(evidence.extras, {NAME: offsets}))


def encode_input(messages: tuple[Message, ...], unsaid: set[str]) -> list[Json]:
    """The items of an `input`; what has no words here is named in `unsaid`."""
    items: list[Json] = []
    for message in messages:
        native_form = is_native(message, NAME) and not any(map(_is_output_only, message.parts))
        parts = message.parts if native_form else readable_parts(message, NAME)
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in _all_parts(message)):
            unsaid.add("opaque_parts")
        if message.role == "assistant":
            citations = message.citations if parts is message.parts else ()
            if any(isinstance(part, Image) and NAME not in part.extras for part in parts):
                unsaid.add("images")
            items += replay_items(parts, citations)
        else:
            items += _encode_others(message, parts, unsaid)
    return items


def _is_output_only(part: Part) -> bool:
    """Is it an item that is no input here? Perplexity's results and Mistral's executions are not."""
    if not isinstance(part, SearchCall):
        return False
    return str(native(part.extras).get("type")).endswith(("_results", "tool.execution"))


def _all_parts(message: Message) -> Iterator[Part]:
    for part in message.parts:
        yield part
        if isinstance(part, ToolResult):
            yield from part.content


def _encode_others(message: Message, parts: tuple[Part, ...], unsaid: set[str]) -> Iterator[JsonObject]:
    """Messages of the user's and the system's: results of functions are items between them."""
    content: list[Json] = []
    for part in parts:
        item = _encode_standing(part, unsaid)
        if item is None:
            content += _encode_part(part)
            continue
        if content:
            yield _encode_message(message, content)
            content = []
        yield item
    if content:
        yield _encode_message(message, content)


def _encode_message(message: Message, content: list[Json]) -> JsonObject:
    return {"type": "message", "role": message.role, "content": content, **native(message.extras)}


def _encode_standing(part: Part, unsaid: set[str]) -> JsonObject | None:
    """A part that is an item of its own."""
    if isinstance(part, ToolResult):
        if part.is_error:
            unsaid.add("is_error")
        return {
            "type": "function_call_output",
            "call_id": part.call_id,
            "output": _encode_result(part),
            **native(part.extras),
        }
    if isinstance(part, Opaque) and part.dialect == NAME and "content_part" not in part.data:
        return part.data
    return None


def _encode_result(result: ToolResult) -> Json:
    """What a function gave back: a string, if there is nothing but one text."""
    match result.content:
        case ():
            return ""
        case (Text(text, _, extras),) if not native(extras):
            return text
    return [item for part in result.content for item in _encode_part(part)]


def _encode_part(part: Part) -> list[Json]:
    match part:
        case Text(text, _, extras):
            return [{"type": "input_text", "text": text, **native(extras)}] if text else []
        case Image():
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            return [{"type": "input_image", "image_url": url, "detail": "auto", **native(part.extras)}]
        case Opaque() if part.dialect == NAME:
            return [part.data["content_part"]] if "content_part" in part.data else []
        case _:
            return []
