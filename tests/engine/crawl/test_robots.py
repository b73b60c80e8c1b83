"""robots.txt: the examples of RFC 9309, and a comparison with the standard library."""

from __future__ import annotations

from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.crawl.robots import ALL, NOTHING, parse_robots

RFC = """User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("groundwire", "/a.gif", False),
        ("groundwire", "/a.gif?x", True),
        ("groundwire", "/example/", False),
        ("groundwire", "/example", True),
        ("groundwire", "/publications/a", True),
        ("groundwire", "/publications/a.gif", True),
        ("foobot", "/", False),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/other", False),
        ("barbot", "/example/page.html", False),
        ("barbot", "/a.gif", True),
        ("bazbot", "/example/page.html", False),
        ("quxbot", "/example/", True),
    ],
)
def test_the_example_of_the_rfc(agent: str, path: str, allowed: bool) -> None:
    assert parse_robots(RFC, agent).allows(f"https://a.example{path}") is allowed


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /", "/x", False),
        ("Disallow:", "/x", True),
        ("Disallow: /\nAllow: /x", "/x/y", True),
        ("Allow: /x\nDisallow: /x", "/x", True),
        ("Allow: /x\nDisallow: /x/private", "/x/private/1", False),
        ("Disallow: /x$", "/x", False),
        ("Disallow: /x$", "/x/", True),
        ("Disallow: /*.pdf$", "/a/b.pdf", False),
        ("Disallow: /*.pdf$", "/a/b.pdf.html", True),
        ("Disallow: /*?sort=", "/list?sort=up", False),
        ("Disallow: /a*b*c", "/a1b2c3", False),
        ("Disallow: /a*b*c", "/a1c2b3", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /a*a$", "/aa", False),
        ("Disallow: /caf%C3%A9", "/café", False),
        ("Disallow: /café", "/caf%c3%a9/x", False),
        ("Disallow: /%7Ejoe", "/~joe/", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /x # not here", "/x", False),
        ("DISALLOW : /x", "/x", False),
        ("Disallow: /", "/robots.txt", True),
        ("Nonsense\n:\nDisallow /x\nDisallow: /y", "/x", True),
    ],
)
def test_the_longest_rule_that_fits_decides(rules: str, path: str, allowed: bool) -> None:
    assert parse_robots(f"User-agent: *\n{rules}").allows(f"https://a.example{path}") is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("User-agent: *\nDisallow: /\nUser-agent: groundwire\nAllow: /", True),
        ("User-agent: groundwire\nDisallow: /\nUser-agent: *\nAllow: /", False),
        ("User-agent: GroundWire/2.0 (+https://x)\nDisallow: /", False),
        ("User-agent: groundwires\nDisallow: /", True),
        ("User-agent: groundwire\nDisallow: /a\n\nUser-agent: groundwire\nDisallow: /x", False),
        ("User-agent: groundwire\nCrawl-delay: 1\nUser-agent: *\nDisallow: /", True),
        ("User-agent: *\r\rDisallow: /", False),
        ("\ufeffUser-agent: *\r\nDisallow: /", False),
        ("Disallow: /", True),
        ("", True),
        ("<html>Not found</html>", True),
    ],
)
def test_the_group_of_our_user_agent_has_precedence(text: str, allowed: bool) -> None:
    assert parse_robots(text).allows("https://a.example/x") is allowed


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("Crawl-delay: 2", 2.0),
        ("crawl-delay: 0.5", 0.5),
        ("Crawl-delay: 86400", 0.0),
        ("Crawl-delay: 600", 30.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: -1", 0.0),
    ],
)
def test_the_crawl_delay_is_limited(line: str, delay: float) -> None:
    assert parse_robots(f"User-agent: *\n{line}").delay == delay


def test_the_constants_allow_everything_and_nothing() -> None:
    assert ALL.allows("https://a.example/")
    assert not NOTHING.allows("https://a.example/")


def test_a_hostile_pattern_is_matched_quickly() -> None:
    rules = parse_robots("User-agent: *\n" + "Disallow: /" + "a*" * 2000 + "b$\n" * 20)
    assert rules.allows("https://a.example/" + "a" * 2000)


PLAIN = st.text("ab/", min_size=1, max_size=5).map(lambda text: "/" + text.strip("/"))


@given(st.lists(PLAIN, max_size=4), PLAIN)
def test_without_exceptions_the_standard_library_agrees(closed: list[str], path: str) -> None:
    lines = ["User-agent: *", *(f"Disallow: {rule}" for rule in closed)]
    theirs = RobotFileParser()
    theirs.parse(lines)
    url = f"https://a.example{path}"
    assert parse_robots("\n".join(lines)).allows(url) == theirs.can_fetch("groundwire", url)
