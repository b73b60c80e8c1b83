"""Words of pages and queries: tokeniser, stop words, stemmer, synonyms, names in code, language guessing.

`tokenize` cuts a text into runs of letters and digits. Index terms, queries and fingerprints are made of
these tokens; they are stored, so a change of `tokenize`, `fingerprint` or `name_parts` needs a format step.

`analyse` reads the same text for comparing statements. It keeps together what `tokenize` cuts and meaning
depends on (`3.11`, `1,000`, `don't`), and tells content words, values and negations apart.

The word lists are data files (`data/*.txt`), read when they are first needed. English and German are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from groundwire.engine.compiled import Sections, compiled_table, find_value
from groundwire.engine.data_files import data_lines, data_words
from groundwire.model.value import value

LANGUAGES = ("en", "de")

_FOLDER = Path(__file__).parent
_CACHED_WORDS = 16384

# Chinese and Japanese, which put no spaces between words. A set of so many characters takes milliseconds to
# compile, so the patterns that have it are compiled for texts that may need them.
_CJK_RANGES = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))
_CJK = "".join(f"{first}-{last}" for first, last in _CJK_RANGES)
_FIRST_CJK = _CJK_RANGES[0][0]
_TOKEN = re.compile(r"[^\W_]+")
# The punctuation of English texts that are ASCII otherwise.
_TYPOGRAPHY = re.compile("[\u00a0\u2010-\u2027\u2190-\u2194\u2500-\u257f]+")
# Folds the case too, and is many times as fast as the pattern.
_ASCII_TOKENS = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)
).ljust(256)
# Numbers with separators, words with an apostrophe.
_LEXICAL_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W_]+(?:['’][^\W\d_]+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

# The parts of an address are no words of the sentence: `people@example.org` says nothing about people.
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE_NAME = re.compile(r"\b[^\W\d]\w*(?:\.\w+)*")
# Begins with capitals in either case: texts have few, so little else is tried.
_CAMEL_CASE = re.compile(r"[A-ZÀ-Þ](?:(?<=[a-zß-ÿ].)|[A-ZÀ-Þ][a-zß-ÿ])")
_LETTER_CASES = bytes(
    ord("A" if chr(code).isupper() else "a" if chr(code).islower() else " ") for code in range(128)
) + bytes(128)
_CAMEL_PART = re.compile(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+|\d+|[^\W\d_]+")
_WORD = re.compile(r"\w+")
_URL_SYNTAX = re.compile(
    r"^https://github\.com/[^/]+/[^/]+/blob/[^/]+|^local:(?:python/[^/]+|\w+)|^[a-z+]+://[^/]*"
    r"|\.(?:html?|php|aspx?|md|rst|txt|pdf|py)(?=$|[?#])|#L\d+$|[?&]\w+="
)

_GUESSED_FROM = 3000
"""Characters of a page that its language is guessed from: about one printed page."""

_ACCENTS = str.maketrans("äöüéèêáàâíìóòôúùûñç", "aoueeeaaaiiooouuunc")
# The longest ending that leaves four letters is removed, once. That brings `parse`, `parsed` and `parsing`
# together, and `Datei` and `Dateien`. It also joins a few unrelated words, which costs little.
_ENDINGS = re.compile(r"(?<=....)(?:ations?|ungen|ings?|ung|ers|ern|edly|ed|es|er|en|em|e|s|n)$")
# Participles and infinitives with `zu` of separable German verbs: `hochgeladen` and `hochzuladen` are forms
# of `hochladen`.
_SEPARABLE = re.compile(
    r"^(ab|an|auf|aus|bei|durch|ein|fest|frei|her|herunter|hin|hoch|los|mit|nach|um|vor|weg|weiter|zuruck|zusammen)"
    r"(?:ge|zu)(\w{3,}?)(?:en|t)$"
)
_NO_PLURAL = frozenset("siu")
_DOUBLED = re.compile(r"([bdgmnprt])\1$")

_MONTH_NAMES = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
)
MONTHS: Mapping[str, str] = {
    name: str(number) for names in _MONTH_NAMES for number, name in enumerate(names.split(), 1)
}
"""Month names with their numbers, so that dates compare across languages."""


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of `data/<name>.txt`."""
    return frozenset(data_words(_FOLDER, name))


@cache
def stop_words(language: str = "") -> frozenset[str]:
    """The stop words of a language, or of all languages."""
    if language:
        return word_list(f"stop_words_{language}")
    return frozenset().union(*map(stop_words, LANGUAGES))


@cache
def ignored_words() -> frozenset[str]:
    """Words that carry no meaning when statements are compared: stop words and generic words."""
    return stop_words() | word_list("generic_words")


@lru_cache(_CACHED_WORDS)
def synonyms(word: str) -> tuple[str, ...]:
    """The other words of a word's synonym groups."""
    return tuple((find_value(_synonym_tables()[0], word) or "").split())


