"""Messages of the conversation.

System messages at the head become the system prompt; `developer` messages and later system messages stay
where they are. Results of functions are messages of their own here and parts of a user message in the
model: neighbouring ones are one turn. An assistant's annotations become its citations and are given back as
annotations; citations of other dialects become words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from groundwire.dialects.fields import Fields
from groundwire.dialects.foreign_history import is_native, readable_parts
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.search import NAME, SourceLists, as_extras, own_extras
from groundwire.dialects.openai_chat.tools import (
    WireCall,
    decode_call,
    decode_legacy_call,
    encode_call,
    encode_legacy_call,
    is_legacy,
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
from groundwire.text.links import find_markdown_links
from groundwire.text.markers import find_dagger_markers, find_number_markers, is_dagger
from groundwire.text.spans import LinkPlaces, anchor_at
from groundwire.text.urls import canonical_address, safe_address

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

_BROWSER_MARKER = re.compile(r"【(\d{1,4})†")


def decode_messages(body: Fields) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    """The system prompt and the turns."""
    history = _MessageReader()
    for message in body.objs("messages"):
        history.add(message)
    if not history.system and not history.turns:
        raise body.fault("expected at least one message", "messages")
    return tuple(history.system), tuple(history.turns)


class _MessageReader:
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
            call_id = self._unanswered.pop(name, f"call_{name}")
        plain = all(isinstance(part, Text) for part in content)
        extras: Extras = as_extras(verbatim) if plain else {NAME: verbatim}
        return ToolResult(call_id, content, name, extras=extras)

    def _decode_assistant(self, message: Fields) -> Message:
        told = SourceCollector()
        if message.has("annotations"):
            told.annotate(message)
        words = decode_content(message)
        refusal = message.text("refusal")
        parts: tuple[Part, ...] = (
            *_decode_reasoning_parts(message),
            *_attach_other_annotations(words, told.others),
            *((Text(refusal, "refusal"),) if refusal else ()),
            *(decode_image(image) for image in message.objs("images")),
            *self._decode_calls(message),
        )
        text = "".join(part.text for part in words if isinstance(part, Text))
        citations = [
            event.citation
            for event in resolve_citations(text, told, lambda at: at)
            if isinstance(event, Cited)
        ]
        return Message(
            "assistant", parts, _group_by_span(citations), as_extras(message.rest(*_ASSISTANT_FIELDS))
        )

    def _decode_calls(self, message: Fields) -> Iterator[ToolCall]:
        for call in message.objs("tool_calls"):
            yield self._number(decode_call(call))
        if message.has("function_call"):
            call_told = self._number(decode_legacy_call(message.obj("function_call")))
            self._unanswered[call_told.name] = call_told.id
            yield call_told

    def _number(self, told: WireCall) -> ToolCall:
        self._calls += 1
        call_id = told.id or f"call_{self._calls}"
        return ToolCall(call_id, told.name, told.arguments or "{}", as_extras(told.verbatim))


def _decode_reasoning_parts(message: Fields) -> Iterator[Reasoning]:
    text, field = decode_reasoning(message)
    details = message.items(REASONING_DETAILS)
    if text or details:
        yield Reasoning(text, reasoning_extras(field, details))


def _attach_other_annotations(parts: tuple[Text | Image | Opaque, ...], others: list[Json]) -> Iterator[Part]:
    """Annotations of other types stay with the first text."""
    for part in parts:
        if others and isinstance(part, Text):
            yield Text(part.text, part.phase, merge_extras(part.extras, {NAME: {"annotations": others}}))
            others = []
        else:
            yield part


def _group_by_span(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """One citation for each span, as in an answer."""
    grouped: dict[tuple[Span | None, Anchor], list[Evidence]] = {}
    for citation in citations:
        grouped.setdefault((citation.span, citation.anchor), []).extend(citation.evidence)
    return tuple(Citation(span, tuple(evidence), anchor) for (span, anchor), evidence in grouped.items())


def encode_messages(system: tuple[Text, ...], turns: Iterable[Message]) -> tuple[list[Json], tuple[str, ...]]:
    """The wire messages, and the names of what had to be left out."""
    body: list[Json] = []
    unsaid: dict[str, None] = {}
    if system:
        body.append({"role": "system", "content": encode_content(system)})
    for message in turns:
        if any(isinstance(part, Opaque) and part.dialect != NAME for part in message.parts):
            unsaid["opaque_parts"] = None
        if message.role == "assistant":
            body.append(_encode_assistant(message))
            if any(isinstance(part, Image) and NAME not in part.extras for part in message.parts):
                unsaid["images"] = None
        else:
            body += _encode_other_message(message)
    return body, tuple(unsaid)


def _encode_other_message(message: Message) -> Iterator[JsonObject]:
    """Results first: they must follow the calls they answer. Then what was said besides."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        yield _encode_result(result)
    seen = [image for result in results for image in _images_for_user(result)]
    parts = [
        part
        for part in message.parts
        if isinstance(part, Text | Image) or (isinstance(part, Opaque) and part.dialect == NAME)
    ]
    if seen or parts or not (results or message.parts):
        yield {**own_extras(message.extras), "role": message.role, "content": encode_content([*seen, *parts])}


