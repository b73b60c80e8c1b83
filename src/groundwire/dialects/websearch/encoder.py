"""Response encoder: an answer to one result, sent when the answer is complete.

`llmContent` is the answer with `[n]` where sources are cited, and the list of them:

    Web search results for "{query}":

    {text with [1][2]}

    Sources:
    [1] Title (address)

When it is read back, a `[n]` of the answer's own text must not become a citation. The encoder therefore
parses what it wrote as any reader would. If that does not give back the answer, the extension says which
ranges of `llmContent` (in code points) were inserted: `inserted`, with `unplaced`, the numbers that are
cited for the answer as a whole, and `phases`, where an empty line was inserted between commentary and
answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from groundwire.dialects.base import Reply, StreamEncoder
from groundwire.dialects.extras import FIELD, VERIFICATION, VERSION, add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.source_audit import EMPTY_ANSWER
from groundwire.dialects.websearch.decoder import (
    NOTHING_FOUND_DISPLAY,
    PHASE_BREAK,
    Insertion,
    parse_plain_text,
    remove_insertions,
)
from groundwire.dialects.websearch.errors import encode_error_result
from groundwire.model import (
    NOTHING_FOUND,
    Answer,
    Assembler,
    Citation,
    Event,
    Failed,
    Finished,
    JsonObject,
    Source,
    Span,
    Text,
)
from groundwire.model.extras import Extras
from groundwire.model.parts import Phase
from groundwire.model.value import replace
from groundwire.text.annotate import NumberWriter, annotate_numbers
from groundwire.text.markdown import render_sources
from groundwire.text.sources import Numbering, number_listed
from groundwire.text.urls import safe_url, shown_address

LOSSES: Mapping[Feature, str] = {
    Feature.MARKER_TEXT: "nowhere; it is replaced by `[n]`",
    Feature.TEXT_PARTS: "nowhere",
    Feature.PHASE: "kept only where it changes",
    Feature.SPAN_STARTS: "nowhere; `[n]` marks the end of a claim",
    Feature.QUOTES: "nowhere",
    Feature.CONFIDENCE: "nowhere",
    Feature.FILE_CITATIONS: "nowhere; a warning names the files",
    Feature.QUERIES: "nowhere; the query of the request replaces them",
    Feature.SEARCH_CALLS: "nowhere; there is one search, for the query of the request",
    Feature.PAGES_OPENED: "nowhere",
    Feature.PATTERNS: "nowhere",
    Feature.RETRIEVED: "`sources`, if nothing is cited; else nowhere",
    Feature.RETRIEVED_TITLES: "`sources`, if nothing is cited; else nowhere",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "nowhere",
    Feature.SUGGESTIONS: "nowhere",
    Feature.CALLERS: "nowhere",
    Feature.REASONING: "nowhere",
    Feature.TOOL_CALLS: "nowhere",
    Feature.IMAGES: "nowhere",
    Feature.FINISH: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.REFUSAL: "nowhere",
    Feature.TOKENS: "nowhere",
    Feature.CACHE_TOKENS: "nowhere",
    Feature.REASONING_TOKENS: "nowhere",
    Feature.TOOL_TOKENS: "nowhere",
    Feature.SEARCH_COUNT: "nowhere",
    Feature.COST: "nowhere",
}


class NumberedText(NamedTuple):
    """The text with its markers, and what the extension needs to describe them."""

    text: str
    extension: JsonObject


def render_text(answer: Answer, numbering: Numbering, offset: int) -> NumberedText:
    """Render the text of an answer that begins at `offset` of `llmContent`."""
    text, insertions, phases = _insert_markers(answer, numbering)
    cited = {
        number
        for citation in answer.citations
        for item in citation.evidence
        if (number := numbering.number(item.source)) is not None
    }
    unplaced = tuple(sorted(cited - {item.number for item in insertions}))
    original = remove_insertions(text, insertions, unplaced, phases)
    if original == parse_plain_text(text, len(numbering.sources)):
        return NumberedText(text, {})
    extension: JsonObject = {
        "inserted": [[offset + item.start, offset + item.end] for item in insertions],
        "unplaced": list(unplaced),
    }
    if len(phases) > 1:
        extension["phases"] = list(phases)
    return NumberedText(text, extension)


def _insert_markers(answer: Answer, numbering: Numbering) -> tuple[str, list[Insertion], tuple[Phase, ...]]:
    """The text with its markers, the insertions, and the phases that the empty lines separate.

    Markers are first inserted as placeholders that do not occur in the text, so that they can be found again.
    """
    digits = _placeholder_digits(answer.text)
    placeholder = re.compile(rf"\[1(\d{{{digits}}})\]")

    def placeholder_number(source: Source) -> int | None:
        number = numbering.number(source)
        return None if number is None else 10**digits + number

    text = ""
    insertions: list[Insertion] = []
    phase_texts = list(_texts_by_phase(answer))
    start = 0
    for _, phase_text in phase_texts:
        if text:
            insertions.append(Insertion(len(text), len(text) + len(PHASE_BREAK), None))
            text += PHASE_BREAK
        cited = _citations_in(answer, start, len(phase_text))
        marked = annotate_numbers(phase_text, cited, NumberWriter(placeholder_number), strip=True).text
        text = _replace_placeholders(text, marked, placeholder, insertions)
        start += len(phase_text)
    return text, insertions, tuple(phase for phase, _ in phase_texts) if len(phase_texts) > 1 else ("",)


def _replace_placeholders(
    text: str, marked: str, placeholder: re.Pattern[str], insertions: list[Insertion]
) -> str:
    """Append marked text with placeholders replaced by their numbers, and record the insertions."""
    pieces = [text]
    length = len(text)
    position = 0
    for match in placeholder.finditer(marked):
        marker = f"[{int(match[1])}]"
        length += match.start() - position
        insertions.append(Insertion(length, length + len(marker), int(match[1])))
        pieces += (marked[position : match.start()], marker)
        length += len(marker)
        position = match.end()
    return "".join([*pieces, marked[position:]])


def _texts_by_phase(answer: Answer) -> Iterator[tuple[Phase, str]]:
    """The text, split where the phase changes."""
    texts = (part for part in answer.parts if isinstance(part, Text) and part.text)
    for phase, group in groupby(texts, lambda part: part.phase):
        yield phase, "".join(part.text for part in group)


def _citations_in(answer: Answer, start: int, length: int) -> Iterator[Citation]:
    """The citations whose claim ends in a range of the text, with spans relative to its beginning."""
    for citation in answer.citations:
        if citation.span is None or not 0 <= citation.span.start <= citation.span.end:
            continue
        low, high = citation.span.start - start, citation.span.end - start
        if 0 < high <= length or (high == 0 and start == 0):
            yield Citation(Span(max(low, 0), high), citation.evidence, citation.anchor)


def _placeholder_digits(text: str) -> int:
    """How many digits a placeholder needs so that it does not occur in the text."""
    digits = 6
    while re.search(rf"\[1\d{{{digits}}}\]", text):
        digits += 1
    return digits


class Encoder(StreamEncoder):
    """Encodes the one JSON body when the answer is complete; until then spaces keep the connection alive."""

    content_type = "application/json"

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._answer = Assembler()

    def ping(self) -> bytes:
        """A space, which JSON parsers ignore."""
        return b" " if not self._ended else b""

    def on_event(self, event: Event) -> None:
        self._answer.feed(event)
        if isinstance(event, Finished | Failed):
            body = encode_result(self._answer.answer(), self.reply)
            self.send_raw(dump_json(body).encode("utf-8", "replace"))


def encode_result(answer: Answer, reply: Reply) -> JsonObject:
    """Encode an answer as one result.

    An interrupted answer is an error, because a part would be taken for the whole; the result of what was
    received is in the extension as `partial`.
    """
    # The result itself says that it is empty, in the wording of the contract.
    warnings = tuple(warning for warning in answer.warnings if warning.code != EMPTY_ANSWER.code)
    answer = replace(answer, warnings=warnings)
    without_warnings = replace(answer, warnings=())
    body, more = _encode_answer(answer, _query(answer, reply))
    if answer.error is not None:
        more = {"partial": _with_extension(body, more, without_warnings)} if answer.text.strip() else {}
        body = encode_error_result(answer.error)
    return _with_extension(body, more, answer)


def _with_extension(body: JsonObject, more: JsonObject, answer: Answer) -> JsonObject:
    """Add the warnings, the verification and further fields of the extension to a result. The contract of the
    tools has no flag for answers without sources: `sources` is absent."""
    verification = answer.extras.get(FIELD, {}).get(VERIFICATION)
    extras: Extras = {} if verification is None else {FIELD: {VERIFICATION: verification}}
    add_extension(body, replace(answer, extras=extras), ())
    if more:
        body[FIELD] = {"version": VERSION, **as_object(body.get(FIELD)), **more}
    return body


def _encode_answer(answer: Answer, query: str) -> tuple[JsonObject, JsonObject]:
    """Encode the text and sources of an answer, and the fields of the extension."""
    if not answer.text.strip() or answer.detail == NOTHING_FOUND:
        return _encode_nothing(query), {}
    prefix = f'Web search results for "{query}":\n\n'
    numbering = number_listed(answer)
    shown = [replace(source, url=shown_address(source.url)) for source in numbering.sources]
    sources = [replace(source, url=safe_url(source.url)) for source in numbering.sources]
    rendered = render_text(answer, numbering, len(prefix))
    body: JsonObject = {
        "llmContent": f"{prefix}{rendered.text}" + (f"\n\n{render_sources(shown)}" if sources else ""),
        "returnDisplay": f'Search results for "{query}" returned.',
    }
    if sources:
        body["sources"] = [_encode_source(source) for source in sources]
    return body, rendered.extension


def _query(answer: Answer, reply: Reply) -> str:
    if reply.request.query:
        return reply.request.query
    return next((search.query for search in answer.searches if search.kind == "search"), "")


def _encode_nothing(query: str) -> JsonObject:
    return {
        "llmContent": f'No search results or information found for query: "{query}"',
        "returnDisplay": NOTHING_FOUND_DISPLAY,
    }


def _encode_source(source: Source) -> JsonObject:
    web: JsonObject = {}
    if source.title:
        web["title"] = source.title
    if source.url:
        web["uri"] = source.url
    return {"web": web}
