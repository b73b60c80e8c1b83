"""A typical answer at a gateway: 3 KB of text in 150 deltas, one search, eight sources, eight citations."""

from __future__ import annotations

from groundwire.dialects.base import Dialect, Reply
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
)

REPLY = Reply(id="bench", model="bench-1", created=1_790_000_000, request=Request((), search=SearchOptions()))

_DELTA = "ein Wort – αβγ, 東京! "


def events(deltas: int = 150, citations: int = 8) -> list[Event]:
    """The answer as events."""
    sources = tuple(Source(f"https://example.org/page/{n}", f"Page {n}") for n in range(8))
    length = deltas * len(_DELTA)
    step = max(1, length // citations)
    spans = [Span(start, start + max(1, step // 2)) for start in range(0, length - step + 1, step)]
    return [
        Started("bench", "bench-1"),
        SearchCalled(0, SearchCall("search_0", ("words in many scripts",))),
        SearchReturned(1, SearchResult("search_0", sources)),
        *(TextDelta(2, _DELTA) for _ in range(deltas)),
        *(Cited(Citation(span, (Evidence(sources[n % 8]),))) for n, span in enumerate(spans)),
        TextSettled(2),
        UsageSeen(Usage(input_tokens=1200, output_tokens=900, searches=1)),
        Finished("stop"),
    ]


def encode(dialect: Dialect, answer: list[Event]) -> bytes:
    """The answer as a stream of that dialect."""
    encoder = dialect.encoder(REPLY)
    return b"".join(encoder.feed(event) for event in answer) + encoder.close()