def _encode_result(result: ToolResult) -> JsonObject:
    verbatim = dict(own_extras(result.extras))
    legacy = verbatim.pop("type", None) == "function"
    pictures = _images_for_user(result)
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


def _images_for_user(result: ToolResult) -> list[Image]:
    """OpenAI takes no pictures in results: unless they came so, they go into the user message after them."""
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
    """One string, unless a part has something of its own to say: lists are not read everywhere."""
    said: list[Text | Image | Opaque] = []
    for part in parts:
        if isinstance(part, Text) and part.phase != "refusal":
            verbatim = {key: value for key, value in own_extras(part.extras).items() if key != "annotations"}
            said.append(Text(part.text, "", as_extras(verbatim)))
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


def decode_content(message: Fields) -> tuple[Text | Image | Opaque, ...]:
    """The field `content` of a message."""
    value = message.get("content")
    if isinstance(value, list):
        return tuple(decode_part(part) for part in message.objs("content"))
    text = message.text("content")
    return (Text(text),) if text else ()


def decode_part(part: Fields) -> Text | Image | Opaque:
    """One entry of a content list."""
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
    """A string if the parts are one plain text, else the list."""
    parts = tuple(parts)
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and not own_extras(parts[0].extras):
        return parts[0].text
    return [encode_part(part) for part in parts]


def encode_part(part: Text | Image | Opaque) -> JsonObject:
    """One entry of a content list."""
    if isinstance(part, Opaque):
        return part.data
    if isinstance(part, Image):
        return encode_image(part)
    return {**own_extras(part.extras), "type": "text", "text": part.text}


def decode_image(part: Fields) -> Image:
    """A picture; some clients write the address where the object should be."""
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
    """A picture, inline as a `data:` address."""
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    outer: JsonObject = {"type": "image_url"}
    inner: JsonObject = {"url": url}
    for key, kept in own_extras(image.extras).items():
        holder, name = (inner, key[len("image_url.") :]) if key.startswith("image_url.") else (outer, key)
        holder[name] = kept
    return {**outer, "image_url": inner}


def decode_reasoning(message: Fields) -> tuple[str, str]:
    """The text that a message or delta shows, and the field it stood in."""
    for field in REASONING_FIELDS:
        if text := message.text(field):
            return text, field
    return "".join(
        detail.text("text") or detail.text("summary") for detail in message.objs(REASONING_DETAILS)
    ), REASONING_DETAILS


def reasoning_extras(field: str, details: list[Json]) -> Extras:
    """What makes it possible to say the reasoning again as it was said."""
    verbatim: JsonObject = {"field": field}
    if details:
        verbatim[REASONING_DETAILS] = details
    return {NAME: verbatim}


def encode_reasoning(parts: Iterable[Part], field: str = "") -> JsonObject:
    """The fields of a message that say its reasoning, in `field` or the one it came in."""
    said = [part for part in parts if isinstance(part, Reasoning)]
    text = "".join(part.text for part in said)
    details: list[Json] = [detail for part in said for detail in reasoning_details(part)]
    body: JsonObject = {REASONING_DETAILS: details} if details else {}
    field = field or next(
        (told for part in said if (told := own_extras(part.extras).get("field")) in REASONING_FIELDS), ""
    )
    if text and field:
        body[field] = text
    return body


def reasoning_details(part: Reasoning) -> list[Json]:
    """The details kept with a reasoning part."""
    details = own_extras(part.extras).get(REASONING_DETAILS)
    return details if isinstance(details, list) else []


