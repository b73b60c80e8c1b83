"""Sources of several answers, merged by address."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.compare.sources import merge_sources
from groundwire.model import SearchOptions
from tests.compare.answers import contribution

TEXT = "A sentence with a source."


def test_one_page_under_two_addresses_is_one_source_with_both_providers() -> None:
    sources, _ = merge_sources(
        [
            contribution("one", (TEXT, "https://a.example/page?utm_source=openai")),
            contribution("other", (TEXT, "https://www.a.example/page")),
        ]
    )
    (source,) = sources
    assert source.cited_by == ("one", "other")
    assert dict(source.ranks) == {"one": 1, "other": 1}


def test_a_source_of_several_providers_is_ranked_before_the_first_source_of_one() -> None:
    sources, _ = merge_sources(
        [
            contribution("one", (TEXT, "https://only.example/"), (TEXT, "https://both.example/")),
            contribution("other", (TEXT, "https://else.example/"), (TEXT, "https://both.example/")),
        ]
    )
    assert sources[0].url == "https://both.example/"


def test_sources_outside_of_the_allowed_domains_are_removed_and_counted() -> None:
    options = SearchOptions(allowed_domains=("good.example",))
    answers = [contribution("one", (TEXT, "https://good.example/a"), (TEXT, "https://bad.example/b"))]
    sources, removed = merge_sources(answers, options)
    assert [source.domain for source in sources] == ["good.example"]
    assert removed == 1


URLS = st.sampled_from([f"https://{name}.example/{page}" for name in "abc" for page in "xyz"])


@given(lists=st.lists(st.lists(URLS, max_size=5, unique=True), min_size=1, max_size=4))
def test_the_order_of_providers_changes_neither_sources_nor_their_order(lists: list[list[str]]) -> None:
    contributions = [contribution(f"p{at}", *((TEXT, url) for url in urls)) for at, urls in enumerate(lists)]
    one, _ = merge_sources(contributions)
    other, _ = merge_sources(contributions[::-1])
    assert [(source.url, source.score) for source in one] == [(source.url, source.score) for source in other]
    assert {source.url for source in one} == {url for urls in lists for url in urls}
