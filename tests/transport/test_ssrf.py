"""SSRF policy: which addresses are public, and one URL parser for all checks."""

from __future__ import annotations

import json
import shutil
import subprocess
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import FetchRefused
from groundwire.transport.ssrf import REFUSED, SsrfPolicy, check_url, is_public, may_connect
from groundwire.transport.weburl import InvalidUrl, join, parse
from tests.transport.forbidden import ADDRESSES, PUBLIC

pytestmark = pytest.mark.server

BASE = parse("https://www.example.com/a/b?c=d")


def test_the_list_of_forbidden_urls_is_complete() -> None:
    assert len(ADDRESSES) == len(set(ADDRESSES)) == 72


@pytest.mark.parametrize("url", ADDRESSES)
def test_every_private_address_is_refused_with_the_same_message(url: str) -> None:
    with pytest.raises(FetchRefused) as caught:
        check_url(url)
    assert caught.value.message == REFUSED
    assert caught.value.__cause__ is None
    assert vars(caught.value) == {"message": REFUSED}


@pytest.mark.parametrize("url", PUBLIC)
def test_public_addresses_are_allowed(url: str) -> None:
    assert str(check_url(url)).startswith(url.partition("/")[0])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "www.example.com",
        "//www.example.com/",
        "http://",
        "http:///",
        "http://a b.com/",
        "http://a..com/",
        "http://.com/",
        "http://www.example.com:0/",
        "http://www.example.com:65536/",
        "http://www.example.com:8080/",
        "http://www.example.com:80x/",
        "http://@www.example.com/",
        "http://:@www.example.com/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[1.2.3.4]/",
        "http://1.2.3.4.5/",
        "http://1.2.3.08/",
        "http://256.1.1.1/",
        "http://a.1e.0x/",
        "http://127%2e0%2e0%2e1/",
        "http://%31%32%37.0.0.1/",
        "http://127.0.0.1%00.example.com/",
        "http://exa%6dple.com%2f@127.0.0.1/",
        "http://%ff.example.com/",
        "http://\ud800.example.com/",
        "http://www.example.com/\ud800",
        "http://" + "a." * 127 + "com/",
        "http://www.example.com/" + "a" * 9000,
        "javascript:alert(1)",
        "data:text/html,x",
        "blob:http://www.example.com/",
        "ws://www.example.com/",
        "h\tttp\n://127.0.0.1/",
        "\x00http://127.0.0.1/",
        "http:/\\127.0.0.1\\",
        "http:////127.0.0.1/",
        "http://127.0.0\xad.1/",
        "http://127.0.0.1.",
        "http://0x7f.0x0.0x0.0x1/",
        "http://ⓛocalhost/",
        "http://intranet/",
        "http://wiki.corp/",
        "http://printer.local/",
        "http://a.onion/",
    ],
)
def test_urls_that_are_not_of_public_pages_are_refused(url: str) -> None:
    with pytest.raises(FetchRefused, match=REFUSED):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("  HTTPS://WWW.Example.COM:443/ä b?q=ü#x  ", "https://www.example.com/%C3%A4%20b?q=%C3%BC"),
        ("http:\\\\www.example.com\\a\\b?c\\d", "http://www.example.com/a/b?c%5Cd"),
        ("http:www.example.com", "http://www.example.com/"),
        ("https:/www.example.com?q", "https://www.example.com/?q"),
        ("ht\ntps://www.exa\tmple.com/", "https://www.example.com/"),
        ("https://bücher.example.com./", "https://xn--bcher-kva.example.com/"),
        ("https://faß.de/", "https://xn--fa-hia.de/"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://0x8.8.2056/", "http://8.8.8.8/"),
        ("http://[2606:4700:4700:0::1111]/", "http://[2606:4700:4700::1111]/"),
        ("http://good.example.com#@127.0.0.1/", "http://good.example.com/"),
        ("http://good.example.com?@127.0.0.1/", "http://good.example.com/?@127.0.0.1/"),
        ("http://good.example.com/@127.0.0.1/", "http://good.example.com/@127.0.0.1/"),
    ],
)
def test_a_url_is_parsed_as_browsers_do(url: str, expected: str) -> None:
    assert str(check_url(url)) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("e", "https://www.example.com/a/e"),
        ("../e", "https://www.example.com/e"),
        ("../../../e", "https://www.example.com/e"),
        (".", "https://www.example.com/a/"),
        ("/e?f#g", "https://www.example.com/e?f"),
        ("?f", "https://www.example.com/a/b?f"),
        ("", "https://www.example.com/a/b?c=d"),
        ("#g", "https://www.example.com/a/b?c=d"),
        ("e#g?h", "https://www.example.com/a/e"),
        ("//other.example.net/e", "https://other.example.net/e"),
        ("\\\\other.example.net\\e", "https://other.example.net/e"),
        ("/\\other.example.net/e", "https://other.example.net/e"),
        ("http://other.example.net", "http://other.example.net/"),
    ],
)
def test_a_reference_is_resolved_as_browsers_do(reference: str, expected: str) -> None:
    assert str(check_url(reference, base=BASE)) == expected


