"""What became of an answer."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.errors import GroundwireError, Interrupted
from groundwire.model import NOTHING_FOUND, Answer
from groundwire.store.base import UNREADABLE_MESSAGE

State: TypeAlias = Literal["running", "done", "stopped", "interrupted", "failed"]

STOPPED = "STOPPED"


def state_of(answer: Answer) -> State:
    """Running, done, or how it broke off."""
    if answer.error is None:
        return "running" if answer.finish is None else "done"
    if answer.error.code == STOPPED:
        return "stopped"
    return "interrupted" if isinstance(answer.error, Interrupted) else "failed"


def is_finished(answer: Answer) -> bool:
    """Was everything said?"""
    return state_of(answer) == "done"


def is_unreadable(answer: Answer) -> bool:
    """Does it stand for a damaged row of the store?"""
    return answer.error is not None and answer.error.code == UNREADABLE_MESSAGE


def is_ungrounded(answer: Answer, *, searched: bool) -> bool:
    """Was the web to be searched, and does nothing in the answer lean on a source?"""
    said = bool(answer.text.strip()) and answer.detail != NOTHING_FOUND
    return searched and said and is_finished(answer) and not answer.grounded


def stopped() -> GroundwireError:
    """The reader had enough."""
    error = Interrupted("the answer was stopped")
    error.code = STOPPED
    return error


def lost() -> GroundwireError:
    """Whoever was writing the answer is no more."""
    return Interrupted("the server ended before the answer did")
