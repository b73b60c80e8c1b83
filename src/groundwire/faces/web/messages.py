"""Messages of warnings and errors in the visitor's language: a sentence for each code, and details.

A code without a sentence comes from a provider; its message is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from groundwire.chat.questions import InvalidDomain, OutsideAgent
from groundwire.errors import GroundwireError
from groundwire.model import Answer, Warned
from groundwire.model.value import value
from groundwire.text.sanitise import one_line

Kind: TypeAlias = Literal["warning", "error", "finish"]

_WITHOUT_DETAIL = frozenset(
    {
        *(
            "index_building",
            "not_live",
            "thin_evidence",
            "not_cited",
            "nothing_found",
            "estimated",
            "search_limit",
        ),
        *("CLOSING", "INVALID_KEY", "NOT_FOUND", "OVERLOADED", "RATE_LIMITED", "STALE_FORM"),
        *("SESSION_BUSY", "STORE_FAILED", "STORE_FULL", "STORE_UNAVAILABLE", "UNREADABLE_MESSAGE"),
    }
)
"""Codes whose sentence is complete without the message of the error."""
_INCOMPLETE = ("length", "filtered", "refused", "pause", "other")


DETAIL = "detail: "
"""Prefix of texts whose key is an English message, with `{0}`, `{1}` where it names something."""
_SLOT = re.compile(r"\\\{(\d)\\\}")


@value
class UserMessage:
    """A translated sentence, and the details, translated as far as the language has them."""

    sentence: str = ""
    detail: str = ""


def warning_message(warning: Warned, texts: Mapping[str, str]) -> UserMessage:
    """The message of a warning."""
    return _message("warning", warning.code, warning.message, texts)


def error_message(error: GroundwireError, texts: Mapping[str, str]) -> UserMessage:
    """The message of an error."""
    if isinstance(error, InvalidDomain | OutsideAgent):
        return UserMessage(texts[f"error_{error.code}"].format(domain=one_line(error.domain)))
    return _message("error", error.code, error.message, texts)


def error_line(error: GroundwireError, texts: Mapping[str, str]) -> str:
    """The message of an error, on one line."""
    message = error_message(error, texts)
    return " ".join(filter(None, (message.sentence, message.detail)))


def search_failure(code: str, texts: Mapping[str, str]) -> str:
    """Why a search failed: a sentence for known codes, and the code itself for others."""
    return texts.get(f"search_{code}", "") or f"{texts['search_failed']} ({one_line(code)[:80]})"


def finish_message(answer: Answer, texts: Mapping[str, str]) -> UserMessage:
    """Why a finished answer is incomplete; empty if it is complete."""
    if answer.error is not None or answer.finish not in (*_INCOMPLETE, "stop"):
        return UserMessage()
    if answer.finish == "stop":
        return UserMessage() if answer.parts else UserMessage(texts["finish_empty"])
    return _message("finish", answer.finish, answer.detail, texts)


def _message(kind: Kind, code: str, message: str, texts: Mapping[str, str]) -> UserMessage:
    sentence = texts.get(f"{kind}_{code}", "")
    if sentence and code in _WITHOUT_DETAIL:
        return UserMessage(sentence)
    return UserMessage(sentence, translated(one_line(message), texts))


def translated(message: str, texts: Mapping[str, str]) -> str:
    """A message of groundwire in the language of the texts; unchanged if the language does not have it, as
    the words of a provider."""
    known = tuple((key, text) for key, text in texts.items() if key.startswith(DETAIL))
    for pattern, text in _patterns(known):
        if found := pattern.fullmatch(message):
            return text.format(*(found[f"s{number}"] for number in range(len(found.groups()))))
    return message


@lru_cache
def _patterns(known: tuple[tuple[str, str], ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The messages as patterns, those with the most words of their own first."""
    ordered = sorted(known, key=lambda item: -len(_SLOT.sub("", re.escape(item[0]))))
    return tuple((re.compile(_as_pattern(key.removeprefix(DETAIL))), text) for key, text in ordered)


def _as_pattern(message: str) -> str:
    return _SLOT.sub(r"(?P<s\1>.*?)", re.escape(message))
