"""The few sentences that are ours, in the language of the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from groundwire.engine.compose.vocabulary import GERMAN
from groundwire.engine.compose.words import split_words

Phrase: TypeAlias = Literal["nothing", "disagreeing"]

_PHRASES: Mapping[Phrase, tuple[str, str]] = {
    "nothing": ("Nothing was found for “{query}”.", "Zu „{query}“ wurde nichts gefunden."),
    "disagreeing": ("Another page says otherwise: ", "Eine andere Seite sagt es anders: "),
}


def phrase(name: Phrase, query: str) -> str:
    """A phrase, in German for a German question, else in English."""
    english, german = _PHRASES[name]
    return german if GERMAN.intersection(split_words(query)) else english
