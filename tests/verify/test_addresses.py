"""What a response says about an address."""

from __future__ import annotations

import pytest

from groundwire.errors import FetchRefused, GroundwireError, TimedOut, Unreachable
from groundwire.transport.fetch import NO_SUCH_HOST, Fetched
from groundwire.verify.addresses import error_fact, follows, is_written_by_scripts, page_fact, response_fact
from groundwire.verify.facts import AddressVerdict

URL = "https://www.example.com/page"


def fetched(status: int = 200, url: str = URL, body: bytes = b"<p>x</p>", **headers: str) -> Fetched:
    named = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    return Fetched(url, status, "text/html", "utf-8", body, named)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "alive"),
        (404, "gone"),
        (410, "gone"),
        (401, "blocked"),
        (403, "blocked"),
        (429, "blocked"),
        (451, "blocked"),
        (500, "unchecked"),
        (503, "unchecked"),
        (418, "unchecked"),
    ],
)
def test_the_status_decides(status: int, verdict: AddressVerdict) -> None:
    fact = response_fact(URL, fetched(status))
    assert (fact.verdict, fact.evidence) == (verdict, f"HTTP {status}")


def test_a_redirect_names_its_target() -> None:
    stays = response_fact(URL, fetched(302, location="https://other.example.net/x"))
    assert (stays.verdict, stays.target) == ("redirected", "https://other.example.net/x")
    followed = response_fact(URL, fetched(url="https://www.example.com/new"))
    assert (followed.verdict, followed.target) == ("redirected", "https://www.example.com/new")
    same = response_fact("http://example.com/page/", fetched())
    assert same.verdict == "alive"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Unreachable("x cannot be found", upstream_code=NO_SUCH_HOST), "no_such_host"),
        (Unreachable("no connection"), "unchecked"),
        (TimedOut("late"), "unchecked"),
        (FetchRefused("no"), "unchecked"),
    ],
)
def test_only_a_name_that_does_not_exist_never_existed(
    error: GroundwireError, verdict: AddressVerdict
) -> None:
    assert error_fact(error).verdict == verdict


@pytest.mark.parametrize(
    ("title", "body", "target", "verdict"),
    [
        ("Sign in", b"<p>x</p>", "", "blocked"),
        ("Members", b"<form><input name=p type='password'></form>", "", "blocked"),
        ("News", b"<p>x</p>", "https://www.example.com/login?next=/page", "blocked"),
        ("Just a moment...", b"<p>x</p>", "", "blocked"),
        ("Page not found", b"<p>x</p>", "", "gone"),
        ("404", b"<p>x</p>", "", "gone"),
        ("Seite nicht gefunden", b"<p>x</p>", "", "gone"),
        ("Route 404 through the hills", b"<p>x</p>", "", "alive"),
        ("The login of ships", b"<p>x</p>", "", "alive"),
    ],
)
def test_walls_and_polite_errors_are_recognised(
    title: str, body: bytes, target: str, verdict: AddressVerdict
) -> None:
    response = fetched(url=target or URL, body=body)
    assert page_fact(response_fact(URL, response), response, title, "few words").verdict == verdict


def test_a_long_page_with_a_login_form_is_a_page() -> None:
    response = fetched(body=b"<input type=password>")
    assert page_fact(response_fact(URL, response), response, "News", "word " * 300).verdict == "alive"


def test_a_challenge_for_robots_is_a_wall() -> None:
    assert response_fact(URL, fetched(503, cf_mitigated="challenge")).verdict == "blocked"


def test_a_page_of_scripts_is_no_page_without_the_text() -> None:
    scripts = fetched(body=b"<script></script>" * 6)
    assert is_written_by_scripts(scripts, "Please enable JavaScript.")
    assert not is_written_by_scripts(scripts, "word " * 100)
    assert not is_written_by_scripts(fetched(), "short")


@pytest.mark.parametrize(
    ("url", "target", "followed"),
    [
        ("http://example.com/a", "https://www.example.com/b", True),
        ("https://example.com/a", "https://docs.example.com/a", True),
        ("https://docs.example.com/a", "https://example.com/a", True),
        ("https://example.com/a", "https://example.net/a", False),
        ("https://example.com/a", "https://evilexample.com/a", False),
        ("https://example.com/a", "https://example.com.evil.net/a", False),
    ],
)
def test_redirects_are_followed_within_a_site_only(url: str, target: str, followed: bool) -> None:
    assert follows(url, target) is followed
