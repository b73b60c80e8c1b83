"""Decodes and encodes the conversation: `input` items, messages, content parts and annotations.

An input is a string or a list of items. All items of one assistant turn (reasoning, searches, calls,
messages) become one message; consecutive function results become one user message. Unknown items and content
parts are kept verbatim: an item as it is, a content part under the key `content_part`, so that each is
written back where it was. Text of earlier turns is not changed.

A `url_citation` counts code points of its own content part, end exclusive, and its span is the Markdown link.
Its offsets are accepted if the text confirms them. Without offsets (xAI), or with 0 to 0 (OpenRouter's
engines), it applies to the links to its URL, or to the whole answer.

Annotations are written in the same format; `content` is the quoted passage, as in OpenRouter. The field
`groundwire` marks a span that is not a link to its source, a citation without a span, and the slices of one
that covers several parts, so that a reader does not look for a link. Neither field is sent to a provider.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple, TypeAlias

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.openai_responses.search import (
    NAME,
    as_extras,
    decode_search_item,
    encode_history_search,
    own_extras,
    own_id,
)
from groundwire.dialects.openai_responses.tools import ServerToolUse, decode_call, encode_call
from groundwire.model import (
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
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    ToolResult,
)
from groundwire.model.extras import merge_extras
from groundwire.model.parts import Phase
from groundwire.model.request import Role
from groundwire.model.source import MAX_EVIDENCE, Anchor
from groundwire.model.value import replace, value
from groundwire.text.links import TextLink, find_markdown_links
from groundwire.text.spans import LinkLocator, anchor_at, anchor_kind, is_link, is_link_at
from groundwire.text.urls import domain_of, safe_url

MAX_EXTRA_SLICES = 2_000
"""Limit for the slices of citations beyond their first one.

A citation over several parts has a slice in each, so thousands of them in thousands of parts would grow
quadratically.
"""

PHASES: dict[str, Phase] = {"commentary": "commentary", "final_answer": "final_answer"}
_ROLES: dict[str, Role] = {"user": "user", "system": "system", "developer": "developer"}
_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_Content: TypeAlias = Text | Image | Opaque
ItemRun: TypeAlias = "list[Text] | Part"
_TEXT_FIELDS = ("type", "text", "refusal", "annotations", "logprobs")
_MESSAGE_FIELDS = ("id", "status", "type", "role", "content", "phase")
_NON_TEXT_EXTRAS = ("id", "status", "item", "annotations", "logprobs")
_ANNOTATION_FIELDS = ("type", "start_index", "end_index", "url", "title", "content")
_FILE_OFFSETS: dict[str, tuple[str, str]] = {
    "file_citation": ("index", "index"),
    "container_file_citation": ("start_index", "end_index"),
}
"""Citations of files, which have names and no URL, and the fields of their offsets.

