"""Name matching: how well does the name of a function, class or page match a query?

Names in code are abbreviated words without separators (`copytree`, `listdir`, `getpass`), so their letters
are covered with query words and prefixes of query words.
"""

from __future__ import annotations

import re

from groundwire.engine.words import ignored_words, split_words, stem_synonyms, stem_word, word_list
from groundwire.model.value import value

_SHORTEST = 3
"""Least letters of a prefix that may represent a word in a name. Chosen: `str`, `dir`, `int`."""
_LONGEST = 40
_OWN = 0.6
"""Weight of the last part of a dotted name; the rest is the weight of the whole name. Chosen."""
_LETTERS = re.compile(r"[^\W_]+")


@value
class NameMatch:
    """How a name and a query match."""

    share: float = 0.0
    """Share of the name that query words cover; between 0 and 1."""
    terms: frozenset[str] = frozenset()
    """Query terms that the name contains."""
    own: frozenset[str] = frozenset()
    """Those of `terms` that its last part contains."""


class NameMatcher:
    """Matches names against one query; results are cached."""

    __slots__ = ("_beginning", "_known", "_parts", "_pieces", "_words")

    def __init__(self, query: str) -> None:
        self._words = frozenset(map(stem_word, split_words(query)))
        self._pieces = _pieces(query)
        self._beginning: dict[str, list[str]] = {}
        for piece in self._pieces:
            self._beginning.setdefault(piece[0], []).append(piece)
        self._known: dict[str, NameMatch] = {}
        self._parts: dict[str, tuple[int, frozenset[str]]] = {}

    def fit(self, name: str) -> NameMatch:
        """Matches the name of an API, or the title of a page."""
        if name not in self._known:
            self._known[name] = self._of_title(name) if " " in name else self._of_code(name)
        return self._known[name]

    def _of_title(self, title: str) -> NameMatch:
        words = [stem_word(word) for word in split_words(title) if word not in word_list("articles")]
        matching = [word for word in words if word in self._words]
        terms = frozenset(term for word in matching for term in self._pieces.get(word, ()))
        return NameMatch(len(matching) / max(1, len(words)), terms)

    def _of_code(self, name: str) -> NameMatch:
        name = name.removesuffix("()")
        own, terms = self._laid_out(name.rpartition(".")[2])
        whole, above = self._laid_out(name)
        return NameMatch(_OWN * own + (1 - _OWN) * whole, terms | above, terms)

    def _laid_out(self, name: str) -> tuple[float, frozenset[str]]:
        """The largest share of letters that query words cover, and those words."""
        letters = found = 0
        terms: set[str] = set()
        for part in _LETTERS.findall(name.lower()):
            covered, used = self._covered(part[:_LONGEST])
            letters += len(part)
            found += covered
            terms |= used
        return found / max(1, letters), frozenset(terms)

    def _covered(self, part: str) -> tuple[int, frozenset[str]]:
        if part not in self._parts:
            whole = self._pieces.get(stem_word(part))
            self._parts[part] = (len(part), frozenset(whole)) if whole else self._cover(part)
        return self._parts[part]

    def _cover(self, letters: str) -> tuple[int, frozenset[str]]:
        """The most letters that a sequence of pieces covers, and their query terms (dynamic programming)."""
        best: list[tuple[int, frozenset[str]]] = [(0, frozenset())] * (len(letters) + 1)
        for start, letter in enumerate(letters):
            covered, terms = best[start]
            if covered > best[start + 1][0]:
                best[start + 1] = best[start]
            for piece in self._beginning.get(letter, ()):
                end = start + len(piece)
                if letters.startswith(piece, start) and covered + len(piece) > best[end][0]:
                    best[end] = (covered + len(piece), terms | frozenset(self._pieces[piece]))
        return best[-1]


def _pieces(query: str) -> dict[str, tuple[str, ...]]:
    """Forms that may represent query words in a name (words, stems, prefixes, synonyms), with their terms."""
    pieces: dict[str, dict[str, None]] = {}
    for word in split_words(query):
        stem = stem_word(word)
        forms = {word, stem}
        if word not in ignored_words():
            forms.update(word[:end] for end in range(_SHORTEST, len(word)))
            forms.update(stem_synonyms(stem))
        for form in forms:
            if len(form) >= 2:
                pieces.setdefault(form, {})[stem] = None
    return {form: tuple(terms) for form, terms in pieces.items()}
