"""Origins and request targets of URLs."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import ConfigError
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.http1.origin import InvalidProxy, Origin, authority_of, parse_proxy, parse_target
from groundwire.transport.weburl import InvalidUrl

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("url", "origin", "host", "path"),
    [
        ("http://a.example", Origin("a.example", 80), "a.example", "/"),
        ("https://a.example/", Origin("a.example", 443, "a.example"), "a.example", "/"),
        ("HTTPS://A.Example:443/x", Origin("a.example", 443, "a.example"), "a.example", "/x"),
        ("https://a.example:8443", Origin("a.example", 8443, "a.example"), "a.example:8443", "/"),
        ("http://[::1]:8080/x", Origin("::1", 8080), "[::1]:8080", "/x"),
        ("https://[2001:DB8::0:1]/", Origin("2001:db8::1", 443, "2001:db8::1"), "[2001:db8::1]", "/"),
        ("http://ü.example/ü?ü", Origin("xn--tda.example", 80), "xn--tda.example", "/%C3%BC?%C3%BC"),
        ("http://a.example?x=1", Origin("a.example", 80), "a.example", "/?x=1"),
        ("http://a.example/a%2Fb%zz%", Origin("a.example", 80), "a.example", "/a%2Fb%zz%"),
        ("http://a.example/?%2F+%20'\"<>|", Origin("a.example", 80), "a.example", "/?%2F+%20'\"<>|"),
        ("http://a.example/a b?c d", Origin("a.example", 80), "a.example", "/a%20b?c%20d"),
        ("http://a.example/p#part", Origin("a.example", 80), "a.example", "/p"),
        ("http://a.example/p?q=1#part", Origin("a.example", 80), "a.example", "/p?q=1"),
        ("http://a.example/p#part?q=1", Origin("a.example", 80), "a.example", "/p"),
        ("http://a.example#@b.example/?q", Origin("a.example", 80), "a.example", "/"),
        ("http://a.example\\@b.example/?q", Origin("a.example", 80), "a.example", "/@b.example/?q"),
        ("http://a.example/?" + "q" * 20_000, Origin("a.example", 80), "a.example", "/?" + "q" * 20_000),
    ],
)
def test_a_url_has_an_origin(url: str, origin: Origin, host: str, path: str) -> None:
    target = parse_target(url)
    assert (target.origin, target.host, target.path, target.authorization) == (origin, host, path, "")


@pytest.mark.parametrize(
    ("secret", "credentials"),
    [
        ("me:sesame", b"me:sesame"),
        ("me", b"me:"),
        ("me:", b"me:"),
        (":sesame", b":sesame"),
        ("me:a:b", b"me:a:b"),
        ("m%40e:s%3Ae%2F", b"m@e:s:e/"),
        ("me:a@b", b"me:a@b"),
        ("ä:%C3%A4", "ä:ä".encode()),
        ("me:%ff%00", b"me:\xff\0"),
        ("me:%zz", b"me:%zz"),
    ],
)
def test_user_and_password_become_a_header_and_occur_nowhere_else(secret: str, credentials: bytes) -> None:
    target = parse_target(f"https://{secret}@a.example/x?y=@z")
    assert target.authorization == f"Basic {b64encode(credentials).decode()}"
    assert (target.origin, target.host, target.path) == (
        Origin("a.example", 443, "a.example"),
        "a.example",
        "/x?y=@z",
    )
    assert parse_proxy(f"http://{secret}@a.example:1") == (Origin("a.example", 1), target.authorization)


def test_only_a_proxy_for_plain_http_gets_the_whole_url() -> None:
    assert parse_target("http://a.example/x?y", PROXY).path == "http://a.example/x?y"
    assert parse_target("http://[::1]:81/x", PROXY).path == "http://[::1]:81/x"
    assert parse_target("https://a.example/x?y", PROXY).path == "/x?y"
    assert parse_target("https://a.example/", PROXY).origin == Origin("a.example", 443, "a.example", PROXY)
    assert authority_of(Origin("::1", 443)) == "[::1]:443"


ODD = st.text(st.sampled_from("abAB019.:/?#@[]%\\ \t\r\n\0é\u2028\u212a\ud800-_~+&='\"<>"), max_size=24)


@given(st.sampled_from(["http://", "https://", "http:", "", "HTTP://a", "http://a.example/"]), ODD)
def test_every_valid_url_can_be_written_on_one_line(scheme: str, rest: str) -> None:
    try:
        target = parse_target(scheme + rest)
    except InvalidUrl:
        return
    for text in (target.host, target.path, target.authorization.removeprefix("Basic ")):
        assert text.isascii()
        assert not any(character <= " " for character in text)
    assert target.path.startswith("/")
    assert "@" not in target.host


@pytest.mark.parametrize(
    "proxy", ["http://", "http://[::1", "http://a:port", "http://a b/", "http://\ud800@a"]
)
async def test_an_invalid_proxy_is_a_configuration_error(proxy: str) -> None:
    with pytest.raises(InvalidProxy):
        parse_proxy(proxy)

    async with Http({"ALL_PROXY": proxy}) as http:
        for url in ("http://a.example/", "https://a.example/"):
            with pytest.raises(ConfigError, match="must be given as an http address"):
                async with http.open(HttpRequest("GET", url, {}), Deadlines()):
                    pass


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "upgrade"])
async def test_the_caller_cannot_set_the_length_of_the_body(name: str) -> None:
    async with Http({}) as http:
        with pytest.raises(ConfigError, match="cannot be written"):
            async with http.open(HttpRequest("POST", "http://127.0.0.1:9/", {name: "5"}), Deadlines()):
                pass
