"""Which pages the entries of a domain list cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import SearchOptions, Source
from groundwire.text.domains import admits, covers_entry, display_domain, is_domain_entry

REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/abc"


@pytest.mark.parametrize(
    ("entry", "url", "covered"),
    [
        ("example.com", "https://example.com/", True),
        ("example.com", "http://example.com", True),
        ("example.com", "https://www.example.com/a", True),
        ("example.com", "https://docs.example.com/a", True),
        ("example.com", "https://EXAMPLE.com:8443/a", True),
        ("example.com", "https://example.com./a", True),
        ("Example.COM", "https://example.com/a", True),
        ("www.example.com", "https://example.com/a", True),
        ("*.example.com", "https://docs.example.com/a", True),
        ("example.com.", "https://example.com/a", True),
        ("example.com", "https://notexample.com/", False),
        ("example.com", "https://example.com.evil.test/", False),
        ("example.com", "https://evil.test/example.com", False),
        ("example.com", "https://evil.test/?u=https://example.com/", False),
        ("example.com", "https://example.com@evil.test/", False),
        ("example.com", "https://evil.test\\@example.com/", False),
        ("example.com", "https://user@example.com/", True),
        ("docs.example.com", "https://example.com/", False),
        ("example.com", "javascript://example.com/", False),
        ("example.com", "", False),
        ("example.com/docs", "https://example.com/docs", True),
        ("example.com/docs", "https://example.com/docs/", True),
        ("example.com/docs", "https://example.com/docs/a/b", True),
        ("example.com/docs", "https://example.com/docs?page=2", True),
        ("example.com/docs", "https://example.com/docs#top", True),
        ("example.com/docs", "https://a.example.com/docs/x", True),
        ("example.com/docs", "https://example.com/docs-old/x", False),
        ("example.com/docs", "https://example.com/Docs/x", False),
        ("example.com/docs", "https://example.com/", False),
        ("example.com/docs", "https://example.com?x=/docs", False),
        ("example.com/docs", "https://example.com/x?y=/docs", False),
        ("example.com/docs", "https://example.com/docs/../private", False),
        ("example.com/docs", "https://example.com/docs/%2E%2e/private", False),
        ("example.com/docs/", "https://example.com/docs/a", True),
        ("example.com/", "https://example.com/anything", True),
        ("example.com/*", "https://example.com/anything", True),
        ("example.com/docs*", "https://example.com/docs-old", True),
        ("example.com/*/api", "https://example.com/v1/api/x", True),
        ("example.com/*/api", "https://example.com/v1/apis", False),
        ("example.com/*/api", "https://example.com/v1/apis/v2/api", True),
        ("example.com/a*b*c", "https://example.com/a1b2c/d", True),
        ("example.com/a*b*c", "https://example.com/a1c2b", False),
        ("example.com/a*b*", "https://example.com/axxb1", True),
        ("example.com/a*b*", "https://example.com/axx", False),
        ("bücher.example", "https://xn--bcher-kva.example/a", True),
        ("xn--bcher-kva.example", "https://bücher.example/a", True),
        ("bücher.example", "https://BÜCHER.example/a", True),
    ],
)
def test_an_entry_covers_its_host_its_subdomains_and_its_path(entry: str, url: str, covered: bool) -> None:
    source = Source(url)
    assert admits(SearchOptions(allowed_domains=(entry,)), source) is covered
    unseen = ".." in url or "%2E" in url
    assert admits(SearchOptions(blocked_domains=(entry,)), source) is (not covered and not unseen)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        (SearchOptions(("example.com",)), True),
        (SearchOptions(("google.com",)), False),
        (SearchOptions(blocked_domains=("example.com",)), False),
        (SearchOptions(blocked_domains=("google.com",)), True),
        (SearchOptions(("example.com/docs",)), False),
        (SearchOptions(blocked_domains=("example.com/docs",)), False),
        (SearchOptions(blocked_domains=("example.org/docs",)), True),
    ],
    ids=repr,
)
def test_for_a_redirect_the_domain_named_by_the_provider_counts(
    options: SearchOptions, allowed: bool
) -> None:
    assert admits(options, Source(REDIRECT, "example.com", domain="www.Example.com")) is allowed


def test_a_redirect_without_a_named_domain_is_matched_by_its_own_url() -> None:
    assert display_domain(Source(REDIRECT)) == "vertexaisearch.cloud.google.com"
    assert not admits(SearchOptions(("example.com",)), Source(REDIRECT))


def test_a_blocked_page_stays_blocked_where_its_site_is_allowed() -> None:
    options = SearchOptions(("example.com",), ("example.com/private",))
    assert admits(options, Source("https://example.com/public"))
    assert not admits(options, Source("https://example.com/private/x"))


def test_without_lists_everything_is_admitted() -> None:
    assert admits(SearchOptions(), Source("ftp://x"))


LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
HOST = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
PATH = st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), max_size=3).map("/".join)


@given(HOST, PATH, st.sampled_from(["", "www.", "a.b."]))
def test_a_page_is_covered_by_its_own_address(host: str, path: str, below: str) -> None:
    entry = f"{host}/{path}" if path else host
    assert is_domain_entry(entry)
    assert admits(SearchOptions((entry,)), Source(f"https://{below}{host}/{path}"))
    assert covers_entry(host, entry)
    assert covers_entry(entry, entry)


@pytest.mark.parametrize(
    ("outer", "inner", "covered"),
    [
        ("example.com/api", "example.com/api", True),
        ("example.com/api", "example.com/api/*", True),
        ("example.com/api", "example.com/api*", False),
        ("example.com/api*", "example.com/api*", True),
        ("example.com/a*", "example.com/api*", True),
        ("example.com/a*/x", "example.com/a*/x", True),
        ("example.com/a", "example.com", False),
        ("example.com", "*.example.com/a*", True),
    ],
)
def test_an_entry_covers_another_only_if_it_matches_all_its_pages(
    outer: str, inner: str, covered: bool
) -> None:
    assert covers_entry(outer, inner) is covered


@given(HOST, HOST, PATH)
def test_a_page_is_never_both_allowed_and_blocked(host: str, other: str, path: str) -> None:
    source = Source(f"https://{other}/{path}")
    assert admits(SearchOptions((host,)), source) is not admits(
        SearchOptions(blocked_domains=(host,)), source
    )


@given(st.text(max_size=30))
def test_any_text_can_be_matched(text: str) -> None:
    if is_domain_entry(text):
        assert not any(
            character.isspace() or character in "\"'<>\\@:?#" for character in text.partition("/")[0]
        )
        admits(SearchOptions((text,)), Source("https://example.com/a"))


def test_a_hostile_pattern_is_matched_in_linear_time() -> None:
    entry = "example.com/" + "a*" * 5000 + "b"
    assert not admits(SearchOptions((entry,)), Source("https://example.com/" + "a" * 20000))
