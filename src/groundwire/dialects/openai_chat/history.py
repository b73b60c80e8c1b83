"""Messages of the conversation: content parts, reasoning, annotations and the citations they stand for.

System messages at the beginning become the system prompt; `developer` messages and later system messages keep
their position. Function results are separate messages on this wire and parts of a user message in the model;
adjacent results are merged into one turn. Annotations of an assistant message are decoded as citations and
encoded as annotations again; citations of other dialects become text.

`content` is a string or a list of typed parts. Text and images are canonical, a `refusal` part is text with a
phase, and every other part (audio, files, video) is kept verbatim. A string is written where it is equivalent
to the list.

Reasoning is text under one of two names: DeepSeek, vLLM and most compatible servers use `reasoning_content`,
OpenRouter and Groq `reasoning`; some send the same text under both. `reasoning_content` is written, because
most clients read it. OpenRouter's `reasoning_details` have signatures and encrypted blocks that must be
returned unchanged; a stream sends them in fragments with the same type and index. The text may be in the
details only.

An annotation is nested (`{"type": "url_citation", "url_citation": {…}}`) or flat. Its indices are code points
of `content`, end exclusive. `0/0`, or no indices, means no position: OpenRouter's own engines list all
results like that, with the passage in `content`. Annotations in the style of Assistants and Copilot have
their indices outside `url_citation`, and repeat the marker they refer to (`【3:0†source】`) as `text`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.search import NAME, SourceLists, as_extras, decode_page, own_extras
from groundwire.dialects.openai_chat.tools import (
    WireCall,
    decode_call,
    decode_legacy_call,
    encode_call,
    encode_legacy_call,
    is_legacy,
)
from groundwire.errors import UpstreamWireError
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
    Source,
    Span,
    Text,
    ToolCall,
    ToolResult,
    Warned,
)
from groundwire.model.extras import merge_extras
from groundwire.model.request import Role
from groundwire.model.source import MAX_EVIDENCE, Anchor
from groundwire.model.value import replace, value
from groundwire.text.annotate import find_dagger_markers, find_number_markers, is_dagger
from groundwire.text.links import find_markdown_links
from groundwire.text.spans import LinkLocator, QuoteLocator, anchor_at
from groundwire.text.urls import canonical_url, safe_url

_ROLES: dict[str, Role] = {"user": "user", "system": "system", "developer": "developer"}
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,([A-Za-z0-9+/=_\s-]*)", re.ASCII)
REASONING_FIELDS = ("reasoning_content", "reasoning")
REASONING_DETAILS = "reasoning_details"
_STREAMED_FIELDS = ("text", "summary", "data")
_ASSISTANT_FIELDS = (
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "images",
    REASONING_DETAILS,
    *REASONING_FIELDS,
)
_RESULT_FIELDS = ("role", "content", "tool_call_id", "name")
_CITATION_TYPES = {
    "url_citation": ("title",),
    "file_citation": ("filename", "file_name", "title", "file_id"),
}
"""Citations, and the fields that name their source."""
_PROVIDER_FIELDS = "provider_specific_fields"
_VERTEX_GROUNDING = "vertex_ai_grounding_metadata"
PROXIED_FIELDS = (_PROVIDER_FIELDS, _VERTEX_GROUNDING)
_BROWSER_MARKER = re.compile(r"【(\d{1,4})†")


def decode_messages(body: Fields) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    """Decode `messages` into the system prompt and the turns."""
    history = _MessageReader()
    for message in body.objs("messages"):
        history.add(message)
    if not history.system and not history.turns:
        raise body.fault("expected at least one message", "messages")
    return tuple(history.system), tuple(history.turns)


class _MessageReader:
    """Collects the turns, and matches results without a call id to their calls."""

    def __init__(self) -> None:
        self.system: list[Text] = []
        self.turns: list[Message] = []
        self._calls = 0
        self._open_calls: dict[str, str] = {}

    def add(self, message: Fields) -> None:
        role = message.text("role")
        if role == "assistant":
            self.turns.append(self._decode_assistant(message))
        elif role in ("tool", "function"):
            self._add_result(self._decode_result(message, legacy=role == "function"))
        elif role in _ROLES:
            self._add_message(_ROLES[role], decode_content(message), message.rest("role", "content"))
        else:
            raise message.fault(f"unknown role {role!r}", "role")

    def _add_message(
        self, role: Role, parts: tuple[Text | Image | Opaque, ...], verbatim: JsonObject
    ) -> None:
        texts = [part for part in parts if isinstance(part, Text)]
        if role == "system" and not self.turns and not verbatim and len(texts) == len(parts):
            self.system += texts
        else:
            self.turns.append(Message(role, parts, extras=as_extras(verbatim)))

    def _add_result(self, result: ToolResult) -> None:
        last = self.turns[-1] if self.turns else None
        if last and last.role == "user" and all(isinstance(part, ToolResult) for part in last.parts):
            self.turns[-1] = Message("user", (*last.parts, result))
        else:
            self.turns.append(Message("user", (result,)))

    def _decode_result(self, message: Fields, *, legacy: bool) -> ToolResult:
        content = decode_content(message)
        name = message.text("name")
        verbatim = message.rest(*_RESULT_FIELDS)
        call_id = message.text("tool_call_id")
        if legacy:
            verbatim["type"] = "function"
            call_id = self._open_calls.pop(name, f"call_{name}")
        plain = all(isinstance(part, Text) for part in content)
        extras: Extras = as_extras(verbatim) if plain else {NAME: verbatim}
        return ToolResult(call_id, content, name, extras=extras)

    def _decode_assistant(self, message: Fields) -> Message:
        sources = SourceCollector()
        if message.has("annotations"):
            sources.annotate(message)
        content = decode_content(message)
        refusal = message.text("refusal")
        parts: tuple[Part, ...] = (
            *_decode_reasoning_parts(message),
            *_attach_other_annotations(content, sources.other_annotations),
            *((Text(refusal, "refusal"),) if refusal else ()),
            *(decode_image(image) for image in message.objs("images")),
            *self._decode_calls(message),
        )
        text = "".join(part.text for part in content if isinstance(part, Text))
        citations = [
            event.citation
            for event in resolve_citations(text, sources, lambda offset: offset)
            if isinstance(event, Cited)
        ]
        return Message(
            "assistant", parts, _group_by_span(citations), as_extras(message.rest(*_ASSISTANT_FIELDS))
        )

    def _decode_calls(self, message: Fields) -> Iterator[ToolCall]:
        for call in message.objs("tool_calls"):
            yield self._with_id(decode_call(call))
        if message.has("function_call"):
            legacy_call = self._with_id(decode_legacy_call(message.obj("function_call")))
            self._open_calls[legacy_call.name] = legacy_call.id
            yield legacy_call

    def _with_id(self, call: WireCall) -> ToolCall:
        self._calls += 1
        call_id = call.id or f"call_{self._calls}"
        return ToolCall(call_id, call.name, call.arguments or "{}", as_extras(call.verbatim))


def _decode_reasoning_parts(message: Fields) -> Iterator[Reasoning]:
    text, field = decode_reasoning(message)
    details = message.items(REASONING_DETAILS)
    if text or details:
        yield Reasoning(text, reasoning_extras(field, details))


def _attach_other_annotations(parts: tuple[Text | Image | Opaque, ...], others: list[Json]) -> Iterator[Part]:
    """Attach annotations of other types to the first text."""
    for part in parts:
        if others and isinstance(part, Text):
            yield Text(part.text, part.phase, merge_extras(part.extras, {NAME: {"annotations": others}}))
            others = []
        else:
            yield part


def _group_by_span(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Merge citations of the same span, as in an answer."""
    grouped: dict[tuple[Span | None, Anchor], list[Evidence]] = {}
    for citation in citations:
        grouped.setdefault((citation.span, citation.anchor), []).extend(citation.evidence)
    return tuple(Citation(span, tuple(evidence), anchor) for (span, anchor), evidence in grouped.items())


