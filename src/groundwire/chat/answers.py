"""What became of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from groundwire.errors import GroundwireError, Interrupted
from groundwire.model import NOTHING_FOUND, Answer
from groundwire.store.base import UNREADABLE_MESSAGE
from groundwire.store.words import Wanted, wanted_in, words_of
from groundwire.transport.weburl import NoAddress, parse

AnswerState: TypeAlias = Literal["running", "done", "stopped", "interrupted", "failed"]

STOPPED = "STOPPED"


def state_of(answer: Answer) -> AnswerState:
    """Running, done, or how it broke off."""
    if answer.error is None:
        return "running" if answer.finish is None else "done"
    if answer.error.code == STOPPED:
        return "stopped"
    return "interrupted" if isinstance(answer.error, Interrupted) else "failed"


def is_finished(answer: Answer) -> bool:
    """Was everything said?"""
    return state_of(answer) == "done"


def is_unreadable(answer: Answer) -> bool:
    """Does it stand for a damaged row of the store?"""
    return answer.error is not None and answer.error.code == UNREADABLE_MESSAGE


def is_ungrounded(answer: Answer, *, searched: bool) -> bool:
    """Was the web to be searched, and does nothing in the answer lean on a source?"""
    said = bool(answer.text.strip()) and answer.detail != NOTHING_FOUND
    return searched and said and is_finished(answer) and not answer.grounded


def stopped() -> GroundwireError:
    """The reader had enough."""
    error = Interrupted("the answer was stopped")
    error.code = STOPPED
    return error


def lost() -> GroundwireError:
    """Whoever was writing the answer is no more."""
    return Interrupted("the server ended before the answer did")


_KEPT = "!$&'()*+,;=:@/?-._~%"


class WebLink(NamedTuple):
    """What is linked to, and whom it leads to."""

    href: str
    host: str
    """The host as it is, with its port."""

    @property
    def domain(self) -> str:
        """The host as it is shown: `www.` tells nobody anything."""
        return self.host.removeprefix("www.")


def web_link(url: str) -> WebLink | None:
    """A link to an http or https address; None for any other, and for one with a name or password in it."""
    try:
        found = parse(url)
    except NoAddress:
        return None
    mark = url.partition("#")[2].strip()
    fragment = "#" + quote(mark.encode("utf-8", "replace"), safe=_KEPT) if mark else ""
    return WebLink(f"{found}{fragment}", found.netloc)


_WRITTEN = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
Word: TypeAlias = tuple[int, str, tuple[int, int]]
"""Its place, its folded form, and where it stands."""

_MOST = 20_000
"""Words that are looked at: a long text is shown by its beginning."""


def extract(text: str, wanted: str, around: int = 80) -> list[tuple[str, bool]]:
    """Pieces of a text around the first hit, each with whether it is one."""
    asked = wanted_in(wanted)
    words = list(islice(_words(text), _MOST))
    begin = _phrase(words, asked)
    hits = [span for place, word, span in words if place >= begin and _is_hit(word, asked)]
    if not hits:
        return [(text[: 2 * around], False)]
    start, end = max(0, hits[0][0] - around), min(len(text), hits[0][1] + around)
    pieces = [("…", False)] if start else []
    for left, right in dict.fromkeys(hit for hit in hits if hit[0] < end):
        pieces += ((text[start:left], False), (text[left:right], True))
        start = right
    pieces += ((text[start : max(start, end)], False), ("…" if max(start, end) < len(text) else "", False))
    return [piece for piece in pieces if piece[0]]


def _words(text: str) -> Iterator[Word]:
    written = ((word, match.span()) for match in _WRITTEN.finditer(text) for word in words_of(match[0]))
    return ((place, word, span) for place, (word, span) in enumerate(written))


def _is_hit(word: str, asked: Wanted) -> bool:
    return word in asked.words or bool(asked.begun and word.startswith(asked.begun))


def _phrase(words: list[Word], asked: Wanted) -> int:
    """The word with which the first phrase begins that was asked for."""
    if not asked.phrases:
        return 0
    line = " " + " ".join(word for _, word, _ in words) + " "
    return line.count(" ", 0, max(0, line.find(asked.phrases[0])))