class ReasoningDetails:
    """Collects `reasoning_details`; a piece goes on with the detail of its type and index told before."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[JsonObject, dict[str, list[str]]]] = []

    def add(self, told: Iterable[Fields]) -> None:
        """Take the details of one message or delta."""
        known = {_detail_key(entry): (entry, grown) for entry, grown in self._entries if "index" in entry}
        for detail in told:
            entry, grown = known.get(_detail_key(detail.raw)) or self._new()
            for key, content in detail.raw.items():
                if key in _STREAMED_FIELDS and isinstance(content, str):
                    grown.setdefault(key, []).append(content)
                elif content is not None or key not in entry:
                    entry[key] = content

    def whole(self) -> list[Json]:
        """The details as one message would tell them."""
        return [
            {**entry, **{key: "".join(pieces) for key, pieces in grown.items()}}
            for entry, grown in self._entries
        ]

    def _new(self) -> tuple[JsonObject, dict[str, list[str]]]:
        self._entries.append(({}, {}))
        return self._entries[-1]


def _detail_key(detail: JsonObject) -> str:
    return f"{detail.get('type')} {detail.get('index')}"


@value
class ChatAnnotation:
    """A `url_citation` as told: the place is not verified yet."""

    evidence: Evidence
    start: int
    end: int
    label: str = ""
    """The marker in the text that it is about, where it says so."""

    @property
    def placed(self) -> bool:
        """Does it claim a place? A start equal to a positive end is a point."""
        return 0 <= self.start <= self.end and self.end > 0


def decode_annotation(annotation: Fields) -> ChatAnnotation | None:
    """A citation of a web page; None for annotations of other types, and for one that names nothing."""
    if annotation.text("type", "url_citation") != "url_citation":
        return None
    body = annotation.obj("url_citation") if annotation.has("url_citation") else annotation
    source = Source(safe_address(body.text("url")), body.text("title"), "cited")
    if not source.url and not source.title:
        return None
    place = body if body.has("end_index") else annotation
    label = annotation.text("text")
    # Some proxies leave a start of 0 out.
    start, end = place.offset("start_index") or 0, place.offset("end_index") or 0
    return ChatAnnotation(
        evidence_for(source, body.text("content")), start, end, label if is_dagger(label) else ""
    )


def encode_annotation(item: Evidence, span: Span | None) -> JsonObject:
    """A citation of one source."""
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
    """Evidence of this dialect."""
    return Evidence(source, quote, extras={NAME: {}})


class SourceCollector:
    """What an answer lists, collected while it comes in. Lists may come at once, piecewise or again."""

    __slots__ = ("_counts", "annotated", "annotations", "lists", "others", "references")

    def __init__(self) -> None:
        self.annotations: list[ChatAnnotation] = []
        self.others: list[Json] = []
        self.annotated = False
        self.lists = SourceLists()
        self.references: list[tuple[int, int]] = []
        """Places in the text, each with the number of the entry that it names (Mistral)."""
        self._counts: Counter[str] = Counter()

    def annotate(self, holder: Fields) -> None:
        """Take the `annotations` of a message or delta; those told before are known again."""
        self.annotated = True
        seen: Counter[str] = Counter()
        for told in holder.objs("annotations"):
            key = dump_json(told.raw)
            seen[key] += 1
            if seen[key] <= self._counts[key]:
                continue
            self._counts[key] += 1
            annotation = decode_annotation(told)
            if annotation is not None:
                self.annotations.append(annotation)
            else:
                self.others.append(told.raw)

    def files(self) -> list[Json]:
        """OpenRouter's parsed documents, which spare a second parse if they come back with the history."""
        return [note for note in self.others if isinstance(note, dict) and note.get("type") == "file"]


def resolve_citations(
    text: str,
    told: SourceCollector,
    place: Callable[[int], int],
    shown: Mapping[int, Source] = MappingProxyType({}),
) -> Iterator[Cited | Warned]:
    """The citations of a complete text; `place` tells where a told position is in it, `shown` which pages
    gpt-oss's numbers name."""
    # An address may be linked to thousands of times, and listed as often.
    return islice(_resolve_all(text, told, place, shown), 2 * MAX_EVIDENCE)


