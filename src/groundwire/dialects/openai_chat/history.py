"""Messages of the conversation.

System messages at the head become the system prompt; `developer` messages and later system messages stay
where they are. Results of functions are messages of their own here and parts of a user message in the
model: neighbouring ones are one turn. An assistant's annotations become its citations and are given back as
annotations; citations of other dialects become words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.openai_chat.calls import (
    CallTold,
    decode_call,
    decode_legacy_call,
    encode_call,
    encode_legacy_call,
    is_legacy,
)
from groundwire.dialects.openai_chat.citations import Told, resolve
from groundwire.dialects.openai_chat.layout import Layout
from groundwire.dialects.openai_chat.parts import (
    NAME,
    decode_content,
    decode_image,
    encode_content,
    encode_image,
    marked,
    own,
)
from groundwire.dialects.openai_chat.reasoning import (
    DETAILS,
    FIELDS,
    decode_reasoning,
    encode_reasoning,
    verbatim_reasoning,
)
from groundwire.model import (
    Citation,
    Cited,
    Evidence,
    Extras,
    Image,
    Json,
    JsonObject,
    Message,
    Opaque,
    Part,
    Reasoning,
    Span,
    Text,
    ToolCall,
    ToolResult,
)
from groundwire.model.extras import merge_extras
from groundwire.model.request import Role
from groundwire.model.source import Anchor

_ROLES: dict[str, Role] = {"user": "user", "system": "system", "developer": "developer"}
_SPOKEN = (
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "images",
    DETAILS,
    *FIELDS,
)
_ANSWERED = ("role", "content", "tool_call_id", "name")


def decode_messages(body: Fields) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    """The system prompt and the turns."""
    history = _History()
    for message in body.objs("messages"):
        history.add(message)
    if not history.system and not history.turns:
        raise body.fault("expected at least one message", "messages")
    return tuple(history.system), tuple(history.turns)


class _History:
    """Collects turns; knows the calls that results without an id answer."""

    def __init__(self) -> None:
        self.system: list[Text] = []
        self.turns: list[Message] = []
        self._calls = 0
        self._unanswered: dict[str, str] = {}

    def add(self, message: Fields) -> None:
        role = message.text("role")
        if role == "assistant":
            self.turns.append(self._decode_assistant(message))
        elif role in ("tool", "function"):
            self._add_result(self._decode_result(message, legacy=role == "function"))
        elif role in _ROLES:
            self._add_said(_ROLES[role], decode_content(message), message.rest("role", "content"))
        else:
            raise message.fault(f"unknown role {role!r}", "role")

    def _add_said(self, role: Role, parts: tuple[Text | Image | Opaque, ...], verbatim: JsonObject) -> None:
        words = [part for part in parts if isinstance(part, Text)]
        if role == "system" and not self.turns and not verbatim and len(words) == len(parts):
            self.system += words
        else:
            self.turns.append(Message(role, parts, extras=marked(verbatim)))

    def _add_result(self, result: ToolResult) -> None:
        last = self.turns[-1] if self.turns else None
        if last and last.role == "user" and all(isinstance(part, ToolResult) for part in last.parts):
            self.turns[-1] = Message("user", (*last.parts, result))
        else:
            self.turns.append(Message("user", (result,)))

    def _decode_result(self, message: Fields, *, legacy: bool) -> ToolResult:
        content = decode_content(message)
        name = message.text("name")
        verbatim = message.rest(*_ANSWERED)
        call_id = message.text("tool_call_id")
        if legacy:
            verbatim["type"] = "function"
            call_id = self._unanswered.pop(name, f"call_{name}")
        plain = all(isinstance(part, Text) for part in content)
        extras: Extras = marked(verbatim) if plain else {NAME: verbatim}
        return ToolResult(call_id, content, name, extras=extras)

    def _decode_assistant(self, message: Fields) -> Message:
        told = Told()
        if message.has("annotations"):
            told.annotate(message)
        words = decode_content(message)
        refusal = message.text("refusal")
        parts: tuple[Part, ...] = (
            *_decode_thoughts(message),
            *_with_others(words, told.others),
            *((Text(refusal, "refusal"),) if refusal else ()),
            *(decode_image(image) for image in message.objs("images")),
            *self._decode_calls(message),
        )
        text = "".join(part.text for part in words if isinstance(part, Text))
        citations = [
            event.citation for event in resolve(text, told, lambda at: at) if isinstance(event, Cited)
        ]
        return Message("assistant", parts, _grouped(citations), marked(message.rest(*_SPOKEN)))

    def _decode_calls(self, message: Fields) -> Iterator[ToolCall]:
        for call in message.objs("tool_calls"):
            yield self._number(decode_call(call))
        if message.has("function_call"):
            call_told = self._number(decode_legacy_call(message.obj("function_call")))
            self._unanswered[call_told.name] = call_told.id
            yield call_told

    def _number(self, told: CallTold) -> ToolCall:
        self._calls += 1
        call_id = told.id or f"call_{self._calls}"
        return ToolCall(call_id, told.name, told.arguments or "{}", marked(told.verbatim))


def _decode_thoughts(message: Fields) -> Iterator[Reasoning]:
    text, field = decode_reasoning(message)
    details = message.items(DETAILS)
    if text or details:
        yield Reasoning(text, verbatim_reasoning(field, details))


def _with_others(parts: tuple[Text | Image | Opaque, ...], others: list[Json]) -> Iterator[Part]:
    """Annotations of other types stay with the first text."""
    for part in parts:
        if others and isinstance(part, Text):
            yield Text(part.text, part.phase, merge_extras(part.extras, {NAME: {"annotations": others}}))
            others = []
        else:
            yield part


def _grouped(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """One citation for each span, as in an answer."""
    grouped: dict[tuple[Span | None, Anchor], list[Evidence]] = {}
    for citation in citations:
        grouped.setdefault((citation.span, citation.anchor), []).extend(citation.evidence)
    return tuple(Citation(span, tuple(evidence), anchor) for (span, anchor), evidence in grouped.items())


def encode_messages(system: tuple[Text, ...], turns: Iterable[Message]) -> tuple[list[Json], tuple[str, ...]]:
    """The wire messages, and the names of what had to be left out."""
    body: list[Json] = []
    unsupported: dict[str, None] = {}
    if system:
        body.append({"role": "system", "content": encode_content(system)})
    for message in turns:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            unsupported["opaque_parts"] = None
        if message.role == "assistant":
            body.append(_encode_assistant(message))
            if any(isinstance(part, Image) and NAME not in part.extras for part in message.parts):
                unsupported["images"] = None
        else:
            body += _encode_said(message)
    return body, tuple(unsupported)


def _encode_said(message: Message) -> Iterator[JsonObject]:
    """Results first: they must follow the calls they answer. Then what was said besides."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        yield _encode_result(result)
    seen = [image for result in results for image in _pictures(result)]
    parts = [
        part
        for part in message.parts
        if isinstance(part, Text | Image) or (isinstance(part, Opaque) and part.dialect == NAME)
    ]
    if seen or parts or not (results or message.parts):
        yield {**own(message.extras), "role": message.role, "content": encode_content([*seen, *parts])}