def encode_messages(system: tuple[Text, ...], turns: Iterable[Message]) -> tuple[list[Json], tuple[str, ...]]:
    """Encode the messages; also the names of what had to be omitted."""
    body: list[Json] = []
    omitted: dict[str, None] = {}
    if system:
        body.append({"role": "system", "content": encode_content(system)})
    for message in turns:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            omitted["opaque_parts"] = None
        if message.role == "assistant":
            body.append(_encode_assistant(message))
            if any(isinstance(part, Image) and NAME not in part.extras for part in message.parts):
                omitted["images"] = None
        else:
            body += _encode_other_message(message)
    return body, tuple(omitted)


def _encode_other_message(message: Message) -> Iterator[JsonObject]:
    """Encode a message that is not the assistant's.

    Results come first, because they must follow their calls; the other parts come after them.
    """
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        yield _encode_result(result)
    images = [image for result in results for image in _images_for_user(result)]
    parts = [
        part
        for part in message.parts
        if isinstance(part, Text | Image) or (isinstance(part, Opaque) and part.dialect == NAME)
    ]
    if images or parts or not (results or message.parts):
        yield {
            **own_extras(message.extras),
            "role": message.role,
            "content": encode_content([*images, *parts]),
        }


def _encode_result(result: ToolResult) -> JsonObject:
    verbatim = dict(own_extras(result.extras))
    legacy = verbatim.pop("type", None) == "function"
    moved_images = _images_for_user(result)
    parts = [
        part
        for part in result.content
        if part not in moved_images and not (isinstance(part, Opaque) and part.dialect != NAME)
    ]
    content = encode_content(parts)
    if result.is_error and isinstance(content, str):
        content = f"Error: {content}"  # chat has no error flag
    if legacy:
        return {**verbatim, "role": "function", "name": result.name, "content": content}
    body: JsonObject = {**verbatim, "role": "tool", "tool_call_id": result.call_id, "content": content}
    return {**body, "name": result.name} if result.name else body


