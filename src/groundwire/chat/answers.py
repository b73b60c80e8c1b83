"""Answers for display: their state, safe links, and excerpts that show search hits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from groundwire.errors import GroundwireError, Interrupted
from groundwire.model import Answer
from groundwire.store.base import UNREADABLE_MESSAGE
from groundwire.store.full_text import TextQuery, parse_query, tokenize
from groundwire.transport.weburl import InvalidUrl, parse

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
    """Is the answer complete?"""
    return state_of(answer) == "done"


def is_unreadable(answer: Answer) -> bool:
    """Is it the placeholder for a damaged row of the store?"""
    return answer.error is not None and answer.error.code == UNREADABLE_MESSAGE


def stopped() -> GroundwireError:
    """The error of an answer that the user stopped."""
    error = Interrupted("the answer was stopped")
    error.code = STOPPED
    return error


def lost() -> GroundwireError:
    """The error of an answer whose process died."""
    return Interrupted("the server ended before the answer did")


_KEPT = "!$&'()*+,;=:@/?-._~%"


class WebLink(NamedTuple):
    """A link and its host."""

    href: str
    host: str
    """With its port."""

    @property
    def domain(self) -> str:
        """The host for display, without `www.`."""
        return self.host.removeprefix("www.")


def web_link(url: str) -> WebLink | None:
    """A link to an http or https URL; None for any other, and for one with credentials."""
    try:
        found = parse(url)
    except InvalidUrl:
        return None
    anchor = url.partition("#")[2].strip()
    fragment = "#" + quote(anchor.encode("utf-8", "replace"), safe=_KEPT) if anchor else ""
    return WebLink(f"{found}{fragment}", found.netloc)


_WRITTEN = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
Word: TypeAlias = tuple[int, str, tuple[int, int]]
"""Its index, its folded form, and its span."""

_MOST = 20_000
"""Number of words that are searched for hits."""


def extract(text: str, wanted: str, around: int = 80) -> list[tuple[str, bool]]:
    """The text around the first hit, as pieces with a flag that marks hits."""
    query = parse_query(wanted)
    words = list(islice(_words(text), _MOST))
    begin = _phrase(words, query)
    hits = [span for index, word, span in words if index >= begin and _is_hit(word, query)]
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
    written = ((word, match.span()) for match in _WRITTEN.finditer(text) for word in tokenize(match[0]))
    return ((index, word, span) for index, (word, span) in enumerate(written))


def _is_hit(word: str, query: TextQuery) -> bool:
    return word in query.words or bool(query.prefix and word.startswith(query.prefix))


def _phrase(words: list[Word], query: TextQuery) -> int:
    """The index of the first word of the first phrase."""
    if not query.phrases:
        return 0
    line = " " + " ".join(word for _, word, _ in words) + " "
    return line.count(" ", 0, max(0, line.find(query.phrases[0])))
