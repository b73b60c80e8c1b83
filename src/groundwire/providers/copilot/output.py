"""Parses the output of the Copilot CLI: JSON lines, or the bare answer, and its errors.

With `--output-format json` every line is an event. The result of the tool `web_search` is in
`tool.execution_complete`; it is more reliable than the model's summary of it, so it is emitted at once, and
the process need not run on. Without it, the last message is the answer, and an answer without any search is
reported as not grounded. Lines that are not events are text: from an older CLI, or one started with `-s`.
Unknown events are ignored.

The tool's result is a JSON document: a text with markers (`【3:2†source】`), and annotations whose offsets
count code points and cover exactly the marker, not the claim. They are used only where a marker is. A
document without searches and without annotations is an answer that was not looked up. A result without hits
may be plain text.

The model's message comes second: it may have citations of its own (UTF-16 units), or be the JSON object that
the prompt requests, which is used only if it is exactly that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    NotFound,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamError,
    UpstreamWireError,
    upstream_error_class,
)
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Json,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    Warned,
)
from groundwire.model.value import replace, value
from groundwire.text.annotate import DAGGER, strip_markers
from groundwire.text.offsets import to_points
from groundwire.text.spans import anchor_kind, locate_quote
from groundwire.text.urls import safe_url

NOTHING_FOUND = "No relevant web results found."
_MARKER = re.compile(DAGGER)
_ANSWER_KEYS = {"query", "summary", "sources"}
_MAX_BRACES = 8
# One character is replaced by one character, so that offsets stay valid.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t\r\x85"}
_IN_TEXT = {**_CONTROLS, ord("\r"): " ", 0x85: " "}
_IN_LINE = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), " ")


@value
class CopilotResult:
    """A text with its citations, sources and queries."""

    text: str
    citations: tuple[Citation, ...] = ()
    sources: tuple[Source, ...] = ()
    queries: tuple[str, ...] = ()
    searched: bool = True
    unplaced: int = 0
    """Citations whose position could not be verified: they support the whole text."""


def without_controls(text: str) -> str:
    """The text with control characters replaced, of the same length."""
    return text.translate(_IN_TEXT)


def single_line(text: str) -> str:
    """The text on one line, without control characters."""
    return text.translate(_IN_LINE).strip()


def parse_tool_result(content: str) -> CopilotResult | None:
    """The result of the `web_search` tool; None if its format is unknown."""
    if content.strip() == NOTHING_FOUND:
        return CopilotResult("")
    try:
        document = Fields.of(load_json(content, UpstreamWireError), UpstreamWireError)
        text = document.obj("text")
        if not text.has("value"):
            return None
        annotations = list(text.objs("annotations")) or list(document.objs("annotations"))
        queries = tuple(single_line(item.text("text")) for item in document.objs("bing_searches"))
        return _annotated(without_controls(text.text("value")), annotations, queries)
    except UpstreamWireError:
        return None


def _annotated(text: str, annotations: list[Fields], queries: tuple[str, ...]) -> CopilotResult:
    placed: dict[Span, list[Source]] = {}
    labels: dict[str, list[Source]] = {}
    unplaced: list[Source] = []
    pages: dict[str, Source] = {}
    for item in annotations:
        source = _source(item.obj("url_citation"))
        if source is None:
            continue
        pages.setdefault(source.url, source)
        span = _marker_span(text, item)
        if span is None:
            _add(unplaced, source)
        else:
            _add(placed.setdefault(span, []), source)
            _add(labels.setdefault(text[span.start : span.end], []), source)
    kept, citations = _cited(text, placed, labels)
    citations += [Citation(None, (Evidence(source),)) for source in unplaced]
    return CopilotResult(
        kept,
        tuple(citations),
        tuple(pages.values()),
        tuple(query for query in queries if query),
        searched=bool(queries or annotations),
        unplaced=len(unplaced),
    )


def _add(sources: list[Source], source: Source) -> None:
    if source not in sources:
        sources.append(source)


def _cited(
    text: str, placed: dict[Span, list[Source]], labels: dict[str, list[Source]]
) -> tuple[str, list[Citation]]:
    """The text without markers that have no source, and the citations with their new positions."""
    pieces: list[str] = []
    citations: list[Citation] = []
    position = removed = 0
    for match in _MARKER.finditer(text):
        span = Span(*match.span())
        # Markers repeat: one without an annotation has the source of equal markers, if they agree.
        same_label = labels.get(match[0], [])
        sources = placed.get(span) or (same_label if len(same_label) == 1 else [])
        pieces.append(text[position : span.start])
        position = span.end
        if sources:
            pieces.append(match[0])
            shifted = Span(span.start - removed, span.end - removed)
            citations.append(Citation(shifted, tuple(map(Evidence, sources)), "marker"))
        else:
            removed += len(match[0])
    return "".join((*pieces, text[position:])), citations


def _marker_span(text: str, annotation: Fields) -> Span | None:
    """The position of an annotation's marker: at its offsets, or where it occurs exactly once."""
    start, end = annotation.integer("start_index"), annotation.integer("end_index")
    label = annotation.text("text")
    if start is not None and end is not None:
        for span in (Span(start, end), Span(*to_points(text, (start, end), "utf16"))):
            marker = text[max(span.start, 0) : max(span.end, 0)]
            if _MARKER.fullmatch(marker) and label in ("", marker):
                return span
    return locate_quote(text, -1, -1, label) if _MARKER.fullmatch(label) else None