def _images_for_user(result: ToolResult) -> list[Image]:
    """Images of a result that have to go into the user message after it.

    OpenAI does not accept images in results; those that arrived in one stay there.
    """
    if NAME in result.extras:
        return []
    return [part for part in result.content if isinstance(part, Image)]


def _encode_assistant(message: Message) -> JsonObject:
    native = is_native(message, NAME)
    parts = message.parts if native else readable_parts(message, NAME)
    refusal = "".join(part.text for part in parts if isinstance(part, Text) and part.phase == "refusal")
    calls = [part for part in parts if isinstance(part, ToolCall)]
    body: JsonObject = {
        **own_extras(message.extras),
        "role": "assistant",
        "content": _encode_assistant_content(parts),
    }
    if refusal:
        body["refusal"] = refusal
    if body["content"] == "" and (calls or refusal):
        body["content"] = None
    body |= encode_reasoning(part for part in parts if NAME in getattr(part, "extras", {}))
    annotations = ContentLayout.of(parts).annotations(parts, message.citations if native else ())
    if annotations:
        body["annotations"] = annotations
    images: list[Json] = [encode_image(p) for p in parts if isinstance(p, Image) and NAME in p.extras]
    if images:
        body["images"] = images
    return body | _encode_calls(calls)


def _encode_assistant_content(parts: Iterable[Part]) -> Json:
    """Encode text as one string, which every server reads; only parts with extra fields need a list."""
    content: list[Text | Image | Opaque] = []
    for part in parts:
        if isinstance(part, Text) and part.phase != "refusal":
            verbatim = {key: value for key, value in own_extras(part.extras).items() if key != "annotations"}
            content.append(Text(part.text, "", as_extras(verbatim)))
        elif isinstance(part, Opaque) and part.dialect == NAME:
            content.append(part)
    if all(isinstance(part, Text) and not part.extras for part in content):
        return "".join(part.text for part in content if isinstance(part, Text))
    return encode_content(content)


def _encode_calls(calls: list[ToolCall]) -> JsonObject:
    modern: list[Json] = [encode_call(call) for call in calls if not is_legacy(call)]
    body: JsonObject = {"tool_calls": modern} if modern else {}
    for call in calls:
        if is_legacy(call):
            body["function_call"] = encode_legacy_call(call)
    return body


def decode_content(message: Fields) -> tuple[Text | Image | Opaque, ...]:
    """Decode the field `content` of a message."""
    value = message.get("content")
    if isinstance(value, list):
        return tuple(decode_part(part) for part in message.objs("content"))
    text = message.text("content")
    return (Text(text),) if text else ()


def decode_part(part: Fields) -> Text | Image | Opaque:
    """Decode one entry of a content list."""
    match part.text("type"):
        case "text":
            return Text(part.text("text"), "", as_extras(part.rest("type", "text")))
        case "refusal":
            return Text(part.text("refusal"), "refusal", as_extras(part.rest("type", "refusal")))
        case "image_url":
            return decode_image(part)
        case _:
            return Opaque(NAME, part.raw)


