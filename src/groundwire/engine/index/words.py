"""What words mean to an index: which carry no weight, which names they are made of, whose language they are.

Pure: nothing here knows how passages are kept.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import unquote

_ENGLISH = """
    a about after all also am an and any are as at be because been before being between both but by can
    cannot could did do does doing down during each for from further had has have having he her here
    hers him his how i if in into is it its itself just let me more most my no nor not now of off on
    once only or other our out over own s same she should so some such t than that the their them then
    there these they this those through to too under until up us very was we were what when where which
    while who whom whose why will with would you your please tell explain describe mean means
"""
_GERMAN = """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann
    das dass daß dein deine dem den der des deshalb die dies diese diesem diesen dieser dieses doch dort
    du durch ein eine einem einen einer eines er es etwas euch für hat hatte hatten hier ich ihm ihn
    ihnen ihr ihre im in ins ist ja jede jedem jeden jeder jedes kann kannst kein keine können könnte
    man mein meine mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind
    so soll über um und uns unter vom von vor wann war waren warum was weil welche welchem welchen
    welcher welches wenn wer werde werden wie wieder will wir wird wo wurde wurden zu zum zur zwischen
    bitte erkläre
"""

STOP_WORDS = {"en": frozenset(_ENGLISH.split()), "de": frozenset(_GERMAN.split())}
ANY_STOP_WORD = STOP_WORDS["en"] | STOP_WORDS["de"]
_SHARED = STOP_WORDS["en"] & STOP_WORDS["de"]

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\b[^\W\d]\w*(?:\.\w+)*")
# Begins with capitals in either case: texts have few, and between them nothing is tried.
_HUMPED = re.compile(r"[A-ZÀ-Þ](?:(?<=[a-zß-ÿ].)|[A-ZÀ-Þ][a-zß-ÿ])")
_HUMP = re.compile(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+|\d+|[^\W\d_]+")
_ADDRESS_PART = re.compile(r"^[a-z+]+://[^/]*|\.(?:html?|php|aspx?|md|rst|txt|pdf)(?=$|[?#])|[?&]\w+=")
_GUESSED_FROM = 3000


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, in order."""
    return _WORD.findall(text.casefold())


def is_stop_word(word: str) -> bool:
    """Does this word, in lower case, carry no weight in a question?"""
    return word in ANY_STOP_WORD


def names_in(text: str) -> list[str]:
    """The names of code in a text: dotted, in snake case or in camel case."""
    return [name for name in _NAME.findall(text) if "." in name or "_" in name or _is_humped(name)]


def name_parts(name: str) -> list[str]:
    """A name taken apart at dots, underscores and humps: `JSONDecoder.raw_decode` is four words."""
    return _HUMP.findall(name)


def split_names(text: str) -> str:
    """The parts of the camel-case names in a text; dots and underscores part words anyway."""
    if not _HUMPED.search(text):
        return ""
    return " ".join(part for word in _WORD.findall(text) if _is_humped(word) for part in name_parts(word))


def dotted_names(text: str) -> list[str]:
    """The dotted names in a text in lower case, each as one word: `json.dumps`."""
    return [name.casefold() for name in _NAME.findall(text) if "." in name] if "." in text else []


def address_words(url: str) -> str:
    """The path, the query and the fragment of an address as words."""
    rest = unquote(_ADDRESS_PART.sub(" ", url))
    return " ".join(part for word in re.findall(r"\w+", rest) for part in (word, *_humps(word)))


def guessed_language(text: str) -> str:
    """`en` or `de` by the stop words of the first page or so; empty where they do not tell."""
    words = plain_words(text[:_GUESSED_FROM])
    counts = {
        code: sum(word in stop and word not in _SHARED for word in words) for code, stop in STOP_WORDS.items()
    }
    best = max(counts, key=lambda code: counts[code])
    others = sum(counts.values()) - counts[best]
    return best if counts[best] > 2 * others and counts[best] * 20 >= len(words) else ""


def fingerprint(text: str) -> int:
    """Equal for texts of the same words, however they are set; fits a signed 64-bit integer."""
    digest = blake2b(" ".join(plain_words(text)).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _is_humped(word: str) -> bool:
    """Is it in camel case? Most words are told from that by their small letters alone."""
    return not (word[1:].islower() or word.isupper()) and _HUMPED.search(word) is not None


def _humps(word: str) -> list[str]:
    parts = name_parts(word)
    return parts if len(parts) > 1 else []
