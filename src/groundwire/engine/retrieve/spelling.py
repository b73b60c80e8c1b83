"""Spelling correction: words that neither the index nor the dictionary knows are replaced by similar words.

Which replacement is likely is judged as people type: swapped, missing and doubled letters and neighbours on
the keyboard are more likely than other letters, the first letter is seldom wrong, and common words are more
likely than rare ones. A word that is two known words without a space is split.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from groundwire.engine.compiled import Lines, find_value, has_line, lines_with_initial
from groundwire.engine.words import stop_words

WordsWithPrefix: TypeAlias = Callable[[str], Sequence[tuple[str, int]]]
"""The words of an index that begin with a prefix, each with the number of passages that have it."""

_WORD = re.compile(r"(?<![\w.`(@/\\\"“„-])[^\W\d_]{4,}(?![\w.`(])")
"""A plain word: paths, options, numbers and quoted words are not corrected."""
_FIRST = re.compile(r"^[^\W\d_]{3}\b")
_QUESTION_WORDS = frozenset(
    ("how", "what", "why", "who", "when", "where", "which", "wie", "was", "wer", "wann", "warum")
)
_NAME = re.compile(r"(?<![\w/\\-])[A-Za-z_][\w.]*[\w]")
_NAME_PART = re.compile(r"[^\W\d_]{4,}")
_SURE_LENGTH = 6
"""Words of at least this many letters may differ in two letters, shorter ones in one."""
_COMMON = 2
"""Passages that must have the replacement: a word of one passage may be a misspelling itself."""
_RARE, _FREQUENT = 2, 25
"""A word of so few passages that the dictionary does not have may be misspelt, if a word of so many passages
differs in one letter only."""
_ADDED = ("s", "es", "ly")
_ENDINGS = (*_ADDED, "ed", "ing", "er", "ers")
_GERMAN_ENDINGS = ("e", "en", "er", "es", "em", "n", "s", "t", "te", "ten", "st")
"""Endings of regular forms. The first ones are added to the whole word."""
_DOUBLES = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
"""A short word whose last letter is doubled before an ending: `log`, `logging`."""
_SHORTEST_HALF = 3
_SPLIT_PASSAGES = 5
"""Letters and passages that each half of a split word must have."""
_MOST_SUGGESTIONS = 3

# Costs of errors, in edits. Chosen on tuning questions with random typing errors (`bench/answers.py`).
_OTHER_INITIAL = 0.5
_SWAPPED, _DOUBLED, _MISSING, _NEIGHBOUR, _VOWEL = 0.7, 0.6, 0.8, 0.8, 0.9
_OTHER_LETTERS = 2.0
"""Two letters replaced by others that are neither neighbours nor vowels: that makes another word, as
"Sommerfest" is not a misspelt "Sommerzeit"."""
_FREQUENCY = 0.06
"""What the logarithm of the number of passages takes off."""
_IN_DICTIONARY = 0.3
"""What being in the dictionary takes off."""

_VOWELS = frozenset("aeiouyäöü")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    letter: frozenset(row[max(0, at - 1) : at + 2]) - {letter}
    for row in _KEYBOARD
    for at, letter in enumerate(row)
}


class Dictionary(NamedTuple):
    """Words that are spelt correctly, whether or not the index has them. All lines are sorted."""

    words: Lines = ()
    names: Lines = ()
    """Parts of names of code in lower case, each with its spelling."""
    initials: Lines = ()
    """Words and parts of names that misspelt words may be corrected to."""
    others: Lines = ()
    """More words, which misspelt words are not corrected to."""

    def has(self, word: str) -> bool:
        return has_line(self.words, word) or self.name(word) is not None

    def knows(self, word: str) -> bool:
        """Is it spelt correctly: a word, or a part of a name?"""
        return self.has(word) or has_line(self.others, word)

    def name(self, part: str) -> str | None:
        """The spelling of a part of a name; None if no name has it."""
        return find_value(self.names, part)

    def with_initial(self, initial: str) -> Lines:
        return lines_with_initial(self.initials, initial)


def make_dictionary(
    words: Collection[str], names: Mapping[str, str], others: Iterable[str] = ()
) -> Dictionary:
    """A dictionary of words and of parts of names, and of other words that none is corrected to."""
    return Dictionary(
        sorted(words),
        sorted(map("\t".join, names.items())),
        sorted({*words, *names}),
        sorted(others),
    )


class Speller(NamedTuple):
    """Corrects questions with the words of an index and a dictionary."""

    words_with_prefix: WordsWithPrefix
    dictionary: Dictionary = Dictionary()
    corrects_capitals: bool = False
    """Are words with a capital inside a sentence ordinary words, as German nouns are?"""

    def correct(self, query: str, is_word: Callable[[str], bool]) -> str:
        """The query with its unknown words replaced; equal to the query if there is nothing to correct.

        `is_word` says of a word that it is spelt correctly, although the index does not have it."""

        def corrected(match: re.Match[str]) -> str:
            # A capital inside a sentence begins a name.
            is_name = match[0] != match[0].lower() and match.start() > 0 and not self.corrects_capitals
            word = match[0].casefold()
            # The words of the index are looked up first: `is_word` reads a dictionary, which takes longer.
            if is_name or word in stop_words() or self._is_known(word) or is_word(word):
                return match[0]
            return next(self.suggestions(word), match[0])

        return _WORD.sub(corrected, _NAME.sub(self._corrected_name, _FIRST.sub(self._question_word, query)))

    def _question_word(self, match: re.Match[str]) -> str:
        """The first word of a question, if it is a misspelt question word such as `hwo` and `wat`."""
        word = match[0].casefold()
        if self._is_known(word):
            return match[0]
        meant = [known for known in sorted(_QUESTION_WORDS) if edit_distance(word, known, 1) == 1]
        return min(meant, key=lambda known: typing_cost(word, known), default=match[0])

    def suggestions(self, word: str) -> Iterator[str]:
        """What an unknown word may mean, most likely first; nothing if it is spelt correctly."""
        if self._is_known(word):
            return
        if self._passages(word):
            yield from (known for _, known in self._similar(word, 1, _FREQUENT)[:1])
            return
        similar = self._similar(word, 2 if len(word) >= _SURE_LENGTH else 1, _COMMON)
        halves = self._halves(word)
        if halves and not (similar and similar[0][0] <= 1):
            yield halves
        yield from (known for _, known in similar[:_MOST_SUGGESTIONS])

    def _is_known(self, word: str) -> bool:
        """Is it, or a word that it is a form of, in the dictionary or in some passages?"""
        return any(
            self.dictionary.knows(form) or self._passages(form) > _RARE
            for form in base_forms(word, in_german=self.corrects_capitals)
        )

    def _passages(self, word: str) -> int:
        return next((passages for known, passages in self.words_with_prefix(word) if known == word), 0)

    def _similar(self, word: str, most: int, least_passages: int) -> list[tuple[float, str]]:
        """The known words with at most so many edits, each with its cost, cheapest first."""
        found: dict[str, float] = {}
        letters = set(word)
        for known, passages in self._candidates(word):
            if abs(len(known) - len(word)) > most or len(letters.symmetric_difference(known)) > 2 * most:
                continue
            is_listed = self.dictionary.has(known)
            if not known.isalpha() or not (is_listed or passages >= least_passages):
                continue
            if edit_distance(word, known, most) > most:
                continue
            typed = typing_cost(word, known)
            if len(known) == len(word) and typed >= _OTHER_LETTERS:
                continue
            cost = typed - _FREQUENCY * math.log1p(passages) - (_IN_DICTIONARY if is_listed else 0.0)
            found[known] = min(cost, found.get(known, math.inf))
        return sorted((cost, known) for known, cost in found.items() if known != word)

    def _candidates(self, word: str) -> Iterator[tuple[str, int]]:
        """Known words with the initial of the word, with its second letter as their initial, or with a
        neighbour of the initial on the keyboard."""
        initials = dict.fromkeys((word[0], word[1], *sorted(_NEIGHBOURS.get(word[0], ()))))
        for initial in initials:
            yield from self.words_with_prefix(initial)
            yield from ((known, 0) for known in self.dictionary.with_initial(initial))

    def _halves(self, word: str) -> str:
        """The word as two known words, of several the ones that are more common; or empty."""
        best = (0, "")
        for cut in range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1):
            halves = word[:cut], word[cut:]
            count = min(map(self._commonness, halves))
            best = max(best, (count, " ".join(halves)))
        return best[1] if best[0] >= _SPLIT_PASSAGES else ""

    def _commonness(self, word: str) -> int:
        return max(self._passages(word), _SPLIT_PASSAGES if has_line(self.dictionary.words, word) else 0)

    def _corrected_name(self, match: re.Match[str]) -> str:
        """A dotted or camel-case name with its misspelt parts replaced by parts of known names."""
        name = match[0]
        if "." not in name and "_" not in name and (name[1:].islower() or name.isupper()):
            return name

        def corrected(part: re.Match[str]) -> str:
            word = part[0].casefold()
            if self.dictionary.name(word) is not None or self._passages(word) > 0:
                return part[0]
            similar = self._similar(word, 2 if len(word) >= _SURE_LENGTH else 1, 1)
            return next(filter(None, (self.dictionary.name(known) for _, known in similar)), part[0])

        return _NAME_PART.sub(corrected, name)


def base_forms(word: str, *, in_german: bool = False) -> Iterator[str]:
    """The word, and words that it may be a regular form of: `stopped` of `stop`, `parties` of `party`."""
    yield word
    for ending in _GERMAN_ENDINGS if in_german else _ENDINGS:
        base = word.removesuffix(ending)
        if base == word or len(base) < _SHORTEST_HALF or (ending == "ly" and base.endswith("ic")):
            continue
        if in_german or ending in _ADDED:
            yield base
        elif not _DOUBLES.fullmatch(base):
            yield from (base, f"{base}e")
        if base[-1] == base[-2]:
            yield base[:-1]
        if base[-1] == "i":
            yield f"{base[:-1]}y"


def typing_cost(word: str, known: str) -> float:
    """How unlikely a word is as a misspelling of a known one, in edits."""
    cost = 0.0 if word[0] == known[0] else _OTHER_INITIAL
    before: list[float] = []
    row: list[float] = [_MISSING * column for column in range(len(known) + 1)]
    for line, letter in enumerate(word, 1):
        current = [float(line)]
        for column, candidate in enumerate(known, 1):
            extra = _DOUBLED if line > 1 and letter == word[line - 2] else 1.0
            missing = _DOUBLED if column > 1 and candidate == known[column - 2] else _MISSING
            changed = 0.0 if letter == candidate else _changed_cost(letter, candidate)
            best = min(row[column] + extra, current[-1] + missing, row[column - 1] + changed)
            if line > 1 and column > 1 and letter == known[column - 2] and word[line - 2] == candidate:
                best = min(best, before[column - 2] + _SWAPPED)
            current.append(best)
        before, row = row, current
    return cost + row[-1]


def _changed_cost(letter: str, meant: str) -> float:
    """How unlikely a letter is as a typing error for another one."""
    if letter in _NEIGHBOURS.get(meant, ()):
        return _NEIGHBOUR
    return _VOWEL if letter in _VOWELS and meant in _VOWELS else 1.0


def edit_distance(one: str, other: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.

    Distances above `most` are returned as `most + 1`.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for line, letter in enumerate(one, 1):
        current = [line]
        for column, candidate in enumerate(other, 1):
            cost = min(row[column] + 1, current[-1] + 1, row[column - 1] + (letter != candidate))
            swapped = line > 1 and column > 1 and letter == other[column - 2] and one[line - 2] == candidate
            current.append(min(cost, before[column - 2] + 1) if swapped else cost)
        if min(current) > most:
            return most + 1
        before, row = row, current
    return min(row[-1], most + 1)
