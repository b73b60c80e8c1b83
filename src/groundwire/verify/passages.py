"""Finds a sequence of words in a page: word for word, or the passage that differs least."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from groundwire.verify.facts import QuoteFact
from groundwire.verify.pages import PreparedPage
from groundwire.verify.tokens import Token, tokenize_text

_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3}|…)\s*")
_MOST_PLACES = 2000
"""Occurrences of a word that are tried. Of the rarest word of a sequence there are few."""
_RARE_WORDS = 8
_LONGEST = 400
"""Words of a quote that are compared one by one; a longer one is found word for word or not at all."""
_SLACK = 6
_NEARLY = 0.75
"""Share of equal words from which a passage counts as nearly the quote. Chosen by hand: below, half of the
sentence is another one."""
_FEWEST_WORDS = 4


class TokenRange(NamedTuple):
    """A range of the tokens of a page, end exclusive."""

    first: int
    last: int


def find_sequences(page: PreparedPage, surfaces: Sequence[str]) -> list[TokenRange]:
    """Every place where these words stand directly after each other."""
    if not surfaces:
        return []
    known = [page.surfaces.get(word) for word in surfaces]
    if any(places is None for places in known):
        return []
    rarest = min(range(len(surfaces)), key=lambda index: len(known[index] or ()))
    found: list[TokenRange] = []
    for place in (known[rarest] or [])[:_MOST_PLACES]:
        first = place - rarest
        last = first + len(surfaces)
        if (
            first >= 0
            and last <= len(page.tokens)
            and all(page.tokens[first + index].surface == word for index, word in enumerate(surfaces))
        ):
            found.append(TokenRange(first, last))
    return found


def passage_text(page: PreparedPage, place: TokenRange) -> str:
    """The sentences of the page that a range touches, cut to the range at both ends."""
    first, last = page.sentence_at(place.first), page.sentence_at(place.last - 1)
    start, end = page.tokens[place.first].start, page.tokens[place.last - 1].end
    if first == last:
        return page.sentences[first].text[start:end]
    between = [page.sentences[number].text for number in range(first + 1, last)]
    return " ".join([page.sentences[first].text[start:], *between, page.sentences[last].text[:end]])


def check_quote(quote: str, page: PreparedPage) -> QuoteFact:
    """Is a quoted passage in the page? Parts around an ellipsis must follow each other."""
    parts = [tokens for part in _ELLIPSIS.split(quote) if (tokens := tokenize_text(part))]
    if not parts:
        return QuoteFact("none")
    ranges = _find_parts(page, parts)
    if ranges is None:
        return _nearest([token for part in parts for token in part], page)
    found = " … ".join(passage_text(page, place) for place in ranges)
    place = page.sentences[page.sentence_at(ranges[0].first)].place
    return QuoteFact("hidden" if place == "hidden" else "verbatim", found, place)


def _find_parts(page: PreparedPage, parts: Sequence[Sequence[Token]]) -> list[TokenRange] | None:
    """The parts in order; text that is shown before text that is hidden."""
    candidates = [find_sequences(page, [token.surface for token in part]) for part in parts]
    for wanted_hidden in (False, True):
        after, ranges = 0, []
        for places in candidates:
            place = next(
                (
                    place
                    for place in places
                    if place.first >= after and _is_hidden(page, place) <= wanted_hidden
                ),
                None,
            )
            if place is None:
                break
            ranges.append(place)
            after = place.last
        else:
            return ranges
    return None


def _is_hidden(page: PreparedPage, place: TokenRange) -> bool:
    return page.sentences[page.sentence_at(place.first)].place == "hidden"


def _nearest(tokens: Sequence[Token], page: PreparedPage) -> QuoteFact:
    if not _FEWEST_WORDS <= len(tokens) <= _LONGEST:
        return QuoteFact("absent")
    begin = _likely_start(tokens, page)
    if begin is None:
        return QuoteFact("absent")
    first = max(0, begin - _SLACK)
    last = min(len(page.tokens), begin + len(tokens) + _SLACK)
    theirs = [page.tokens[at].surface for at in range(first, last)]
    matcher = SequenceMatcher(None, [token.surface for token in tokens], theirs, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks or sum(block.size for block in blocks) < _NEARLY * len(tokens):
        return QuoteFact("absent")
    place = TokenRange(first + blocks[0].b, first + blocks[-1].b + blocks[-1].size)
    changes = [
        (" ".join(token.surface for token in tokens[left:right]), " ".join(theirs[low:high]))
        for kind, left, right, low, high in matcher.get_opcodes()
        if kind != "equal" and (left < right or blocks[0].b < low < high <= blocks[-1].b)
    ]
    where = page.sentences[page.sentence_at(place.first)].place
    return QuoteFact(
        "hidden" if where == "hidden" else "nearly", passage_text(page, place), where, tuple(changes)
    )


def _likely_start(tokens: Sequence[Token], page: PreparedPage) -> int | None:
    """Where the quote would begin, by the places of its rarest words."""
    rarest = sorted(
        (len(places), index, places)
        for index, token in enumerate(tokens)
        if (places := page.surfaces.get(token.surface)) is not None
    )[:_RARE_WORDS]
    votes: Counter[int] = Counter()
    for _, index, places in rarest:
        for place in places[: _MOST_PLACES // _RARE_WORDS]:
            for shift in range(-1, 2):
                votes[place - index + shift] += 2 - abs(shift)
    if not votes:
        return None
    return max(votes.items(), key=lambda item: (item[1], -item[0]))[0]
