"""Rendering in every order in which providers report text, citations, searches and calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import Interrupted
from groundwire.faces.gateway.rendering import Renderer
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    Reasoning,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    assemble,
)
from tests.growth import LINEAR, growth
from tests.model.strategies import cases

SOURCES = tuple(Source(f"https://{name}.example/", name.title()) for name in ("one", "two", "three"))
ENDS: tuple[Event, ...] = (Finished(), Finished("tool_calls"), Failed(Interrupted("cut")))
_LIST_LINE = re.compile(r"^\[(\d+)\] .* \((.*)\)$", re.MULTILINE)


class Piece(NamedTuple):
    """A part of an answer as it is generated: text with claims, or anything else."""

    kind: str
    text: str = ""
    claims: tuple[tuple[int, int, int], ...] = ()
    """Start, length and number of the source."""


class Order(NamedTuple):
    """When a provider reports citations, settled text and searches."""

    settled: bool
    """At the end of each text part; else at the end of the answer."""
    cited: str
    """`before` the text of the part, `after` it, or at the `end` of the answer."""
    searches: str
    """`inline` where they belong, or at the `end` of the answer."""


texts = st.builds(
    Piece,
    st.just("text"),
    st.text(st.sampled_from("ab ☃𝄞.é\n"), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 19), st.integers(1, 30), st.integers(0, 2)), max_size=3).map(tuple),
)
others = st.sampled_from([Piece("search"), Piece("call"), Piece("thought")])
answers = st.lists(texts | others, min_size=1, max_size=7)
orders = st.builds(
    Order,
    st.booleans(),
    st.sampled_from(["before", "after", "end"]),
    st.sampled_from(["inline", "end"]),
)
unplaced = st.lists(st.sampled_from(SOURCES), max_size=2)


def citations_of(pieces: Sequence[Piece]) -> list[list[Citation]]:
    """For each piece its citations; a span may reach into the texts that follow."""
    total = sum(len(piece.text) for piece in pieces)
    position = 0
    found: list[list[Citation]] = []
    for piece in pieces:
        spans = [
            (Span(position + start, min(position + start + length, total)), SOURCES[number])
            for start, length, number in piece.claims
            if start < len(piece.text)
        ]
        found.append([Citation(span, (Evidence(source),)) for span, source in spans])
        position += len(piece.text)
    return found


def events_of(pieces: Sequence[Piece], order: Order, whole: Iterable[Source], end: Event) -> list[Event]:
    events: list[Event] = [Started("1", "m")]
    last: list[Event] = []
    crossing = any(
        citation.span and citation.span.end > sum(len(item.text) for item in pieces[: number + 1])
        for number, citations in enumerate(citations_of(pieces))
        for citation in citations
    )
    part = 0
    for piece, citations in zip(pieces, citations_of(pieces), strict=True):
        cited = [Cited(citation) for citation in citations]
        match piece.kind:
            case "text":
                middle = len(piece.text) // 2
                deltas = [TextDelta(part, piece.text[:middle]), TextDelta(part, piece.text[middle:])]
                # A provider that cites across parts cannot have settled the first of them.
                early = order.settled and not crossing and order.cited != "end"
                before, after = (cited, []) if order.cited == "before" else ([], cited)
                events += (*before, *deltas)
                if order.cited == "end":
                    last += after
                else:
                    events += after
                (events if early else last).append(TextSettled(part))
            case "search":
                found: list[Event] = [
                    SearchCalled(part, SearchCall(f"s{part}", (f"q{part}",))),
                    SearchReturned(part + 1, SearchResult(f"s{part}", SOURCES)),
                ]
                (events if order.searches == "inline" else last).extend(found)
                part += 1
            case "call":
                events += (
                    ExtrasSeen(part, {"gemini": {"signature": f"signed {part}"}}),
                    ToolCallDelta(part, f"c{part}", "f", "{}"),
                )
            case _:
                events.append(ReasoningDelta(part, f"thought {part}"))
        part += 1
    return [*events, *last, *(Cited(Citation(None, (Evidence(source),))) for source in whole), end]


def through(events: Sequence[Event], *, keep_citations: bool) -> list[Event]:
    renderer = Renderer(keep_citations=keep_citations)
    return [event for given_ in events for event in renderer.feed([given_])]


def kept_parts(answer: Answer) -> list[str]:
    """Everything that is not text."""
    return sorted(map(repr, (part for part in answer.parts if not isinstance(part, Text))))


@cases(400)
@given(answers, orders, unplaced, st.sampled_from(ENDS), st.booleans())
def test_every_source_is_listed_once_at_the_end_of_the_last_text(
    pieces: list[Piece], order: Order, whole: list[Source], end: Event, keep: bool
) -> None:
    events = events_of(pieces, order, whole, end)
    before, sent = assemble(events), through(events, keep_citations=keep)
    after = assemble(sent)
    cited = {item.source.url for citation in before.citations for item in citation.evidence}

    assert [event for event in sent if isinstance(event, Finished | Failed)] == [sent[-1]] == [end]
    assert kept_parts(after) == kept_parts(before)
    body, heading, listing = after.text.partition("Sources:\n")
    assert bool(heading) == bool(cited)
    lines = _LIST_LINE.findall(listing)
    assert [number for number, _ in lines] == [str(number + 1) for number in range(len(cited))]
    assert sorted(url for _, url in lines) == sorted(cited)
    last = next((part for part in reversed(after.parts) if isinstance(part, Text)), Text(""))
    assert listing in last.text
    if body.strip() and not whole:
        assert not last.text.lstrip("\n").startswith("Sources:"), "the list has some text before it"
    assert re.sub(r"\[\d\]", "", body).rstrip("\n") == before.text.rstrip("\n")
    assert bool(after.citations) == (keep and bool(cited))


@cases(400)
@given(answers, orders, unplaced)
def test_every_marker_follows_its_claim(pieces: list[Piece], order: Order, whole: list[Source]) -> None:
    events = events_of(pieces, order, whole, Finished())
    before, after = assemble(events), assemble(through(events, keep_citations=True))
    lines = {url: number for number, url in _LIST_LINE.findall(after.text.partition("Sources:\n")[2])}

    def claims(answer: Answer) -> set[tuple[str, str]]:
        return {
            (re.sub(r"\[\d\]", "", answer.text[citation.span.start : citation.span.end]), item.source.url)
            for citation in answer.citations
            if citation.span
            for item in citation.evidence
        }

    assert claims(after) == claims(before)
    for citation in after.citations:
        for item in citation.evidence:
            if citation.span:
                follows = re.match(r"(\[\d\])*", after.text[citation.span.end :])
                assert follows is not None
                assert f"[{lines[item.source.url]}]" in follows[0]
    markers = assemble(through(events, keep_citations=False))
    assert markers.text == after.text


@cases(200)
@given(answers, orders, unplaced)
def test_parts_are_numbered_in_the_order_in_which_they_are_sent(
    pieces: list[Piece], order: Order, whole: list[Source]
) -> None:
    sent = through(events_of(pieces, order, whole, Finished()), keep_citations=True)
    parts = [event.part for event in sent if isinstance(getattr(event, "part", None), int)]  # type: ignore[union-attr]
    assert parts == sorted(parts)
    assert sorted(set(parts)) == list(range(len(set(parts))))


LATE = [Piece("text", "Snow fell.", ((0, 10, 0),)), Piece("search")]


@pytest.mark.parametrize("keep", [True, False])
def test_a_search_reported_after_the_text_is_sent_before_it(keep: bool) -> None:
    events = events_of(LATE, Order(settled=False, cited="end", searches="inline"), (), Finished())
    answer = assemble(through(events, keep_citations=keep))
    assert [type(part) for part in answer.parts] == [SearchCall, SearchResult, Text]
    assert answer.text == "Snow fell.[1]\n\nSources:\n[1] One (https://one.example/)"


def test_cited_text_stays_the_last_text_part_even_if_a_search_follows() -> None:
    events = events_of(LATE, Order(settled=True, cited="before", searches="inline"), (), Finished())
    answer = assemble(through(events, keep_citations=False))
    assert [part.text for part in answer.parts if isinstance(part, Text)] == [
        "Snow fell.[1]\n\nSources:\n[1] One (https://one.example/)"
    ]
    assert any(isinstance(part, SearchCall) for part in answer.parts)


def test_sources_are_listed_even_without_text() -> None:
    events = [*events_of([Piece("search")], Order(True, "before", "inline"), SOURCES[:1], Finished())]
    assert assemble(through(events, keep_citations=False)).text == "Sources:\n[1] One (https://one.example/)"


def test_signatures_of_calls_and_thoughts_are_kept_and_those_of_rewritten_text_removed() -> None:
    signed: Extras = {"anthropic_messages": {"signature": "x"}}
    events: list[Event] = [
        ReasoningDelta(0, "hm"),
        ExtrasSeen(0, signed),
        ExtrasSeen(1, signed),
        TextDelta(1, "Yes."),
        ExtrasSeen(1, signed),
        ToolCallDelta(2, "c", "f", "{}"),
        ExtrasSeen(2, signed),
        Finished("tool_calls"),
    ]
    thought, text, call = assemble(through(events, keep_citations=False)).parts
    assert isinstance(thought, Reasoning)
    assert isinstance(call, ToolCall)
    assert (thought.extras, call.extras) == (signed, signed)
    assert text == Text("Yes.")


@pytest.mark.parametrize("settled", [True, False])
def test_the_cost_grows_with_the_number_of_parts_and_citations(settled: bool) -> None:
    def work(count: int) -> None:
        pieces = [Piece("text", "word ", ((0, 4, number % 3),)) for number in range(count)]
        order = Order(settled, "after", "inline")
        through(events_of_linear(pieces, order), keep_citations=True)

    assert growth(work, 400) < LINEAR


def events_of_linear(pieces: Sequence[Piece], order: Order) -> list[Event]:
    events: list[Event] = []
    for number, piece in enumerate(pieces):
        start = 5 * number
        citation = Citation(Span(start, start + 4), (Evidence(SOURCES[number % 3]),))
        events += (TextDelta(number, piece.text), Cited(citation))
        events += (TextSettled(number),) if order.settled else ()
    return [*events, Finished()]