@pytest.mark.parametrize("reference", ["//127.0.0.1/", "http:127.0.0.1", "\\/0/", "file:///x", "//a@b.com"])
def test_a_reference_to_a_private_address_is_refused(reference: str) -> None:
    with pytest.raises(FetchRefused, match=REFUSED):
        check_url(reference, base=BASE)


def test_a_port_or_a_host_can_be_allowed_and_nothing_else_is() -> None:
    rules = SsrfPolicy(
        ports=frozenset({80, 443, 8080}), trusted=frozenset({("wiki.corp", 8000), ("10.0.0.5", 81)})
    )
    assert check_url("http://www.example.com:8080/", rules).port == 8080
    assert check_url("http://wiki.corp:8000/", rules).host == "wiki.corp"
    assert check_url("http://10.0.0.5:81/", rules).host == "10.0.0.5"
    for url in (
        "http://wiki.corp/",
        "http://wiki.corp:81/",
        "http://10.0.0.5:8000/",
        "http://10.0.0.5:8080/",
    ):
        with pytest.raises(FetchRefused):
            check_url(url, rules)
    wiki, public = (
        check_url("http://wiki.corp:8000/", rules),
        check_url("http://www.example.com:8080/", rules),
    )
    assert may_connect(wiki, ip_address("10.9.9.9"), rules)
    assert not may_connect(public, ip_address("10.9.9.9"), rules)
    assert not may_connect(public, ip_address("10.0.0.5"), rules)
    assert may_connect(public, ip_address("8.8.8.8"), rules)


@given(st.integers(0, 2**32 - 1))
def test_wrapping_an_address_never_makes_it_public(number: int) -> None:
    inner = IPv4Address(number)
    wrapped = (
        IPv6Address((0xFFFF << 32) + number),
        IPv6Address(number),
        IPv6Address((0xFFFF << 48) + number),
        IPv6Address((0x64FF9B << 96) + number),
        IPv6Address((0x2002 << 112) + (number << 80)),
        IPv6Address((0x2001 << 112) + (number << 64) + 1),
        IPv6Address((0x2600 << 112) + (0x5EFE << 32) + number),
    )
    if not is_public(inner):
        assert not any(map(is_public, wrapped))
    assert not is_public(wrapped[0])
    assert not is_public(wrapped[1])


@given(st.ip_addresses())
def test_addresses_that_python_calls_private_are_not_public(ip: IPv4Address | IPv6Address) -> None:
    # The reverse is not true, which is why there is a table.
    if ip.is_private or ip.is_loopback or ip.is_multicast or ip.is_link_local or ip.is_reserved:
        assert not is_public(ip) or ip in SPARED


class _Spared:
    """Reserved but in use: addresses that DNS64 gives to hosts that have only IPv4."""

    def __contains__(self, ip: IPv4Address | IPv6Address) -> bool:
        return str(ip).startswith("64:ff9b::")


SPARED = _Spared()


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str, reference: str) -> None:
    for base, written in ((None, text), (None, f"http://{text}"), (BASE, reference)):
        try:
            parts = join(base, written) if base else parse(written)
        except InvalidUrl:
            continue
        assert parse(str(parts)) == parts
        assert str(parts).isascii()
        assert "@" not in parts.host


SEPARATORS = (
    "",
    "\\",
    "@",
    "#",
    "?",
    ":",
    "//",
    "\t",
    "%2f",
    "%40",
    "。",
    "\xad",
    "..",
    "0x",
    "[",
    "]",
    "80",
    " ",
)
HOSTS = (
    "127.0.0.1",
    "www.example.com",
    "8.8.8.8",
    "[::1]",
    "１２７.1",
    "bücher.de",
    "a_b.co",
    "0x7f.1",
    "1.2.3",
)


def differential_addresses() -> list[str]:
    """URLs with two hosts, and every separator between them on which parsers are known to disagree."""
    found = [
        f"{scheme}{first}{separator}{other}{second}/x"
        for scheme in ("http://", "https:", "HTTP:\\\\")
        for first, second in product(HOSTS, HOSTS)
        for separator, other in product(SEPARATORS, ("", "@", "\\"))
    ]
    return list(dict.fromkeys(found))


ORACLE = """
const read = text => { try { const url = new URL(text);
  return [url.protocol, url.username + url.password, url.hostname, url.port] } catch { return null } };
const lines = require('fs').readFileSync(0, 'utf8');
process.stdout.write(JSON.stringify(JSON.parse(lines).map(read)));
"""


def test_urls_are_parsed_like_the_url_parser_of_browsers() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node, whose parser is the one of the standard, is not on this machine: not run")
    urls = differential_addresses()
    result = subprocess.run(  # noqa: S603
        [node, "-e", ORACLE], input=json.dumps(urls), capture_output=True, text=True, check=True, timeout=60
    )
    accepted = 0
    for url, read in zip(urls, json.loads(result.stdout), strict=True):
        try:
            parts = parse(url)
        except InvalidUrl:
            continue
        accepted += 1
        assert read is not None, url
        protocol, user, host, port = read
        assert (protocol, user) == (f"{parts.scheme}:", ""), url
        assert host.strip("[]").removesuffix(".") == parts.host, url
        assert (port or {"http:": "80", "https:": "443"}[protocol]) == str(parts.port), url
    assert accepted > 1000