def encode_content(parts: Iterable[Text | Image | Opaque]) -> Json:
    """Encode a single plain text as a string, everything else as a list."""
    parts = tuple(parts)
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and not own_extras(parts[0].extras):
        return parts[0].text
    return [encode_part(part) for part in parts]


def encode_part(part: Text | Image | Opaque) -> JsonObject:
    """Encode one entry of a content list."""
    if isinstance(part, Opaque):
        return part.data
    if isinstance(part, Image):
        return encode_image(part)
    return {**own_extras(part.extras), "type": "text", "text": part.text}


def decode_image(part: Fields) -> Image:
    """Decode an image; some clients send the URL in place of the object."""
    verbatim = part.rest("type", "image_url")
    if isinstance(part.get("image_url"), str):
        url = part.text("image_url")
    else:
        holder = part.obj("image_url")
        url = holder.text("url")
        verbatim |= {f"image_url.{key}": value for key, value in holder.rest("url").items()}
    inline = _DATA_URL.fullmatch(url)
    if inline:
        return Image(inline[1] or "", inline[2], "", as_extras(verbatim))
    return Image("", "", url, as_extras(verbatim))


def encode_image(image: Image) -> JsonObject:
    """Encode an image; inline data becomes a `data:` URL."""
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    outer: JsonObject = {"type": "image_url"}
    inner: JsonObject = {"url": url}
    for key, kept in own_extras(image.extras).items():
        holder, name = (inner, key[len("image_url.") :]) if key.startswith("image_url.") else (outer, key)
        holder[name] = kept
    return {**outer, "image_url": inner}


def decode_reasoning(message: Fields) -> tuple[str, str]:
    """Reasoning text of a message or delta, and the field that has it."""
    for field in REASONING_FIELDS:
        if text := message.text(field):
            return text, field
    return "".join(
        detail.text("text") or detail.text("summary") for detail in message.objs(REASONING_DETAILS)
    ), REASONING_DETAILS


def reasoning_extras(field: str, details: list[Json]) -> Extras:
    """Extras that are needed to encode the reasoning as it arrived."""
    verbatim: JsonObject = {"field": field}
    if details:
        verbatim[REASONING_DETAILS] = details
    return {NAME: verbatim}


def encode_reasoning(parts: Iterable[Part], field: str = "") -> JsonObject:
    """Encode the reasoning fields of a message, under `field` or the name they arrived with."""
    reasoning = [part for part in parts if isinstance(part, Reasoning)]
    text = "".join(part.text for part in reasoning)
    details: list[Json] = [detail for part in reasoning for detail in reasoning_details(part)]
    body: JsonObject = {REASONING_DETAILS: details} if details else {}
    field = field or next(
        (name for part in reasoning if (name := own_extras(part.extras).get("field")) in REASONING_FIELDS), ""
    )
    if text and field:
        body[field] = text
    return body


def reasoning_details(part: Reasoning) -> list[Json]:
    """Details stored with a reasoning part."""
    details = own_extras(part.extras).get(REASONING_DETAILS)
    return details if isinstance(details, list) else []