OpenAI's reference calls `index` the index of the file in a list; recorded answers have the offset at which
the claim ends. `file_path` is not a citation: it names a file that the answer offers.
"""
_KEY_FIELDS = (*_ANNOTATION_FIELDS, "index", "file_id", "filename")
_ANCHORS: dict[str, Anchor] = {"claim": "claim", "marker": "marker"}
_WHOLE_ANSWER = "answer"
_NUMBER_MARKER = re.compile(r"\[(?:web:)?(\d{1,4})\](?!\()")
"""`[1]` or `[web:1]`, but not the label of a link."""

_NOT_A_TITLE = re.compile(r"[\[\]\d\s]*")


AnnotationKey: TypeAlias = "tuple[int, int, str, str, str, Span | None]"


def decode_input(body: Fields) -> tuple[Message, ...]:
    """Decode an `input` into messages."""
    content = body.get("input")
    if isinstance(content, str):
        return (Message("user", (Text(content),)),)
    reader = _InputReader()
    for item in body.objs("input"):
        reader.add_item(item)
    return reader.messages()


class _TurnBuilder:
    """Builds a message from several items."""

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
    """Reads items one by one and groups those of one turn."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._turn: _TurnBuilder | None = None
        self._functions: dict[str, str] = {}
        self._tools = ServerToolUse()
        self._searches = 0

    def add_item(self, item: Fields) -> None:
        """Add one item."""
        kind = item.text("type") or ("message" if item.has("role") else "item_reference")
        role = item.text("role")
        if kind == "message" and role in _ROLES:
            self._end_turn()
            rest = item.rest("type", "role", "content")
            extras = as_extras(rest)
            self._messages.append(Message(_ROLES[role], tuple(decode_content(item)), extras=extras))
        elif kind == "message" and role == "assistant":
            self._add_assistant_message(item)
        elif kind == "function_call_output":
            self._turn_of("user").parts.append(self._decode_result(item))
        elif self._tools.is_search(item):
            self._add_search(item)
        elif kind == "reasoning":
            text = "\n\n".join(text for _, _, text in reasoning_texts(item) if text)
            self._turn_of("assistant").parts.append(Reasoning(text, reasoning_extras(item)))
        elif kind == "function_call":
            call = decode_call(item)
            self._functions[call.id] = call.name
            self._turn_of("assistant").parts.append(call)
        else:
            self._keep_item(item, kind)

    def messages(self) -> tuple[Message, ...]:
        """All messages read."""
        self._end_turn()
        return tuple(self._messages)

    def _turn_of(self, role: Role) -> _TurnBuilder:
        if self._turn is None or self._turn.role != role:
            self._end_turn()
            self._turn = _TurnBuilder(role)
        return self._turn

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._messages.append(self._turn.message())
            self._turn = None

    def _add_assistant_message(self, item: Fields) -> None:
        turn = self._turn_of("assistant")
        phase = PHASES.get(item.text("phase"), "")
        extras = message_extras(item)
        if isinstance(item.get("content"), str):
            turn.parts.append(Text(item.text("content"), phase, extras))
            turn.length += len(item.text("content"))
            return
        for part in item.objs("content"):
            if part.text("type") in _TEXT_TYPES or part.text("type") == "refusal":
                self._add_text(turn, part, phase, extras)
            else:
                message: JsonObject = {"type": "message", "role": "assistant", "content": [part.raw]}
                turn.parts.append(Opaque(NAME, message))

    def _add_text(self, turn: _TurnBuilder, part: Fields, phase: Phase, item_extras: Extras) -> None:
        is_refusal = part.text("type") == "refusal"
        text = part.text("refusal" if is_refusal else "text")
        other_annotations: list[Json] = []
        links = LinkLocator(text)
        for fields in part.objs("annotations"):
            annotation = decode_annotation(fields)
            if annotation is None:
                other_annotations.append(fields.raw)
            else:
                turn.cite(_history_citations(annotation, text, turn.length, links))
        extras = merge_extras(item_extras, text_extras(part, other_annotations))
        turn.parts.append(Text(text, "refusal" if is_refusal else phase, extras))
        turn.length += len(text)

    def _add_search(self, item: Fields) -> None:
        turn = self._turn_of("assistant")
        call, result = decode_search_item(item, item.text("id") or f"search_{self._searches}")
        self._searches += 1
        turn.parts += [part for part in (call, result) if part is not None]

    def _decode_result(self, item: Fields) -> ToolResult:
        call_id = item.text("call_id")
        content: tuple[_Content, ...]
        if isinstance(item.get("output"), str):
            content = (Text(item.text("output")),)
        else:
            content = tuple(_decode_content_part(part) for part in item.objs("output"))
        rest = item.rest("type", "call_id", "output")
        extras = as_extras(rest)
        return ToolResult(call_id, content, self._functions.get(call_id, ""), extras=extras)

    def _keep_item(self, item: Fields, kind: str) -> None:
        """Keep an unknown item verbatim, in a message of the role it belongs to."""
        role = _ROLES.get(item.text("role"))
        if role is None:
            role = "user" if kind.endswith(("_output", "_response")) else "assistant"
        self._turn_of(role).parts.append(Opaque(NAME, {**item.raw, "type": kind}))


def decode_content(item: Fields) -> Iterator[_Content]:
    """Decode the content of a message that is not the assistant's."""
    if isinstance(item.get("content"), str):
        yield Text(item.text("content"))
    else:
        yield from (_decode_content_part(part) for part in item.objs("content"))


