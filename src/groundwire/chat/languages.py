"""Texts by language."""

from __future__ import annotations

from groundwire.store.base import Texts

LANGUAGES = ("en", "de")


def pick(texts: Texts, language: str) -> str:
    """The text in a language, else in English, else in any."""
    for name in (language, "en", *texts):
        if text := texts.get(name, ""):
            return text
    return ""


def preferred(header: str) -> str:
    """The language an `Accept-Language` header asks for, of those we speak."""
    best, weight = LANGUAGES[0], 0.0
    for entry in header[:1000].split(","):
        tag, _, parameter = entry.strip().partition(";")
        name = tag.strip().lower().partition("-")[0]
        quality = _quality(parameter)
        if name in LANGUAGES and quality > weight:
            best, weight = name, quality
    return best


def _quality(parameter: str) -> float:
    name, _, number = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(max(float(number), 0.0), 1.0)
    except ValueError:
        return 0.0