@lru_cache(_CACHED_WORDS)
def stem_synonyms(stem: str) -> tuple[str, ...]:
    """The stems of the other words of a stem's synonym groups."""
    return tuple((find_value(_synonym_tables()[1], stem) or "").split())


@cache
def _synonym_tables() -> Sections:
    return compiled_table("synonyms", _compile_synonyms)


def _compile_synonyms() -> Sections:
    """Words, and stems, with their synonyms. A word may have several meanings, and be in several groups."""
    groups = [line.split() for line in data_lines(_FOLDER, "synonyms")]
    return _synonym_lines(groups), _synonym_lines([[*map(stem_word, group)] for group in groups])


def _synonym_lines(groups: Iterable[Sequence[str]]) -> list[str]:
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for word in group:
            found.setdefault(word, {}).update(dict.fromkeys(group))
    return sorted(
        f"{word}\t{' '.join(other for other in others if other != word)}" for word, others in found.items()
    )


def tokenize(text: str) -> list[str]:
    """The runs of letters and digits of a text, case-folded, in order."""
    if text.isascii() or (text := _TYPOGRAPHY.sub(" ", text)).isascii():
        return text.encode().translate(_ASCII_TOKENS).decode().split()
    return _TOKEN.findall(text.casefold())


def joined_tokens(text: str) -> str:
    """The tokens of a text, separated by spaces."""
    if not (text.isascii() or (text := _TYPOGRAPHY.sub(" ", text)).isascii()):
        return " ".join(_TOKEN.findall(text.casefold()))
    # The same for ASCII, in half the time: no token becomes an object.
    tokens = text.encode().translate(_ASCII_TOKENS).strip()
    while b"  " in tokens:
        tokens = tokens.replace(b"  ", b" ")
    return tokens.decode()


def lexical_tokens(text: str) -> list[str]:
    """The words of a text as they are written, numbers with their separators, and CJK runs."""
    if text.isascii() or max(text) < _FIRST_CJK:
        return _LEXICAL_TOKEN.findall(text)
    return _lexical_token_or_cjk_run().findall(text)


@cache
def _lexical_token_or_cjk_run() -> re.Pattern[str]:
    return re.compile(rf"[{_CJK}]+|\d+(?:[.,:]\d+)*|[^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?")


@cache
def _cjk_run() -> re.Pattern[str]:
    return re.compile(rf"([{_CJK}]+)")


def split_words(text: str) -> list[str]:
    """Words in lower case; names are split at dots, underscores and camel case, CJK runs into bigrams."""
    return [word for token in lexical_tokens(text) for word in _split_token(token)]


def split_cjk(token: str) -> list[str]:
    """A token with its CJK runs cut into bigrams."""
    if token.isascii() or max(token) < _FIRST_CJK:
        return [token]
    return [piece for run in _cjk_run().split(token) if run for piece in _bigrams(run)]


@lru_cache(maxsize=_CACHED_WORDS)
def stem_word(word: str) -> str:
    """The word without its ending, for English and German alike."""
    if len(word) < 4:
        return word
    if len(word) == 4 and word[3] == "s" and word[2] not in _NO_PLURAL:
        return word[:3]
    if not word.isascii():
        word = word.translate(_ACCENTS)
    word = _SEPARABLE.sub(r"\1\2en", word)
    stem = _DOUBLED.sub(r"\1", _ENDINGS.sub("", word, count=1))
    return f"{stem[:-1]}i" if stem.endswith("y") else stem


@value
class TextTerms:
    """The terms of a text, for comparing it with other texts."""

    order: tuple[str, ...]
    """Stems of all words in order, stop words included; a value is `#`."""
    stems: frozenset[str]
    """Stems of the content words."""
    values: frozenset[str]
    """Numbers, and months as numbers."""
    negations: int


class _Term(NamedTuple):
    """One analysed word."""

    key: str
    in_order: str
    """What represents it in `TextTerms.order`."""
    is_stem: bool = False
    is_value: bool = False
    is_negation: bool = False


def analyse(text: str) -> TextTerms:
    """The terms of a text."""
    if "@" in text:
        text = _MAIL_ADDRESS.sub(" ", text)
    terms = [term for token in lexical_tokens(text) for term in _terms(token)]
    return TextTerms(
        tuple([in_order for _, in_order, _, _, _ in terms]),
        frozenset([key for key, _, is_stem, _, _ in terms if is_stem]),
        frozenset([key for key, _, _, is_value, _ in terms if is_value]),
        sum([is_negation for _, _, _, _, is_negation in terms]),
    )


