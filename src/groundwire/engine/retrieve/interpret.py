"""Interprets a question before it is searched: symbols, pasted errors, misspelt words, German words.

An interpretation is a query of its own. The question as typed is always one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.compiled import Lines, Sections, compiled_table, find_value
from groundwire.engine.data_files import data_lines
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.retrieve.names import mentioned_names, with_public_names
from groundwire.engine.retrieve.spelling import Dictionary, Speller, WordsWithPrefix, make_dictionary
from groundwire.engine.words import (
    name_parts,
    split_words,
    stem_word,
    stop_words,
    synonyms,
    tokenize,
    word_list,
)

InterpretationKind: TypeAlias = Literal["typed", "error", "corrected", "translated"]


class Interpretation(NamedTuple):
    """A query, and what was done to the question to get it."""

    text: str
    kind: InterpretationKind = "typed"


_ERROR_NAME = re.compile(
    r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Expired)\b"
    r"|\b(?:[a-z_]\w*\.)+(?:error|[A-Z]\w*)(?=: |$)",
    re.MULTILINE,
)
_ERROR = re.compile(rf"(?P<name>{_ERROR_NAME.pattern})(?:\s*:\s*(?P<message>[^\n]*))?", re.MULTILINE)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+", re.MULTILINE)
_NOISE = re.compile(
    r"\[Errno -?\d+\]|0x[0-9a-fA-F]+|(?:[A-Za-z]:)?[\\/][\w.\\/-]+"
    r"|\bline \d+(?:,? column \d+)?(?: \(char \d+\))?|\bposition \d+|\b\d+\b|<[^<>]*>"
)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_PARTICLES = frozenset(
    (
        *("ab", "an", "auf", "aus", "bei", "ein", "fest", "frei", "her", "hin", "hoch", "los", "mit", "nach"),
        *("um", "unter", "vor", "weg", "weiter", "zu", "zurück"),
    )
)
_AROUND_SYMBOLS = "`'\"“”„?,;"
_ASKS_ABOUT_SYMBOL = re.compile(
    r"\b(?:(?:what|how) does|mean|means|meaning|operator|symbol|sign|called|stands?"
    r"|bedeutet|heißt|macht|zeichen)\b",
    re.IGNORECASE,
)
_LINKS = ("", "s", "es", "n", "en", "e")
"""What joins the parts of a German compound."""
_SHORTEST_PART = 4


def interpretations(query: str, words_with_prefix: WordsWithPrefix) -> Iterator[Interpretation]:
    """The query as typed, or the error in it; then corrected and translated, where that changes something."""
    query = with_public_names(query)
    error = error_query(query, words_with_prefix)
    typed = error or spell_symbols(query)
    yield Interpretation(typed, "error" if error else "typed")
    in_german = is_german(query)
    # Programs that report errors do not misspell words.
    corrected = typed if error else speller(words_with_prefix, in_german=in_german).correct(typed, _is_word)
    if corrected != typed:
        yield Interpretation(corrected, "corrected")
    if in_german:
        translated = translate(corrected)
        if translated:
            yield Interpretation(translated, "translated")


def spell_symbols(query: str) -> str:
    """The query, followed by the words for the symbols that are in it as words: `what does := mean`.

    A symbol between two other words is only used, not asked about: `if __name__ == '__main__'`.
    """
    tokens = [token.strip(_AROUND_SYMBOLS) or token for token in query.split()]
    asks = _ASKS_ABOUT_SYMBOL.search(query) is not None
    with_neighbours = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    words = dict.fromkeys(
        _symbols()[token]
        for before, token, after in with_neighbours
        if token in _symbols() and (asks or not (_is_operand(before) and _is_operand(after)))
    )
    return " ".join((query, *words))


def _is_operand(token: str) -> bool:
    """Is it a word that is neither a symbol nor an everyday word such as `and`?"""
    return bool(token) and token not in _symbols() and token.casefold() not in stop_words()


@cache
def _symbols() -> dict[str, str]:
    """What people call a symbol."""
    lines = data_lines(Path(__file__).parents[1], "symbols")
    return dict(line.split(" ", 1) for line in lines)


def speller(words_with_prefix: WordsWithPrefix, *, in_german: bool = False) -> Speller:
    """Corrects questions in English or German with the words of an index."""
    return Speller(words_with_prefix, _dictionary_of(in_german=in_german), in_german)


@cache
def _dictionary_of(*, in_german: bool) -> Dictionary:
    """The words that are spelt correctly."""
    name = "spelling-de" if in_german else "spelling-en"
    return Dictionary(*compiled_table(name, partial(_compile_dictionary, in_german=in_german)))


def _compile_dictionary(*, in_german: bool) -> Dictionary:
    """Everyday words, and those of purposes and synonyms."""
    words = {*stop_words(), *word_list("generic_words"), *word_list("other_technologies")}
    if in_german:
        words.update(line.split()[0] for line in _translated_lines())
    else:
        words |= word_list("common_words")
        words.update(word for pair in synonyms().items() for word in (pair[0], *pair[1]))
    purposes = purpose_index().purposes
    words.update(tokenize("\n".join([purpose.phrase for purpose in purposes])))
    targets = ".".join([purpose.target for purpose in purposes if ".html" not in purpose.target])
    names: dict[str, str] = {}
    # Each part once. Of two spellings the later one counts, so parts are in the order of their last use.
    for part in reversed(dict.fromkeys(reversed(targets.split(".")))):
        names[part.casefold()] = part
        names.update((word.casefold(), word) for word in name_parts(part) if word.islower())
    return make_dictionary({word for word in words if word.isalpha()}, names)


def _is_word(word: str) -> bool:
    """Is it spelt correctly: a German word or verb with a translation, or the name of a technology?"""
    verbs = (word.removeprefix(particle) for particle in _PARTICLES if word.startswith(particle))
    return word in word_list("other_technologies") or bool(
        _translations(word) or _compound(word) or any(map(_translations, verbs))
    )


def error_query(query: str, words_with_prefix: WordsWithPrefix) -> str:
    """The name and the message of a pasted error, without the user's own names; empty if there is none."""
    found = list(_ERROR.finditer(query))
    if not found or not (found[-1]["message"] or _TRACEBACK.search(query)):
        return ""
    error = found[-1]
    before = "" if _TRACEBACK.search(query) else query[: error.start()]
    message = _NOISE.sub(" ", error["message"] or "")

    def known(match: re.Match[str]) -> str:
        words = (match[1] or match[2] or "").casefold()
        is_known = words.isidentifier() and any(word == words for word, _ in words_with_prefix(words))
        return f" {match[1] or match[2]} " if is_known else " "

    return " ".join(f"{before} {error['name']} {_QUOTED.sub(known, message)}".split())