class ReasoningDetails:
    """Collects `reasoning_details`; a fragment continues the detail with the same type and index."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[JsonObject, dict[str, list[str]]]] = []

    def add(self, details: Iterable[Fields]) -> None:
        """Add the details of one message or delta."""
        known = {
            _detail_key(entry): (entry, fragments) for entry, fragments in self._entries if "index" in entry
        }
        for detail in details:
            entry, fragments = known.get(_detail_key(detail.raw)) or self._new()
            for key, content in detail.raw.items():
                if key in _STREAMED_FIELDS and isinstance(content, str):
                    fragments.setdefault(key, []).append(content)
                elif content is not None or key not in entry:
                    entry[key] = content

    def whole(self) -> list[Json]:
        """The details as a complete message has them."""
        return [
            {**entry, **{key: "".join(texts) for key, texts in fragments.items()}}
            for entry, fragments in self._entries
        ]

    def _new(self) -> tuple[JsonObject, dict[str, list[str]]]:
        self._entries.append(({}, {}))
        return self._entries[-1]


def _detail_key(detail: JsonObject) -> str:
    return f"{detail.get('type')} {detail.get('index')}"


@value
class ChatAnnotation:
    """A `url_citation` as received; its span is not verified yet."""

    evidence: Evidence
    start: int
    end: int
    label: str = ""
    """The marker in the text that the annotation refers to, if it names one."""
    claim: str = ""
    """The cited text, where the offsets are in another unit or missing."""

    @property
    def has_span(self) -> bool:
        """Whether it has a span. A start equal to a positive end is a point."""
        return 0 <= self.start <= self.end and self.end > 0


def decode_annotation(annotation: Fields) -> ChatAnnotation | None:
    """Decode a citation of a page or a file; None for other types, and for one without URL and name."""
    kind = annotation.text("type", "url_citation")
    if kind not in _CITATION_TYPES:
        return None
    body = annotation.obj(kind) if annotation.has(kind) else annotation
    names = (body.text(key) for key in _CITATION_TYPES[kind])
    source = Source(safe_url(body.text("url")), next(filter(None, names), ""), "cited")
    if not source.url and not source.title:
        return None
    indices = body if body.has("end_index") else annotation
    label = annotation.text("text")
    # Some proxies omit a start of 0.
    start, end = indices.offset("start_index") or 0, indices.offset("end_index") or 0
    return ChatAnnotation(
        evidence_for(source, body.text("content")), start, end, label if is_dagger(label) else ""
    )


def decode_proxied(fields: JsonObject) -> Iterator[ChatAnnotation]:
    """Decode the citations that LiteLLM passes on in the form of the vendor.

    `provider_specific_fields` has those of Anthropic: `citations`, a list for each text block, in a message,
    and `citation` in a delta. `vertex_ai_grounding_metadata` has those of Gemini.
    """
    own = as_object(fields.get(_PROVIDER_FIELDS))
    for item in _flat([own.get("citations"), own.get("citation")]):
        citation = Fields(item, UpstreamWireError)
        names = (citation.text(key) for key in ("title", "document_title", "source"))
        source = Source(safe_url(citation.text("url")), next(filter(None, names), ""), "cited")
        if source.url or source.title:
            evidence = evidence_for(source, citation.text("cited_text"))
            yield ChatAnnotation(evidence, 0, 0, claim=citation.text("supported_text"))
    for item in _flat([fields.get(_VERTEX_GROUNDING)]):
        yield from _decode_grounding(Fields(item, UpstreamWireError))


def _decode_grounding(metadata: Fields) -> Iterator[ChatAnnotation]:
    pages = [as_object(chunk.raw.get("web")) for chunk in metadata.objs("groundingChunks")]
    for support in metadata.objs("groundingSupports"):
        segment = support.obj("segment")
        start, end = segment.offset("startIndex") or 0, segment.offset("endIndex") or 0
        for index in support.items("groundingChunkIndices"):
            if type(index) is int and 0 <= index < len(pages):
                source = decode_page(pages[index], "cited")
                if source.url or source.title:
                    yield ChatAnnotation(evidence_for(source), start, end, claim=segment.text("text"))


def _flat(items: Iterable[Json]) -> Iterator[JsonObject]:
    for item in items:
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            yield from _flat(item)


def encode_annotation(item: Evidence, span: Span | None) -> JsonObject:
    """Encode a citation of one source."""
    body: JsonObject = {
        "start_index": span.start if span else 0,
        "end_index": span.end if span else 0,
        "title": item.source.title,
        "url": item.source.url,
    }
    if item.quote:
        body["content"] = item.quote
    return {"type": "url_citation", "url_citation": body}


def evidence_for(source: Source, quote: str = "") -> Evidence:
    """Create evidence that is marked as made by this dialect."""
    return Evidence(source, quote, extras={NAME: {}})


class SourceCollector:
    """Collects the annotations and source lists of a response while it arrives."""

    __slots__ = (
        "_counts",
        "annotations",
        "has_annotations",
        "lists",
        "other_annotations",
        "proxied",
        "references",
    )

    def __init__(self) -> None:
        self.annotations: list[ChatAnnotation] = []
        self.other_annotations: list[Json] = []
        self.proxied: dict[tuple[str | int, ...], ChatAnnotation] = {}
        """Citations in the form of another vendor, used if there are no annotations."""
        self.has_annotations = False
        self.lists = SourceLists()
        self.references: list[tuple[int, int]] = []
        """Text offsets, each with the number of the list entry it refers to (Mistral)."""
        self._counts: Counter[str] = Counter()

    def annotate(self, message: Fields) -> None:
        """Add the `annotations` of a message or delta, without those added before."""
        self.has_annotations = True
        seen: Counter[str] = Counter()
        for item in message.objs("annotations"):
            key = dump_json(item.raw)
            seen[key] += 1
            if seen[key] <= self._counts[key]:
                continue
            self._counts[key] += 1
            annotation = decode_annotation(item)
            if annotation is not None:
                self.annotations.append(annotation)
            else:
                self.other_annotations.append(item.raw)

    def add_proxied(self, fields: JsonObject) -> None:
        """Add the citations that a proxy passes on in the form of another vendor; chunks repeat them."""
        for item in decode_proxied(fields):
            source = item.evidence.source
            key = (source.url, source.title, item.evidence.quote, item.claim, item.start, item.end)
            self.proxied.setdefault(key, item)

    def files(self) -> list[Json]:
        """OpenRouter's parsed documents; returning them with the history saves parsing them again."""
        return [
            annotation
            for annotation in self.other_annotations
            if isinstance(annotation, dict) and annotation.get("type") == "file"
        ]