def _encode_result(result: ToolResult) -> JsonObject:
    verbatim = dict(own(result.extras))
    legacy = verbatim.pop("type", None) == "function"
    pictures = _pictures(result)
    parts = [
        part
        for part in result.content
        if part not in pictures and not (isinstance(part, Opaque) and part.dialect != NAME)
    ]
    content = encode_content(parts)
    if result.is_error and isinstance(content, str):
        content = f"Error: {content}"  # chat has no flag for it
    if legacy:
        return {**verbatim, "role": "function", "name": result.name, "content": content}
    body: JsonObject = {**verbatim, "role": "tool", "tool_call_id": result.call_id, "content": content}
    return {**body, "name": result.name} if result.name else body


def _pictures(result: ToolResult) -> list[Image]:
    """OpenAI takes no pictures in results: unless they came so, they go into the user message after them."""
    if NAME in result.extras:
        return []
    return [part for part in result.content if isinstance(part, Image)]


def _encode_assistant(message: Message) -> JsonObject:
    native = is_native(message, NAME)
    parts = message.parts if native else readable_parts(message, NAME)
    refusal = "".join(part.text for part in parts if isinstance(part, Text) and part.phase == "refusal")
    calls = [part for part in parts if isinstance(part, ToolCall)]
    body: JsonObject = {**own(message.extras), "role": "assistant", "content": _encode_words(parts)}
    if refusal:
        body["refusal"] = refusal
    if body["content"] == "" and (calls or refusal):
        body["content"] = None
    body |= encode_reasoning(part for part in parts if NAME in getattr(part, "extras", {}))
    annotations = Layout.of(parts).annotations(parts, message.citations if native else ())
    if annotations:
        body["annotations"] = annotations
    images: list[Json] = [encode_image(p) for p in parts if isinstance(p, Image) and NAME in p.extras]
    if images:
        body["images"] = images
    return body | _encode_calls(calls)


def _encode_words(parts: Iterable[Part]) -> Json:
    """One string, unless a part has something of its own to say: lists are not read everywhere."""
    said: list[Text | Image | Opaque] = []
    for part in parts:
        if isinstance(part, Text) and part.phase != "refusal":
            verbatim = {key: value for key, value in own(part.extras).items() if key != "annotations"}
            said.append(Text(part.text, "", marked(verbatim)))
        elif isinstance(part, Opaque) and part.dialect == NAME:
            said.append(part)
    if all(isinstance(part, Text) and not part.extras for part in said):
        return "".join(part.text for part in said if isinstance(part, Text))
    return encode_content(said)


def _encode_calls(calls: list[ToolCall]) -> JsonObject:
    modern: list[Json] = [encode_call(call) for call in calls if not is_legacy(call)]
    body: JsonObject = {"tool_calls": modern} if modern else {}
    for call in calls:
        if is_legacy(call):
            body["function_call"] = encode_legacy_call(call)
    return body