def _decode_content_part(part: Fields) -> _Content:
    kind = part.text("type")
    if kind in _TEXT_TYPES:
        rest = part.rest("type", "text")
        return Text(part.text("text"), extras=as_extras(rest))
    if kind == "input_image" and part.has("image_url"):
        return _decode_image(part)
    return Opaque(NAME, {"content_part": part.raw})


def _decode_image(part: Fields) -> Image:
    url = part.text("image_url")
    rest = part.rest("type", "image_url")
    extras = as_extras(rest)
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Image(head.removeprefix("data:").removesuffix(";base64"), data, extras=extras)
    return Image(url=url, extras=extras)


def _history_citations(
    annotation: UrlCitation, text: str, start: int, links: LinkLocator
) -> Iterator[Citation]:
    """Citations of an earlier turn; those with a corrected span also keep the received offsets."""
    for citation in resolve_annotation(annotation, text, lambda offset: offset, links):
        span = citation.span
        if span == (annotation.start, annotation.end):
            evidence = annotation.evidence
        else:
            offsets: JsonObject = {"start_index": annotation.start, "end_index": annotation.end}
            evidence = _with_offsets(annotation.evidence, offsets)
        whole_span = None if span is None else Span(start + span.start, start + span.end)
        yield Citation(whole_span, (evidence,), citation.anchor)


def _with_offsets(evidence: Evidence, offsets: JsonObject) -> Evidence:
    return replace(evidence, extras=merge_extras(evidence.extras, {NAME: offsets}))


def encode_input(messages: tuple[Message, ...], unsupported: set[str]) -> list[Json]:
    """Encode messages as `input` items; names of what cannot be expressed are added to `unsupported`."""
    items: list[Json] = []
    for message in messages:
        is_native_form = is_native(message, NAME) and not any(map(_is_output_only, message.parts))
        parts = message.parts if is_native_form else readable_parts(message, NAME)
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in _nested_parts(message)):
            unsupported.add("opaque_parts")
        if message.role == "assistant":
            citations = message.citations if parts is message.parts else ()
            if any(isinstance(part, Image) and NAME not in part.extras for part in parts):
                unsupported.add("images")
            items += encode_history_items(parts, citations)
        else:
            items += _encode_other_message(message, parts, unsupported)
    return items


def _is_output_only(part: Part) -> bool:
    """Whether a part is an item that is not valid as input: Perplexity's results and Mistral's executions."""
    if not isinstance(part, SearchCall):
        return False
    return str(own_extras(part.extras).get("type")).endswith(("_results", "tool.execution"))


def _nested_parts(message: Message) -> Iterator[Part]:
    for part in message.parts:
        yield part
        if isinstance(part, ToolResult):
            yield from part.content


def _encode_other_message(
    message: Message, parts: tuple[Part, ...], unsupported: set[str]
) -> Iterator[JsonObject]:
    """Encode a user or system message; function results are items between its pieces."""
    content: list[Json] = []
    for part in parts:
        item = _encode_item_part(part, unsupported)
        if item is None:
            content += _encode_content_part(part)
            continue
        if content:
            yield _encode_input_message(message, content)
            content = []
        yield item
    if content:
        yield _encode_input_message(message, content)


def _encode_input_message(message: Message, content: list[Json]) -> JsonObject:
    return {"type": "message", "role": message.role, "content": content, **own_extras(message.extras)}


def _encode_item_part(part: Part, unsupported: set[str]) -> JsonObject | None:
    """Encode a part that is an item by itself; None for content."""
    if isinstance(part, ToolResult):
        if part.is_error:
            unsupported.add("is_error")
        return {
            "type": "function_call_output",
            "call_id": part.call_id,
            "output": _encode_tool_output(part),
            **own_extras(part.extras),
        }
    if isinstance(part, Opaque) and part.dialect == NAME and "content_part" not in part.data:
        return part.data
    return None


def _encode_tool_output(result: ToolResult) -> Json:
    """Encode the output of a function: a string if it is one plain text."""
    match result.content:
        case ():
            return ""
        case (Text(text, _, extras),) if not own_extras(extras):
            return text
    return [item for part in result.content for item in _encode_content_part(part)]


