"""Numbering of sources: one number for each page or section, whatever its URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import Answer, Citation, Evidence, SearchResult, Source, SourceState, Span, Text
from groundwire.text.sources import label_of, number_answer, number_sources, source_key
from tests.model.strategies import cases

PAGE = "https://a.example/x?b=1"
ALIASES = (
    "http://a.example/x?b=1",
    "https://www.a.example/x?b=1",
    "https://a.example:443/x?b=1",
    "https://a.example/x/?b=1",
    "https://a.example/x?b=1#:~:text=part",
    "https://a.example/x?b=1&utm_source=openai",
)


def test_sources_are_numbered_from_one_in_the_order_given() -> None:
    first, second = Source("https://b.example"), Source("https://a.example")
    numbering = number_sources([first, second, first])
    assert numbering.sources == (first, second)
    assert (numbering.number(first), numbering.number(second)) == (1, 2)
    assert numbering.number(Source("https://c.example")) is None


@pytest.mark.parametrize("alias", ALIASES)
def test_a_page_with_another_url_has_the_same_number_and_keeps_its_first_url(alias: str) -> None:
    numbering = number_sources([Source(PAGE), Source("https://b.example"), Source(alias)])
    assert [source.url for source in numbering.sources] == [PAGE, "https://b.example"]
    assert numbering.number(Source(alias)) == 1


@pytest.mark.parametrize("page", ["https://a.example/x", "file:///handbook/x.md", "local:groundwire/x.md"])
def test_a_section_with_an_address_of_its_own_has_a_number_that_leads_to_it(page: str) -> None:
    sources = [Source(page, "All"), Source(f"{page}#one", "One"), Source(f"{page}#two", "Two")]
    numbering = number_sources([*sources, Source(f"{page}#one")])
    assert numbering.sources == tuple(sources)
    assert [numbering.number(source) for source in sources] == [1, 2, 3]
    assert len({source_key(Source(f"https://a.example/x#{name}")) for name in ("one", "two")}) == 1


def test_numbers_are_in_the_order_in_which_the_text_cites() -> None:
    first, second, whole = Source("https://b.example"), Source(PAGE), Source("https://c.example")
    found = SearchResult("s", (whole, second, first))
    citations = (
        Citation(None, (Evidence(whole),)),
        Citation(Span(0, 9), (Evidence(second),)),
        Citation(Span(2, 5), (Evidence(first),)),
    )
    numbered = number_answer(Answer((found, Text("0123456789")), citations)).sources
    assert [source.url for source in numbered] == [first.url, second.url, whole.url]


def test_every_distinct_excerpt_is_kept_and_gaps_are_filled() -> None:
    numbering = number_sources(
        [
            Source(PAGE, "", excerpts=("one",)),
            Source(ALIASES[0], "Title", excerpts=("one", "two"), date="May", domain="a.example"),
            Source(ALIASES[1], "Other title", excerpts=("three",), date="June"),
        ]
    )
    assert numbering.sources == (
        Source(PAGE, "Title", excerpts=("one", "two", "three"), date="May", domain="a.example"),
    )


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("retrieved", "opened", "opened"),
        ("opened", "retrieved", "opened"),
        ("retrieved", "cited", "cited"),
        ("cited", "opened", "cited"),
        ("retrieved", "retrieved", "retrieved"),
    ],
)
def test_a_merged_source_has_its_strongest_state(
    first: SourceState, second: SourceState, joined: SourceState
) -> None:
    (source,) = number_sources([Source(PAGE, state=first), Source(ALIASES[0], state=second)]).sources
    assert source.state == joined


def test_feeds_without_a_url_are_identified_by_name() -> None:
    weather, finance = Source("", "oai-weather"), Source("", "oai-finance")
    numbering = number_sources([weather, finance, weather])
    assert numbering.sources == (weather, finance)
    assert source_key(weather) != source_key(Source("oai-weather"))


def test_cited_sources_are_numbered_and_merely_found_ones_are_not() -> None:
    found = SearchResult("s", (Source("https://found.example"), Source(PAGE)))
    answer = Answer((found,), (Citation(None, (Evidence(Source(PAGE)),)),))
    assert [source.url for source in number_answer(answer).sources] == [PAGE]


def test_an_answer_that_cites_nothing_numbers_what_was_found() -> None:
    found = SearchResult("s", (Source("https://found.example"), Source(PAGE)))
    assert [source.url for source in number_answer(Answer((found,))).sources] == [
        "https://found.example",
        PAGE,
    ]
    assert number_answer(Answer()).sources == ()


@pytest.mark.parametrize(
    ("source", "label"),
    [
        (Source(PAGE, " A\n title\t"), "A title"),
        (Source("https://vertex.example/redirect/1", domain="b.example"), "b.example"),
        (Source("https://www.a.example/x"), "a.example"),
        (Source("odd"), "odd"),
        (Source("", "oai-weather"), "oai-weather"),
        (Source(""), ""),
    ],
)
def test_a_source_is_called_by_the_best_name_it_has(source: Source, label: str) -> None:
    assert label_of(source) == label


@cases(200)
@given(st.lists(st.sampled_from([PAGE, *ALIASES, "https://b.example", "https://c.example/?q=1"]), max_size=8))
def test_every_source_has_a_number_and_numbers_have_no_gaps(urls: list[str]) -> None:
    numbering = number_sources(Source(url, excerpts=(url,)) for url in urls)
    numbers = [numbering.number(Source(url)) for url in urls]
    assert set(numbers) == set(range(1, len(numbering.sources) + 1))
    assert {text for source in numbering.sources for text in source.excerpts} == set(urls)
    assert all(source.url in urls for source in numbering.sources)
