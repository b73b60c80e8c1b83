"""Conformance, case by case: grounding of Gemini, in one body and in a stream."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.model import Answer, JsonObject
from groundwire.model.value import replace
from tests.contracts.wire_bodies import answer_of, cited, queries, spans, sse, streamed, warned

A, B, C = "https://a.example/x", "https://b.example/y", "https://c.example/z"
PAGES: list[JsonObject] = [
    {"web": {"uri": A, "title": "a.example"}},
    {"web": {"uri": B, "title": "b.example"}},
    {"web": {"uri": C, "title": "c.example"}},
]


def segment(text: str, fragment: str, *, shift: int = 0) -> JsonObject:
    """A segment as the wire has it: bytes, zero left out."""
    start = len(text[: text.index(fragment)].encode()) + shift
    body: JsonObject = {"startIndex": start} if start else {}
    return {**body, "endIndex": start + len(fragment.encode()), "text": fragment}


def support(piece: JsonObject, *indices: int) -> JsonObject:
    return {"segment": piece, "groundingChunkIndices": [*indices]}


def grounding(*supports: JsonObject, chunks: Sequence[JsonObject] = PAGES) -> JsonObject:
    return {
        "webSearchQueries": ["query"],
        "groundingChunks": [*chunks],
        "groundingSupports": [*supports],
    }


def body(parts: Sequence[JsonObject], metadata: JsonObject, finish: str = "STOP") -> JsonObject:
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [*parts]},
                "finishReason": finish,
                "index": 0,
                "groundingMetadata": metadata,
            }
        ],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r",
    }


def decode_both(text: str, *supports: JsonObject, chunks: Sequence[JsonObject] = PAGES) -> Answer:
    """The answer of one text, which must be the same in one body and in a stream of one chunk."""
    whole = body([{"text": text}], grounding(*supports, chunks=chunks))
    answer = answer_of("gemini", whole)
    stream = streamed("gemini", sse([whole], end="\r\n"))
    # Unsafe addresses are looked for in bytes, which a body that is parsed already no longer is.
    warnings = tuple(warning for warning in stream.warnings if warning.code != "address_removed")
    assert replace(stream, warnings=warnings) == answer
    assert answer.text == text
    return answer


def test_omitted_start_index() -> None:
    text = "First claim. Second."
    answer = decode_both(text, support({"endIndex": 12, "text": "First claim."}, 0))
    assert spans(answer) == [(0, 12)]
    assert cited(answer) == [("First claim.", [A])]


@pytest.mark.parametrize(
    "before", ["Grüße, ", "北京市。", "😀👩\u200d👩\u200d👧 ", "e\u0301\u2028\r\n", "שלום "]
)
def test_bytes_differ_from_points_and_utf16(before: str) -> None:
    text = f"{before}The claim. More."
    answer = decode_both(text, support(segment(text, "The claim."), 1))
    assert cited(answer) == [("The claim.", [B])]
    assert spans(answer) == [(len(before), len(before) + 10)]
    assert not warned(answer)


@pytest.mark.parametrize("shift", [-1, 1, 3])
def test_segment_off_by_one_byte(shift: int) -> None:
    text = "Über 30 °C wurden gemessen. Später fiel es."
    answer = decode_both(text, support(segment(text, "30 °C wurden gemessen.", shift=shift), 0))
    assert cited(answer) == [("30 °C wurden gemessen.", [A])]


def test_segment_off_and_its_text_twice_in_the_answer_is_not_guessed() -> None:
    text = "Yes. And again: Yes. End"
    answer = decode_both(text, support({"startIndex": 2, "endIndex": 6, "text": "Yes."}, 0))
    assert cited(answer) == [(None, [A])]
    assert "citation_unplaced" in warned(answer)


def test_segment_inside_thought_text() -> None:
    whole = body(
        [{"text": "Thinking of a claim.", "thought": True}, {"text": "The answer."}],
        grounding(
            support({"startIndex": 12, "endIndex": 20, "text": "a claim."}, 0),
            support({"endIndex": 11, "text": "The answer."}, 1),
        ),
    )
    answer = answer_of("gemini", whole)
    assert answer.text == "The answer."
    assert cited(answer) == [("The answer.", [B]), (None, [A])]
    assert "citation_unplaced" in warned(answer)
    assert streamed("gemini", sse([whole])) == answer


def test_offsets_do_not_count_thoughts() -> None:
    whole = body(
        [{"text": "Häßlich lange Gedanken", "thought": True}, {"text": "Schöne Antwort. Ende."}],
        grounding(support(segment("Schöne Antwort. Ende.", "Ende."), 0)),
    )
    assert cited(answer_of("gemini", whole)) == [("Ende.", [A])]


def test_multi_part_text() -> None:
    pieces = ["Erste Hälfte, ", "zweite Hälfte. ", "Schluß."]
    text = "".join(pieces)
    metadata = grounding(support(segment(text, "Hälfte, zweite"), 0), support(segment(text, "Schluß."), 1))
    whole = body([{"text": piece} for piece in pieces], metadata)
    answer = answer_of("gemini", whole)
    assert answer.text == text
    assert cited(answer) == [("Hälfte, zweite", [A]), ("Schluß.", [B])]
    chunks = [body([{"text": piece}], {}, "") for piece in pieces[:2]]
    for chunk in chunks:
        assert isinstance(chunk["candidates"], list)
        assert isinstance(chunk["candidates"][0], dict)
        del chunk["candidates"][0]["finishReason"]
    assert streamed("gemini", sse([*chunks, body([{"text": pieces[2]}], metadata)])) == answer


def test_one_support_many_chunks() -> None:
    answer = decode_both("A claim.", support(segment("A claim.", "A claim."), 2, 0, 1))
    assert cited(answer) == [("A claim.", [C, A, B])]


def test_many_supports_same_span() -> None:
    piece = segment("A claim.", "A claim.")
    answer = decode_both("A claim.", support(piece, 0), support(piece, 1), support(piece, 0))
    assert cited(answer) == [("A claim.", [A, B])]


def test_overlapping_and_nested_supports() -> None:
    text = "One two three four."
    answer = decode_both(
        text,
        support(segment(text, "two three"), 0),
        support(segment(text, "three four."), 1),
        support(segment(text, text), 2),
    )
    assert cited(answer) == [(text, [C]), ("two three", [A]), ("three four.", [B])]


@pytest.mark.parametrize("wrong", [3, 99, -1, 2**40])
def test_chunk_index_out_of_range(wrong: int) -> None:
    text = "One claim. Two."
    answer = decode_both(
        text, support(segment(text, "One claim."), wrong, 1), support(segment(text, "Two."), wrong)
    )
    assert cited(answer) == [("One claim.", [B])]


def test_chunk_without_web_uri_or_title() -> None:
    text = "One. Two. Three. Four."
    chunks: list[JsonObject] = [
        {},
        {"web": {}},
        {"web": {"title": "Only a name"}},
        {"web": {"uri": A}},
        {"web": {"uri": "javascript:alert(1)", "title": "Bad"}},
        {"web": {"uri": B, "title": "b.example"}},
    ]
    answer = decode_both(
        text,
        support(segment(text, "One."), 0, 1),
        support(segment(text, "Two."), 2),
        support(segment(text, "Three."), 3, 4),
        support(segment(text, "Four."), 5),
        chunks=chunks,
    )
    assert cited(answer) == [("Two.", [""]), ("Three.", [A, ""]), ("Four.", [B])]
    titles = [item.source.title for citation in answer.citations for item in citation.evidence]
    assert titles == ["Only a name", "", "Bad", "b.example"]


def chunk(text: str | None, metadata: JsonObject | None = None, finish: str | None = None) -> JsonObject:
    candidate: JsonObject = {"index": 0}
    if text is not None:
        candidate["content"] = {"role": "model", "parts": [{"text": text}]}
    if metadata is not None:
        candidate["groundingMetadata"] = metadata
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": "r"}


USAGE: JsonObject = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
TEXT = "Ein schöner Satz."
METADATA = grounding(support(segment(TEXT, "schöner Satz."), 0))


@pytest.mark.parametrize(
    "frames",
    [
        [
            chunk("Ein "),
            chunk("schöner Satz.", {}),
            {**chunk(None, METADATA, "STOP"), "usageMetadata": USAGE},
        ],
        [
            chunk("Ein "),
            chunk("schöner Satz.", METADATA, "STOP"),
            {"usageMetadata": USAGE, "modelVersion": "gemini-2.5-flash", "responseId": "r"},
        ],
        [
            {**chunk("Ein ", METADATA), "usageMetadata": USAGE},
            {**chunk("schöner ", METADATA), "usageMetadata": USAGE},
            {**chunk("Satz.", METADATA, "STOP"), "usageMetadata": USAGE},
        ],
        [
            {**chunk("Ein ", METADATA), "usageMetadata": USAGE},
            {**chunk("schöner Satz.", {}, "STOP"), "usageMetadata": USAGE},
        ],
    ],
    ids=["contentless_finish", "before_trailing_usage", "cumulative_in_every_chunk", "first_chunk_only"],
)
def test_grounding_is_read_from_any_chunk_of_the_stream(frames: list[JsonObject]) -> None:
    answer = streamed("gemini", sse(frames, end="\r\n"))
    assert answer.text == TEXT
    assert cited(answer) == [("schöner Satz.", [A])]
    assert queries(answer) == ["query"]
    assert [source.url for source in answer.sources] == [A, B, C]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 4)
    assert answer.finish == "stop"


def test_chunks_that_were_not_sent_before_are_appended() -> None:
    first = grounding(support(segment(TEXT, "schöner Satz."), 0), chunks=PAGES[:1])
    second: JsonObject = {
        "groundingChunks": [PAGES[1]],
        "groundingSupports": [support(segment(TEXT, "Satz."), 1)],
    }
    answer = streamed("gemini", sse([chunk(TEXT, first), chunk("", second, "STOP")]))
    assert cited(answer) == [("schöner Satz.", [A]), ("Satz.", [B])]


def test_web_search_queries_without_chunks() -> None:
    whole = body(
        [{"text": "Just words."}],
        {"webSearchQueries": ["weather"], "searchEntryPoint": {"renderedContent": "<b>weather</b>"}},
    )
    answer = answer_of("gemini", whole)
    assert not answer.grounded
    assert answer.sources == ()
    assert queries(answer) == ["weather"]
    assert streamed("gemini", sse([whole])) == answer


@pytest.mark.parametrize("metadata", [{}, {"webSearchQueries": []}, {"webSearchQueries": [""]}])
def test_empty_queries_alone_are_not_a_search(metadata: JsonObject) -> None:
    answer = answer_of("gemini", body([{"text": "Words."}], metadata))
    assert queries(answer) == []
    assert not answer.grounded


def test_empty_queries_are_dropped() -> None:
    metadata: JsonObject = {**grounding(), "webSearchQueries": ["", "largest city", " "]}
    assert queries(answer_of("gemini", body([{"text": "Words."}], metadata))) == ["largest city"]


def test_duplicate_queries_count_once() -> None:
    metadata: JsonObject = {**grounding(), "webSearchQueries": ["one", "two", "one"]}
    whole = body([{"text": "Words."}], metadata)
    assert queries(answer_of("gemini", whole)) == ["one", "two"]
    assert queries(streamed("gemini", sse([whole, whole]))) == ["one", "two"]


def test_an_invalid_url_with_spaces_becomes_clickable() -> None:
    chunks: list[JsonObject] = [
        {"web": {"uri": "https://www.google.com/search?q=weather+in+San Francisco, CA", "title": "Weather"}}
    ]
    answer = decode_both("Sunny.", support(segment("Sunny.", "Sunny."), 0), chunks=chunks)
    assert cited(answer) == [("Sunny.", ["https://www.google.com/search?q=weather+in+San%20Francisco,%20CA"])]


def interaction(text: str, annotations: list[JsonObject]) -> JsonObject:
    return {
        "id": "i",
        "object": "interaction",
        "status": "completed",
        "model": "gemini-3-flash",
        "steps": [
            {
                "type": "model_output",
                "content": [{"type": "text", "text": text, "annotations": [*annotations]}],
            },
            {"type": "google_search_call", "id": "s", "arguments": {"queries": ["", "q"]}},
            {"type": "google_search_result", "call_id": "s", "result": [{"search_suggestions": "<b>"}]},
        ],
        "usage": {"total_input_tokens": 3, "total_output_tokens": 4, "total_tokens": 7},
    }


def annotation(text: str, fragment: str, url: str) -> JsonObject:
    start = len(text[: text.index(fragment)].encode())
    end = start + len(fragment.encode())
    return {"type": "url_citation", "start_index": start, "end_index": end, "url": url, "title": "t"}


def test_interactions_count_in_bytes_and_repeat_a_span_for_each_source() -> None:
    text = "Schöne Grüße. Ende."
    answer = answer_of(
        "gemini_interactions",
        interaction(
            text,
            [annotation(text, "Grüße.", A), annotation(text, "Grüße.", B), annotation(text, "Ende.", C)],
        ),
    )
    assert cited(answer) == [("Grüße.", [A, B]), ("Ende.", [C])]
    assert queries(answer) == ["q"]