def query_terms(query: str) -> tuple[str, ...]:
    """The stems and numbers of a query, in order; all of its words if none is a content word."""
    terms = [term for token in lexical_tokens(query) for term in _terms(token)]
    content = [term for term in terms if (term.is_stem and len(term.key) > 1) or term.is_value] or terms
    return tuple(dict.fromkeys(term.key for term in content))


def code_names(text: str) -> list[str]:
    """The names of code in a text: dotted, in snake case or in camel case."""
    return [name for name in _CODE_NAME.findall(text) if "." in name or "_" in name or _is_camel_case(name)]


def name_parts(name: str) -> list[str]:
    """A name split at dots, underscores and camel case: `JSONDecoder.raw_decode` has four parts."""
    return _CAMEL_PART.findall(name)


def camel_parts(text: str) -> str:
    """The parts of the camel-case names in a text; `tokenize` splits at dots and underscores anyway."""
    if not _has_camel_case(text):
        return ""
    names = [word for word in _TOKEN.findall(text) if _is_camel_case(word)]
    return " ".join(part for name in names for part in name_parts(name))


def dotted_names(text: str) -> list[str]:
    """The dotted names in a text in lower case, each as one word: `json.dumps`."""
    return [name.casefold() for name in _CODE_NAME.findall(text) if "." in name] if "." in text else []


def url_words(url: str) -> str:
    """The path, the query and the fragment of a URL as words, with the parts of camel-case names."""
    words: list[str] = []
    for word in _WORD.findall(unquote(_URL_SYNTAX.sub(" ", url))):
        parts = name_parts(word)
        words += [word, *parts] if len(parts) > 1 else [word]
    return " ".join(words)


def text_language(declared: str, text: str) -> str:
    """The language of a text without its region: the declared one, or the one that the text seems to be in;
    empty if neither says."""
    return declared.partition("-")[0].lower() or guess_language(text)


def guess_language(text: str) -> str:
    """`en` or `de` by the stop words at the beginning of a text; empty where they do not decide."""
    words = tokenize(text[:_GUESSED_FROM])
    shared = frozenset.intersection(*map(stop_words, LANGUAGES))
    counts = {
        code: sum(word in stop_words(code) and word not in shared for word in words) for code in LANGUAGES
    }
    best = max(counts, key=lambda code: counts[code])
    rest = sum(counts.values()) - counts[best]
    # At least twice as many as of the other language, and one word in twenty: text without stop words, such
    # as a table, stays undecided.
    return best if counts[best] > 2 * rest and counts[best] * 20 >= len(words) else ""


def fingerprint(text: str) -> int:
    """Equal for texts with the same tokens in the same order; fits a signed 64-bit integer."""
    return fingerprint_of_tokens(joined_tokens(text))


def fingerprint_of_tokens(tokens: str) -> int:
    """The fingerprint of a text by its tokens, separated by spaces."""
    digest = blake2b(tokens.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _has_camel_case(text: str) -> bool:
    if not text.isascii():
        return not text.islower() and _CAMEL_CASE.search(text) is not None
    # The same for ASCII, in a seventh of the time: few passages have such a name.
    cases = text.encode().translate(_LETTER_CASES)
    return b"A" in cases and (b"aA" in cases or b"AAa" in cases)


def _is_camel_case(word: str) -> bool:
    # Most words are ruled out by their lower case alone.
    return not (word[1:].islower() or word.isupper()) and _CAMEL_CASE.search(word) is not None


def _is_cjk(character: str) -> bool:
    return any(first <= character <= last for first, last in _CJK_RANGES)


def _bigrams(run: str) -> list[str]:
    if not _is_cjk(run[0]) or len(run) == 1:
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]


@lru_cache(maxsize=_CACHED_WORDS)
def _terms(word: str) -> tuple[_Term, ...]:
    if word == "May":  # the month; in lower case it is a verb
        return (_Term(MONTHS["may"], "#", is_value=True),)
    return tuple(map(_term, _split_token(word)))


def _term(word: str) -> _Term:
    if word in word_list("negations"):
        return _Term(word, word, is_negation=True)
    if word in ignored_words():
        return _Term(word, word)
    if word[0].isdigit() or word in MONTHS:
        return _Term(MONTHS.get(word, word), "#", is_value=True)
    stem = stem_word(word)
    return _Term(stem, stem, is_stem=True)


def _split_token(token: str) -> list[str]:
    if token[0].isdigit():
        return [_THOUSANDS.sub("", token)]
    if _is_cjk(token[0]):
        return _bigrams(token)
    if "'" in token or "’" in token:
        head, _, tail = token.replace("’", "'").lower().partition("'")
        # `don't` is a negation; anything else after an apostrophe carries no meaning.
        return [head.removesuffix("n"), "not"] if tail == "t" else [head]
    if token.islower() or token.istitle() or token.isupper():
        return [token.lower()]
    return [part.lower() for part in name_parts(token)]
