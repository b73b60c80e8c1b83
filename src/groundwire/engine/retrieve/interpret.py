"""Interprets a question before it is searched: symbols, pasted errors, misspelt words, German words.

An interpretation is a query of its own. The question as typed is always one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.compiled import compiled_table
from groundwire.engine.data_files import data_lines
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.retrieve.names import with_public_names
from groundwire.engine.retrieve.question import compared_things
from groundwire.engine.retrieve.spelling import Dictionary, Speller, WordsWithPrefix, make_dictionary
from groundwire.engine.retrieve.translate import (
    function_words,
    german_words,
    is_german,
    is_german_word,
    translate,
)
from groundwire.engine.words import (
    name_parts,
    query_terms,
    stop_words,
    tokenize,
    word_list,
)
from groundwire.text.lazy_pattern import lazy_pattern

InterpretationKind: TypeAlias = Literal["typed", "error", "corrected", "translated"]


class Interpretation(NamedTuple):
    """A query, and what was done to the question to get it."""

    text: str
    kind: InterpretationKind = "typed"


_ERROR_NAME = lazy_pattern(
    r"\b(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Expired)\b"
    r"|\b(?:[a-z_]\w*\.)+(?:error|[A-Z]\w*)(?=: |$)",
    re.MULTILINE,
)
_ERROR = lazy_pattern(rf"(?P<name>{_ERROR_NAME.pattern})(?:\s*:\s*(?P<message>[^\n]*))?", re.MULTILINE)
_TRACEBACK = lazy_pattern(r"Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+", re.MULTILINE)
_NOISE = lazy_pattern(
    r"\[Errno -?\d+\]|0x[0-9a-fA-F]+|(?:[A-Za-z]:)?[\\/][\w.\\/-]+"
    r"|\bline \d+(?:,? column \d+)?(?: \(char \d+\))?|\bposition \d+|\b\d+\b|<[^<>]*>"
)
_QUOTED = lazy_pattern(r"'([^']*)'|\"([^\"]*)\"")
_NOTHING_TO_INSTALL = lazy_pattern(
    r"\b(?:without|with no|not using|ohne)"
    r"(?: (?:using|having to install|installing|importing|any|an|a|further|more|weitere[nrs]?|irgendwelche))*"
    r"(?: (?:third[- ]party|3rd[- ]party|external|extra|additional|other|externe[nrs]?|fremde[nrs]?"
    r"|zusätzliche[nrs]?))?"
    r" (?:packages?|library|libraries|modules?|dependency|dependencies|pip"
    r"|pakete?n?|bibliothek(?:en)?|modulen?|abhängigkeit(?:en)?)\b"
    r"|\b(?:only )?(?:with|using) (?:only |just )?the standard library\b"
    r"|\bin (?:pure|plain|vanilla) python\b"
    r"|\b(?:nur )?mit (?:der standardbibliothek|bordmitteln|reinem python)\b",
    re.IGNORECASE,
)
"""A circumstance that holds for all of Python's documentation: as words, it finds pages about installing."""
_AROUND_SYMBOLS = "`'\"“”„?,;"
_ASKS_ABOUT_SYMBOL = lazy_pattern(
    r"\b(?:(?:what|how) does|mean|means|meaning|operator|symbol|sign|called|stands?"
    r"|bedeutet|heißt|macht|zeichen)\b",
    re.IGNORECASE,
)


def interpretations(query: str, words_with_prefix: WordsWithPrefix) -> Iterator[Interpretation]:
    """The query as typed, or the error in it; then corrected and translated, where that changes something."""
    query = with_public_names(without_circumstances(query))
    error = error_query(query, words_with_prefix)
    typed = error or spell_symbols(query)
    yield Interpretation(typed, "error" if error else "typed")
    in_german = is_german(query)
    # Programs that report errors do not misspell words.
    corrected = typed if error else speller(words_with_prefix, in_german=in_german).correct(typed, _is_word)
    if corrected != typed:
        yield Interpretation(corrected, "corrected")
    if in_german:
        translated = _translated(corrected)
        if translated:
            yield Interpretation(translated, "translated")


def _translated(query: str) -> str:
    """The query in English; empty if no word changes. A comparison remains one."""
    things = [translate(thing) or thing for thing in compared_things(query) or ()]
    whole = translate(query)
    return f"difference between {' and '.join(things)}" if whole and things else whole


def without_circumstances(query: str) -> str:
    """The query without what says that nothing is to be installed, unless nothing else is left."""
    kept = _NOTHING_TO_INSTALL.sub("", query).strip()
    return kept if len(kept) < len(query) and query_terms(kept) else query


def spell_symbols(query: str) -> str:
    """The query, followed by the words for the symbols that are in it as words: `what does := mean`.

    A symbol between two other words is only used, not asked about, unless the question asks what something
    does or means: `what does a // b do`. Next to a special name, that is what it asks about:
    `what does if __name__ == '__main__' do`.
    """
    tokens = [token.strip(_AROUND_SYMBOLS) or token for token in query.split()]
    asks = _ASKS_ABOUT_SYMBOL.search(query) is not None
    with_neighbours = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    words = dict.fromkeys(
        _symbols()[token]
        for before, token, after in with_neighbours
        if token in _symbols() and (asks or not (_is_operand(before) and _is_operand(after)))
        if not (before.startswith("__") or after.startswith("__"))
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
    """Everyday words, those of purposes and synonyms, and rarer ones that no word is corrected to."""
    words = {*stop_words(), *word_list("generic_words"), *word_list("other_technologies")}
    if in_german:
        words.update(german_words())
        others = word_list("words_de").union(function_words())
    else:
        others = word_list("words_en")
        words |= word_list("common_words") | word_list("synonyms")
    purposes = purpose_index().purposes
    words.update(tokenize("\n".join([purpose.phrase for purpose in purposes])))
    targets = ".".join([purpose.target for purpose in purposes if ".html" not in purpose.target])
    names: dict[str, str] = {}
    # Each part once. Of two spellings the later one counts, so parts are in the order of their last use.
    for part in reversed(dict.fromkeys(reversed(targets.split(".")))):
        names[part.casefold()] = part
        names.update((word.casefold(), word) for word in name_parts(part) if word.islower())
    return make_dictionary({word for word in words if word.isalpha()}, names, others)


def _is_word(word: str) -> bool:
    """Is it spelt correctly: a German word or verb with a translation, or the name of a technology?"""
    return word in word_list("other_technologies") or is_german_word(word)


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
