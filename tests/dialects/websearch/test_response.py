"""The result, exactly as the contract has it, encoded and decoded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.features import Feature, project
from groundwire.dialects.websearch import DIALECT
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Json,
    JsonObject,
    Message,
    Request,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    Warned,
    assemble,
)
from groundwire.model.parts import Phase
from tests.model.strategies import examples

A = Source("https://a.example/", "Rivers", "cited")
B = Source("https://b.example/", "", "cited")
C = Source("", "The almanac", "cited")


def reply_to(query: str) -> Reply:
    return Reply(request=Request((Message("user", (Text(query),)),)))


NILE = reply_to("nile")


def answer_with(text: str, *cites: tuple[int, int, Source] | Source, phase: Phase = "") -> Answer:
    citations = (
        Citation(None, (Evidence(cite),))
        if isinstance(cite, Source)
        else Citation(Span(cite[0], cite[1]), (Evidence(cite[2]),))
        for cite in cites
    )
    return Answer((Text(text, phase),), tuple(citations), finish="stop")


def write(answer: Answer, reply: Reply = NILE) -> JsonObject:
    body: JsonObject = json.loads(json.dumps(DIALECT.encode_response(answer, reply)))
    return body


def read(body: JsonObject) -> Answer:
    return assemble(DIALECT.decode_response(body))


def check(answer: Answer, reply: Reply = NILE) -> Answer:
    """Encode and decode an answer: what the contract carries is kept, and encoding again gives the same."""
    body = write(answer, reply)
    after = read(body)
    for feature in (Feature.TEXT, Feature.CITATIONS, Feature.TITLES, Feature.UNPLACED):
        assert project(after, feature) == project(answer, feature), feature
    assert write(after, reply) == body
    return after


def test_a_cited_answer_is_encoded_exactly() -> None:
    answer = answer_with("The Nile is long. So is the Amazon.", (0, 17, A), (18, 35, A), (18, 35, B))
    assert write(answer) == {
        "llmContent": 'Web search results for "nile":\n\n'
        "The Nile is long.[1] So is the Amazon.[1][2]\n\n"
        "Sources:\n[1] Rivers (https://a.example/)\n[2] b.example (https://b.example/)",
        "returnDisplay": 'Search results for "nile" returned.',
        "sources": [
            {"web": {"title": "Rivers", "uri": "https://a.example/"}},
            {"web": {"uri": "https://b.example/"}},
        ],
    }
    check(answer)


def test_an_answer_without_sources_has_neither_list() -> None:
    assert write(answer_with("Long.")) == {
        "llmContent": 'Web search results for "nile":\n\nLong.',
        "returnDisplay": 'Search results for "nile" returned.',
    }
    assert check(answer_with("Long.")).citations == ()


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_answer_without_text_found_nothing(text: str) -> None:
    body = write(answer_with(text, A))
    assert body == {
        "llmContent": 'No search results or information found for query: "nile"',
        "returnDisplay": "No information found.",
    }
    assert read(body).text == ""
    assert read(body).finish == "stop"
    assert write(read(body)) == body


def test_what_was_found_is_listed_if_nothing_is_cited() -> None:
    found = (Source(A.url, A.title), Source(B.url))
    parts = (SearchCall("s", ("nile",)), SearchResult("s", found), Text("Long."))
    answer = Answer(parts, finish="stop")
    body = write(answer)
    assert str(body["llmContent"]).endswith("[2] b.example (https://b.example/)")
    after = check(answer)
    assert after.citations == ()
    assert after.sources == found


def test_a_source_without_a_url_is_known_by_its_name() -> None:
    body = write(answer_with("Long.", (0, 5, C)))
    assert body["sources"] == [{"web": {"title": "The almanac"}}]
    assert str(body["llmContent"]).endswith("Long.[1]\n\nSources:\n[1] The almanac")
    check(answer_with("Long.", (0, 5, C)))


@pytest.mark.parametrize(
    "query",
    ['say "hi"', 'a":\n\nb', "line\nline", '" returned.', "", "[1]", "\n\nSources:\n[1] x", 'x" returned'],
)
def test_any_query_can_be_separated_from_the_answer(query: str) -> None:
    after = check(answer_with("Long. Wide.", (0, 5, A)), reply_to(query))
    assert [search.query for search in after.searches] == ([query] if query else [])


@pytest.mark.parametrize(
    "text",
    [
        "In a[1] the index [1] counts.",
        "[1][2][3]",
        "See [1](https://c.example/) there.",
        "Then [1]",
        "[1000001] [1000002]",
        "A list.\n\nSources:\n[1] Rivers (https://a.example/)",
        "Sources:\n[1] x",
        "【1:2†x [1]",
        '":\n\nNot yet. " returned.',
    ],
)
def test_brackets_of_the_text_are_never_citations(text: str) -> None:
    check(answer_with(text))
    check(answer_with(text, (0, len(text), A)))
    check(answer_with(text, (0, 1, A), (1, 2, B), C))
    parts = (SearchCall("s", ("nile",)), SearchResult("s", (Source(A.url), Source(B.url))), Text(text))
    assert check(Answer(parts, finish="stop")).citations == ()


def test_the_extension_is_there_only_if_it_is_needed() -> None:
    assert "groundwire" not in write(answer_with("Long [4].", (0, 4, A)))
    assert write(answer_with("Long [1].", (0, 4, A)))["groundwire"] == {
        "version": 1,
        "inserted": [[36, 39]],
        "unplaced": [],
    }


def test_a_body_without_the_extension_is_read_by_its_numbers() -> None:
    body: JsonObject = {
        "llmContent": 'Web search results for "nile":\n\nLong[2][1], see [3] and [x].\n\n'
        "Sources:\n[1] Rivers (https://a.example/)\n[2] B (https://b.example/)",
        "returnDisplay": 'Search results for "nile" returned.',
        "sources": [
            {"web": {"title": "Rivers", "uri": "https://a.example/"}},
            {"web": {"title": "B", "uri": "https://b.example/"}},
        ],
    }
    answer = read(body)
    assert answer.text == "Long, see [3] and [x]."
    assert [(item.span, [e.source.url for e in item.evidence]) for item in answer.citations] == [
        (Span(4, 4), ["https://b.example/", "https://a.example/"])
    ]


@pytest.mark.parametrize(
    "extension",
    [
        {"inserted": [[0, 3]], "unplaced": []},
        {"inserted": [[36, 40]], "unplaced": []},
        {"inserted": [[36, 39], [36, 39]], "unplaced": []},
        {"inserted": [[36]], "unplaced": []},
        {"inserted": "x"},
        {"inserted": [[36, 39]], "unplaced": [7]},
        {"inserted": [[36, 39]], "unplaced": [], "phases": ["", "commentary"]},
        {"inserted": [[36, 999]], "unplaced": []},
    ],
)
def test_an_extension_that_contradicts_the_body_is_ignored(extension: JsonObject) -> None:
    body = write(answer_with("Long wide.", (0, 4, A)))
    assert read({**body, "groundwire": extension}) == read(body)


def test_a_listed_source_without_a_number_is_cited_for_the_whole_answer() -> None:
    after = check(answer_with("Long.", (0, 5, A), B))
    assert [citation.span for citation in after.citations] == [Span(5, 5), None]
    check(answer_with("Long.", A, B))


def test_links_in_place_of_sources_become_numbers() -> None:
    text = "Long ([a.example](https://a.example/)). Wide."
    citation = Citation(Span(5, 38), (Evidence(A),), "marker")
    answer = Answer((Text(text),), (citation,), finish="stop")
    assert "Long [1]. Wide." in str(write(answer)["llmContent"])
    check(answer)


def test_commentary_and_answer_are_separated_and_distinguishable() -> None:
    parts = (Text("I look.", "commentary"), Text("Long.", "final_answer"))
    answer = Answer(parts, (Citation(Span(7, 12), (Evidence(A),)),), finish="stop")
    assert "I look.\n\nLong.[1]" in str(write(answer)["llmContent"])
    assert [part for part in check(answer).parts if isinstance(part, Text)] == list(parts)


def test_impossible_offsets_keep_their_source() -> None:
    after = read(write(answer_with("Long.", (3, 99, A), (-2, 2, B))))
    assert project(after, Feature.CITATIONS) == set()
    assert {source.url for source in after.sources} == {A.url, B.url}
    assert after.text == "Long."


def test_warnings_are_encoded_and_decoded() -> None:
    answer = Answer((Text("Long [1]."),), (), warnings=(Warned("x", "y"),), finish="stop")
    assert read(write(answer)).warnings == (Warned("x", "y"),)
    check(answer)


def test_the_domain_of_a_source_without_a_title_is_kept() -> None:
    page = Source("https://redirect.example/x", "", "cited", domain="sap.com")
    after = check(answer_with("Long.", (0, 5, page)))
    assert "[1] sap.com (https://redirect.example/x)" in str(write(after)["llmContent"])
    assert after.sources[0].title == ""


@pytest.mark.parametrize(
    "body", [{}, {"llmContent": 3}, {"llmContent": "x", "sources": 1}, {"returnDisplay": "x"}]
)
def test_a_body_that_is_not_a_result_is_the_providers_fault(body: JsonObject) -> None:
    with pytest.raises(UpstreamWireError):
        DIALECT.decode_response(body)


def test_a_text_without_the_prefix_is_all_answer() -> None:
    assert read({"llmContent": "Just words [1]."}).text == "Just words [1]."


def test_sources_may_lack_everything() -> None:
    sources: list[Json] = [{}, {"web": None}, {"web": {"uri": "javascript:x", "title": "T"}}, None]
    answer = read({"llmContent": "Words.", "sources": sources})
    assert [(source.url, source.title) for source in answer.sources] == [("", ""), ("", "T")]


def test_recorded_grounding_survives_the_contract(recordings: Path) -> None:
    body = json.loads((recordings / "gemini/interactions-google-search.json").read_text())
    block = body["steps"][1]["content"][0]
    text = block["text"]
    notes = block["annotations"]
    answer = answer_with(
        text,
        *(
            (
                len(text.encode()[: note["start_index"]].decode()),
                end,
                Source(note["url"], note["title"], "cited"),
            )
            for note in notes
            for end in [len(text.encode()[: note["end_index"]].decode())]
        ),
    )
    check(answer)


WORDS = st.lists(
    st.sampled_from(
        ["Nile ", "[1]", "[2]", "[12]", "(x)", "\n\n", "Sources:\n", "é😀", "https://a.example/ ", '"']
    ),
    max_size=8,
).map("".join)
SOURCES = [A, B, C, Source("https://d.example/x?utm_source=y", "D\nd", "cited")]


def placed(text: str) -> st.SearchStrategy[list[tuple[int, int, Source] | Source]]:
    offset = st.integers(0, len(text))
    cite = st.tuples(offset, offset, st.sampled_from(SOURCES)).map(
        lambda item: (min(item[:2]), max(item[:2]), item[2])
    )
    return st.lists(cite | st.sampled_from(SOURCES), max_size=4)


@given(data=st.data(), query=WORDS)
@settings(max_examples=examples(300), deadline=None)
def test_any_answer_survives_encoding_and_decoding(data: st.DataObject, query: str) -> None:
    text = data.draw(WORDS)
    cites: Iterable[tuple[int, int, Source] | Source] = data.draw(placed(text))
    answer = answer_with(text, *cites)
    body = write(answer, reply_to(query))
    after = read(body)
    assert write(after, reply_to(query)) == body
    if text.strip():
        assert after.text == text
        assert {source.url for source in after.sources} == {source.url for source in answer.sources}
        assert after.grounded == answer.grounded


def test_an_address_of_this_machine_is_in_the_text_and_not_a_web_source() -> None:
    page = Source("local:python/3.11.7/math.sqrt", "math.sqrt", "cited")
    body = write(answer_with("Long.", (0, 5, page)))
    assert body["sources"] == [{"web": {"title": "math.sqrt"}}]
    assert str(body["llmContent"]).endswith("[1] math.sqrt (local:python/3.11.7/math.sqrt)")
