"""Grounding chunks that are not web pages: documents without a URL, map places, empty chunks."""

from __future__ import annotations

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.model import Answer, Citation, Evidence, Json, JsonObject, SearchCall, Source, Span, Text
from tests.dialects.gemini.bodies import REPLY, at, chunk, streamed, support, web, whole

TEXT = "Leave is 30 days. It is paid."
FIRST, SECOND = "Leave is 30 days.", "It is paid."


def grounded(chunks: list[Json], *supports: JsonObject, **more: Json) -> JsonObject:
    metadata: JsonObject = {"groundingChunks": chunks, "groundingSupports": [*supports], **more}
    return chunk({"text": TEXT}, finishReason="STOP", groundingMetadata=metadata)


def document(**fields: Json) -> JsonObject:
    return {"retrievedContext": fields}


def evidence_of(answer: Answer) -> list[Evidence]:
    return [item for citation in answer.citations for item in citation.evidence]


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"title": "handbook.pdf", "text": "30 days"}, "handbook.pdf"),
        ({"title": "handbook.pdf", "uri": "gs://hr/handbook.pdf", "text": "30 days"}, "handbook.pdf"),
        ({"uri": "gs://hr/handbook.pdf", "text": "30 days"}, "gs://hr/handbook.pdf"),
        ({"documentName": "projects/p/documents/d", "text": "30 days"}, "projects/p/documents/d"),
    ],
)
def test_a_document_without_a_web_url_is_known_by_its_name(fields: JsonObject, title: str) -> None:
    answer = whole(grounded([document(**fields)], support(TEXT, FIRST, 0)))
    [item] = evidence_of(answer)
    assert (item.source.url, item.source.title, item.quote) == ("", title, "30 days")
    assert answer.warnings == ()


def test_each_passage_of_a_document_is_kept_for_the_claim_it_supports() -> None:
    chunks: list[Json] = [
        document(title="handbook.pdf", text="30 days"),
        document(title="handbook.pdf", text="paid"),
    ]
    answer = whole(grounded(chunks, support(TEXT, FIRST, 0), support(TEXT, SECOND, 1)))
    assert [item.quote for item in evidence_of(answer)] == ["30 days", "paid"]
    body = DIALECT.encode_response(answer, REPLY)
    assert at(body, "candidates", 0, "groundingMetadata", "groundingChunks") == chunks
    assert [item.quote for item in evidence_of(whole(body))] == ["30 days", "paid"]


def test_a_source_of_another_provider_without_a_url_is_encoded_as_a_document() -> None:
    source = Source("", "The almanac", "cited", ("30 days",))
    citation = Citation(Span(0, len(FIRST)), (Evidence(source),))
    body = DIALECT.encode_response(Answer((Text(TEXT),), (citation,), finish="stop"), REPLY)
    chunks = at(body, "candidates", 0, "groundingMetadata", "groundingChunks")
    assert chunks == [document(title="The almanac", text="30 days")]


def test_map_places_are_pages_and_their_queries_are_queries() -> None:
    place: JsonObject = {
        "maps": {"uri": "https://maps.google.com/?cid=1", "title": "Joe’s", "placeId": "places/1"}
    }
    answer = whole(grounded([place], support(TEXT, FIRST, 0), retrievalQueries=["pizza near me"]))
    [item] = evidence_of(answer)
    assert (item.source.url, item.source.title) == ("https://maps.google.com/?cid=1", "Joe’s")
    [call] = [part for part in answer.parts if isinstance(part, SearchCall)]
    assert call.queries == ("pizza near me",)
    again = at(DIALECT.encode_response(answer, REPLY), "candidates", 0, "groundingMetadata")
    assert isinstance(again, dict)
    assert again["groundingChunks"] == [place]
    assert again["retrievalQueries"] == ["pizza near me"]
    assert "webSearchQueries" not in again


@pytest.mark.parametrize("index", [1, 7, -1])
def test_a_support_that_points_outside_the_list_is_warned_of(index: int) -> None:
    answer = whole(
        grounded([web("https://a.test", "A")], support(TEXT, FIRST, 0), support(TEXT, SECOND, index))
    )
    assert [item.source.url for item in evidence_of(answer)] == ["https://a.test"]
    assert [warning.code for warning in answer.warnings] == ["citation_without_source"]


def test_a_support_of_empty_chunks_is_warned_of() -> None:
    answer = whole(grounded([{}, {}], support(TEXT, FIRST, 0)))
    assert answer.citations == ()
    assert answer.sources == ()
    assert [warning.code for warning in answer.warnings] == ["citation_without_source"]


def test_the_grounding_metadata_is_kept_verbatim() -> None:
    body = grounded(
        [web("https://a.test", "A")],
        support(TEXT, FIRST, 0),
        webSearchQueries=["", "leave"],
        searchEntryPoint={"renderedContent": "<div/>", "sdkBlob": "e30="},
    )
    metadata = at(body, "candidates", 0, "groundingMetadata")
    for answer in (whole(body), streamed(chunk({"text": ""}, groundingMetadata={}), body)):
        assert answer.extras["gemini"]["groundingMetadata"] == metadata


def test_the_grounding_metadata_of_a_stream_is_merged() -> None:
    pages: list[Json] = [web("https://a.test", "A"), web("https://b.test", "B")]
    supports: list[Json] = [support(TEXT, FIRST, 0), support(TEXT, SECOND, 1)]
    first = chunk(
        {"text": TEXT},
        groundingMetadata={
            "groundingChunks": pages[:1],
            "groundingSupports": supports[:1],
            "webSearchQueries": ["a"],
        },
    )
    for repeated in (pages, pages[1:]):
        last = chunk(
            finishReason="STOP",
            groundingMetadata={"groundingChunks": repeated, "groundingSupports": supports[1:]},
        )
        assert streamed(first, last).extras["gemini"]["groundingMetadata"] == {
            "groundingChunks": pages,
            "groundingSupports": supports,
            "webSearchQueries": ["a"],
        }


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "A_REASON_TO_COME"])
def test_a_blocked_prompt_ends_as_filtered_with_the_reason(reason: str) -> None:
    body: JsonObject = {"promptFeedback": {"blockReason": reason}, "modelVersion": "m", "responseId": "r"}
    for answer in (whole(body), streamed(body), streamed({**body, "candidates": []})):
        assert (answer.finish, answer.detail, answer.error) == ("filtered", reason, None)
