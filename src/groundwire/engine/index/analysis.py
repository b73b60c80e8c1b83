"""How words become terms: tantivy's tokenizer and stemmers, the same for pages and for queries.

A page is stemmed by its language; a query by all of them, since it seldom says. Every sign of Chinese and
Japanese is a word of its own: nobody there writes spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from groundwire.engine.index.words import guessed_language

ANALYSIS = 3
"""Grows with every change of what terms are made of and of what is kept; passages are then indexed again."""

_STEMMERS = {"en": "english", "de": "german"}
_LONGEST_WORD = 80
_REMEMBERED = 4096
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def _analyzer(stemmer: str = "") -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    builder = builder.filter(Filter.remove_long(_LONGEST_WORD)).filter(Filter.lowercase())
    if stemmer:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


def plain_analyzer() -> TextAnalyzer:
    """Words as they are written but for case and accents."""
    return _analyzer()


def parting_analyzer() -> TextAnalyzer:
    """Terms that are made already, parted by spaces: cheaper to hand over than tokens one by one."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def silent_analyzer() -> TextAnalyzer:
    """No terms at all, for what is only kept."""
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.remove_long(1)).build()


class Analysis:
    """The analyzers of all languages."""

    def __init__(self) -> None:
        self._plain = _analyzer()
        self._stemming = {code: _analyzer(stemmer) for code, stemmer in _STEMMERS.items()}
        whole = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(_LONGEST_WORD))
        self._all = tuple(one.analyze for one in (*self._stemming.values(), self._plain))
        self._whole = whole.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()
        # Questions repeat each other's words.
        self.forms = lru_cache(_REMEMBERED)(self._forms)

    def for_page(self, language: str, text: str) -> Callable[[str], str]:
        """What makes terms of a page's texts: by its language, or by the one it reads like."""
        code = language.partition("-")[0].lower() or guessed_language(text)
        return partial(_terms, self._stemming.get(code, self._plain))

    def whole(self, names: str) -> str:
        """Names between spaces, each as one term."""
        return " ".join(self._whole.analyze(names))

    def plain(self, words: str) -> list[str]:
        """The words as they are written but for case and accents."""
        return self._plain.analyze(spaced(words))

    def name(self, name: str) -> list[str]:
        """The term of a name."""
        return self._whole.analyze(name)

    def _forms(self, words: str) -> tuple[tuple[str, ...], ...]:
        """The terms of some words in a row, in every language in which they differ."""
        spaced_words = spaced(words)
        found = dict.fromkeys([tuple(terms) for analyze in self._all if (terms := analyze(spaced_words))])
        return tuple(found)


def _terms(analyzer: TextAnalyzer, text: str) -> str:
    return " ".join(analyzer.analyze(spaced(text)))


def spaced(text: str) -> str:
    """The text with spaces between signs that are words."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)
