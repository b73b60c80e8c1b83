"""robots.txt (RFC 9309): the group for our user agent or else for `*`; the longest matching rule decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote_to_bytes, urlsplit

from groundwire.model.value import value

AGENT = "groundwire"
LARGEST = 500 * 1024
"""Bytes that are read: the least that the RFC requires."""
_MOST_RULES = 5000
_LONGEST_DELAY = 30.0
_LINES = re.compile(r"\r\n|[\r\n]")
_DELAY = re.compile(r"\d{1,4}(?:\.\d{1,4})?")
_SAFE = "/?#[]@!$&'()*+,;=:-._~%"


@value
class Rule:
    """A path pattern: `*` matches anything, `$` the end."""

    allows: bool
    pattern: str


@value
class Robots:
    """The rules of a site for our user agent."""

    rules: tuple[Rule, ...] = ()
    delay: float = 0.0
    """Seconds between two requests, at most 30."""

    def allows(self, url: str) -> bool:
        """May the URL be visited? The longest pattern decides; of two equal ones, the one that allows."""
        path = _path(url)
        if path == "/robots.txt":
            return True
        matching = [rule for rule in self.rules if _matches(rule.pattern, path)]
        return max(((len(rule.pattern), rule.allows) for rule in matching), default=(0, True))[1]


ALL = Robots()
NOTHING = Robots((Rule(allows=False, pattern="/"),))


def parse_robots(text: str, agent: str = AGENT) -> Robots:
    """The rules for a user agent."""
    own_rules: list[tuple[str, str]] = []
    all_agents: list[tuple[str, str]] = []
    named = False
    for agents, lines in _groups(text):
        if agent in agents:
            named = True
            own_rules += lines
        elif "*" in agents:
            all_agents += lines
    lines = own_rules if named else all_agents
    rules = tuple(
        Rule(name == "allow", _normal(field))
        for name, field in lines
        if name in ("allow", "disallow") and field
    )
    delays = [float(field) for name, field in lines if name == "crawl-delay" and _DELAY.fullmatch(field)]
    return Robots(rules[:_MOST_RULES], min(max(delays, default=0.0), _LONGEST_DELAY))


def _groups(text: str) -> Iterator[tuple[set[str], list[tuple[str, str]]]]:
    """User agents and their rules; several agents in a row share the rules that follow."""
    agents: set[str] = set()
    lines: list[tuple[str, str]] = []
    for name, field in _fields(text):
        if name == "user-agent":
            if lines:
                yield agents, lines
                agents, lines = set(), []
            agents.add(re.split(r"[/\s]", field.lower(), maxsplit=1)[0])
        elif agents and name in ("allow", "disallow", "crawl-delay"):
            lines.append((name, field))
    yield agents, lines


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in _LINES.split(text.removeprefix("\ufeff")):
        name, colon, field = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), field.strip()


def _path(url: str) -> str:
    parts = urlsplit(url)
    return _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def _normal(path: str) -> str:
    """Normalised percent-encoding: unreserved characters decoded, the rest in upper case."""
    return re.sub(r"%[0-9a-fA-F]{2}", _normal_escape, quote(path, safe=_SAFE))


def _normal_escape(match: re.Match[str]) -> str:
    character = unquote_to_bytes(match[0])
    plain = character.decode("ascii", "replace")
    return plain if plain.isalnum() or plain in "-._~" else match[0].upper()


def _matches(pattern: str, path: str) -> bool:
    """Matches part by part from left to right: linear in pattern times path, no backtracking."""
    ends = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    if not rest:
        return not ends or position == len(path)
    *middle, last = rest
    for piece in middle:
        position = path.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    return (
        path.endswith(last) and len(path) - len(last) >= position if ends else path.find(last, position) >= 0
    )
