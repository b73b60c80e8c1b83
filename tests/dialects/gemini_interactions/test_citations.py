"""Annotations: byte offsets are checked; citations without a valid span are kept without one."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.model import Answer, Citation, Evidence, Json, JsonObject, Source, Span, Text, assemble
from tests.dialects.gemini_interactions.bodies import (
    CREATED,
    cites,
    completed,
    decode_events,
    delta,
    interaction,
    read,
    start,
    stop,
    stream,
    text_step,
)

A, B = "https://a.example/", "https://b.example/"


def cited(answer: Answer) -> list[tuple[str | None, list[str]]]:
    return [
        (
            answer.text[citation.span.start : citation.span.end] if citation.span else None,
            [item.source.url for item in citation.evidence],
        )
        for citation in answer.citations
    ]


def test_offsets_count_bytes() -> None:
    text = "Das Ölfaß 😀 ist voll. Ende."
    low = len("Das Ölfaß 😀 ".encode())
    high = len("Das Ölfaß 😀 ist voll.".encode())
    assert cited(read(interaction(text_step(text, cites(A, low, high))))) == [("ist voll.", [A])]


def test_offsets_that_cut_a_character_were_code_points() -> None:
    text = "Öl ist öl. Ende."
    body = interaction(text_step(text, cites(A, 0, 9), cites(B, 3, 8)))
    assert text.encode()[:9].decode(errors="replace").endswith("\ufffd")
    assert cited(read(body)) == [("Öl ist öl", [A]), ("ist ö", [B])]


def test_a_start_of_zero_may_be_omitted() -> None:
    assert cited(read(interaction(text_step("Wet. Dry.", cites(A, None, 4))))) == [("Wet.", [A])]


def test_sources_of_one_span_are_one_citation() -> None:
    body = interaction(text_step("Wet. Dry.", cites(A, 0, 4), cites(B, 0, 4)))
    assert cited(read(body)) == [("Wet.", [A, B])]


@pytest.mark.parametrize(("low", "high"), [(0, 99), (5, 2), (-1, 3), (2, 10**9)])
def test_an_impossible_offset_is_dropped_with_a_warning(low: int, high: int) -> None:
    answer = read(interaction(text_step("Wet. Dry.", cites(A, low, high))))
    assert cited(answer) == [(None, [A])]
    assert [warning.code for warning in answer.warnings] == ["citation_unplaced"]


def test_an_annotation_without_offsets_cites_the_whole_answer() -> None:
    answer = read(interaction(text_step("Wet.", cites(A, None, None))))
    assert cited(answer) == [(None, [A])]
    assert not answer.warnings


def test_each_block_counts_from_its_own_beginning() -> None:
    first = text_step("Wet. ", cites(A, 0, 4))
    second = text_step("Dry.", cites(B, 0, 4))
    assert cited(read(interaction(first, second))) == [("Wet.", [A]), ("Dry.", [B])]
    joined: JsonObject = {"type": "model_output", "content": [*blocks(first), *blocks(second)]}
    assert cited(read(interaction(joined))) == [("Wet.", [A]), ("Dry.", [B])]


def blocks(step: JsonObject) -> list[Json]:
    content = step["content"]
    assert isinstance(content, list)
    return content


def test_annotations_that_arrive_early_or_in_portions_are_resolved_when_the_text_is_complete() -> None:
    data = stream(
        CREATED,
        start(0, type="model_output"),
        delta(0, type="text_annotation_delta", annotations=[cites(A, 0, 4)]),
        delta(0, type="text", text="We"),
        delta(0, type="text", text="t. Dry."),
        delta(0, type="text_annotation_delta", annotations=[cites(B, 5, 9)]),
        stop(0),
        completed(),
    )
    assert cited(assemble(decode_events(data))) == [("Wet.", [A]), ("Dry.", [B])]


def test_map_places_and_files_are_sources_and_are_sent_back_verbatim() -> None:
    map_place: JsonObject = {
        "type": "place_citation",
        "name": "Louvre",
        "url": A,
        "place_id": "places/1",
        "end_index": 4,
    }
    file: JsonObject = {
        "type": "file_citation",
        "file_name": "a.pdf",
        "document_uri": "gs://b/a.pdf",
        "end_index": 4,
    }
    answer = read(interaction(text_step("Wet.", map_place, file)))
    sources = [item.source for citation in answer.citations for item in citation.evidence]
    assert [(source.url, source.title) for source in sources] == [(A, "Louvre"), ("", "a.pdf")]
    again = DIALECT.encode_response(answer, Reply())
    assert read(again).citations == answer.citations
    assert '"gs://b/a.pdf"' in str(again).replace("'", '"')


def test_the_domain_of_a_redirect_is_the_title() -> None:
    url = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/x"
    answer = read(interaction(text_step("Wet.", cites(url, 0, 4, "sap.com"))))
    assert answer.sources[0].domain == "sap.com"
    assert read(interaction(text_step("Wet.", cites(A, 0, 4, "sap.com")))).sources[0].domain == ""


def test_unsafe_urls_are_dropped_and_titles_kept() -> None:
    answer = read(interaction(text_step("Wet.", cites("javascript:x", 0, 4, "Bad"))))
    assert [(source.url, source.title) for source in answer.sources] == [("", "Bad")]


def test_a_span_over_several_texts_is_cited_where_it_ends() -> None:
    parts = (Text("One. ", "commentary"), Text("Two. Three.", "final_answer"))
    evidence = (Evidence(Source(A, state="cited")),)
    answer = Answer(parts, (Citation(Span(0, 9), evidence),), finish="stop")
    assert cited(read(DIALECT.encode_response(answer, Reply()))) == [("Two.", [A])]


def test_neighbouring_texts_are_one_text_with_all_their_citations() -> None:
    evidence = (Evidence(Source(A, state="cited")),)
    spans = (Span(0, 4), Span(5, 9))
    citations = tuple(Citation(span, evidence) for span in spans)
    answer = Answer((Text("One. "), Text("Two.")), citations, finish="stop")
    body = DIALECT.encode_response(answer, Reply())
    steps = body["steps"]
    assert isinstance(steps, list)
    assert len(steps) == 1
    assert cited(read(body)) == [("One.", [A]), ("Two.", [A])]


def test_a_source_without_a_url_is_encoded_as_a_named_file() -> None:
    citation = Citation(Span(0, 4), (Evidence(Source("", "The almanac", "cited")),))
    body = DIALECT.encode_response(Answer((Text("Wet."),), (citation,), finish="stop"), Reply())
    assert '"url": ""' not in json.dumps(body)
    assert [(item.source.url, item.source.title) for c in read(body).citations for item in c.evidence] == [
        ("", "The almanac")
    ]
    assert '"file_name": "The almanac"' in json.dumps(body)


def test_an_annotation_without_a_source_is_not_sent_on() -> None:
    answer = read(interaction(text_step("Wet. Dry.", {"a": 1}, cites(A, 0, 4))))
    again = json.dumps(DIALECT.encode_response(answer, Reply()))
    assert again.count("_citation") == 1
    assert cited(read(json.loads(again))) == [("Wet.", [A])]