def parse_message(content: str, citations_json: Json, query: str) -> CopilotResult:
    """The model's message; `searched` only if the message itself has citations."""
    try:
        citations = Fields.of({} if citations_json is None else citations_json, UpstreamWireError)
        sources = {
            item.text("id"): source
            for item in citations.objs("sources")
            if (source := _source(item)) is not None
        }
        spans = list(citations.objs("spans"))
        cited = tuple(_message_citations(content, spans, sources)) if sources else ()
    except UpstreamWireError:
        cited, sources = (), {}
    answer = parse_json_answer(content, query)
    if answer is not None:
        whole = tuple(Citation(None, (Evidence(source),)) for source in sources.values())
        return CopilotResult(answer.text, whole, tuple(sources.values()), searched=bool(cited))
    text = without_controls(content)
    if cited:
        text, cited = _without_stray_markers(text, cited)
        return CopilotResult(text, cited, tuple(sources.values()))
    return CopilotResult(strip_markers(text), searched=False)


def _without_stray_markers(text: str, citations: tuple[Citation, ...]) -> tuple[str, tuple[Citation, ...]]:
    """The text without markers that no citation covers, and the citations with their new positions."""
    spans = [citation.span for citation in citations if citation.span]
    strays: list[Span] = []

    def replaced(match: re.Match[str]) -> str:
        if any(span.start < match.end() and match.start() < span.end for span in spans):
            return match[0]
        strays.append(Span(*match.span()))
        return ""

    def moved(span: Span) -> Span:
        start, end = (
            offset - sum(stray.end - stray.start for stray in strays if stray.end <= offset)
            for offset in span
        )
        return Span(start, end)

    text = _MARKER.sub(replaced, text)
    return text, tuple(
        replace(citation, span=moved(citation.span)) if citation.span else citation for citation in citations
    )


def _message_citations(content: str, spans: list[Fields], sources: dict[str, Source]) -> Iterator[Citation]:
    for item in spans:
        start, end = to_points(
            content, (item.integer("startIndex") or 0, item.integer("endIndex") or 0), "utf16"
        )
        evidence = tuple(
            Evidence(sources[name], without_controls(reference.text("citedText")))
            for reference in item.objs("references")
            if (name := reference.text("sourceId")) in sources
        )
        if evidence:
            span = Span(start, end) if start < end else None
            yield Citation(span, evidence, anchor_kind(content[start:end]) if span else "claim")


def parse_json_answer(text: str, query: str) -> CopilotResult | None:
    """The JSON object that the prompt requests, found in a text; None if it is not exactly that."""
    start, end = text.find("{"), text.rfind("}") + 1
    for _ in range(_MAX_BRACES):
        if start < 0 or end <= start:
            return None
        try:
            item = load_json(text[start:end], UpstreamWireError)
        except UpstreamWireError:
            start = text.find("{", start + 1)
            continue
        return _checked_answer(item, query)
    return None


def _checked_answer(item: Json, query: str) -> CopilotResult | None:
    if not isinstance(item, dict) or set(item) != _ANSWER_KEYS or not isinstance(item["sources"], list):
        return None
    echoed, summary, sources = (
        item["query"],
        item["summary"],
        [_plain_source(each) for each in item["sources"]],
    )
    if not isinstance(echoed, str) or echoed.strip() != query.strip():
        return None
    if not isinstance(summary, str) or not summary.strip() or None in sources:
        return None
    pages = tuple({source.url: source for source in sources if source is not None}.values())
    citations = tuple(Citation(None, (Evidence(source),)) for source in pages)
    return CopilotResult(strip_markers(without_controls(summary)), citations, pages)


def _plain_source(item: Json) -> Source | None:
    if not isinstance(item, dict) or set(item) != {"title", "url"}:
        return None
    try:
        return _source(Fields(item, UpstreamWireError))
    except UpstreamWireError:
        return None


def _source(item: Fields) -> Source | None:
    """The source; None if its URL is not safe to show."""
    url = safe_url(item.text("url"))
    return Source(url, single_line(item.text("title"))) if url else None