def _encode_content_part(part: Part) -> list[Json]:
    match part:
        case Text(text, _, extras):
            return [{"type": "input_text", "text": text, **own_extras(extras)}] if text else []
        case Image():
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            return [{"type": "input_image", "image_url": url, "detail": "auto", **own_extras(part.extras)}]
        case Opaque() if part.dialect == NAME:
            return [part.data["content_part"]] if "content_part" in part.data else []
        case _:
            return []


def encode_history_items(parts: Sequence[Part], citations: Iterable[Citation]) -> list[JsonObject]:
    """Encode the items of an earlier assistant turn, verbatim where this dialect made them."""
    texts = [part for part in parts if isinstance(part, Text) and part.text]
    annotations = iter(encode_history_annotations(texts, citations))
    searches = SearchPairs(parts)
    items: list[JsonObject] = []
    for run in group_runs(part for part in parts if is_item(part, searches)):
        if isinstance(run, list):
            contents = [encode_text(text, next(annotations)) for text in run]
            items.append(_encode_history_message(run, contents))
        else:
            items.extend(_encode_history_item(run, searches))
    return items


def _encode_history_message(texts: Sequence[Text], contents: Sequence[JsonObject]) -> JsonObject:
    item = encode_assistant_message(own_id(texts[0].extras), texts, contents)
    kept = own_extras(texts[0].extras)
    for key in ("id", "status"):
        if key in kept:
            item[key] = kept[key]
        else:
            del item[key]
    return item


def _encode_history_item(part: Part, searches: SearchPairs) -> Iterator[JsonObject]:
    match part:
        case Reasoning() if NAME in part.extras:
            # OpenAI rejects the `status` that it sent with a reasoning item.
            yield {key: value for key, value in encode_reasoning_item(part).items() if key != "status"}
        case ToolCall():
            yield encode_call(part)
        case SearchCall():
            yield encode_history_search(part, searches.result_of(part))
        case SearchResult():
            yield encode_history_search(None, part)
        case Image() if NAME in part.extras:
            yield encode_generated_image(part)
        case Opaque():
            yield part.data


def encode_assistant_message(
    item_id: str, texts: Sequence[Text], contents: Sequence[JsonObject]
) -> JsonObject:
    """Encode an assistant message."""
    item: JsonObject = {
        "id": item_id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": list(contents),
    }
    phase = next((text.phase for text in texts if text.phase not in ("", "refusal")), "")
    if phase:
        item["phase"] = phase
    extra_fields = as_object(own_extras(texts[0].extras).get("item")) if texts else {}
    return {**item, **extra_fields}


def is_item(part: Part, searches: SearchPairs) -> bool:
    """Whether a part is visible as an item. Other parts do not split a message either."""
    match part:
        case Text():
            return bool(part.text)
        case SearchResult():
            return searches.is_uncalled(part)
        case Image():
            return bool(part.data)
        case Opaque():
            return part.dialect == NAME
        case _:
            return True


def group_runs(parts: Iterable[Part]) -> Iterator[ItemRun]:
    """Group the texts of one message; other parts are separate."""
    texts: list[Text] = []
    for part in parts:
        if isinstance(part, Text) and texts and belongs_to_message(texts, part):
            texts.append(part)
            continue
        if texts:
            yield texts
        texts = [part] if isinstance(part, Text) else []
        if not texts:
            yield part
    if texts:
        yield texts


def belongs_to_message(texts: Sequence[Text], part: Text) -> bool:
    """Whether a text continues the message of these texts."""
    if own_id(texts[0].extras) != own_id(part.extras):
        return False
    phase = next((text.phase for text in texts if text.phase != "refusal"), "")
    return part.phase in ("refusal", phase)


class SearchPairs:
    """Matches search results to their calls."""

    def __init__(self, parts: Iterable[Part]) -> None:
        parts = tuple(parts)
        self._results = {part.call_id: part for part in parts if isinstance(part, SearchResult)}
        self._calls = {part.id for part in parts if isinstance(part, SearchCall)}

    def result_of(self, call: SearchCall) -> SearchResult | None:
        return self._results.get(call.id)

    def is_uncalled(self, result: SearchResult) -> bool:
        return result.call_id not in self._calls


