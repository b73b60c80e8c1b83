"""A composition as events: in order, complete, and encodable in every dialect."""

from __future__ import annotations

import pytest

from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.engine.compose.answer import Composition, compose
from groundwire.engine.compose.events import composition_events
from groundwire.engine.knowledge.addresses import documentation_link, local_address
from groundwire.engine.pages import EngineResult, Passage
from groundwire.model import (
    NOTHING_FOUND,
    Cited,
    ExtrasSeen,
    Finished,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    TextDelta,
    TextSettled,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.testing.answers import encode_answer
from tests.engine.compose.passages import passage

pytestmark = pytest.mark.server

QUERY = "How tall is the Eiffel Tower?"
PASSAGES = (
    passage("The Eiffel Tower is 330 metres tall.", "a"),
    passage("The Eiffel Tower is 324 metres tall.", "b"),
    passage("Nothing of interest.", "c"),
)
FOUND = EngineResult(PASSAGES, ("eiffel tower height",), (Warned("option_ignored", "no location"),))
NOTHING = EngineResult((), ("eiffel tower height",))


def test_the_events_of_an_answer_are_in_order() -> None:
    events = list(composition_events(QUERY, FOUND, compose(QUERY, PASSAGES)))
    kinds = [type(event) for event in events]
    assert kinds[:4] == [Started, SearchStarted, SearchCalled, SearchReturned]
    assert kinds[4:9] == [ExtrasSeen, TextDelta, Cited, TextDelta, Cited]
    assert kinds[9] is TextSettled
    assert set(kinds[10:-2]) == {Warned}
    assert kinds[-2:] == [UsageSeen, Finished]


def test_the_answer_is_the_composition() -> None:
    composition = compose(QUERY, PASSAGES)
    answer = assemble(composition_events(QUERY, FOUND, composition))
    assert answer.text == composition.text
    assert answer.citations == composition.citations
    assert answer.warnings == (*FOUND.warnings, *composition.notes)
    assert [search.query for search in answer.searches] == ["eiffel tower height"]
    assert [source.state for source in answer.sources] == ["cited", "cited", "retrieved"]
    assert answer.sources[0].excerpts == (PASSAGES[0].text,)
    assert answer.usage.searches == 1
    assert (answer.finish, answer.detail) == ("stop", "")


def test_what_is_cited_is_listed_first_in_the_order_of_the_text() -> None:
    best_last = (PASSAGES[2], PASSAGES[1], PASSAGES[0])
    composition = compose(QUERY, PASSAGES)
    answer = assemble(composition_events(QUERY, EngineResult(best_last), composition))
    cited = [item.source.url for citation in composition.citations for item in citation.evidence]
    assert [source.url for source in answer.sources] == [*cited, PASSAGES[2].url]
    assert {source.state for source in answer.sources[:2]} == {"cited"}


def test_a_further_link_is_listed_next_to_the_page_that_it_is_about() -> None:
    other, page = (
        Passage(local_address(name), f"{name} — Python 3.11.7", text, 0, score=1.0)
        for name, text in (("os.scandir", "List the entries of a folder."), ("os.walk", "Walk a tree."))
    )
    composition = compose("walk a tree", [other, page])
    answer = assemble(composition_events("", EngineResult((other, page)), composition))
    link = documentation_link(page.url, page.title)
    assert [source.url for source in answer.sources] == [page.url, link, other.url]
    assert [source.state for source in answer.sources] == ["cited", "cited", "retrieved"]


def test_nothing_found_is_reported_as_text_and_as_a_code() -> None:
    answer = assemble(composition_events(QUERY, NOTHING, compose(QUERY, ())))
    assert answer.text == f"Nothing was found for “{QUERY}”."
    assert not answer.grounded
    assert [warning.code for warning in answer.warnings] == [NOTHING_FOUND]
    assert answer.detail == NOTHING_FOUND


def test_a_composition_without_words_is_reported_as_nothing_found() -> None:
    answer = assemble(
        composition_events(QUERY, FOUND, Composition(notes=(Warned("unsupported_citation", "1"),)))
    )
    assert answer.text == f"Nothing was found for “{QUERY}”."
    assert answer.sources == (), "pages that answer nothing are no sources"
    assert [warning.code for warning in answer.warnings] == [
        "option_ignored",
        "unsupported_citation",
        NOTHING_FOUND,
    ]


def test_the_query_replaces_queries_that_the_engine_does_not_report() -> None:
    answer = assemble(composition_events(QUERY, EngineResult(PASSAGES), compose(QUERY, PASSAGES)))
    assert [search.query for search in answer.searches] == [QUERY]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_carries_the_answer_and_its_sources(name: str) -> None:
    composition = compose(QUERY, PASSAGES)
    stream = encode_answer(name, composition_events(QUERY, FOUND, composition)).stream
    decoder = dialect(name).decoder()
    answer = assemble([*decoder.feed(stream), *decoder.close()])
    assert answer.error is None
    for sentence in ("330 metres tall.", "324 metres tall."):
        assert sentence in answer.text
    assert {"https://a.example/page", "https://b.example/page"} <= {source.url for source in answer.sources}
