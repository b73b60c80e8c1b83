"""Long sessions, a window at a time: the last few questions with their answers, or those from a turn on.

A question and its answer have numbers that follow each other, and the first question has number 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from groundwire.chat.answers import is_unreadable
from groundwire.model import Message
from groundwire.model.value import value
from groundwire.store.base import StoredMessage

LAST = 5
"""Questions that are shown at first: as few as fill a screen."""
SIZE = 20
"""Questions of every other window."""


class Reach(NamedTuple):
    """Which turns are to be read: the last so many before a number, or of all if it is 0."""

    until: int
    limit: int


@value
class Window:
    """What is shown of a session, and the numbers with which its neighbours begin; 0 where there is none."""

    turns: tuple[StoredMessage, ...]
    earlier: int = 0
    later: int = 0


def reach_of(at: str) -> Reach:
    """What must be read for the window that begins with a turn, or for the last one. One more on each side:
    an answer needs its question, and whether anything follows is seen by it."""
    number = int(at) if at.isascii() and at.isdecimal() and len(at) < 10 else 0
    return Reach(number + 2 * SIZE + 1, 2 * SIZE + 2) if number else Reach(0, 2 * LAST)


def window_of(turns: Sequence[StoredMessage], reach: Reach) -> Window:
    """The window out of what was read."""
    most = 2 * SIZE if reach.until else 2 * LAST
    first = next((place for place, turn in enumerate(turns) if _begins(turn, reach)), 0)
    shown = tuple(turns[first : first + most])
    number = shown[0].number if shown else 0
    later = turns[first + most].number if len(turns) > first + most else 0
    return Window(shown, max(1, number - 2 * SIZE) if number > 1 else 0, later)


def _begins(turn: StoredMessage, reach: Reach) -> bool:
    content = turn.content
    # A damaged row does not say what it was; questions have odd numbers.
    damaged = not isinstance(content, Message) and is_unreadable(content) and turn.number % 2 == 1
    return (isinstance(content, Message) or damaged) and turn.number >= reach.until - reach.limit