def resolve_citations(
    text: str,
    sources: SourceCollector,
    position_of: Callable[[int], int],
    browser_pages: Mapping[int, Source] = MappingProxyType({}),
) -> Iterator[Cited | Warned]:
    """Resolve the citations of a complete text.

    An annotation with a span is accepted if the text at that span confirms it. Annotations without spans
    form a numbered list: `[3]` in the text is its third entry (Perplexity, OpenRouter's engines), and a
    Markdown link to a URL is a citation of that URL. A source without any such match is cited for the whole
    answer.

    Pages listed next to an `annotations` list are results only, because the annotations do the citing. A
    marker such as `【3:0†source】` cites the source that its annotation names, the source of other markers
    with the same label, or the page that gpt-oss's browser opened under its number. A marker without a
    source stays in the text, which the client may already have, and causes a warning.

    `position_of` maps a received offset to an offset in `text`; `browser_pages` has the pages by gpt-oss's
    numbers.
    """
    # A URL may be linked, and listed, thousands of times.
    return islice(_resolve_all(text, sources, position_of, browser_pages), 2 * MAX_EVIDENCE)


def _resolve_all(
    text: str,
    sources: SourceCollector,
    position_of: Callable[[int], int],
    browser_pages: Mapping[int, Source],
) -> Iterator[Cited | Warned]:
    links = LinkLocator(text)
    markers = _DaggerMarkers(text, links)
    without_span: list[Evidence] = []
    if not sources.annotations:
        yield from _resolve_proxied(text, sources.proxied.values())
    for annotation in sources.annotations:
        if markers.has_label(annotation.label):
            markers.add_annotation(annotation, position_of)
        elif annotation.has_span:
            for event in _resolve_annotation(text, annotation, position_of, links):
                yield markers.note_citation(event)
        else:
            without_span.append(annotation.evidence)
    if not sources.annotations and not sources.proxied:
        yield from _match_markers_and_links(
            text, _numbered_sources(text, sources), keep_unmatched=not sources.lists.pages
        )
    elif without_span:
        is_numbered = len(without_span) == len(sources.annotations)
        yield from _match_markers_and_links(
            text, list(enumerate(without_span, 1)), numbered=is_numbered, keep_unmatched=True
        )
    yield from markers.resolve(browser_pages)
    yield from _resolve_references(sources, position_of)


def _resolve_proxied(text: str, proxied: Iterable[ChatAnnotation]) -> Iterator[Cited]:
    quotes = QuoteLocator(text)
    for annotation in proxied:
        span = quotes.locate(annotation.start, annotation.end, annotation.claim) if annotation.claim else None
        yield Cited(Citation(span, (annotation.evidence,)))


