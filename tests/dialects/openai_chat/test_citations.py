"""Citations: which span of the text cites which listed source."""

from __future__ import annotations

from typing import cast

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import Answer, JsonObject, SearchResult, assemble

A, B, C = "https://a.example/x", "https://b.example/", "https://c.example"


def _answer(content: str, annotations: object = None, **fields: object) -> Answer:
    message = {"content": content, "annotations": annotations}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], **fields}
    return assemble(DIALECT.decode_response(cast("JsonObject", body)))


def _annotation(url: str, start: int | None = 0, end: int | None = 0, **fields: object) -> JsonObject:
    body = {"url": url, "title": "T", "start_index": start, "end_index": end, **fields}
    return cast("JsonObject", {"type": "url_citation", "url_citation": body})


def _cited(answer: Answer) -> list[tuple[str | None, list[str]]]:
    return [
        (
            answer.text[citation.span.start : citation.span.end] if citation.span else None,
            [item.source.url for item in citation.evidence],
        )
        for citation in answer.citations
    ]


def test_flat_annotations_are_read_too() -> None:
    flat = {"type": "url_citation", "url": A, "title": "T", "start_index": 0, "end_index": 5, "content": "q"}
    answer = _answer("Rain. More.", [flat])
    assert _cited(answer) == [("Rain.", [A])]
    assert answer.citations[0].evidence[0].quote == "q"
    assert answer.citations[0].anchor == "claim"


def test_a_missing_title_or_span_loses_nothing() -> None:
    answer = _answer("Rain.", [{"type": "url_citation", "url_citation": {"url": A}}])
    assert _cited(answer) == [(None, [A])]
    assert answer.warnings == ()


def test_a_span_outside_the_text_is_warned_of() -> None:
    answer = _answer("Rain.", [_annotation(A, 3, 400)])
    assert _cited(answer) == [(None, [A])]
    assert [warning.code for warning in answer.warnings] == ["citation_unplaced"]


def test_a_span_counted_in_utf16_is_found() -> None:
    text = f"😀😀 Sun ([a.example]({A}))."
    start = text.index("(")
    answer = _answer(text, [_annotation(A, start + 2, len(text) - 1 + 2)])
    assert _cited(answer) == [(f"([a.example]({A}))", [A])]


def test_a_claim_keeps_its_span_although_its_page_is_linked_elsewhere() -> None:
    text = f"The sun shines in Rome today. See [a]({A})."
    assert _cited(_answer(text, [_annotation(A, 0, 29)])) == [("The sun shines in Rome today.", [A])]


def test_a_link_that_was_counted_wrongly_is_found() -> None:
    link = f"([a.example]({A}))"
    text = f"Sun today. {link} More."
    start = text.index(link) - 3
    assert _cited(_answer(text, [_annotation(A, start, start + len(link))])) == [(link, [A])]


def test_a_point_is_a_span() -> None:
    answer = _answer("Rain. More.", [_annotation(A, 5, 5)])
    assert answer.citations[0].span == (5, 5)
    decoded = assemble(DIALECT.decode_response(DIALECT.encode_response(answer, Reply())))
    assert decoded.citations == answer.citations


def test_numbers_in_the_text_refer_to_annotations_without_spans() -> None:
    answer = _answer("Sun[2]. Rain[1][3].", [_annotation(A), _annotation(B), _annotation(C)])
    assert _cited(answer) == [("[2]", [B]), ("[1]", [A]), ("[3]", [C])]
    assert {citation.anchor for citation in answer.citations} == {"marker"}


def test_a_number_without_an_entry_is_text() -> None:
    assert _cited(_answer("Sun[4].", [_annotation(A)])) == [(None, [A])]


def test_numbers_are_ignored_if_annotations_have_spans() -> None:
    assert _cited(_answer("Sun [1].", [_annotation(A, 0, 3), _annotation(B)])) == [("Sun", [A]), (None, [B])]


@pytest.mark.parametrize("code", ["`x[1]`", "```\nx[1]\n```", "```\nx[1]", "[1](https://z.example)"])
def test_numbers_in_code_and_in_labels_are_not_citations(code: str) -> None:
    assert _cited(_answer(f"See {code}", [_annotation(A)])) == [(None, [A])]


def test_links_are_the_spans_of_a_listed_url() -> None:
    text = f"Sun [here]({A}) and ([b.example]({B}?utm_source=openai))."
    assert _cited(_answer(text, [_annotation(A), _annotation(B), _annotation(C)])) == [
        (f"[here]({A})", [A]),
        (f"([b.example]({B}?utm_source=openai))", [B]),
        (None, [C]),
    ]


def test_the_same_page_listed_twice_keeps_both_passages() -> None:
    answer = _answer("Sun.", [_annotation(A, content="one"), _annotation(A, content="two")])
    assert [item.quote for item in answer.citations[0].evidence] == ["one", "two"]


def test_unsafe_urls_keep_their_title_only() -> None:
    answer = _answer(
        "Sun.", [_annotation("javascript:alert(1)", 0, 3), {"type": "url_citation", "url_citation": {}}]
    )
    (citation,) = answer.citations
    (item,) = citation.evidence
    assert (item.source.url, item.source.title) == ("", "T")


PAGES = [
    {"title": "A", "url": A, "date": "2026-01-02", "snippet": "page a", "last_updated": "2026-02-02"},
    {"title": "B", "url": B, "date": None, "snippet": ""},
]


def test_perplexity_numbers_its_pages() -> None:
    answer = _answer("Sun[1]. Rain.", citations=[A, B], search_results=PAGES)
    assert _cited(answer) == [("[1]", [A])]
    assert answer.citations[0].evidence[0].source.title == "A"
    (result,) = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert result.call_id == "search_0"
    assert [(page.url, page.title, page.date, page.excerpts) for page in result.sources] == [
        (A, "A", "2026-01-02", ("page a",)),
        (B, "B", "", ()),
    ]
    assert {source.url: source.state for source in answer.sources} == {A: "cited", B: "retrieved"}


def test_pages_alone_are_numbered_where_nothing_is_annotated() -> None:
    assert _cited(_answer("Sun[2].", search_results=PAGES)) == [("[2]", [B])]


def test_pages_next_to_annotations_are_only_results() -> None:
    answer = _answer("Sun[2].", [], search_results=PAGES)
    assert answer.citations == ()
    assert [source.url for source in answer.sources] == [A, B]


def test_urls_alone_are_cited_for_the_whole_answer() -> None:
    assert _cited(_answer("Sun.", citations=[A, {"url": B, "title": "B"}])) == [(None, [A, B])]


def test_an_unusable_entry_keeps_its_number() -> None:
    assert _cited(_answer("Sun[2].", citations=[None, A], search_results=PAGES)) == [("[2]", [A])]


def test_private_use_characters_are_removed_and_spans_shifted() -> None:
    marker = "\ue200cite\ue202turn0search0\ue201"
    text = f"Sun{marker} today."
    answer = _answer(text, [_annotation(A, text.index("today"), len(text) - 1)])
    assert answer.text == "Sun today."
    assert _cited(answer) == [("today", [A])]
