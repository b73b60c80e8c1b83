"""A page, prepared for comparing: its sentences with their place, and where each word stands.

A page is prepared once, however many citations name it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundwire.engine.compose.sentences import SegmentKind, split_blocks, split_sentences
from groundwire.engine.outline import decode_outline
from groundwire.engine.words import guess_language
from groundwire.model.value import value
from groundwire.verify.facts import Place
from groundwire.verify.quantities import Quantity, says, year_of
from groundwire.verify.tokens import Token, tokenize_text

_PLACES: dict[SegmentKind, Place] = {
    "prose": "text",
    "item": "list",
    "row": "table",
    "code": "code",
    "signature": "heading",
    "heading": "heading",
}
SUPPORTING: frozenset[Place] = frozenset({"text", "list", "table", "code", "aside"})
"""Places whose text can support a claim. A heading announces or asks, and hidden text is not shown."""

_PRONOUNS = frozenset(
    (
        *("it", "its", "they", "them", "their", "he", "him", "his", "she", "her", "this", "these", "those"),
        *("er", "es", "sie", "ihn", "ihm", "ihr", "ihre", "sein", "seine", "dies", "diese", "dieser"),
    )
)

MOST_VALUES = 4000
"""Numbers and dates of a page that are compared with one of a claim."""
LONGEST_TEXT = 1_000_000
"""Code points of a page that are compared. A book has about this many."""


@value
class PageText:
    """What can be read at an address."""

    text: str
    outline: str = ""
    title: str = ""
    language: str = ""
    aside: str = ""
    """Visible text outside the content: navigation, footers, boxes."""
    hidden: str = ""
    """Text in elements that are not shown."""

    @property
    def size(self) -> int:
        """Code points that are compared."""
        return sum(min(len(text), LONGEST_TEXT) for text in (self.text, self.aside, self.hidden))


class PageSentence(NamedTuple):
    """A sentence, an item, a row or a heading, with its range of tokens."""

    place: Place
    text: str
    first: int
    last: int
    """Exclusive."""
    header: int = -1
    """Of a row: the number of the row that names the columns; -1 if there is none."""


class SentenceTerms(NamedTuple):
    """The words and values of a sentence, for looking them up."""

    keys: frozenset[str]
    families: frozenset[str]
    """The roots of its words."""
    common_families: frozenset[str]
    """The roots of its words that are not names: two names with the same beginning are different names."""
    values: tuple[Quantity, ...]


class PreparedPage:
    """The sentences and tokens of a page, and where each word occurs."""

    def __init__(self, page: PageText) -> None:
        self.tokens: list[Token] = []
        self.sentences: list[PageSentence] = []
        header = -1
        for place, text, names_columns in _segments(page):
            tokens = tokenize_text(text)
            if names_columns:
                header = len(self.sentences)
            elif place != "table":
                header = -1
            if tokens:
                first = len(self.tokens)
                self.tokens += tokens
                above = -1 if names_columns else header
                self.sentences.append(PageSentence(place, text, first, len(self.tokens), above))
        self.is_cut = len(page.text) > LONGEST_TEXT
        self.language = page.language or guess_language(page.text)
        self._firsts = [sentence.first for sentence in self.sentences]
        self.surfaces: dict[str, list[int]] = {}
        """Where each word occurs, by its written form: indices of tokens."""
        self.keys: dict[str, list[int]] = {}
        """The sentences in which each content word occurs, by its key."""
        self.roots: dict[str, list[int]] = {}
        """The same by the root of the key."""
        self.values: list[int] = []
        """The tokens that are quantities."""
        self._numbers: dict[float, list[int]] = {}
        """The tokens that are numbers, by each of their values."""
        self._terms: dict[int, SentenceTerms] = {}
        self._said: dict[Quantity, list[int]] = {}
        self.subject: frozenset[str] = frozenset()
        """The words of the title and of the first heading: what `it` means in most sentences."""
        self.subject_values: tuple[Quantity, ...] = ()
        self.names: frozenset[str] = frozenset()
        """The words that are written as names."""
        self._index()

    def _index(self) -> None:
        for number, sentence in enumerate(self.sentences):
            for at in range(sentence.first, sentence.last):
                token = self.tokens[at]
                self.surfaces.setdefault(token.surface, []).append(at)
                if token.quantity is not None:
                    self.values.append(at)
                    for number_value in token.quantity.values:
                        self._numbers.setdefault(number_value, []).append(at)
                elif token.kind == "word":
                    _add(self.keys, token.key, number)
                    _add(self.roots, token.root, number)
        titles = [number for number, sentence in enumerate(self.sentences) if sentence.place == "title"]
        headings = [number for number, sentence in enumerate(self.sentences) if sentence.place == "heading"]
        subject = [token for number in (*titles, *headings[:1]) for token in self.sentence_tokens(number)]
        self.subject = frozenset(token.key for token in subject if token.kind == "word")
        self.subject_values = tuple(token.quantity for token in subject if token.quantity is not None)

        self.names = frozenset(token.key for token in self.tokens if token.is_name)

    def sentence_at(self, token: int) -> int:
        """The number of the sentence that a token belongs to."""
        return bisect_right(self._firsts, token) - 1

    def terms(self, number: int) -> SentenceTerms:
        """The terms of a sentence."""
        known = self._terms.get(number)
        if known is None:
            tokens = self.sentence_tokens(number)
            header = self.sentences[number].header
            columns = self.sentence_tokens(header) if header >= 0 else ()
            words = [token for token in (*tokens, *columns) if token.kind == "word"]
            known = self._terms[number] = SentenceTerms(
                frozenset(token.key for token in words),
                frozenset(token.root for token in words),
                frozenset(token.root for token in words if not token.is_name),
                tuple(token.quantity for token in tokens if token.quantity is not None),
            )
        return known

    def implied(self, number: int) -> frozenset[str]:
        """The words of the sentence before, if a pronoun may stand for them."""
        tokens = self.sentence_tokens(number)
        if number == 0 or self.sentences[number - 1].place != self.sentences[number].place:
            return frozenset()
        has_pronoun = any(token.surface in _PRONOUNS for token in tokens)
        return self.terms(number - 1).keys if has_pronoun else frozenset()

    def sentences_with(self, wanted: Quantity) -> list[int]:
        """The sentences that say a number or a date, at most a few thousand."""
        known = self._said.get(wanted)
        if known is None:
            exact = [at for number in wanted.values for at in self._numbers.get(number, ())]
            # Rounded numbers, years and dates have to be compared one by one.
            needs_all = wanted.step > 0 or wanted.kind == "date" or year_of(wanted)
            candidates = self.values[:MOST_VALUES] if needs_all else exact[:MOST_VALUES]
            said = (at for at in candidates if _says(self.tokens[at].quantity, wanted))
            known = self._said[wanted] = list(dict.fromkeys(self.sentence_at(at) for at in said))
        return known

    def sentence_tokens(self, number: int) -> Sequence[Token]:
        """The tokens of a sentence."""
        sentence = self.sentences[number]
        return self.tokens[sentence.first : sentence.last]


def _says(found: Quantity | None, wanted: Quantity) -> bool:
    return found is not None and says(found, wanted)


def _add(index: dict[str, list[int]], key: str, number: int) -> None:
    known = index.setdefault(key, [])
    if not known or known[-1] != number:
        known.append(number)


def _segments(page: PageText) -> Iterator[tuple[Place, str, bool]]:
    """The pieces of a page with their place, and whether each is a row that names the columns."""
    text = page.text[:LONGEST_TEXT]
    headers: set[int] = set()
    if page.outline:
        blocks = [block for block in decode_outline(page.outline) if block.end <= len(text)]
        headers = {block.start for block in blocks if block.kind == "row" and block.level}
        segments = split_blocks(text, blocks)
    else:
        segments = split_sentences(text)
    for segment in segments:
        place = _PLACES.get(segment.kind)
        if place is not None:
            yield place, text[segment.start : segment.end], segment.start in headers
    if page.title:
        yield "title", page.title, False
    for other, words in (("aside", page.aside), ("hidden", page.hidden)):
        for line in words[:LONGEST_TEXT].split("\n"):
            for piece in split_sentences(line):
                yield ("aside" if other == "aside" else "hidden"), line[piece.start : piece.end], False