class _DaggerMarkers:
    """Markers such as `【3:0†source】` in a text, and the evidence known for them."""

    __slots__ = ("_by_label", "_by_span", "_covered", "_labels_in_text", "_links", "_spans", "_text")

    def __init__(self, text: str, links: LinkLocator) -> None:
        self._text = text
        self._links = links
        self._spans = list(find_dagger_markers(text))
        self._labels_in_text = {text[span.start : span.end] for span in self._spans}
        self._by_span: dict[Span, list[Evidence]] = {}
        self._by_label: dict[str, list[Evidence]] = {}
        self._covered: list[Span] = []

    def has_label(self, label: str) -> bool:
        """Whether the text has a marker with this label."""
        return label in self._labels_in_text

    def add_annotation(self, annotation: ChatAnnotation, position_of: Callable[[int], int]) -> None:
        """Add an annotation that repeats its marker."""
        label = annotation.label
        received = Span(position_of(annotation.start), position_of(annotation.end))
        for span in (received, self._links.as_utf16(received)):
            if self._text[max(span.start, 0) : max(span.end, 0)] == label:
                self._by_span.setdefault(span, []).append(annotation.evidence)
                break
        self._by_label.setdefault(label, []).append(annotation.evidence)

    def note_citation(self, event: Cited | Warned) -> Cited | Warned:
        """Note a citation with a span; if the span is a marker, it applies to all markers with that label."""
        if isinstance(event, Cited) and event.citation.span:
            span = event.citation.span
            self._covered.append(span)
            if event.citation.anchor == "marker":
                self._by_label.setdefault(self._text[span.start : span.end], []).extend(
                    event.citation.evidence
                )
        return event

    def resolve(self, browser_pages: Mapping[int, Source]) -> Iterator[Cited | Warned]:
        """Citations of the markers outside all noted spans, and a warning for markers without a source."""
        covered = deque(sorted(self._covered))
        end = 0
        unresolved: list[str] = []
        for span in self._spans:
            while covered and covered[0].start <= span.start:
                end = max(end, covered.popleft().end)
            label = self._text[span.start : span.end]
            evidence = (
                self._by_span.get(span) or self._same_label(label) or _browser_evidence(label, browser_pages)
            )
            if span.end <= end:
                continue
            if evidence:
                yield Cited(Citation(span, tuple(evidence), "marker"))
            else:
                unresolved.append(label)
        if unresolved:
            yield Warned(
                "citation_unresolved",
                f"citation markers without a known source: {len(unresolved)}, for example {unresolved[0]}",
            )

    def _same_label(self, label: str) -> list[Evidence]:
        """Evidence of other markers with this label, if they all cite the same source."""
        found = self._by_label.get(label, [])
        return found if len({item.source.url for item in found}) == 1 else []


def _browser_evidence(label: str, browser_pages: Mapping[int, Source]) -> list[Evidence]:
    number = _BROWSER_MARKER.match(label)
    page = browser_pages.get(int(number[1])) if number else None
    return [evidence_for(replace(page, state="cited"))] if page else []


def _resolve_references(
    sources: SourceCollector, position_of: Callable[[int], int]
) -> Iterator[Cited | Warned]:
    """Resolve Mistral's `reference` chunks; the claim ends at the position of the chunk."""
    listed = sources.lists.numbered(number for _, number in sources.references) if sources.references else {}
    unresolved = 0
    for offset, number in sources.references:
        point = position_of(offset)
        if number in listed:
            evidence = evidence_for(replace(listed[number], state="cited"))
            yield Cited(Citation(Span(point, point) if point else None, (evidence,)))
        else:
            unresolved += 1
    if unresolved:
        yield Warned(
            "citation_unresolved", f"references to sources that the provider did not list: {unresolved}"
        )


def _resolve_annotation(
    text: str, annotation: ChatAnnotation, position_of: Callable[[int], int], links: LinkLocator
) -> Iterator[Cited | Warned]:
    span = _verify_span(
        text,
        position_of(annotation.start),
        position_of(annotation.end),
        annotation.evidence.source.url,
        links,
    )
    if span is None:
        yield Warned(
            "citation_unplaced", f"no span in the text for the citation of {annotation.evidence.source.url}"
        )
        yield Cited(Citation(None, (annotation.evidence,)))
    else:
        anchor = anchor_at(span, lambda start, end: text[start:end])
        yield Cited(Citation(span, (annotation.evidence,), anchor))


def _verify_span(text: str, start: int, end: int, url: str, links: LinkLocator) -> Span | None:
    """The received span, or the span of the link that was meant.

    A claim keeps its span although there is a link to its page elsewhere in the text: only a link of the same
    length, or at exactly this span in UTF-16 units, was meant.
    """
    received = Span(start, end)
    if start == end:
        return received if 0 < end <= len(text) else None
    span = links.locate(start, end, url)
    if span is None or end > len(text) or span.end - span.start == end - start:
        return span
    return span if span == links.as_utf16(received) else received


