"""Words for comparing: stems in order, the values among them, and whether they are denied."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from groundwire.engine.compose.vocabulary import MONTHS, NEGATIONS, STOP_WORDS
from groundwire.model.value import value
from groundwire.text.synonyms import KIN

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]")
_TOKEN = re.compile(  # runs, numbers, words
    rf"[{_CJK}]+|\d+(?:[.,:]\d+)*|[^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FOLDED = str.maketrans("äöüéèêáàâíìóòôúùûñç", "aoueeeaaaiiooouuunc")

# One ending is taken off, the longest that leaves a stem: enough to bring `parse`, `parsed` and `parsing`
# together, and `Datei` and `Dateien`. That it also joins a few strangers costs little.
_ENDINGS = re.compile(r"(?<=....)(?:ations?|ungen|ings?|ung|ers|ern|edly|ed|es|er|en|em|e|s|n)$")
_NO_PLURAL = frozenset("siu")
_DOUBLED = re.compile(r"([bdgmnprt])\1$")


@value
class Words:
    """What a stretch of text says, for comparing."""

    order: tuple[str, ...]
    """Stems of all words, stop words included, as they stand; a value is `#`."""
    stems: frozenset[str]
    """Stems of the words that carry meaning."""
    values: frozenset[str]
    """Numbers, and months as numbers."""
    negations: int


class _Read(NamedTuple):
    """A word: what is compared, what stands for it in the order, and whether it is one of these."""

    key: str
    shown: str
    is_stem: bool = False
    is_value: bool = False
    is_denial: bool = False


def read_words(text: str) -> Words:
    """Take a text apart."""
    read = [word for token in _TOKEN.findall(text) for word in _read(token)]
    return Words(
        tuple([shown for _, shown, _, _, _ in read]),
        frozenset([key for key, _, is_stem, _, _ in read if is_stem]),
        frozenset([key for key, _, _, is_value, _ in read if is_value]),
        sum([is_denial for _, _, _, _, is_denial in read]),
    )


def query_words(query: str) -> tuple[str, ...]:
    """The stems and numbers a query asks about, in order; all of its words if none carries meaning."""
    read = [word for token in _TOKEN.findall(query) for word in _read(token)]
    meant = [word for word in read if (word.is_stem and len(word.key) > 1) or word.is_value] or read
    return tuple(dict.fromkeys(word.key for word in meant))


def split_words(text: str) -> list[str]:
    """Words in lower case; names are split at dots, underscores and humps, Chinese and Japanese in pairs."""
    return [word for token in _TOKEN.findall(text) for word in _split(token)]


@lru_cache(maxsize=16384)
def stem_of(word: str) -> str:
    """The word without its ending."""
    if len(word) < 4:
        return word
    if len(word) == 4 and word[3] == "s" and word[2] not in _NO_PLURAL:
        return word[:3]
    if not word.isascii():
        word = word.translate(_FOLDED)
    stem = _DOUBLED.sub(r"\1", _ENDINGS.sub("", word, count=1))
    return f"{stem[:-1]}i" if stem.endswith("y") else stem


def kin_of(stem: str) -> tuple[str, ...]:
    """The stems of other words that ask for the same."""
    return _KIN.get(stem, ())


def _kin() -> dict[str, tuple[str, ...]]:
    kin: dict[str, tuple[str, ...]] = {}
    for group in KIN:
        stems = tuple(dict.fromkeys(map(stem_of, group)))
        kin |= {stem: tuple(other for other in stems if other != stem) for stem in stems}
    return kin


_KIN = _kin()


@lru_cache(maxsize=16384)
def _read(written: str) -> tuple[_Read, ...]:
    """What a run of signs says. Texts repeat their words, so it is remembered."""
    if written == "May":  # the month; in small letters it is another word
        return (_Read(MONTHS["may"], "#", is_value=True),)
    return tuple(map(_meaning, _split(written)))


def _meaning(word: str) -> _Read:
    if word in NEGATIONS:
        return _Read(word, word, is_denial=True)
    if word in STOP_WORDS:
        return _Read(word, word)
    if word[0].isdigit() or word in MONTHS:
        return _Read(MONTHS.get(word, word), "#", is_value=True)
    stem = stem_of(word)
    return _Read(stem, stem, is_stem=True)


def _split(token: str) -> list[str]:
    if token[0].isdigit():
        return [_THOUSANDS.sub("", token)]
    if _RUN.match(token):
        return [token[place : place + 2] for place in range(max(1, len(token) - 1))]
    if "'" in token or "’" in token:
        head, _, tail = token.replace("’", "'").lower().partition("'")
        # `don't` is a denial; what else follows an apostrophe says nothing.
        return [head.removesuffix("n"), "not"] if tail == "t" else [head]
    if token.islower() or token.istitle() or token.isupper():
        return [token.lower()]
    return [part.lower() for part in _CAMEL.split(token)]
