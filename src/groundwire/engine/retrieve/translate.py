"""German words in English: the query for English pages, and German texts read word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from groundwire.engine.compiled import Sections, compiled_table, find_value
from groundwire.engine.data_files import data_lines
from groundwire.engine.retrieve.names import mentioned_names
from groundwire.engine.words import (
    analyse,
    split_words,
    stem_word,
    stop_words,
    text_language,
    word_list,
)

_PARTICLES = frozenset(
    (
        *("ab", "an", "auf", "aus", "bei", "ein", "fest", "frei", "her", "hin", "hoch", "los", "mit", "nach"),
        *("um", "unter", "vor", "weg", "weiter", "zu", "zurück"),
    )
)
_LINKS = ("", "s", "es", "n", "en", "e")
"""What joins the parts of a German compound."""
_SHORTEST_PART = 4
FOLDER = Path(__file__).parents[1]
"""The folder with the word lists."""
_WORD = re.compile(r"[^\W\d_]+")
_MEANINGS = 2
"""English words that are read for a German one: others of its meanings, or the parts of a compound."""
_REMEMBERED = 8192


def is_german(query: str) -> bool:
    """Has the query more function words of German than of English? If it has neither, at least as many words
    that are German and not English as others?"""
    words = split_words(query)
    german, english = _german_markers(), stop_words("en") - stop_words("de")
    counts = sum(word in german for word in words), sum(word in english for word in words)
    if any(counts):
        return counts[0] > counts[1]
    translated = [word for word in words if word not in word_list("common_words") and _translations(word)]
    return bool(translated) and 2 * len(translated) >= len(words)


@cache
def _german_markers() -> frozenset[str]:
    """Function words of German that are not English words too."""
    others = stop_words("en") | word_list("common_words")
    return word_list("german_words") | ((stop_words("de") | function_words().keys()) - others)


def translate(query: str, meanings: int | None = None) -> str:
    """The English words for a German query, for each word so many. Words without a translation are kept, but
    not function words (`habe`, `darf`). Empty if no word has one."""
    words = split_words(query)
    # The prefix of a separable verb is at the end of the question: `fange … ab` is `abfangen`.
    joined = _joined_verbs(words)
    content = [word for word in words if word not in stop_words("de") and word not in joined.values()]
    found = {word: _translations(joined.get(word, "") + word) or _compound(word) for word in content}
    if not any(found.values()):
        return ""
    english = (
        one
        for word in content
        for one in found[word][:meanings] or (() if word in function_words() else (word,))
    )
    # Names of code are kept whole: the gate must see those that do not exist.
    return " ".join(dict.fromkeys((*english, *mentioned_names(query))))


def _joined_verbs(words: Sequence[str]) -> dict[str, str]:
    """The verbs whose prefix is a word of its own, with that prefix: for each prefix the first word that it
    makes a verb of, because a noun may follow (`schalte die Heizung im Lager aus`)."""
    found: dict[str, str] = {}
    for at, particle in enumerate(words):
        if particle in _PARTICLES:
            verb = next((word for word in words[:at] if _translations(particle + word)), "")
            found |= {verb: particle} if verb else {}
    return found


def _translations(word: str) -> tuple[str, ...]:
    """The English words for a German one: its own, or those of all forms with its stem."""
    by_stem, own = _english()
    return tuple((find_value(own, word) or find_value(by_stem, stem_word(word)) or "").split())


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


def is_german_word(word: str) -> bool:
    """Is it a word or a verb with a translation?"""
    verbs = (word.removeprefix(particle) for particle in _PARTICLES if word.startswith(particle))
    return bool(_translations(word) or _compound(word) or any(map(_translations, verbs)))


def gloss(text: str) -> str:
    """A German text in English, word by word; what has no translation is kept. Networks that know only
    English understand enough of it to judge whether it answers a question."""
    return _WORD.sub(lambda match: _gloss(match[0]), text)


def english_words(text: str, language: str) -> str:
    """The English words for the content words of a German text, each once; empty for another language, which
    is guessed if it is not known. Questions in English find the text by them."""
    if text_language(language, text) != "de":
        return ""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    found = (one for word in words if word not in function_words() for one in _meanings(word))
    return " ".join(dict.fromkeys(found))


def english_stems(text: str, language: str) -> frozenset[str]:
    """The stems of these words."""
    english = english_words(text, language)
    return analyse(english).stems if english else frozenset()


@lru_cache(_REMEMBERED)
def _meanings(word: str) -> tuple[str, ...]:
    return _translations(word)[:_MEANINGS] or _compound(word)


@lru_cache(_REMEMBERED)
def _gloss(word: str) -> str:
    known = word.lower()
    if known in function_words():
        return function_words()[known]
    return " ".join(_meanings(known)) or word


@cache
def function_words() -> dict[str, str]:
    """German function words with their meanings in English."""
    lines = data_lines(FOLDER, "function_words_de")
    return dict(line.split(" ", 1) for line in lines)


def german_words() -> list[str]:
    """The German words that have a translation."""
    return [line.split()[0] for line in _translated_lines()]


def _translated_lines() -> list[str]:
    return data_lines(FOLDER, "translations_de")


@cache
def _english() -> Sections:
    """English words by the stem of a German word, and by the word itself where its own are others: `zahl` is
    `number` and not, like `zahlen`, also `pay`."""
    return compiled_table("translations", _compile_translations)


def _compile_translations() -> Sections:
    by_stem: dict[str, dict[str, None]] = {}
    own: dict[str, list[str]] = {}
    for line in _translated_lines():
        german, *english = line.split()
        by_stem.setdefault(stem_word(german), {}).update(dict.fromkeys(english))
        own[german] = english
    return (
        sorted(f"{stem}\t{' '.join(english)}" for stem, english in by_stem.items()),
        sorted(
            f"{german}\t{' '.join(english)}"
            for german, english in own.items()
            if [*by_stem[stem_word(german)]] != english
        ),
    )
