"""Page text is only data: a hostile page can be quoted, but causes nothing else."""

from __future__ import annotations

import json
import re

import pytest

from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.engine.compose.answer import compose
from groundwire.engine.compose.events import composition_events
from groundwire.engine.compose.synthesis import build_request, verify_answer
from groundwire.engine.pages import EngineResult, Passage
from groundwire.model import (
    Cited,
    Event,
    ExtrasSeen,
    Finished,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.testing.answers import encode_answer
from tests.engine.compose.hostile import FACT, PAGES
from tests.engine.compose.passages import check, passage
from tests.figures import Figures

pytestmark = pytest.mark.server

QUERY = "How many piers has the harbour of Brig?"
PLAIN = passage(FACT, "plain", "Harbours", score=0.5)
KINDS = {
    *(Started, SearchStarted, SearchCalled, SearchReturned, ExtrasSeen, TextDelta),
    *(Cited, TextSettled, Warned, UsageSeen, Finished),
}
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u206f\ufeff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)


def page(text: str) -> Passage:
    return passage(text, "hostile", text[:80])


def answer_events(text: str) -> list[Event]:
    passages = (page(text), PLAIN)
    return list(composition_events(QUERY, EngineResult(passages, (QUERY,)), compose(QUERY, passages)))


def test_there_are_sixty_hostile_pages() -> None:
    assert len(set(PAGES)) == 60


@pytest.mark.parametrize("text", PAGES, ids=range(len(PAGES)))
def test_a_hostile_page_is_quoted_at_most(text: str) -> None:
    passages = [page(text), PLAIN]
    composition = compose(QUERY, passages)
    check(composition, passages)
    assert FACT in composition.text
    assert not HIDDEN.search(composition.text)
    assert {note.code for note in composition.notes} <= {"thin_evidence", "contradictory_evidence"}
    urls = {item.source.url for citation in composition.citations for item in citation.evidence}
    assert urls <= {each.url for each in passages}


@pytest.mark.parametrize("text", PAGES, ids=range(len(PAGES)))
def test_a_hostile_page_causes_no_event_of_its_own(text: str) -> None:
    events = answer_events(text)
    assert {type(event) for event in events} <= KINDS
    assert [event.call.queries for event in events if isinstance(event, SearchCalled)] == [(QUERY,)]
    assert [event for event in events if isinstance(event, Finished)] == [Finished("stop")]
    sources = assemble(events).sources
    assert [source.url for source in sources] == [page(text).url, PLAIN.url]
    assert sources[0].excerpts == (text,)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_hostile_page_stays_text_in_every_dialect(name: str, figures: Figures) -> None:
    calls = 0
    for text in PAGES:
        decoder = dialect(name).decoder()
        answer = assemble([*decoder.feed(encode_answer(name, answer_events(text)).stream), *decoder.close()])
        assert answer.error is None
        assert answer.finish == "stop"
        assert FACT in answer.text
        calls += sum(isinstance(part, ToolCall) for part in answer.parts)
        assert len(answer.searches) <= 1
    figures.add("S8", "answers with hostile pages, in all dialects", len(PAGES), part=name)
    figures.add("S8", "tool calls in them", calls, part=name)
    assert calls == 0


@pytest.mark.parametrize("text", PAGES, ids=range(len(PAGES)))
def test_a_hostile_page_is_one_line_of_data_to_a_model(text: str) -> None:
    request = build_request(QUERY, [page(text), PLAIN])
    lines = request.query.split("\n")
    assert [json.loads(line)["passage"] for line in lines[1:3]] == [1, 2]
    assert lines[3:] == ["", f"Question: {QUERY}"]
    assert not HIDDEN.search(request.query.replace("\n", ""))
    assert request.tools == ()
    assert request.search is None
    assert all(isinstance(part, Text) for message in request.messages for part in message.parts)


@pytest.mark.parametrize("text", PAGES, ids=range(len(PAGES)))
def test_a_model_that_repeats_a_hostile_page_produces_only_text_and_citations(text: str) -> None:
    passages = [page(text), PLAIN]
    composition = verify_answer(f"{text}\n\n{FACT} [2]", passages)
    assert not HIDDEN.search(composition.text)
    for citation in composition.citations:
        assert all(
            item.quote in each.text
            for item in citation.evidence
            for each in passages
            if each.url == item.source.url
        )
