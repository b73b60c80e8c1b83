"""Spans of citations, and citations of files."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Json,
    JsonObject,
    SearchCall,
    Source,
    Span,
    Text,
    assemble,
)
from tests.dialects.openai_responses.wire import (
    END,
    PAGE,
    REPLY,
    START,
    TEXT,
    citation,
    completed,
    created,
    decode_events,
    decode_whole,
    items_of,
    message,
    response,
    search,
    sse,
    text_events,
    text_part,
    value_at,
)


def spans(answer: Answer) -> list[tuple[int, int] | None]:
    return [cited.span for cited in answer.citations]


def test_offsets_in_utf16_are_understood_where_the_text_proves_them() -> None:
    units = len(TEXT[:START].encode("utf-16-le")) // 2
    answer = decode_whole(message(text_part(TEXT, citation(units, units + END - START))))
    assert units != START
    assert spans(answer) == [(START, END)]


def test_wrong_offsets_lead_to_the_nearest_link() -> None:
    text = f"a {PAGE} [x]({PAGE}) b [y]({PAGE}) c"
    second = text.index("[y]")
    answer = decode_whole(message(text_part(text, citation(second - 2, second + 5))))
    assert spans(answer) == [(second, second + len(f"[y]({PAGE})"))]
    assert answer.warnings == ()


def test_the_tracking_parameter_may_be_missing_on_either_side() -> None:
    bare = PAGE.partition("?")[0]
    answer = decode_whole(message(text_part(TEXT, citation(url=bare))))
    assert spans(answer) == [(START, END)]
    assert answer.citations[0].evidence[0].source.url == bare


def test_xais_double_brackets_are_a_marker() -> None:
    text = f"Rain.[[1]]({PAGE}) Sun."
    answer = decode_whole(message(text_part(text, citation(5, 5 + len(f"[[1]]({PAGE})")))))
    assert spans(answer) == [(5, 5 + len(f"[[1]]({PAGE})"))]
    assert answer.citations[0].anchor == "marker"


def test_without_offsets_every_link_to_the_page_is_cited() -> None:
    text = f"a [x]({PAGE}) b [y]({PAGE}) c [z](https://other.example/)"
    answer = decode_whole(message(text_part(text, citation(None, None))))
    assert [text[span[0] : span[1]] for span in spans(answer) if span] == [f"[x]({PAGE})", f"[y]({PAGE})"]


@pytest.mark.parametrize("offsets", [(None, None), (0, 0)])
def test_without_offsets_and_links_the_whole_answer_is_cited(offsets: tuple[int | None, int | None]) -> None:
    answer = decode_whole(message(text_part("It rains.", citation(*offsets, content="Rain in Bern."))))
    assert spans(answer) == [None]
    assert answer.citations[0].evidence[0].quote == "Rain in Bern."
    assert answer.warnings == ()


def test_a_span_outside_the_text_is_warned_of() -> None:
    answer = decode_whole(message(text_part("It rains.", citation(50, 60))))
    assert spans(answer) == [None]
    assert [warning.code for warning in answer.warnings] == ["citation_unplaced"]


def test_the_same_page_with_two_passages_is_cited_twice() -> None:
    annotations = [citation(0, 0, content=content) for content in ("One.", "Two.", "One.")]
    answer = decode_whole(message(text_part("It rains.", *annotations)))
    assert [item.quote for item in answer.citations[0].evidence] == ["One.", "Two."]


def test_an_unsafe_url_is_not_shown() -> None:
    answer = decode_whole(message(text_part("It rains.", citation(0, 2, "javascript:alert(1)"))))
    assert answer.citations[0].evidence[0].source == Source("", "Example A", "cited")


def test_links_are_citations_if_there_was_a_search_and_no_annotation() -> None:
    searched = search({"type": "search", "query": "rain"})
    answer = decode_whole(searched, message(text_part(f"{TEXT} And [the news](https://news.example/1).")))
    assert [item.source for cited in answer.citations for item in cited.evidence] == [
        Source(PAGE, "", "cited"),
        Source("https://news.example/1", "the news", "cited"),
    ]
    assert spans(answer)[0] == (START, END)
    assert all(
        item.extras == {"openai_responses": {"derived": True}}
        for cited in answer.citations
        for item in cited.evidence
    )


def test_links_are_just_links_without_a_search_or_with_an_annotation() -> None:
    linked = message(text_part(f"{TEXT} And [the news](https://news.example/1)."))
    assert decode_whole(linked).citations == ()
    searched = search({"type": "search", "query": "rain"})
    both = decode_whole(searched, linked, message(text_part(TEXT, citation()), item_id="msg_2"))
    assert len(both.citations) == 1


def test_links_of_our_own_uncited_answer_are_just_links() -> None:
    parts = (SearchCall("s", ("rain",)), Text(TEXT))
    body = DIALECT.encode_response(Answer(parts, finish="stop"), REPLY)
    assert assemble(DIALECT.decode_response(body)).citations == ()


def test_a_claim_keeps_its_span_although_its_page_is_linked_elsewhere() -> None:
    claim = Citation(Span(0, 8), (Evidence(Source(PAGE, "A", "cited")),))
    body = DIALECT.encode_response(Answer((Text(TEXT),), (claim,), finish="stop"), REPLY)
    decoded = assemble(DIALECT.decode_response(body))
    assert (decoded.citations[0].span, decoded.citations[0].anchor) == ((0, 8), "claim")


def test_a_point_stays_a_point() -> None:
    point = Citation(Span(8, 8), (Evidence(Source(PAGE, "A", "cited")),))
    body = DIALECT.encode_response(Answer((Text(TEXT),), (point,), finish="stop"), REPLY)
    assert spans(assemble(DIALECT.decode_response(body))) == [(8, 8)]


def test_a_link_is_encoded_as_openai_does() -> None:
    link = Citation(Span(START, END), (Evidence(Source(PAGE, "Example A", "cited")),), "marker")
    body = DIALECT.encode_response(Answer((Text(TEXT),), (link,), finish="stop"), REPLY)
    assert value_at(body, "output", 0, "content", 0, "annotations") == [citation()]


def test_impossible_spans_become_citations_of_the_whole_answer() -> None:
    evidence = (Evidence(Source(PAGE, "A", "cited")),)
    odd = tuple(Citation(span, evidence) for span in (Span(90, 99), Span(7, 3), Span(-4, 0)))
    body = DIALECT.encode_response(Answer((Text("Hello"),), odd, finish="stop"), REPLY)
    annotations = items_of(value_at(body, "output", 0, "content", 0), "annotations")
    assert [(annotation["start_index"], annotation["end_index"]) for annotation in annotations] == [(0, 0)]


def test_citations_with_the_same_start_and_different_ends_stay_two() -> None:
    evidence = (Evidence(Source(PAGE, "A", "cited")),)
    both = (Citation(Span(0, 7), evidence), Citation(Span(0, 9), evidence))
    body = DIALECT.encode_response(Answer((Text("Hello"), Text(" world")), both, finish="stop"), REPLY)
    assert spans(assemble(DIALECT.decode_response(body))) == [(0, 7), (0, 9)]


@pytest.mark.parametrize("own", [{"start": -5, "end": 3}, {"start": 2, "end": 1}, {"start": 50, "end": 90}])
def test_a_wrong_span_of_the_whole_answer_is_ignored(own: dict[str, int]) -> None:
    annotation = citation(0, 2, groundwire={"anchor": "claim", **own})
    answer = decode_whole(message(text_part("It rains.", annotation)))
    assert spans(answer) == [(0, 2)]


def test_a_span_of_an_interrupted_answer_ends_with_its_text() -> None:
    annotation = citation(0, 9, groundwire={"anchor": "claim", "start": 0, "end": 90})
    assert spans(decode_whole(message(text_part("It rains.", annotation)))) == [(0, 9)]


FILE_TEXT = "It is in the report. So it is."
FILES: list[JsonObject] = [
    {"type": "file_citation", "file_id": "file_1", "filename": "report.pdf", "index": 20},
    {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_1",
        "filename": "plot.png",
        "start_index": 0,
        "end_index": 5,
    },
    {"type": "file_path", "file_id": "file_2", "index": 3},
]


def streamed_files() -> Answer:
    events = [created(), *text_events([FILE_TEXT], FILES), completed(message(text_part(FILE_TEXT, *FILES)))]
    return assemble(decode_events(sse(events)))


@pytest.mark.parametrize(
    "answer", [decode_whole(message(text_part(FILE_TEXT, *FILES))), streamed_files()], ids=["whole", "stream"]
)
def test_a_file_is_cited_by_its_name_where_the_claim_ends(answer: Answer) -> None:
    # Recorded answers of OpenAI: `index` is the offset at which the claim ends.
    cited = [(citation.span, item.source) for citation in answer.citations for item in citation.evidence]
    assert cited == [
        (Span(0, 5), Source("", "plot.png", "cited")),
        (Span(20, 20), Source("", "report.pdf", "cited")),
    ]
    assert ["file_2" in warning.message for warning in answer.warnings] == [True]


@pytest.mark.parametrize(
    ("index", "span"), [(0, None), (None, None), (500, None), (20, Span(20, 20))], ids=repr
)
def test_a_file_without_a_usable_offset_is_cited_for_the_whole_answer(
    index: int | None, span: Span | None
) -> None:
    note: JsonObject = {"type": "file_citation", "file_id": "file_1", "index": index}
    (found,) = decode_whole(message(text_part(FILE_TEXT, note))).citations
    assert (found.span, found.evidence[0].source.title) == (span, "file_1")


def test_two_files_at_one_place_are_two_sources_and_a_repeated_one_is_one() -> None:
    notes: list[JsonObject] = [
        {"type": "file_citation", "file_id": name, "filename": "notes.txt", "index": 9}
        for name in ("file_1", "file_2", "file_1")
    ]
    answer = decode_whole(message(text_part(FILE_TEXT, *notes)))
    body = DIALECT.encode_response(answer, REPLY)
    assert value_at(body, "output", 0, "content", 0, "annotations") == notes[:2]


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "websearch"])
def test_a_cited_file_reaches_the_clients_of_every_dialect(name: str) -> None:
    ours = dialect(name)
    body = ours.encode_response(decode_whole(message(text_part(FILE_TEXT, FILES[0]))), REPLY)
    answer = assemble(ours.decode_response(body))
    assert [item.source.title for citation in answer.citations for item in citation.evidence] == [
        "report.pdf"
    ]


def test_clients_of_responses_get_file_citations_verbatim() -> None:
    page = "https://example.org/a"
    web = citation(0, 2, page, groundwire={"anchor": "claim"})
    body = DIALECT.encode_response(decode_whole(message(text_part(FILE_TEXT, *FILES, web))), REPLY)
    annotations = value_at(body, "output", 0, "content", 0, "annotations")
    assert isinstance(annotations, list)
    assert sorted(annotations, key=repr) == sorted([web, *FILES], key=repr)


@pytest.mark.parametrize("name", [name for name in DIALECTS if name not in ("openai_responses", "websearch")])
def test_other_clients_find_the_ids_of_files_in_the_extension(name: str) -> None:
    body = dialect(name).encode_response(decode_whole(message(text_part(FILE_TEXT, *FILES))), REPLY)
    assert [value_at(file, "file_id") for file in items_of(body["groundwire"], "files")] == [
        "cfile_1",
        "file_1",
        "file_2",
    ]


def test_the_next_turn_has_file_citations_too() -> None:
    turn = message(text_part(FILE_TEXT, *FILES))
    request = DIALECT.decode_request({"model": "m", "input": [turn]})
    (sent,) = items_of(DIALECT.encode_request(request).body, "input")
    annotations = value_at(sent, "content", 0, "annotations")
    assert isinstance(annotations, list)
    assert sorted(annotations, key=repr) == sorted(FILES, key=repr)


LISTED: list[Json] = ["https://a.example/", {"url": "https://b.example/", "title": "B"}, "no address", 7]


def test_urls_listed_next_to_the_output_are_cited_for_the_whole_answer() -> None:
    # xAI's lists of sources; an answer with annotations has its citations there.
    body = response(message(text_part("It rains.")), citations=LISTED)
    answer = assemble(DIALECT.decode_response(body))
    (found,) = answer.citations
    assert found.span is None
    assert [item.source.url for item in found.evidence] == ["https://a.example/", "https://b.example/"]


def test_listed_urls_are_not_citations_of_an_answer_with_annotations() -> None:
    body = response(message(text_part("It rains.", citation(0, 9))), citations=LISTED)
    answer = assemble(DIALECT.decode_response(body))
    assert [item.evidence[0].source.url for item in answer.citations] == [PAGE]


def test_the_number_of_a_generated_file_is_written_after_its_link() -> None:
    # OpenAI's offsets of such a file are those of the link's target.
    text = "See [plot.png](sandbox:/mnt/data/plot.png) for it."
    note: JsonObject = {**FILES[1], "start_index": text.index("sandbox"), "end_index": text.index(")")}
    body = dialect("websearch").encode_response(decode_whole(message(text_part(text, note))), REPLY)
    assert "See [plot.png](sandbox:/mnt/data/plot.png)[1] for it." in str(body["llmContent"])
