"""The result of a search, and the events it tells.

The query stands in `returnDisplay` between fixed words, so that it is known even where it holds quotation
marks and lines of its own. Sources are what the answer cites, or, if it cites nothing, what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import FIELD, VERSION, extend
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.source_audit import EMPTY, audited
from groundwire.dialects.websearch.errors import decode_error_result, encode_error_result
from groundwire.dialects.websearch.parts import Reading, read, render
from groundwire.dialects.websearch.request import NAME
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    NOTHING_FOUND,
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    Failed,
    Finished,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Warned,
)
from groundwire.model.value import replace
from groundwire.text.markdown import render_sources
from groundwire.text.sources import number_answer
from groundwire.text.urls import domain_of, safe_url

_NOTHING = "No information found."
_RETURNED = re.compile(r'Search results for "(.*)" returned\.', re.DOTALL)
_PREFIX = re.compile(r'Web search results for "(.*?)":\n\n', re.DOTALL)
_NOT_FOUND = re.compile(r'No search results or information found for query: "(.*)"', re.DOTALL)
_LIST = "\n\nSources:\n"
_MARK: Extras = {NAME: {}}
_CALL = "search_0"


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """The one result.

    An answer that broke off is an error, for half of it would be taken for the whole; the result of what
    had been said stands in the extension as `partial`.
    """
    # The result says so itself, in the words of the contract.
    warnings = tuple(warning for warning in answer.warnings if warning.code != EMPTY.code)
    answer = replace(answer, warnings=warnings)
    silent = replace(answer, warnings=())
    body, more = _encode_result(answer, _query_of(answer, reply))
    if answer.error is not None:
        more = {"partial": _extended(body, more, silent)} if answer.text.strip() else {}
        body = encode_error_result(answer.error)
    return _extended(body, more, answer)


def _extended(body: JsonObject, more: JsonObject, answer: Answer) -> JsonObject:
    """The result with warnings and whatever else the extension has to say."""
    extend(body, answer, ())
    if more:
        body[FIELD] = {"version": VERSION, **as_object(body.get(FIELD)), **more}
    return body


def decode_response(body: JsonObject) -> list[Event]:
    """The events of a result."""
    return audited(body, read_result(body), needs_content=False)


def read_result(body: JsonObject) -> list[Event]:
    """The events of a result, without a look at what they leave out."""
    result = Fields.of(body, UpstreamWireError)
    if not result.has("llmContent") and not result.has("error"):
        raise result.fault("expected the text of a result", "llmContent")
    extension = result.obj(FIELD)
    events: list[Event] = [Started()]
    events += (Warned(item.text("code"), item.text("message")) for item in extension.objs("warnings"))
    if not result.has("error"):
        return [*events, *_decode_result(result, extension), Finished()]
    if extension.has("partial"):
        partial = extension.obj("partial")
        events += _decode_result(partial, partial.obj(FIELD))
    return [*events, Failed(decode_error_result(result))]


def _encode_result(answer: Answer, query: str) -> tuple[JsonObject, JsonObject]:
    """The result of what was said, and what the extension must say about it."""
    if not answer.text.strip() or answer.detail == NOTHING_FOUND:
        return _encode_nothing(query), {}
    prefix = f'Web search results for "{query}":\n\n'
    numbering = number_answer(answer)
    sources = [replace(source, url=safe_url(source.url)) for source in numbering.sources]
    rendered = render(answer, numbering, len(prefix))
    body: JsonObject = {
        "llmContent": f"{prefix}{rendered.text}" + (f"\n\n{render_sources(sources)}" if sources else ""),
        "returnDisplay": f'Search results for "{query}" returned.',
    }
    if sources:
        body["sources"] = [_encode_source(source) for source in sources]
    return body, rendered.extension


def _query_of(answer: Answer, reply: Reply) -> str:
    if reply.request.query:
        return reply.request.query
    return next((search.query for search in answer.searches if search.kind == "search"), "")


def _encode_nothing(query: str) -> JsonObject:
    return {
        "llmContent": f'No search results or information found for query: "{query}"',
        "returnDisplay": _NOTHING,
    }


def _encode_source(source: Source) -> JsonObject:
    web: JsonObject = {}
    if source.title:
        web["title"] = source.title
    if source.url:
        web["uri"] = source.url
    return {"web": web}


def _decode_result(result: Fields, extension: Fields) -> Iterator[Event]:
    content = result.text("llmContent")
    if result.text("returnDisplay") == _NOTHING:
        match = _NOT_FOUND.fullmatch(content)
        yield from _tell_search(match[1] if match else "", ())
        return
    query, start = _query_in(content, result.text("returnDisplay"))
    listed = [_decode_source(entry) for entry in result.objs("sources")]
    end, labels = _list_in(content, start, len(listed))
    sources = [
        source if source.title or label in ("", domain_of(source.url)) else replace(source, domain=label)
        for source, label in zip(listed, labels, strict=True)
    ]
    yield from _tell_search(query, sources)
    yield from _tell_text(read(content[start:end], len(sources), extension, start), sources)


def _query_in(content: str, display: str) -> tuple[str, int]:
    """The query, and where the words begin."""
    returned = _RETURNED.fullmatch(display)
    if returned is not None:
        prefix = f'Web search results for "{returned[1]}":\n\n'
        if content.startswith(prefix):
            return returned[1], len(prefix)
    match = _PREFIX.match(content)
    return (match[1], match.end()) if match else ("", 0)


def _list_in(content: str, start: int, count: int) -> tuple[int, list[str]]:
    """Where the words end, and how the list after them calls each source."""
    place = content.rfind(_LIST, start)
    lines = content[place + len(_LIST) :].split("\n")
    if not count or place < 0 or len(lines) != count:
        return len(content), [""] * count
    labels = []
    for number, line in enumerate(lines, 1):
        head = f"[{number}] "
        if not line.startswith(head):
            return len(content), [""] * count
        labels.append(re.sub(r" \(https?://\S*\)$", "", line.removeprefix(head)))
    return place, labels


def _decode_source(entry: Fields) -> Source:
    web = entry.obj("web")
    return Source(safe_url(web.text("uri")), web.text("title"))


def _tell_search(query: str, sources: Sequence[Source]) -> Iterator[Event]:
    if not query and not sources:
        return
    yield SearchCalled(0, SearchCall(_CALL, (query,) if query else (), extras=_MARK))
    yield SearchReturned(1, SearchResult(_CALL, tuple(sources), extras=_MARK))


def _tell_text(reading: Reading, sources: Sequence[Source]) -> Iterator[Event]:
    def evidence(number: int) -> tuple[Evidence, ...]:
        return (Evidence(replace(sources[number - 1], state="cited"), extras=_MARK),)

    parts = range(2, 2 + len(reading.texts))
    for part, text, phase in zip(parts, reading.texts, reading.phases, strict=True):
        if text:
            yield TextDelta(part, text, phase)
    for position, number in reading.marks:
        yield Cited(Citation(Span(position, position), evidence(number)))
    for number in reading.unplaced:
        yield Cited(Citation(None, evidence(number)))
    for part, text in zip(parts, reading.texts, strict=True):
        if text:
            yield TextSettled(part)
