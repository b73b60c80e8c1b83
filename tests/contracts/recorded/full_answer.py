"""One answer with every feature, as events, for dialects with few recorded streams."""

from __future__ import annotations

from groundwire.dialects.base import CitationPolicy, Reply
from groundwire.dialects.registry import dialect
from groundwire.errors import Overloaded
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)

_TEXT = "🌧️ Rain in Zürich 🇨🇭 today; 東京 is dry.\u2028Both are far from the sea, e.g. 43 km\u0085or more. "
_MORE = 'See ([example.org](https://example.org/a?b=1&c="d")) for a map of <b>both</b> places.'
_RAIN = Source("https://example.org/rain", "Rain & shine", "cited", date="2 days ago")
_TOKYO = Source("https://例え.jp/東京?q=天気", "天気「東京」", "cited")
_MAP = Source("https://example.org/a?b=1&c=%22d%22", "A map", "cited")
_LINK = '([example.org](https://example.org/a?b=1&c="d"))'


def _cite(fragment: str, *evidence: Evidence) -> Cited:
    start = (_TEXT + _MORE).index(fragment)
    span = Span(start, start + len(fragment))
    return Cited(Citation(span, evidence, "marker" if fragment == _LINK else "claim"))


def _pieces(part: int, text: str) -> list[Event]:
    return [TextDelta(part, text[start : start + 9]) for start in range(0, len(text), 9)]


_BEGINNING: list[Event] = [
    Started("rich", "model-1"),
    ReasoningDelta(0, "Both cities?\n\n"),
    ReasoningDelta(0, "Search 🔎 first."),
    SearchStarted(1, "s1"),
    SearchCalled(1, SearchCall("s1", ("rain zürich", "東京 天気"))),
    SearchReturned(2, SearchResult("s1", (_RAIN, _TOKYO, Source("https://example.org/other")))),
    SearchStarted(3, "s2"),
    SearchCalled(3, SearchCall("s2", kind="open", url="https://example.org/rain")),
    SearchReturned(4, SearchResult("s2", error="unavailable")),
    *_pieces(5, _TEXT),
    _cite("Rain in Zürich 🇨🇭 today", Evidence(_RAIN, "It rains in Zürich.", 0.5)),
    _cite("東京 is dry.", Evidence(_TOKYO, "晴れ"), Evidence(_RAIN)),
    TextSettled(5),
    *_pieces(6, _MORE),
    _cite(_LINK, Evidence(_MAP)),
    Cited(Citation(None, (Evidence(_TOKYO),))),
    TextSettled(6),
]
_CALLS: list[Event] = [
    ToolCallDelta(7, "call_1", "get_weather"),
    ToolCallDelta(7, arguments='{"city": "Zür'),
    ToolCallDelta(7, arguments='ich 🏔"}'),
]
_COUNTS = UsageSeen(Usage(1200, 340, 100, 50, 80, 60, 2, 1, 0.5))

RICH: dict[str, list[Event]] = {
    "whole": [*_BEGINNING, _COUNTS, Warned("citation_unplaced", "One has no span ⚠."), Finished("stop")],
    "with a call": [*_BEGINNING, *_CALLS, _COUNTS, Finished("tool_calls")],
    "cut by a limit": [*_BEGINNING, _COUNTS, Finished("length")],
    "failed": [*_BEGINNING, Failed(Overloaded("Overloaded 🔥", status=529))],
    "empty": [Started("rich", "model-1"), Finished("stop")],
    "interleaved": [
        Started("rich", "model-1"),
        *[event for pair in zip(_pieces(0, _TEXT), _pieces(2, _MORE), strict=False) for event in pair],
        ToolCallDelta(1, arguments="{}"),
        _cite("東京 is dry.", Evidence(_TOKYO)),
        SearchReturned(3, SearchResult("never called", (_RAIN,))),
        Cited(Citation(Span(5, 100_000), (Evidence(_MAP),))),
        Finished("stop"),
    ],
}


def encoded(name: str, events: list[Event], citations: CitationPolicy = "exact") -> bytes:
    """Encode the events as a stream of a dialect."""
    reply = Reply(id="rich", model="model-1", created=1_790_000_000, citations=citations)
    encoder = dialect(name).encoder(reply)
    return b"".join(encoder.feed(event) for event in events) + encoder.close()