def reasoning_texts(item: Fields) -> list[tuple[str, int, str]]:
    """Texts of a reasoning item: the summaries, then the content, each with its kind and index."""
    return [
        (kind, index, part.text("text"))
        for kind in ("summary", "content")
        for index, part in enumerate(item.objs(kind))
    ]


def reasoning_extras(item: Fields) -> Extras:
    """Other fields of a reasoning item: id, encrypted content, and how the text was divided."""
    texts = reasoning_texts(item)
    divided = len(texts) > 1 or any(kind == "content" or not text for kind, _, text in texts)
    return {NAME: item.rest("type") if divided else item.rest("type", "summary")}


def encode_reasoning_item(part: Reasoning) -> JsonObject:
    """Encode a reasoning item."""
    summary: list[Json] = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {"type": "reasoning", "summary": summary, **own_extras(part.extras)}


def decode_generated_image(item: Fields) -> Image:
    """Decode an image that the provider generated."""
    media_type = f"image/{item.text('output_format', 'png')}"
    return Image(media_type, item.text("result"), extras={NAME: item.rest("type", "result")})


def encode_generated_image(part: Image) -> JsonObject:
    """Encode an inline image as an item."""
    return {
        "type": "image_generation_call",
        "status": "completed",
        "output_format": part.media_type.removeprefix("image/") or "png",
        "result": part.data,
        **own_extras(part.extras),
    }


def message_extras(item: Fields) -> Extras:
    """Other fields of a message item: id and status."""
    kept: JsonObject = {key: item.raw[key] for key in ("id", "status") if item.has(key)}
    rest = item.rest(*_MESSAGE_FIELDS)
    if rest:
        kept["item"] = rest
    return as_extras(kept)


def text_extras(part: Fields, other_annotations: Iterable[Json]) -> Extras:
    """Other fields of a text part: annotations of other types, log probabilities."""
    kept = part.rest(*_TEXT_FIELDS)
    annotations = list(other_annotations)
    if annotations:
        kept["annotations"] = annotations
    if part.items("logprobs"):
        kept["logprobs"] = part.items("logprobs")
    return as_extras(kept)


def encode_text(part: Text, annotations: list[JsonObject]) -> JsonObject:
    """Encode a content part of an assistant message."""
    extras = own_extras(part.extras)
    extra_fields = {key: value for key, value in extras.items() if key not in _NON_TEXT_EXTRAS}
    if part.phase == "refusal":
        return {"type": "refusal", "refusal": part.text, **extra_fields}
    other_annotations, logprobs = extras.get("annotations"), extras.get("logprobs")
    return {
        "type": "output_text",
        "text": part.text,
        "annotations": [*annotations, *(other_annotations if isinstance(other_annotations, list) else ())],
        "logprobs": logprobs if isinstance(logprobs, list) else [],
        **extra_fields,
    }


@value
class UrlCitation:
    """A `url_citation` as received, with offsets in its content part.

    `anchor` and `whole_span`, the span over the whole answer of which this is a slice, are set only in our
    own responses.
    """

    start: int
    end: int
    url: str
    evidence: Evidence
    anchor: str = ""
    whole_span: Span | None = None

    @property
    def key(self) -> AnnotationKey:
        """Identity of an annotation that the `done` events repeat."""
        name = self.url or _file_key(self.evidence.extras) or self.evidence.source.title
        return self.start, self.end, name, self.evidence.quote, self.anchor, self.whole_span


def decode_annotation(fields: Fields) -> UrlCitation | None:
    """Decode a citation of a page or a file; None for other annotations, which are kept verbatim."""
    kind = fields.text("type", "url_citation")
    if kind in _FILE_OFFSETS:
        return _decode_file_citation(fields, *_FILE_OFFSETS[kind])
    if kind != "url_citation":
        return None
    body = fields.obj("url_citation") if fields.has("url_citation") else fields
    url = body.text("url")
    source = Source(safe_url(url), body.text("title"), "cited")
    extension = fields.obj(FIELD)
    anchor = extension.text("anchor")
    start, end = extension.offset("start"), extension.offset("end")
    return UrlCitation(
        body.offset("start_index") or 0,
        body.offset("end_index") or 0,
        url,
        Evidence(
            source,
            body.text("content"),
            extras={NAME: fields.rest(*_ANNOTATION_FIELDS, "url_citation", FIELD)},
        ),
        anchor if anchor in _ANCHORS or anchor == _WHOLE_ANSWER else "",
        None if start is None or end is None else Span(start, end),
    )