_MAX_MESSAGE = 300
_STATUS = re.compile(r"(?:Last error|status(?: code)?|HTTP)\W{0,3}\s*([45]\d\d)\b", re.IGNORECASE)
_STATISTICS = re.compile(r"(?:Changes|Duration|Tokens|Resume|AI Credits|Requests)\s")
_LOGIN_ADVICE = (
    "set COPILOT_GITHUB_TOKEN to a token that may make Copilot requests (the system's keyring and the login "
    "of `gh` are out of the sandbox's reach)"
)
_MESSAGE_PATTERNS: tuple[tuple[re.Pattern[str], type[UpstreamError], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, advice)
    for pattern, kind, advice in (
        ("no authentication information|not (?:logged|signed) in", AuthRejected, _LOGIN_ADVICE),
        (
            "could not be validated|bad credentials|unauthori[sz]ed|authentication",
            AuthRejected,
            _LOGIN_ADVICE,
        ),
        ("quota|premium requests?|ai credits|exceeded your", QuotaExhausted, "wait, or change the plan"),
        ("rate.?limit|too many requests", RateLimited, "try again in a while"),
        (
            r"model\b.{0,80}\bnot (?:available|found|supported|enabled|allowed)",
            NotFound,
            "choose another model with WEB_SEARCH_MODEL",
        ),
        ("unknown option|invalid option", Refused, "update the Copilot CLI"),
    )
)
_STATUS_ADVICE = {401: _LOGIN_ADVICE, 403: _LOGIN_ADVICE}


def error_for_exit(code: int, text: str, status: int | None = None) -> GroundwireError:
    """The error of a run without an answer, by its message, its HTTP status and its exit code."""
    message = _first_message(text)
    if message.startswith("bwrap: "):
        return ConfigError(f"the sandbox for the Copilot CLI does not start: {message}")
    if status is None and (match := _STATUS.search(text)):
        status = int(match[1])
    for pattern, kind, advice in _MESSAGE_PATTERNS:
        if pattern.search(text):
            return kind(f"the Copilot CLI failed: {message}; {advice}", status=status)
    if status is not None and status >= 400:
        advice = f"; {_STATUS_ADVICE[status]}" if status in _STATUS_ADVICE else ""
        return upstream_error_class(status)(f"the Copilot CLI failed: {message}{advice}", status=status)
    if code < 0 or code > 128:
        return Interrupted("the Copilot CLI was killed before its answer")
    if code:
        return Refused(f"the Copilot CLI failed: {message or f'exit code {code}'}")
    return UpstreamWireError(f"the Copilot CLI gave no answer{f': {message}' if message else ''}")


def _first_message(text: str) -> str:
    """The first line that is not empty and not statistics."""
    for line in text.splitlines():
        message = single_line(line).removeprefix("Error: ")
        if message and not _STATISTICS.match(message):
            return message[:_MAX_MESSAGE]
    return ""


_SEARCH = re.compile(r"(?:.*[/.-])?web_search")  # `github-mcp-server/web_search` in some versions
_TIMELINE = ("●", "│", "└", "  │", "  └")
_SEPARATOR = "\n\n"
_NO_SEARCH = "the answer was not looked up on the web: Copilot made no search"
_NO_SOURCE = "Copilot searched the web, but its answer names no source"


