"""Answers and errors in every dialect, written by the dialects' own codecs.

So one suite serves all providers: it says what the answer is, not how anybody spells it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundwire.dialects.base import ErrorBody, Reply
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    assemble,
)


class Written(NamedTuple):
    """An answer in both forms."""

    whole: bytes
    stream: bytes
    content_type: str
    """Of the stream."""


def written(name: str, events: Iterable[Event], reply: Reply | None = None) -> Written:
    """The answer that these events tell, in the words of a dialect."""
    language = dialect(name)
    said = list(events)
    answer = assemble(said)
    queries = [search.query for search in answer.searches if search.kind == "search"]
    question = Message("user", (Text(queries[0] if queries else "?"),))
    request = Request((question,), answer.model, search=SearchOptions())
    reply = reply or Reply("scripted", answer.model, 1_790_000_000, request)
    encoder = language.encoder(reply)
    stream = b"".join(map(encoder.feed, said)) + encoder.close()
    return Written(dump_json(language.encode_response(answer, reply)).encode(), stream, encoder.content_type)


def error_body(name: str, error: GroundwireError) -> ErrorBody:
    """An error in the words of a dialect, with the status it comes with."""
    return dialect(name).encode_error(error, Reply("scripted"))


def told(text: str, *sources: Source, query: str = "", model: str = "scripted-1") -> list[Event]:
    """The events of a plain answer: one search, and a text of which every source supports the whole."""
    events: list[Event] = [Started("scripted", model)]
    if sources or query:
        call = SearchCall("search_0", (query or "what was asked",))
        events += (SearchCalled(0, call), SearchReturned(1, SearchResult(call.id, sources)))
    part = len(events) - 1
    events.append(TextDelta(part, text))
    if sources and text:
        evidence = tuple(Evidence(source) for source in sources)
        events.append(Cited(Citation(Span(0, len(text)), evidence)))
    usage = Usage(input_tokens=12, output_tokens=34)
    return [*events, TextSettled(part), UsageSeen(usage), Finished("stop")]