def _decode_file_citation(fields: Fields, start: str, end: str) -> UrlCitation | None:
    name = fields.text("filename") or fields.text("title") or fields.text("file_id")
    if not name:
        return None
    evidence = Evidence(Source("", name, "cited"), extras={NAME: fields.rest(start, end, FIELD)})
    return UrlCitation(fields.offset(start) or 0, fields.offset(end) or 0, "", evidence)


def file_offsets(evidence: Evidence) -> tuple[str, str] | None:
    """Names of the offsets in the annotation of a file; None for the evidence of a page."""
    kind = own_extras(evidence.extras).get("type")
    return _FILE_OFFSETS.get(kind) if isinstance(kind, str) else None


def _file_key(extras: Extras) -> str:
    file_id = own_extras(extras).get("file_id")
    return file_id if isinstance(file_id, str) else ""


def resolve_annotation(
    annotation: UrlCitation, text: str, position_of: Callable[[int], int], links: LinkLocator
) -> list[Citation]:
    """Resolve an annotation to citations, with offsets in its part, whose text is complete."""
    early = resolve_early(annotation, text, position_of)
    if early is not None:
        return [early]
    span = None
    if annotation.end > annotation.start and not annotation.anchor:
        span = links.locate(position_of(annotation.start), position_of(annotation.end), annotation.url)
    if span is not None:
        return [_citation_at(annotation, text, span)]
    if annotation.end > annotation.start or annotation.anchor or not annotation.url:
        return [Citation(None, (annotation.evidence,))]
    spans = links.links_to(annotation.url)
    return [_citation_at(annotation, text, span) for span in spans] or [
        Citation(None, (annotation.evidence,))
    ]


def resolve_early(annotation: UrlCitation, text: str, position_of: Callable[[int], int]) -> Citation | None:
    """The citation if its span is certain before the text is complete, else None."""
    start, end = position_of(annotation.start), position_of(annotation.end)
    if not 0 <= start <= end <= len(text) or end == 0 or annotation.anchor == _WHOLE_ANSWER:
        return None
    if start == end or annotation.anchor or is_link_at(text, start, end, annotation.url):
        return _citation_at(annotation, text, Span(start, end))
    return None


def is_misplaced(annotation: UrlCitation, citation: Citation) -> bool:
    """Whether the received span is not in the text."""
    return citation.span is None and annotation.end > annotation.start


def _citation_at(annotation: UrlCitation, text: str, span: Span) -> Citation:
    anchor = _ANCHORS.get(annotation.anchor) or anchor_at(span, lambda start, end: text[start:end])
    return Citation(span, (annotation.evidence,), anchor)


def anchor_of(annotation: UrlCitation, text: str) -> Anchor:
    """Kind of anchor: as set in our own responses, else derived from the text."""
    return _ANCHORS.get(annotation.anchor) or anchor_kind(text)


class TextSlice(NamedTuple):
    """The slice of a citation within one text part, with offsets in the part."""

    part: int
    start: int
    end: int


def text_bounds(texts: Iterable[Text]) -> list[int]:
    """Start offsets of the parts in the whole text, and the end of the last one."""
    return list(accumulate((len(part.text) for part in texts), initial=0))


def slice_span(span: Span, bounds: Sequence[int]) -> Iterator[TextSlice]:
    """Cut a span of the whole text at the borders of its parts.

    A point belongs to the part that ends with it.
    """
    is_point = span.start == span.end
    find = bisect_left if is_point else bisect_right
    for part in range(max(find(bounds, span.start) - 1, 0), len(bounds) - 1):
        start, end = bounds[part], bounds[part + 1]
        if start >= span.end:
            return
        low, high = max(span.start, start), min(span.end, end)
        if low < high or (is_point and high == span.end):
            yield TextSlice(part, low - start, high - start)


