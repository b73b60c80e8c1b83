"""Misspells questions as typing does: random edits with a fixed seed, so that every run has the same ones."""

from __future__ import annotations

import random
import re

from groundwire.engine.words import stop_words

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[A-Za-z]{4,}")
_SHARE = 0.4
"""Share of the content words that are misspelt; at least one of a question."""


def misspelt(question: str, seed: int = 0) -> str:
    """The question with errors in some of its content words."""
    random_source = random.Random(f"{seed}:{question}")
    words = [match for match in _WORD.finditer(question) if match[0].lower() not in stop_words()]
    if not words:
        return question
    chosen = [word for word in words if random_source.random() < _SHARE] or [random_source.choice(words)]
    text = question
    for match in reversed(chosen):
        text = text[: match.start()] + _edited(match[0], random_source) + text[match.end() :]
    return text


def _edited(word: str, random_source: random.Random) -> str:
    """The word with one error; the first letter is seldom wrong."""
    at = random_source.randrange(0 if random_source.random() < 0.1 else 1, len(word))
    letter = word[at]
    kind = random_source.choice(("missing", "swapped", "swapped", "doubled", "neighbour", "extra", "missing"))
    if kind == "swapped" and at + 1 < len(word) and word[at + 1] != letter:
        return word[:at] + word[at + 1] + letter + word[at + 2 :]
    if kind == "doubled":
        return word[:at] + letter + word[at:]
    if kind == "neighbour":
        return word[:at] + _neighbour(letter, random_source) + word[at + 1 :]
    if kind == "extra":
        return word[:at] + _neighbour(letter, random_source) + word[at:]
    return word[:at] + word[at + 1 :]


def _neighbour(letter: str, random_source: random.Random) -> str:
    """A letter next to it on the keyboard."""
    row = next((row for row in _ROWS if letter.lower() in row), "")
    at = row.find(letter.lower())
    near = [row[other] for other in (at - 1, at + 1) if 0 <= other < len(row)]
    return random_source.choice(near) if near else letter