def _match_markers_and_links(
    text: str, listed: Iterable[tuple[int, Evidence]], *, keep_unmatched: bool, numbered: bool = True
) -> Iterator[Cited]:
    listed = list(listed)
    numbers = _number_markers(text, frozenset(number for number, _ in listed)) if numbered else {}
    links: dict[str, list[Span]] = {}
    for link in find_markdown_links(text):
        links.setdefault(canonical_url(link.url), []).append(link.span)
    for number, item in listed:
        if not item.source.url and not item.source.title:
            continue  # a placeholder for its number
        spans = [*numbers.get(number, ()), *links.get(canonical_url(item.source.url), ())]
        for span in spans:
            yield Cited(Citation(span, (item,), "marker"))
        if keep_unmatched and not spans:
            yield Cited(Citation(None, (item,)))


def _number_markers(text: str, listed: frozenset[int] | None = None) -> dict[int, list[Span]]:
    """Markers by number. With `listed`, `[0, 1]` is a marker only if both are listed: it may be a list."""
    found: dict[int, list[Span]] = {}
    for span, numbers in find_number_markers(text):
        if listed is not None and len(numbers) > 1 and not listed.issuperset(numbers):
            continue
        for number in numbers:
            found.setdefault(number, []).append(span)
    return found


def _numbered_sources(text: str, sources: SourceCollector) -> Iterator[tuple[int, Evidence]]:
    """Evidence by list number, for a response without annotations."""
    pages = sources.lists.pages
    known = {canonical_url(page.url): page for page in pages if page.url}
    if sources.has_annotations and not sources.lists.has_cited_urls:
        return
    for number, source in sources.lists.numbered(_number_markers(text)).items():
        page = known.get(canonical_url(source.url), source)
        yield number, evidence_for(replace(page, url=source.url, state="cited"))


class ContentLayout:
    """Maps spans over the text of an answer to offsets in `content`.

    Spans count over all text in the order of the parts. `content` has no refusals, which are in a separate
    field, and has the text in the order in which the stream sent it.
    """

    __slots__ = ("_lengths", "_runs", "_sent")

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._runs: list[tuple[int, int, int]] = []
        self._sent = 0

    @classmethod
    def of(cls, parts: Iterable[Part]) -> ContentLayout:
        """Layout of complete parts."""
        layout = cls()
        for number, part in enumerate(parts):
            if isinstance(part, Text):
                layout.add(number, len(part.text), shown=part.phase != "refusal")
        return layout

    def add(self, part: int, length: int, *, shown: bool) -> None:
        """Add `length` characters of a part; `shown` if they go to `content`."""
        start = self._lengths.get(part, 0)
        self._lengths[part] = start + length
        if shown and length:
            if not self._runs or self._runs[-1][0] != part:
                self._runs.append((part, start, self._sent))
            self._sent += length

    def annotations(self, parts: Iterable[Part], citations: Iterable[Citation]) -> list[Json]:
        """Encode one annotation per source of each citation, then the stored annotations of other types."""
        map_span = self._span_mapper()
        annotations: list[Json] = [
            encode_annotation(item, map_span(citation.span) if citation.span else None)
            for citation in citations
            for item in citation.evidence
        ]
        for part in parts:
            kept = own_extras(part.extras).get("annotations") if isinstance(part, Text) else None
            annotations += kept if isinstance(kept, list) else ()
        return annotations

    def _span_mapper(self) -> _SpanMapper:
        starts: dict[int, int] = {}
        total = 0
        for part in sorted(self._lengths):
            starts[part] = total
            total += self._lengths[part]
        bounds = [*(position for _, _, position in self._runs), self._sent]
        return _SpanMapper(
            sorted(
                (starts[part] + start, position, end - position)
                for (part, start, position), end in zip(self._runs, bounds[1:], strict=True)
            )
        )


class _SpanMapper:
    """Maps spans by runs of text: start in the answer, start in `content`, length."""

    __slots__ = ("_runs", "_starts")

    def __init__(self, runs: list[tuple[int, int, int]]) -> None:
        self._runs = runs
        self._starts = [start for start, _, _ in runs]

    def __call__(self, span: Span) -> Span | None:
        """The span in `content`; None if it is not in there."""
        last = self._position(span.end - 1)
        first = last if span.start == span.end else self._position(span.start)
        if first is None or last is None or first > last:
            return None
        return Span(last + 1 if span.start == span.end else first, last + 1)

    def _position(self, offset: int) -> int | None:
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        start, position, length = self._runs[index]
        return position + offset - start if offset - start < length else None