def _resolve_all(
    text: str, told: SourceCollector, place: Callable[[int], int], shown: Mapping[int, Source]
) -> Iterator[Cited | Warned]:
    links = LinkPlaces(text)
    markers = _DaggerMarkers(text, links)
    loose: list[Evidence] = []
    for annotation in told.annotations:
        if markers.has(annotation.label):
            markers.learn(annotation, place)
        elif annotation.placed:
            for event in _resolve_annotation(text, annotation, place, links):
                yield markers.cover(event)
        else:
            loose.append(annotation.evidence)
    if not told.annotations:
        yield from _match_markers_and_links(text, _numbered_sources(text, told), keep=not told.lists.pages)
    elif loose:
        is_numbered = len(loose) == len(told.annotations)
        yield from _match_markers_and_links(text, list(enumerate(loose, 1)), numbered=is_numbered, keep=True)
    yield from markers.resolve(shown)
    yield from _resolve_references(told, place)


class _DaggerMarkers:
    """Markers such as `【3:0†source】`, and what is known of them."""

    __slots__ = ("_at", "_covered", "_labels", "_links", "_spans", "_text", "_wordings")

    def __init__(self, text: str, links: LinkPlaces) -> None:
        self._text = text
        self._links = links
        self._spans = list(find_dagger_markers(text))
        self._wordings = {text[span.start : span.end] for span in self._spans}
        self._at: dict[Span, list[Evidence]] = {}
        self._labels: dict[str, list[Evidence]] = {}
        self._covered: list[Span] = []

    def has(self, label: str) -> bool:
        """Is there a marker of this wording in the text?"""
        return label in self._wordings

    def learn(self, annotation: ChatAnnotation, place: Callable[[int], int]) -> None:
        """An annotation that repeats its marker."""
        label = annotation.label
        told = Span(place(annotation.start), place(annotation.end))
        for span in (told, self._links.as_utf16(told)):
            if self._text[max(span.start, 0) : max(span.end, 0)] == label:
                self._at.setdefault(span, []).append(annotation.evidence)
                break
        self._labels.setdefault(label, []).append(annotation.evidence)

    def cover(self, event: Cited | Warned) -> Cited | Warned:
        """A citation with a place; if that is a marker, others of the same wording mean the same."""
        if isinstance(event, Cited) and event.citation.span:
            span = event.citation.span
            self._covered.append(span)
            if event.citation.anchor == "marker":
                self._labels.setdefault(self._text[span.start : span.end], []).extend(event.citation.evidence)
        return event

    def resolve(self, shown: Mapping[int, Source]) -> Iterator[Cited | Warned]:
        """The citations of the markers that no place covers, and a warning of those that lead nowhere."""
        covered = deque(sorted(self._covered))
        end = 0
        lost: list[str] = []
        for span in self._spans:
            while covered and covered[0].start <= span.start:
                end = max(end, covered.popleft().end)
            label = self._text[span.start : span.end]
            evidence = self._at.get(span) or self._twins(label) or _browser_evidence(label, shown)
            if span.end <= end:
                continue
            if evidence:
                yield Cited(Citation(span, tuple(evidence), "marker"))
            else:
                lost.append(label)
        if lost:
            yield Warned(
                "citation_unresolved",
                f"citation markers without a known source: {len(lost)}, for example {lost[0]}",
            )

    def _twins(self, label: str) -> list[Evidence]:
        """What other markers of this wording cite, if they agree."""
        found = self._labels.get(label, [])
        return found if len({item.source.url for item in found}) == 1 else []


def _browser_evidence(label: str, shown: Mapping[int, Source]) -> list[Evidence]:
    number = _BROWSER_MARKER.match(label)
    page = shown.get(int(number[1])) if number else None
    return [evidence_for(replace(page, state="cited"))] if page else []


def _resolve_references(told: SourceCollector, place: Callable[[int], int]) -> Iterator[Cited | Warned]:
    """Mistral's `reference` chunks: the claim ends where the chunk stands."""
    listed = told.lists.numbered(number for _, number in told.references) if told.references else {}
    lost = 0
    for offset, number in told.references:
        point = place(offset)
        if number in listed:
            evidence = evidence_for(replace(listed[number], state="cited"))
            yield Cited(Citation(Span(point, point) if point else None, (evidence,)))
        else:
            lost += 1
    if lost:
        yield Warned("citation_unresolved", f"references to sources that the provider did not list: {lost}")


def _resolve_annotation(
    text: str, told: ChatAnnotation, place: Callable[[int], int], links: LinkPlaces
) -> Iterator[Cited | Warned]:
    span = _verify_span(text, place(told.start), place(told.end), told.evidence.source.url, links)
    if span is None:
        yield Warned("citation_unplaced", f"no place in the text for {told.evidence.source.url}")
        yield Cited(Citation(None, (told.evidence,)))
    else:
        kind = anchor_at(span, lambda start, end: text[start:end])
        yield Cited(Citation(span, (told.evidence,), kind))