class OutputReader:
    """Translates lines of output into events; `close` returns the last ones."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._parts = 0
        self._text_length = 0
        self._started: dict[str, tuple[int, str]] = {}
        self._pending: set[str] = set()
        self._emitted_result = self._is_json = self._has_searched = False
        self._message: CopilotResult | None = None
        self._error: tuple[str, int | None] | None = None
        self._code = 0
        self._lines: list[str] = []
        self._model = self._native = ""

    @property
    def is_complete(self) -> bool:
        """Has the tool returned its result? Then the rest of the output is not needed."""
        return self._emitted_result and not self._pending

    def feed(self, line: bytes) -> list[Event]:
        """The events of a line."""
        event = _event(line)
        if event is None:
            self._lines.append(line.decode("utf-8", "replace"))
            return []
        self._is_json = True
        handle = _HANDLERS.get(event.text("type"))
        try:
            return list(handle(self, event)) if handle else []
        except UpstreamWireError:
            return []  # a field of an unknown type: ignored like an unknown event

    def close(self, code: int, errors: bytes) -> list[Event]:
        """The events at the end of the output; the last one is terminal."""
        code = code or self._code
        if self._emitted_result:
            return [Finished()]
        found = self._message or (None if self._is_json else self._plain_answer())
        if found is None or code:
            text, status = self._error or (errors.decode("utf-8", "replace"), None)
            return [Failed(error_for_exit(code, text, status))]
        return [*self._answer_events(self._native, found), Finished()]

    def _plain_answer(self) -> CopilotResult | None:
        """The answer of a plain text output. Whether there was a search is not visible: sources decide."""
        text = "\n".join(line for line in self._lines if not line.startswith(_TIMELINE)).strip()
        found = parse_json_answer(text, self._query)
        if found is not None:
            return replace(found, searched=bool(found.sources))
        return parse_message(text, None, self._query) if text else None

    def _answer_events(self, call_id: str, found: CopilotResult) -> Iterator[Event]:
        if not found.searched:
            yield Warned("not_grounded", _NO_SEARCH)
        elif found.text and not found.citations:
            yield Warned("not_grounded", _NO_SOURCE)
        if found.searched:
            yield from self._search_events(call_id, found)
        if found.unplaced:
            yield Warned("citation_unplaced", f"{found.unplaced} citations apply to the answer as a whole")
        if not found.text:
            return
        text = f"{_SEPARATOR}{found.text}" if self._text_length else found.text
        base = self._text_length + len(text) - len(found.text)
        self._text_length += len(text)
        yield TextDelta(self._next(), text)
        for citation in found.citations if found.searched else ():
            yield Cited(_shifted(citation, base))

    def _search_events(self, call_id: str, found: CopilotResult, error: str = "") -> Iterator[Event]:
        part, query = self._started.get(call_id, (-1, ""))
        queries = found.queries or ((query,) if query else (single_line(self._query),))
        if part < 0:
            part = self._next()
        call_id = call_id or f"search_{part}"
        yield SearchCalled(part, SearchCall(call_id, queries))
        yield SearchReturned(self._next(), SearchResult(call_id, found.sources, error))

    def _next(self) -> int:
        self._parts += 1
        return self._parts - 1

    def _on_call(self, event: Fields) -> Iterator[Event]:
        model = single_line(event.obj("data").text("model"))
        if model and not self._model:
            self._model = model
            yield Started(model=model)

    def _on_tool_start(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        name, call_id = data.text("toolName"), data.text("toolCallId")
        if not _SEARCH.fullmatch(name):
            yield Warned("unexpected_tool", f"the Copilot CLI used the tool {single_line(name)[:80]!r}")
        elif call_id not in self._started:
            arguments = data.get("arguments")
            query = arguments.get("query") if isinstance(arguments, dict) else ""
            self._pending.add(call_id)
            yield self._start(call_id, single_line(query) if isinstance(query, str) else "")

    def _on_progress(self, event: Fields) -> Iterator[Event]:
        if event.obj("data").text("kind") == "web_search" and not self._native:
            self._native = "search"
            yield self._start(self._native, "")

    def _start(self, call_id: str, query: str) -> SearchStarted:
        part = self._next()
        self._started[call_id] = (part, query)
        return SearchStarted(part, call_id)

    def _on_tool_end(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        call_id = data.text("toolCallId")
        if call_id not in self._pending:
            return
        self._pending.discard(call_id)
        result = data.obj("result")
        contents = (result.text("content"), result.text("detailedContent"))
        found = next((found for text in contents if (found := parse_tool_result(text)) is not None), None)
        if data.flag("success") is False:
            yield from self._search_events(call_id, CopilotResult(""), "unavailable")
        elif found is not None:
            self._emitted_result = True
            yield from self._answer_events(call_id, found)
        else:
            self._has_searched = True

    def _on_message(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        content = data.text("content")
        if content.strip():
            found = parse_message(content, data.get("citations"), self._query)
            if self._has_searched and not found.searched:
                # The tool ran, but the format of its result is unknown: use the message instead.
                found = parse_json_answer(content, self._query) or replace(found, searched=True)
            self._message = found
        yield from ()

    def _on_error(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        self._error = (f"{data.text('message')}\n{data.text('errorType')}", data.integer("statusCode"))
        yield from ()

    def _on_result(self, event: Fields) -> Iterator[Event]:
        self._code = event.integer("exitCode") or 0
        yield from ()


def _event(line: bytes) -> Fields | None:
    try:
        event = Fields.of(load_json(line, UpstreamWireError), UpstreamWireError)
        is_event = event.text("type") == "result" or isinstance(event.get("data"), dict)
    except UpstreamWireError:
        return None
    return event if is_event else None


def _shifted(citation: Citation, by: int) -> Citation:
    span = citation.span
    return citation if span is None else replace(citation, span=Span(span.start + by, span.end + by))


_HANDLERS: Mapping[str, Callable[[OutputReader, Fields], Iterator[Event]]] = {
    "model.call_start": OutputReader._on_call,
    "tool.execution_start": OutputReader._on_tool_start,
    "tool.execution_complete": OutputReader._on_tool_end,
    "assistant.message": OutputReader._on_message,
    "assistant.server_tool_progress": OutputReader._on_progress,
    "session.error": OutputReader._on_error,
    "result": OutputReader._on_result,
}