def error_names(error: str) -> frozenset[str]:
    """The classes in the text of an error."""
    return frozenset(_ERROR_NAME.findall(error))


def error_message(error: str) -> str:
    """What is left of the text of an error without the name of its class."""
    return " ".join(_ERROR_NAME.sub(" ", error).split())


def is_german(query: str) -> bool:
    """Has the query a word that only German questions have, or none that English ones have?"""
    words = split_words(query)
    if word_list("german_words").intersection(words):
        return True
    english = stop_words("en") - stop_words("de")
    return not english.intersection(words) and any(_translations(word) for word in words)


def translate(query: str) -> str:
    """The English words for a German query; words without a translation are kept. Empty if none has one."""
    words = split_words(query)
    particles = [word for word in words if word in _PARTICLES]
    content = [word for word in words if word not in stop_words("de")]
    english: list[str] = []
    changed = False
    for word in content:
        # The prefix of a separable verb is at the end of the question: `fange … ab` is `abfangen`.
        separated = (_translations(particle + word) for particle in particles)
        found = next(filter(None, separated), ()) or _translations(word) or _compound(word)
        changed = changed or bool(found)
        english += found or (word,)
    # Names of code are kept whole: the gate must see those that do not exist.
    return " ".join(dict.fromkeys((*english, *mentioned_names(query)))) if changed else ""


def _translations(word: str) -> tuple[str, ...]:
    return tuple((find_value(_english_by_stem(), stem_word(word)) or "").split())


def _compound(word: str) -> tuple[str, ...]:
    """The translations of the two parts of a compound (`Zufallszahl`)."""
    for cut in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        first, second = word[:cut], word[cut:]
        tail = _translations(second)
        if not tail:
            continue
        for link in _LINKS:
            head = _translations(first.removesuffix(link)) if first.endswith(link) else ()
            if head:
                return head[:1] + tail[:1]
    return ()


def _translated_lines() -> list[str]:
    return data_lines(Path(__file__).parents[1], "translations_de")


@cache
def _english_by_stem() -> Lines:
    """English words by the stem of a German word."""
    (lines,) = compiled_table("translations", _compile_translations)
    return lines


def _compile_translations() -> Sections:
    found: dict[str, dict[str, None]] = {}
    for line in _translated_lines():
        german, *english = line.split()
        found.setdefault(stem_word(german), {}).update(dict.fromkeys(english))
    return (sorted(f"{stem}\t{' '.join(english)}" for stem, english in found.items()),)
