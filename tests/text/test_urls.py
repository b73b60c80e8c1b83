"""URLs: safe to display, equal pages, domains."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.text.urls import canonical_url, domain_of, is_same_or_subdomain, safe_url, shown_address
from tests.figures import Figures
from tests.model.strategies import cases, texts


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "http://a.example/",
        "HTTPS://A.example/Path?q=1&r=%20#frag",
        "https://a.example:8443/x",
        "https://user:secret@a.example/x",
        "https://en.wikipedia.org/wiki/Nile_(river)",
        "https://xn--bcher-kva.example/straße",
        "https://bücher.example/東京?q=川",
        "https://[2001:db8::1]:8080/x",
        "https://a.example/;jsessionid=1?a[]=b|c",
        "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZ-_x==",
        "https://a.example/" + "x" * 8192,
    ],
)
def test_a_web_url_is_unchanged(url: str) -> None:
    assert safe_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "a.example",
        "//a.example/x",
        "/path",
        "javascript:alert(1)",
        "JavaScript:alert(1)//https://a.example",
        "java\nscript:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<b>",
        "vbscript:x",
        "file:///etc/passwd",
        "ftp://a.example",
        "blob:https://a.example/1",
        "view-source:https://a.example",
        "ms-word:ofe|u|https://a.example",
        "mailto:a@a.example",
        "intent://a.example#Intent;end",
        "ht\ntps://a.example",
        "ht\ttps://a.example",
        "https\n://a.example",
        "https:/a.example",
        "https:a.example",
        "https:///path",
        "https://",
        "https://?q",
        "https://#f",
        "https://user@",
        "https://user@/x",
        "https://.",
        "https://:443/x",
        "\\\\a.example\\share",
    ],
)
def test_a_url_that_is_not_a_web_url_becomes_empty(url: str, figures: Figures) -> None:
    assert safe_url(url) == ""
    figures.add("S5", "forms of URLs that are not web addresses, none kept", 1, part=ascii(url))


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        (
            "https://www.google.com/search?q=weather+in+San Francisco, CA,+US",
            "https://www.google.com/search?q=weather+in+San%20Francisco,%20CA,+US",
        ),
        ("  https://a.example/x\n", "https://a.example/x"),
        ("https://a.example/a\tb\nc", "https://a.example/a%09b%0Ac"),
        ('https://a.example/"><script>', "https://a.example/%22%3E%3Cscript%3E"),
        ("https://a.example/\u2028\u2029\x85\xa0x", "https://a.example/%E2%80%A8%E2%80%A9%C2%85%C2%A0x"),
        ("https://a.example/\x1b]8;;\x07", "https://a.example/%1B]8;;%07"),
        ("https://a.example\\@b.example/x", "https://a.example/@b.example/x"),
        ("https:\\\\a.example\\x", "https://a.example/x"),
        ("https://a.example/\ud800x", "https://a.example/%3Fx"),
        ("https://a.example/\u202egpj.exe", "https://a.example/%E2%80%AEgpj.exe"),
        (
            "https://a.example/\u200bx\ufeff\u3000\u2066",
            "https://a.example/%E2%80%8Bx%EF%BB%BF%E3%80%80%E2%81%A6",
        ),
    ],
)
def test_characters_not_allowed_in_a_url_are_encoded(url: str, safe: str) -> None:
    assert safe_url(url) == safe


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.example/x", "a.example"),
        ("https://WWW.A.Example:8443/", "a.example"),
        ("https://good.example@evil.example/", "evil.example"),
        ("https://good.example:pw@evil.example:1/", "evil.example"),
        ("https://good.example\\@evil.example/", "good.example"),
        ("https://good.example?@evil.example/", "good.example"),
        ("https://good.example#@evil.example/", "good.example"),
        ("https://a@b@evil.example/", "evil.example"),
        ("https://a.example./x", "a.example"),
        ("https://a.example.:443/x", "a.example"),
        ("https://xn--pple-43d.example/", "xn--pple-43d.example"),
        ("https://sub.www.example/", "sub.www.example"),
        ("http://[2001:DB8::1]:8080/x", "[2001:db8::1]"),
        ("http://[::1]/", "[::1]"),
        ("javascript://a.example/%0aalert(1)", ""),
        ("a.example", ""),
        ("", ""),
    ],
)
def test_the_domain_is_the_host_of_the_url(url: str, domain: str) -> None:
    assert domain_of(url) == domain


SAME_PAGE = [
    "https://a.example/x?b=2&a=1",
    "http://a.example/x?b=2&a=1",
    "https://www.a.example/x?b=2&a=1",
    "HTTPS://WWW.A.EXAMPLE/x?b=2&a=1",
    "https://a.example:443/x?b=2&a=1",
    "http://a.example:80/x?b=2&a=1",
    "https://a.example./x?b=2&a=1",
    "https://a.example/x/?b=2&a=1",
    "https://a.example/x?b=2&a=1#part",
    "https://a.example/x?b=2&a=1&utm_source=openai",
    "https://a.example/x?utm_source=chatgpt.com&b=2&UTM_Campaign=z&a=1",
    "https://a.example/x?b=2&fbclid=1&a=1&gclid=2&msclkid=3&mc_eid=4&_hsenc=5&srsltid=6",
    "https://user@a.example/x?b=2&a=1",
    " https:\\\\a.example\\x?b=2&a=1 ",
]


def test_different_urls_of_one_page_have_the_same_key() -> None:
    assert {canonical_url(url) for url in SAME_PAGE} == {canonical_url(SAME_PAGE[0])}


@pytest.mark.parametrize(
    "other",
    [
        "https://a.example/X?b=2&a=1",
        "https://a.example/x?b=2&a=2",
        "https://a.example/x?b=2",
        "https://a.example/x/y?b=2&a=1",
        "https://a.example:444/x?b=2&a=1",
        "http://a.example:443/x?b=2&a=1",
        "https://b.a.example/x?b=2&a=1",
        "https://a.example/x?b=2&a=1&source=openai",
        "https://a.example/x?b=2&a=1&automatic=1",
        "https://a.example.evil.example/x?b=2&a=1",
    ],
)
def test_different_pages_have_different_keys(other: str) -> None:
    assert canonical_url(other) != canonical_url(SAME_PAGE[0])


def test_the_root_has_one_form() -> None:
    assert (
        canonical_url("https://a.example")
        == canonical_url("https://a.example/")
        == canonical_url("https://a.example/?utm_source=x#y")
    )


def test_ipv6_hosts_are_separated_from_their_ports() -> None:
    assert canonical_url("http://[::1]:80/") == canonical_url("http://[::1]/")
    assert canonical_url("http://[::1]:8080/") != canonical_url("http://[::1]/")


def test_text_that_is_not_a_url_is_its_own_key() -> None:
    assert canonical_url("oai-weather") == "oai-weather"


@cases(300)
@given(st.one_of(texts(), texts().map("https://".__add__), texts().map("https://a.example/".__add__)))
@example("https://\n")
@example("https://@")
def test_safe_url_is_idempotent(url: str) -> None:
    safe = safe_url(url)
    assert safe == "" or safe.lower().startswith(("http://", "https://"))
    assert safe_url(safe) == safe
    assert safe.isprintable()
    assert not set(safe) & set(' "<>\\')
    assert bool(domain_of(safe)) == bool(safe)


@cases(300)
@given(texts().map("https://a.example/".__add__))
def test_safe_url_does_not_change_the_host(url: str) -> None:
    assert domain_of(safe_url(url)) == domain_of(url) == "a.example"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("google.com", True),
        ("www.google.com", True),
        ("a.b.google.com", True),
        ("evilgoogle.com", False),
        ("google.com.evil.example", False),
        ("google.co", False),
        ("", False),
    ],
)
def test_a_host_belongs_to_a_domain_only_below_a_dot(host: str, expected: bool) -> None:
    assert is_same_or_subdomain(host, "google.com") is expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/x", "https://a.example/x"),
        ("local:python/3.11.7/math.sqrt", "local:python/3.11.7/math.sqrt"),
        ("local:groundwire/a\x1b b.md", "local:groundwire/a%1B%20b.md"),
        ("file:///home/me/a.md", "file:///home/me/a.md"),
        ("javascript:alert(1)", ""),
        ("file://server/share", ""),
        ("", ""),
    ],
)
def test_an_address_of_this_machine_is_shown_and_is_not_a_link(url: str, shown: str) -> None:
    assert shown_address(url) == shown
    assert safe_url(url) == (shown if url.startswith("https:") else "")