class AnnotationList(list[JsonObject]):
    """Annotations of one part, without duplicates."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: set[tuple[Json, ...]] = set()

    def add(self, citation: Citation, start: int, end: int, text: str) -> list[JsonObject]:
        """Add one annotation per source of a citation; returns the new ones."""
        return self._add(
            _add_extensions(_encode_annotation(item, start, end), item, citation, text)
            for item in citation.evidence
        )

    def add_unplaced(self, citation: Citation) -> list[JsonObject]:
        """Add a citation of the whole answer; returns the new annotations."""
        return self.add(replace(citation, span=None), 0, 0, "")

    def add_plain(self, evidence: Iterable[Evidence], start: int, end: int) -> None:
        """Add annotations without our own extensions."""
        self._add(
            _encode_annotation(item, start, end)
            for item in evidence
            if "derived" not in own_extras(item.extras)
        )

    def _add(self, annotations: Iterable[JsonObject]) -> list[JsonObject]:
        new: list[JsonObject] = []
        for annotation in annotations:
            key = (*(annotation.get(name) for name in _KEY_FIELDS), repr(annotation.get(FIELD)))
            if key not in self._keys:
                self._keys.add(key)
                new.append(annotation)
        self.extend(new)
        return new


def encode_history_annotations(
    texts: Sequence[Text], citations: Iterable[Citation]
) -> list[list[JsonObject]]:
    """Encode the annotations of each text part of an earlier turn, in the provider's format."""
    bounds = text_bounds(texts)
    lists = [AnnotationList() for _ in texts]
    extra_slices = MAX_EXTRA_SLICES
    for citation in citations if texts else ():
        found = slice_span(citation.span, bounds) if citation.span else [TextSlice(len(texts) - 1, 0, 0)]
        slices = list(islice(found, extra_slices + 1))
        extra_slices -= max(len(slices) - 1, 0)
        for index, start, end in slices:
            lists[index].add_plain(citation.evidence, start, end)
    return [list(annotations) for annotations in lists]


def _add_extensions(annotation: JsonObject, evidence: Evidence, citation: Citation, text: str) -> JsonObject:
    if file_offsets(evidence):
        return annotation
    if evidence.quote:
        annotation["content"] = evidence.quote
    span = citation.span
    if span is None:
        annotation[FIELD] = {"anchor": _WHOLE_ANSWER}
    elif span.end - span.start != len(text):
        annotation[FIELD] = {"anchor": citation.anchor, "start": span.start, "end": span.end}
    elif citation.anchor == "claim" or not is_link(text, evidence.source.url):
        annotation[FIELD] = {"anchor": citation.anchor}
    return annotation


def _encode_annotation(evidence: Evidence, start: int, end: int) -> JsonObject:
    extras = {key: value for key, value in own_extras(evidence.extras).items() if key != "derived"}
    offsets = file_offsets(evidence)
    if offsets is not None:
        return {**extras, offsets[0]: start, offsets[1]: end}
    return {
        "type": "url_citation",
        "start_index": start,
        "end_index": end,
        "url": evidence.source.url,
        "title": evidence.source.title,
        **extras,
    }


def citations_from_links(text: str) -> Iterator[Citation]:
    """Citations from the links of a text without annotations (the Codex backend)."""
    for link in find_markdown_links(text):
        source = Source(safe_url(link.url), _title_of(link), "cited")
        if source.url:
            yield Citation(link.span, (Evidence(source, extras={NAME: {"derived": True}}),), "marker")


def citations_from_numbers(text: str, numbered: Mapping[str, Source]) -> Iterator[Citation]:
    """Citations from number markers in a text without annotations, whose provider numbered its results."""
    for match in _NUMBER_MARKER.finditer(text):
        source = numbered.get(match[1])
        if source is not None:
            evidence = Evidence(source, extras={NAME: {"derived": True}})
            yield Citation(Span(*match.span()), (evidence,), "marker")


def _title_of(link: TextLink) -> str:
    """Label of a link, unless it is only a number or the domain of the page."""
    is_title = domain_of("https://" + link.label) != domain_of(link.url)
    return link.label if is_title and not _NOT_A_TITLE.fullmatch(link.label) else ""
