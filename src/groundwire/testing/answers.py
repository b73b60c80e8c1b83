"""Answers and errors in every dialect, encoded by the dialects' own codecs.

So one test suite covers all providers: it states the answer, not its wire format.
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


class EncodedAnswer(NamedTuple):
    """An answer as one document and as a stream."""

    whole: bytes
    stream: bytes
    content_type: str
    """Of the stream."""


def encode_answer(name: str, events: Iterable[Event], reply: Reply | None = None) -> EncodedAnswer:
    """Encode the answer of some events in a dialect."""
    language = dialect(name)
    events = list(events)
    answer = assemble(events)
    queries = [search.query for search in answer.searches if search.kind == "search"]
    question = Message("user", (Text(queries[0] if queries else "?"),))
    request = Request((question,), answer.model, search=SearchOptions())
    reply = reply or Reply("scripted", answer.model, 1_790_000_000, request)
    encoder = language.encoder(reply)
    stream = b"".join(map(encoder.feed, events)) + encoder.close()
    return EncodedAnswer(
        dump_json(language.encode_response(answer, reply)).encode(), stream, encoder.content_type
    )


def error_body(name: str, error: GroundwireError) -> ErrorBody:
    """Status and body of an error in a dialect."""
    return dialect(name).encode_error(error, Reply("scripted"))


def answer_events(text: str, *sources: Source, query: str = "", model: str = "scripted-1") -> list[Event]:
    """Events of a simple answer: one search, and a text that is cited as a whole with every source."""
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
