"""What is said beside an answer, in the reader's language: a sentence for each code, and its own words.

A code that has no sentence is of somebody else's making; its words are shown as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from groundwire.chat.questions import InvalidDomain, OutsideAgent
from groundwire.errors import GroundwireError
from groundwire.model import Answer, Warned
from groundwire.model.value import value
from groundwire.text.sanitise import one_line

Kind: TypeAlias = Literal["warning", "error", "finish"]

_WHOLE = frozenset(
    {
        *("not_live", "thin_evidence", "not_cited", "nothing_found", "estimated", "search_limit"),
        *("CLOSING", "INVALID_KEY", "NOT_FOUND", "OVERLOADED", "STALE_FORM"),
        *("SESSION_BUSY", "STORE_FAILED", "STORE_FULL", "STORE_UNAVAILABLE", "UNREADABLE_MESSAGE"),
    }
)
"""Codes whose sentence says all there is to say."""
_CUT = ("length", "filtered", "refused", "pause", "other")


@value
class Note:
    """A sentence of ours, and what was told with it."""

    sentence: str = ""
    detail: str = ""


def warning_note(warning: Warned, texts: Mapping[str, str]) -> Note:
    """Something to know of an answer."""
    return _note("warning", warning.code, warning.message, texts)


def error_note(error: GroundwireError, texts: Mapping[str, str]) -> Note:
    """Why an answer broke off, or a question was refused."""
    if isinstance(error, InvalidDomain | OutsideAgent):
        return Note(texts[f"error_{error.code}"].format(domain=one_line(error.domain)))
    return _note("error", error.code, error.message, texts)


def error_line(error: GroundwireError, texts: Mapping[str, str]) -> str:
    """Why something cannot be done, on one line."""
    note = error_note(error, texts)
    return " ".join(filter(None, (note.sentence, note.detail)))


def search_failure(code: str, texts: Mapping[str, str]) -> str:
    """Why a search failed: a sentence for the codes of the wire, and the code itself for any other."""
    return texts.get(f"search_{code}", "") or f"{texts['search_failed']} ({one_line(code)[:80]})"


def finish_note(answer: Answer, texts: Mapping[str, str]) -> Note:
    """Why a finished answer does not say everything; empty if it does."""
    if answer.error is not None or answer.finish not in (*_CUT, "stop"):
        return Note()
    if answer.finish == "stop":
        return Note() if answer.parts else Note(texts["finish_empty"])
    return _note("finish", answer.finish, answer.detail, texts)


def _note(kind: Kind, code: str, message: str, texts: Mapping[str, str]) -> Note:
    sentence = texts.get(f"{kind}_{code}", "")
    return Note(sentence, "" if sentence and code in _WHOLE else one_line(message))
