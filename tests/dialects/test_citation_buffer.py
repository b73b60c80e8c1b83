"""Citations that arrive after their text, in both policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects.citation_buffer import CitationBuffer, searches_before_text
from groundwire.errors import Interrupted
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    Warned,
    assemble,
)
from tests.model.strategies import cases, events


def cited(start: int, end: int) -> Cited:
    return Cited(Citation(Span(start, end), (Evidence(Source("https://a.example")),)))


def feed_all(policy: str, incoming: Sequence[Event]) -> list[list[Event]]:
    buffer = CitationBuffer("exact" if policy == "exact" else "live")
    return [buffer.feed(event) for event in incoming]


ONE, TWO = cited(0, 3), cited(3, 6)
SEARCHES = (SearchStarted, SearchCalled, SearchReturned)
TEXTS = (TextDelta, TextSettled, ExtrasSeen)
OTHERS = tuple(kind for kind in get_args(Event) if kind not in (Cited, *SEARCHES))


def test_exact_holds_text_until_it_is_settled_and_releases_its_citations_first() -> None:
    incoming: list[Event] = [
        Started(),
        TextDelta(0, "abc"),
        TextDelta(0, "def"),
        ONE,
        TWO,
        TextSettled(0),
        Finished(),
    ]
    assert feed_all("exact", incoming) == [
        [Started()],
        [],
        [],
        [],
        [],
        [ONE, TWO, TextDelta(0, "abc"), TextDelta(0, "def"), TextSettled(0)],
        [Finished()],
    ]


def test_live_sends_everything_at_once() -> None:
    incoming: list[Event] = [TextDelta(0, "abc"), ONE, TextSettled(0), Finished()]
    assert feed_all("live", incoming) == [[event] for event in incoming]


@pytest.mark.parametrize("end", [Finished(), Failed(Interrupted("cut"))])
def test_exact_releases_everything_when_the_answer_ends_unsettled(end: Event) -> None:
    assert feed_all("exact", [TextDelta(0, "abc"), ONE, end])[-1] == [ONE, TextDelta(0, "abc"), end]


def test_exact_keeps_the_order_of_everything_but_citations() -> None:
    search = SearchCalled(1, SearchCall("s", ("q",)))
    incoming: list[Event] = [
        TextDelta(0, "abc"),
        search,
        TextDelta(2, "def"),
        TextSettled(2),
        ONE,
        TWO,
        TextSettled(0),
    ]
    assert feed_all("exact", incoming)[-1] == [
        ONE,
        TWO,
        TextDelta(0, "abc"),
        search,
        TextDelta(2, "def"),
        TextSettled(2),
        TextSettled(0),
    ]


def test_exact_does_not_hold_events_before_any_text() -> None:
    search = SearchCalled(0, SearchCall("s", ("q",)))
    assert feed_all("exact", [Started(), search, Warned("a", "b")]) == [
        [Started()],
        [search],
        [Warned("a", "b")],
    ]


def test_exact_releases_a_settled_part_while_the_next_one_arrives() -> None:
    incoming: list[Event] = [
        TextDelta(0, "abc"),
        ONE,
        TextSettled(0),
        TextDelta(1, "def"),
        TWO,
        TextSettled(1),
    ]
    assert feed_all("exact", incoming)[2] == [ONE, TextDelta(0, "abc"), TextSettled(0)]
    assert feed_all("exact", incoming)[5] == [TWO, TextDelta(1, "def"), TextSettled(1)]


def test_a_citation_of_text_already_sent_is_released_before_the_end() -> None:
    incoming: list[Event] = [TextDelta(0, "abc"), TextSettled(0), ONE, Finished()]
    assert feed_all("exact", incoming) == [
        [],
        [TextDelta(0, "abc"), TextSettled(0)],
        [],
        [ONE, Finished()],
    ]


SEARCH, RESULT = SearchCall("s", ("q",)), SearchResult("s", (Source("https://a.example"),))


def test_exact_releases_late_searches_before_their_text() -> None:
    buffer: list[Event] = [SearchCalled(1, SEARCH), SearchReturned(2, RESULT)]
    incoming: list[Event] = [Started(), TextDelta(0, "abc"), *buffer, ONE, TextSettled(0), Finished()]
    out = [event for batch in feed_all("exact", incoming) for event in batch]
    assert out == [Started(), *buffer, ONE, TextDelta(0, "abc"), TextSettled(0), Finished()]


def test_a_search_after_settled_text_stays_there() -> None:
    incoming: list[Event] = [TextDelta(0, "abc"), TextSettled(0), SearchCalled(1, SEARCH), Finished()]
    assert [event for batch in feed_all("exact", incoming) for event in batch] == incoming


def test_searches_between_and_after_held_texts_stay_in_their_order() -> None:
    first, second = SearchCalled(1, SEARCH), SearchCalled(3, SearchCall("t", ("r",)))
    incoming: list[Event] = [TextDelta(0, "abc"), first, TextDelta(2, "def"), second, Finished()]
    assert [event for batch in feed_all("exact", incoming) for event in batch] == incoming


def test_a_whole_answer_has_late_searches_before_its_text() -> None:
    assert searches_before_text((Text("a"), Text("b"), SEARCH, RESULT), "own") == (
        SEARCH,
        RESULT,
        Text("a"),
        Text("b"),
    )


def test_a_search_between_two_texts_stays_between_them() -> None:
    parts = (Text("a"), SEARCH, RESULT, Text("b"))
    assert searches_before_text(parts, "own") == parts


def test_what_the_dialect_itself_made_keeps_its_order() -> None:
    parts = (Text("a"), SearchCall("s", ("q",), extras={"own": {}}))
    assert searches_before_text(parts, "own") == parts


def numbered_by_kind(incoming: Sequence[Event]) -> list[Event]:
    """Without events of a part that has the number of a part of another kind: decoders number each part."""
    kinds: dict[int, object] = {}
    kept: list[Event] = []
    for event in incoming:
        kind = SEARCHES if isinstance(event, SEARCHES) else TEXTS if isinstance(event, TEXTS) else type(event)
        if not hasattr(event, "part") or kinds.setdefault(event.part, kind) == kind:
            kept.append(event)
    return kept


@cases(200)
@given(st.lists(events().filter(lambda event: not isinstance(event, Finished | Failed)), max_size=10))
@pytest.mark.parametrize("policy", ["exact", "live"])
def test_nothing_is_lost_or_repeated_and_the_answer_is_the_same(policy: str, incoming: list[Event]) -> None:
    incoming = [*numbered_by_kind(incoming), Finished()]
    out = [event for batch in feed_all(policy, incoming) for event in batch]
    for kinds in ((Cited,), SEARCHES, OTHERS):
        assert [event for event in out if isinstance(event, kinds)] == [
            event for event in incoming if isinstance(event, kinds)
        ]
    assert assemble(out) == assemble(incoming)
    assert out[-1] == Finished()