def _verify_span(text: str, start: int, end: int, url: str, links: LinkPlaces) -> Span | None:
    """The place told, or the link it meant. A claim stays although a link to its page stands elsewhere:
    only a link as long as the place told, or exactly there in UTF-16 units, was meant."""
    given = Span(start, end)
    if start == end:
        return given if 0 < end <= len(text) else None
    span = links.place(start, end, url)
    if span is None or end > len(text) or span.end - span.start == end - start:
        return span
    return span if span == links.as_utf16(given) else given


def _match_markers_and_links(
    text: str, listed: Iterable[tuple[int, Evidence]], *, keep: bool, numbered: bool = True
) -> Iterator[Cited]:
    numbers = _number_markers(text) if numbered else {}
    links: dict[str, list[Span]] = {}
    for link in find_markdown_links(text):
        links.setdefault(canonical_address(link.url), []).append(link.span)
    for number, item in listed:
        if not item.source.url and not item.source.title:
            continue  # it only kept its number
        spans = [*numbers.get(number, ()), *links.get(canonical_address(item.source.url), ())]
        for span in spans:
            yield Cited(Citation(span, (item,), "marker"))
        if keep and not spans:
            yield Cited(Citation(None, (item,)))


def _number_markers(text: str) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = {}
    for span, numbers in find_number_markers(text):
        for number in numbers:
            found.setdefault(number, []).append(span)
    return found


def _numbered_sources(text: str, told: SourceCollector) -> Iterator[tuple[int, Evidence]]:
    """What numbers count where nothing was annotated."""
    pages = told.lists.pages
    known = {canonical_address(page.url): page for page in pages if page.url}
    if told.annotated and not told.lists.has_addresses:
        return
    for number, source in told.lists.numbered(_number_markers(text)).items():
        page = known.get(canonical_address(source.url), source)
        yield number, evidence_for(replace(page, url=source.url, state="cited"))


class ContentLayout:
    """Remembers what went where, and moves spans along."""

    __slots__ = ("_lengths", "_runs", "_sent")

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._runs: list[tuple[int, int, int]] = []
        self._sent = 0

    @classmethod
    def of(cls, parts: Iterable[Part]) -> ContentLayout:
        """The layout of parts told in order."""
        layout = cls()
        for number, part in enumerate(parts):
            if isinstance(part, Text):
                layout.add(number, len(part.text), shown=part.phase != "refusal")
        return layout

    def add(self, part: int, length: int, *, shown: bool) -> None:
        """So many more characters of a part; `shown` are those that go to `content`."""
        start = self._lengths.get(part, 0)
        self._lengths[part] = start + length
        if shown and length:
            if not self._runs or self._runs[-1][0] != part:
                self._runs.append((part, start, self._sent))
            self._sent += length

    def annotations(self, parts: Iterable[Part], citations: Iterable[Citation]) -> list[Json]:
        """All annotations: one for each source of each citation, then those of other types kept verbatim."""
        place = self._placer()
        told: list[Json] = [
            encode_annotation(item, place(citation.span) if citation.span else None)
            for citation in citations
            for item in citation.evidence
        ]
        for part in parts:
            kept = own_extras(part.extras).get("annotations") if isinstance(part, Text) else None
            told += kept if isinstance(kept, list) else ()
        return told

    def _placer(self) -> _SpanMapper:
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
    """Runs of text: where each begins in the answer, where in `content`, and how long it is."""

    __slots__ = ("_begins", "_runs")

    def __init__(self, runs: list[tuple[int, int, int]]) -> None:
        self._runs = runs
        self._begins = [begin for begin, _, _ in runs]

    def __call__(self, span: Span) -> Span | None:
        """The span in `content`; None if it is not there."""
        last = self._position(span.end - 1)
        first = last if span.start == span.end else self._position(span.start)
        if first is None or last is None or first > last:
            return None
        return Span(last + 1 if span.start == span.end else first, last + 1)

    def _position(self, offset: int) -> int | None:
        index = bisect_right(self._begins, offset) - 1
        if index < 0:
            return None
        begin, position, length = self._runs[index]
        return position + offset - begin if offset - begin < length else None
