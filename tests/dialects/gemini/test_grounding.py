"""Grounding: byte offsets, pages across chunks, and incomplete metadata."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.gemini import DIALECT
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Json,
    JsonObject,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    assemble,
)
from tests.dialects.gemini.bodies import REPLY, at, chunk, events_of, streamed, support, web, whole
from tests.model.strategies import examples

CITY = "Köln hat 1,1 Mio. Einwohner 🏙️. 東京の人口は約1,400万人です。 Das war's."
FIRST, SECOND = "Köln hat 1,1 Mio. Einwohner 🏙️.", "東京の人口は約1,400万人です。"
PAGES: list[Json] = [web("https://a.test", "A"), web("https://b.test", "B"), web("https://c.test", "C")]


def grounded(text: str, *supports: JsonObject, chunks: list[Json] = PAGES, **more: Json) -> JsonObject:
    metadata: JsonObject = {"groundingChunks": chunks, "groundingSupports": [*supports], **more}
    return chunk({"text": text}, finishReason="STOP", groundingMetadata=metadata)


def cited(answer: Answer) -> list[tuple[str | None, list[str]]]:
    """The text of each citation and its URLs."""
    return [
        (
            answer.text[citation.span.start : citation.span.end] if citation.span else None,
            [item.source.url for item in citation.evidence],
        )
        for citation in answer.citations
    ]


def warned(answer: Answer) -> list[str]:
    return [warning.code for warning in answer.warnings]


def test_offsets_are_bytes_and_a_missing_start_is_zero() -> None:
    answer = whole(grounded(CITY, support(CITY, FIRST, 0, 1), support(CITY, SECOND, 2)))
    assert cited(answer) == [(FIRST, ["https://a.test", "https://b.test"]), (SECOND, ["https://c.test"])]
    assert [citation.span for citation in answer.citations] == [
        (0, len(FIRST)),
        (CITY.index(SECOND), CITY.index(SECOND) + len(SECOND)),
    ]
    assert warned(answer) == []


@pytest.mark.parametrize("last", [{"text": ""}, None], ids=["empty text", "no content"])
def test_metadata_of_the_last_chunk_is_about_all_text(last: JsonObject | None) -> None:
    metadata = at(grounded(CITY, support(CITY, FIRST, 0), support(CITY, SECOND, 1, 2)), "candidates", 0)
    assert isinstance(metadata, dict)
    end = chunk(
        *([last] if last else []), finishReason="STOP", groundingMetadata=metadata["groundingMetadata"]
    )
    pieces = [chunk({"text": piece}, groundingMetadata={}) for piece in (CITY[:5], CITY[5:30], CITY[30:])]
    answer = streamed(*pieces, end, {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}})
    assert cited(answer) == [(FIRST, ["https://a.test"]), (SECOND, ["https://b.test", "https://c.test"])]
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.finish) == (3, 4, "stop")


def test_thoughts_and_calls_between_texts_do_not_count() -> None:
    body = chunk(
        {"text": "Nachdenken …", "thought": True},
        {"text": "Köln ist groß. "},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "Tokio auch."},
        finishReason="STOP",
        groundingMetadata={
            "groundingChunks": PAGES,
            "groundingSupports": [support("Köln ist groß. Tokio auch.", "Tokio auch.", 1)],
        },
    )
    assert cited(whole(body)) == [("Tokio auch.", ["https://b.test"])]


def test_a_wrong_offset_is_corrected_where_the_text_is_unique() -> None:
    off = support(CITY, SECOND, 1)
    segment = at(off, "segment")
    assert isinstance(segment, dict)
    segment["startIndex"], segment["endIndex"] = 5, 40
    answer = whole(grounded(CITY, off))
    assert cited(answer) == [(SECOND, ["https://b.test"])]
    assert warned(answer) == []


@pytest.mark.parametrize(
    "segment",
    [
        {"startIndex": 1, "endIndex": 5, "text": "Nile"},
        {"startIndex": 0, "endIndex": 4, "text": "Amazon"},
        {"startIndex": 3, "endIndex": 9_999},
        {"startIndex": -3, "endIndex": 4},
        {"startIndex": 9, "endIndex": 4},
        {},
        None,
    ],
    ids=str,
)
def test_a_segment_without_a_unique_position_cites_the_whole_answer(segment: Json) -> None:
    answer = whole(grounded("Nile and Nile.", {"segment": segment, "groundingChunkIndices": [0]}))
    assert cited(answer) == [(None, ["https://a.test"])]
    assert warned(answer) == ["citation_unplaced"]


def test_a_segment_without_a_copy_of_its_text_is_accepted_if_it_lies_inside_the_text() -> None:
    point: JsonObject = {"segment": {"startIndex": 6, "endIndex": 6}, "groundingChunkIndices": [0]}
    range_: JsonObject = {"segment": {"startIndex": 6, "endIndex": 12}, "groundingChunkIndices": [0]}
    answer = whole(grounded("Größe: 12.", point, range_))
    assert [citation.span for citation in answer.citations] == [(4, 4), (4, 10)]


def test_a_part_index_is_used_only_if_the_text_confirms_it() -> None:
    parts: list[JsonObject] = [{"text": "größer. "}, {"text": "ok, größer. "}]
    from_part: JsonObject = {
        "segment": {"partIndex": 1, "startIndex": 4, "endIndex": 13, "text": "größer."},
        "groundingChunkIndices": [0],
    }
    from_start: JsonObject = {
        "segment": {"partIndex": 1, "endIndex": 9, "text": "größer."},
        "groundingChunkIndices": [1],
    }
    metadata: JsonObject = {"groundingChunks": PAGES, "groundingSupports": [from_part, from_start]}
    answer = whole(chunk(*parts, finishReason="STOP", groundingMetadata=metadata))
    assert [(citation.span, citation.evidence[0].source.url) for citation in answer.citations] == [
        ((0, 7), "https://b.test"),
        ((12, 19), "https://a.test"),
    ]


def test_chunks_are_counted_over_the_whole_stream() -> None:
    text = "One. Two."
    first = chunk(
        {"text": "One. "},
        groundingMetadata={"groundingChunks": [PAGES[0]], "groundingSupports": [support(text, "One.", 0)]},
    )
    second = chunk(
        {"text": "Two."},
        finishReason="STOP",
        groundingMetadata={"groundingChunks": PAGES[1:], "groundingSupports": [support(text, "Two.", 2, 1)]},
    )
    assert cited(streamed(first, second)) == [
        ("One.", ["https://a.test"]),
        ("Two.", ["https://c.test", "https://b.test"]),
    ]


def test_chunks_that_are_all_sent_again_are_the_same_chunks() -> None:
    text = "One. Two."
    one, two = support(text, "One.", 0), support(text, "Two.", 1)
    metadata: list[JsonObject] = [
        {"groundingChunks": PAGES[:1], "groundingSupports": [one], "webSearchQueries": ["q"]},
        {"groundingChunks": PAGES[:2], "groundingSupports": [one, two], "webSearchQueries": ["q"]},
        {"groundingChunks": PAGES[:2], "groundingSupports": [one, two], "webSearchQueries": ["q", "r"]},
    ]
    answer = streamed(
        chunk({"text": "One. "}, groundingMetadata=metadata[0]),
        chunk({"text": "Two."}, groundingMetadata=metadata[1]),
        chunk(finishReason="STOP", groundingMetadata=metadata[2]),
    )
    assert cited(answer) == [("One.", ["https://a.test"]), ("Two.", ["https://b.test"])]
    assert [source.url for source in answer.sources] == ["https://a.test", "https://b.test"]
    assert [search.query for search in answer.searches] == ["q", "r"]


@pytest.mark.parametrize("index", [3, 99, -1])
def test_an_invalid_index_is_dropped_with_a_warning(index: int) -> None:
    answer = whole(
        grounded("One. Two.", support("One. Two.", "One.", 0, index), support("One. Two.", "Two.", index))
    )
    assert cited(answer) == [("One.", ["https://a.test"])]
    assert warned(answer) == ["citation_without_source"]


def test_sparse_chunks_keep_their_index() -> None:
    chunks: list[Json] = [
        {},
        None,
        {"web": {"title": "A feed"}},
        {"web": {"uri": "https://d.test"}},
        {"web": {"uri": "javascript:alert(1)", "title": "Bad"}},
    ]
    answer = whole(grounded("One.", support("One.", "One.", 0, 1, 2, 3, 4), chunks=chunks))
    sources = [(item.source.url, item.source.title) for item in answer.citations[0].evidence]
    assert sources == [("", "A feed"), ("https://d.test", ""), ("", "Bad")]


def test_other_kinds_of_chunks_are_sources_and_are_sent_back_verbatim() -> None:
    chunks: list[Json] = [
        {"image": {"sourceUri": "https://i.test", "imageUri": "https://i.test/x.png", "title": "Pic"}},
        {"retrievedContext": {"uri": "gs://bucket/doc", "title": "Doc", "text": "A passage."}},
        {"maps": {"uri": "https://maps.test", "title": "Place", "placeId": "p1"}},
    ]
    answer = whole(grounded("One.", support("One.", "One.", 0, 1, 2), chunks=chunks))
    evidence = [(item.source.url, item.source.title, item.quote) for item in answer.citations[0].evidence]
    assert evidence == [
        ("https://i.test", "Pic", ""),
        ("", "Doc", "A passage."),
        ("https://maps.test", "Place", ""),
    ]
    body = DIALECT.encode_response(answer, REPLY)
    assert at(body, "candidates", 0, "groundingMetadata", "groundingChunks") == chunks


def test_the_domain_is_given_or_is_the_title_of_a_redirect() -> None:
    redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/xyz"
    chunks: list[Json] = [
        web(redirect + "1", "nasa.gov"),
        web(redirect + "2", "A proper title."),
        web(redirect + "3", "Title", domain="esa.int"),
        web("https://direct.test", "direct.test"),
    ]
    answer = whole(grounded("One.", support("One.", "One.", 0, 1, 2, 3), chunks=chunks))
    assert [item.source.domain for item in answer.citations[0].evidence] == ["nasa.gov", "", "esa.int", ""]
    body = DIALECT.encode_response(answer, REPLY)
    assert at(body, "candidates", 0, "groundingMetadata", "groundingChunks") == chunks


def test_a_url_with_spaces_can_be_used() -> None:
    chunks: list[Json] = [web("https://www.google.com/search?q=weather+in+San Francisco, CA", "Weather")]
    answer = whole(grounded("Mild.", support("Mild.", "Mild.", 0), chunks=chunks))
    assert answer.sources[0].url == "https://www.google.com/search?q=weather+in+San%20Francisco,%20CA"


def test_scores_belong_to_their_chunk() -> None:
    scored = support("One.", "One.", 2, 0, confidenceScores=[0.75, 1])
    short = support("One. Two.", "Two.", 0, 1, confidenceScores=[0.5])
    answer = whole(grounded("One. Two.", scored, short))
    scores = [[item.confidence for item in citation.evidence] for citation in answer.citations]
    assert scores == [[0.75, 1.0], [0.5, None]]


def test_quotes_never_repeat_the_answer() -> None:
    answer = whole(grounded(CITY, support(CITY, FIRST, 0)))
    assert [item.quote for item in answer.citations[0].evidence] == [""]


def test_a_link_in_place_of_its_source_is_a_marker() -> None:
    text = "Rivers flow ([a.test](https://a.test))."
    answer = whole(grounded(text, support(text, "([a.test](https://a.test))", 0), support(text, "Rivers", 1)))
    assert [citation.anchor for citation in answer.citations] == ["claim", "marker"]


def test_queries_without_pages_are_a_search_that_grounds_nothing() -> None:
    metadata: JsonObject = {
        "webSearchQueries": ["", "nile", " ", "nile"],
        "searchEntryPoint": {"renderedContent": "<div>nile</div>", "sdkBlob": "YmxvYg=="},
    }
    answer = whole(chunk({"text": "Long."}, finishReason="STOP", groundingMetadata=metadata))
    assert answer.parts == (
        Text("Long."),
        SearchCall("search_0", ("nile",), extras={"gemini": {}}),
        SearchResult("search_0", suggestions="<div>nile</div>", extras={"gemini": {"sdkBlob": "YmxvYg=="}}),
    )
    assert not answer.grounded
    assert answer.usage.searches is None
    again = at(DIALECT.encode_response(answer, REPLY), "candidates", 0, "groundingMetadata")
    assert again == {**metadata, "webSearchQueries": ["nile"]}


@pytest.mark.parametrize("metadata", [{}, None, {"webSearchQueries": [""]}, {"retrievalMetadata": {}}])
def test_empty_metadata_is_not_a_search(metadata: Json) -> None:
    answer = whole(chunk({"text": "Paris."}, finishReason="STOP", groundingMetadata=metadata))
    assert answer.parts == (Text("Paris."),)


def test_pages_found_and_not_cited_are_results_of_the_search() -> None:
    answer = whole(grounded("One.", support("One.", "One.", 1), webSearchQueries=["q"]))
    assert [(source.url, source.state) for source in answer.sources] == [
        ("https://a.test", "retrieved"),
        ("https://b.test", "cited"),
        ("https://c.test", "retrieved"),
    ]


def test_the_search_is_emitted_after_the_text_and_before_it_is_settled() -> None:
    events = events_of(grounded("One.", support("One.", "One.", 0), webSearchQueries=["q"]))
    assert [type(event).__name__ for event in events] == [
        "Started",
        "TextDelta",
        "SearchCalled",
        "SearchReturned",
        "Cited",
        "TextSettled",
        "Finished",
    ]


def test_everything_decoded_here_has_the_mark_of_the_dialect() -> None:
    answer = whole(grounded("One.", support("One.", "One.", 0), webSearchQueries=["q"]))
    marks = [part.extras for part in answer.parts if isinstance(part, SearchCall | SearchResult)]
    marks += [item.extras for citation in answer.citations for item in citation.evidence]
    assert len(marks) == 3
    assert all("gemini" in mark for mark in marks)


def encoded(*parts: Text | SearchCall | SearchResult, citations: tuple[Citation, ...] = ()) -> JsonObject:
    body = DIALECT.encode_response(Answer(parts, citations, finish="stop"), REPLY)
    candidate = at(body, "candidates", 0)
    assert isinstance(candidate, dict)
    return candidate


def test_supports_are_written_in_bytes_with_their_text() -> None:
    source = Source("https://a.test", "A")
    start = CITY.index(SECOND)
    candidate = encoded(
        Text(CITY[:10]),
        Text(CITY[10:]),
        citations=(
            Citation(Span(0, len(FIRST)), (Evidence(source),)),
            Citation(Span(start, start + len(SECOND)), (Evidence(source),)),
        ),
    )
    assert at(candidate, "groundingMetadata", "groundingSupports") == [
        support(CITY, FIRST, 0),
        support(CITY, SECOND, 0),
    ]


def test_scores_are_written_only_where_all_have_one() -> None:
    one, two = Source("https://a.test", "A"), Source("https://b.test", "B")
    citation = Citation(Span(0, 3), (Evidence(one), Evidence(two, confidence=0.5)))
    supports = at(encoded(Text("One"), citations=(citation,)), "groundingMetadata", "groundingSupports")
    segment = {"endIndex": 3, "text": "One"}
    assert supports == [
        {"segment": segment, "groundingChunkIndices": [0], "confidenceScores": [0.5]},
        {"segment": segment, "groundingChunkIndices": [1]},
    ]


def test_each_page_is_one_chunk_whatever_mentions_it() -> None:
    page = Source("https://a.test", "A")
    candidate = encoded(
        SearchCall("s", ("q", "q", "")),
        SearchResult("s", (page, Source("https://b.test"), page)),
        Text("One"),
        citations=(Citation(Span(0, 3), (Evidence(page),)),),
    )
    assert at(candidate, "groundingMetadata", "groundingChunks") == [
        web("https://a.test", "A"),
        web("https://b.test"),
    ]
    assert at(candidate, "groundingMetadata", "webSearchQueries") == ["q"]


def test_a_citation_without_a_span_lists_its_page_and_is_in_the_extension() -> None:
    citation = Citation(None, (Evidence(Source("https://a.test", "A")),))
    body = DIALECT.encode_response(Answer((Text("One"),), (citation,), finish="stop"), REPLY)
    assert at(body, "candidates", 0, "groundingMetadata") == {"groundingChunks": [web("https://a.test", "A")]}
    assert at(body, "groundwire", "citations", 0, "start") is None


def test_a_source_without_any_name_cannot_be_encoded() -> None:
    nameless = Citation(Span(0, 3), (Evidence(Source("")),))
    assert "groundingMetadata" not in encoded(Text("One"), citations=(nameless,))


def test_opened_pages_are_emitted_with_their_status() -> None:
    answer = Answer(
        (
            SearchCall("1", kind="open", url="https://a.test"),
            SearchResult("1", (Source("https://a.test"),)),
            SearchCall("2", kind="open", url="https://b.test"),
            SearchResult("2", error="url_not_accessible"),
            SearchCall("3", kind="open", url="https://c.test"),
            SearchResult("3", error="paywall"),
            SearchCall("4", kind="open", url="https://d.test"),
        ),
        finish="stop",
    )
    body = DIALECT.encode_response(answer, REPLY)
    pages = at(body, "candidates", 0, "urlContextMetadata", "urlMetadata")
    assert isinstance(pages, list)
    assert [at(page, "urlRetrievalStatus") for page in pages] == [
        "URL_RETRIEVAL_STATUS_SUCCESS",
        "URL_RETRIEVAL_STATUS_ERROR",
        "URL_RETRIEVAL_STATUS_PAYWALL",
        "URL_RETRIEVAL_STATUS_UNSPECIFIED",
    ]
    again = whole(body)
    assert [(search.query, search.state) for search in again.searches] == [
        ("https://a.test", "done"),
        ("https://b.test", "failed"),
        ("https://c.test", "failed"),
        ("https://d.test", "running"),
    ]


def test_a_page_opened_takes_its_title_from_its_chunk() -> None:
    page: JsonObject = {
        "retrievedUrl": "https://a.test",
        "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
    }
    body = grounded("One.", support("One.", "One.", 0), chunks=PAGES[:1])
    candidate = at(body, "candidates", 0)
    assert isinstance(candidate, dict)
    candidate["urlContextMetadata"] = {"urlMetadata": [page]}
    answer = whole(body)
    assert [part.kind for part in answer.parts if isinstance(part, SearchCall)] == ["open"]
    result = answer.parts[-1]
    assert isinstance(result, SearchResult)
    assert result.sources == (Source("https://a.test", "A", "opened"),)
    first = chunk({"text": "One"}, urlContextMetadata={"urlMetadata": [page]})
    candidate["content"] = {"role": "model", "parts": [{"text": "."}]}
    del candidate["urlContextMetadata"]
    assert streamed(first, body) == answer


@st.composite
def cited_texts(draw: st.DrawFn) -> Answer:
    text = draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
    ends = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(ends, ends).map(lambda pair: Span(min(pair), max(pair))), max_size=6))
    urls = st.sampled_from(["https://a.test/", "https://b.test/ü", "https://c.test/?q=1"])
    cuts = sorted(draw(st.lists(ends, max_size=3)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    citations = [Citation(span, (Evidence(Source(draw(urls), "T", "cited")),)) for span in spans]
    return Answer(tuple(Text(piece) for piece in pieces if piece), tuple(citations), finish="stop")


@given(cited_texts())
@settings(deadline=None, max_examples=examples(150))
def test_every_citation_survives_in_any_script(answer: Answer) -> None:
    again = assemble(DIALECT.decode_response(DIALECT.encode_response(answer, REPLY)))
    assert again.text == answer.text
    expected = {(item.span, item.evidence[0].source.url) for item in answer.citations}
    assert {
        (item.span, evidence.source.url) for item in again.citations for evidence in item.evidence
    } == expected
    assert again.warnings == ()


def recited(*entries: JsonObject, key: str = "citationSources") -> JsonObject:
    return chunk({"text": CITY}, finishReason="STOP", citationMetadata={key: [*entries]})


@pytest.mark.parametrize("key", ["citationSources", "citations"])
def test_recited_text_is_cited_by_its_bytes_and_no_search_is_invented(key: str) -> None:
    # The Gemini API and Vertex name the list differently, and list passages without a source too.
    second = len(FIRST.encode()) + 1
    answer = whole(
        recited(
            {"startIndex": second, "endIndex": second + len(SECOND.encode()), "uri": "https://a.test"},
            {"endIndex": len(FIRST.encode()), "title": "A book", "license": "mit"},
            {"startIndex": 3, "endIndex": 9},
            {"startIndex": 3, "endIndex": 9_999, "uri": "https://b.test"},
            key=key,
        )
    )
    assert cited(answer) == [(FIRST, [""]), (SECOND, ["https://a.test"]), (None, ["https://b.test"])]
    assert warned(answer) == ["citation_unplaced"]
    assert [type(part) for part in answer.parts] == [Text]


def test_recited_text_of_a_stream_is_cited_once() -> None:
    entry: JsonObject = {"endIndex": 4, "uri": "https://a.test"}
    first = chunk({"text": "Kiel "}, citationMetadata={"citationSources": [entry]})
    other: JsonObject = {"startIndex": 5, "endIndex": 10, "uri": "https://b.test"}
    next_one = chunk({"text": "liegt."}, citationMetadata={"citationSources": [entry, other]})
    last = chunk({"text": " Dort."}, finishReason="STOP", citationMetadata={"citationSources": [entry]})
    assert cited(streamed(first, next_one, last)) == [
        ("Kiel", ["https://a.test"]),
        ("liegt", ["https://b.test"]),
    ]


def attribution(text: str, fragment: str, url: str, score: float = 0.75) -> JsonObject:
    """An entry of `groundingAttributions`, with byte offsets and without the text of the segment."""
    start = len(text[: text.index(fragment)].encode())
    segment: JsonObject = {"endIndex": start + len(fragment.encode())}
    if start:
        segment["startIndex"] = start
    return {"segment": segment, "confidenceScore": score, **web(url, "A page")}


def test_attributions_of_gemini_1_0_are_citations() -> None:
    entries: list[Json] = [
        attribution(CITY, FIRST, "https://a.test"),
        attribution(CITY, FIRST, "https://a.test"),
        attribution(CITY, FIRST, "https://b.test"),
        attribution(CITY, SECOND, "https://a.test"),
    ]
    metadata: JsonObject = {"webSearchQueries": ["köln"], "groundingAttributions": entries}
    body = chunk({"text": CITY}, finishReason="STOP", groundingMetadata=metadata)
    first = chunk({"text": CITY[:9]}, groundingMetadata={"groundingAttributions": entries[:1]})
    last = chunk({"text": CITY[9:]}, finishReason="STOP", groundingMetadata=metadata)
    for answer in (whole(body), streamed(first, last)):
        assert cited(answer) == [(FIRST, ["https://a.test", "https://b.test"]), (SECOND, ["https://a.test"])]
        assert {item.confidence for citation in answer.citations for item in citation.evidence} == {0.75}
        assert [part.queries for part in answer.parts if isinstance(part, SearchCall)] == [("köln",)]
        assert warned(answer) == []


def test_attributions_of_passages_name_them_and_quote_their_text() -> None:
    entry: JsonObject = {
        "sourceId": {"groundingPassage": {"passageId": "handbook", "partIndex": 0}},
        "content": {"parts": [{"text": "Köln is old."}]},
    }
    answer = whole(chunk({"text": "Old."}, finishReason="STOP", groundingAttributions=[entry]))
    (citation,) = answer.citations
    assert citation.span is None
    assert [(item.source.title, item.quote) for item in citation.evidence] == [("handbook", "Köln is old.")]


def test_the_wrapper_of_code_assist_is_removed() -> None:
    body = grounded(CITY, support(CITY, FIRST, 0))
    usage: JsonObject = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}
    wrapped: JsonObject = {"response": {**body, **usage}, "traceId": "t1"}
    first: JsonObject = {"response": chunk({"text": CITY[:5]}), "traceId": "t1"}
    rest = grounded(CITY, support(CITY, FIRST, 0))
    rest["candidates"] = [{**at_object(rest, "candidates", 0), "content": {"parts": [{"text": CITY[5:]}]}}]
    for answer in (whole(wrapped), streamed(first, {"response": {**rest, **usage}, "traceId": "t1"})):
        assert (answer.text, answer.id, answer.finish) == (CITY, "r1", "stop")
        assert cited(answer) == [(FIRST, ["https://a.test"])]
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 4)
        assert warned(answer) == []


def at_object(value: Json, *path: str | int) -> JsonObject:
    found = at(value, *path)
    assert isinstance(found, dict)
    return found
