"""robots.txt as RFC 9309 has it: the group for us or else for everybody, in it the longest rule that fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote_to_bytes, urlsplit

from groundwire.model.value import value

AGENT = "groundwire"
LARGEST = 500 * 1024
"""Bytes that are read, as the RFC asks for at least."""
_MOST_RULES = 5000
_LONGEST_DELAY = 30.0
_LINES = re.compile(r"\r\n|[\r\n]")
_DELAY = re.compile(r"\d{1,4}(?:\.\d{1,4})?")
_SAFE = "/?#[]@!$&'()*+,;=:-._~%"


@value
class Rule:
    """Paths, with `*` for anything and `$` for the end."""

    allows: bool
    pattern: str


@value
class Robots:
    """What a site asks of us."""

    rules: tuple[Rule, ...] = ()
    delay: float = 0.0
    """Seconds between two requests; more than half a minute counts as half a minute."""

    def allows(self, url: str) -> bool:
        """May the address be visited? The longest pattern decides; of two equals the friendlier one."""
        path = _path(url)
        if path == "/robots.txt":
            return True
        fitting = [rule for rule in self.rules if _fits(rule.pattern, path)]
        return max(((len(rule.pattern), rule.allows) for rule in fitting), default=(0, True))[1]


ALL = Robots()
NOTHING = Robots((Rule(allows=False, pattern="/"),))


def parse_robots(text: str, agent: str = AGENT) -> Robots:
    """The rules that hold for an agent."""
    ours: list[tuple[str, str]] = []
    everybody: list[tuple[str, str]] = []
    named = False
    for agents, lines in _groups(text):
        if agent in agents:
            named = True
            ours += lines
        elif "*" in agents:
            everybody += lines
    lines = ours if named else everybody
    rules = tuple(
        Rule(name == "allow", _normal(said)) for name, said in lines if name in ("allow", "disallow") and said
    )
    delays = [float(said) for name, said in lines if name == "crawl-delay" and _DELAY.fullmatch(said)]
    return Robots(rules[:_MOST_RULES], min(max(delays, default=0.0), _LONGEST_DELAY))


def _groups(text: str) -> Iterator[tuple[set[str], list[tuple[str, str]]]]:
    """Agents, and the lines for them; several agents in a row share what follows."""
    agents: set[str] = set()
    lines: list[tuple[str, str]] = []
    for name, said in _fields(text):
        if name == "user-agent":
            if lines:
                yield agents, lines
                agents, lines = set(), []
            agents.add(re.split(r"[/\s]", said.lower(), maxsplit=1)[0])
        elif agents and name in ("allow", "disallow", "crawl-delay"):
            lines.append((name, said))
    yield agents, lines


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in _LINES.split(text.removeprefix("\ufeff")):
        name, colon, said = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), said.strip()


def _path(url: str) -> str:
    parts = urlsplit(url)
    return _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def _normal(path: str) -> str:
    """Percent-encoding in one spelling: what may stand plainly does, the rest in capitals."""
    return re.sub(r"%[0-9a-fA-F]{2}", _respelt, quote(path, safe=_SAFE))


def _respelt(match: re.Match[str]) -> str:
    sign = unquote_to_bytes(match[0])
    plain = sign.decode("ascii", "replace")
    return plain if plain.isalnum() or plain in "-._~" else match[0].upper()


def _fits(pattern: str, path: str) -> bool:
    """Piece by piece from left to right, so that no pattern costs more than its length times the path's."""
    ends = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not others:
        return not ends or place == len(path)
    *middle, last = others
    for piece in middle:
        place = path.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return path.endswith(last) and len(path) - len(last) >= place if ends else path.find(last, place) >= 0
