"""Batches of events, and the fast path that content takes once an answer has begun.

Text that arrives together is one event (`join_texts`): every layer and every client handles each event, and a
burst of a hundred deltas says no more than one long delta.

Until the first visible event a request may fail over to another provider, so its events go through every
layer. After it nearly all that arrives is content that no layer changes. `FastPath` takes such content from
the provider's connection to the client's in one call, without waking a task. Everything else (citations,
usage, warnings, errors, the end), and content that the client cannot take at the moment, goes through the
layers as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from groundwire.model.events import Event, ReasoningDelta, TextDelta, Usage
from groundwire.model.parts import Phase

_CONTENT = frozenset({TextDelta, ReasoningDelta})

LONG_TEXT = 4096
"""Characters after which a text is not extended: some clients read lines of up to 64 KB."""


class FastPath:
    """Connects the reader of a response with the writer of another one.

    Both functions return False if they cannot take the content now; then it must go through the layers.
    """

    __slots__ = ("usage_so_far", "write_bytes", "write_events")

    def __init__(self) -> None:
        self.write_events: Callable[[Sequence[Event]], bool] | None = None
        """Takes events that `is_content` allows."""
        self.write_bytes: Callable[[bytes], bool] | None = None
        """Takes verbatim bytes of content."""
        self.usage_so_far: Callable[[], Usage | None] | None = None
        """The usage that the provider has reported, where it is not emitted before the end."""


class OpeningBatch(list[Event]):
    """A batch after which content may take the fast path.

    A layer that only looks at other events than content passes it on, or attaches the path to a changed batch
    (`with_path_of`). A layer that changes or collects content builds a plain list, and thereby refuses.
    """

    __slots__ = ("fast_path",)

    def __init__(self, events: Iterable[Event], fast_path: FastPath) -> None:
        super().__init__(events)
        self.fast_path = fast_path


def with_path_of(batch: Sequence[Event], events: Sequence[Event]) -> Sequence[Event]:
    """The events, with the fast path of a batch if it has one."""
    return OpeningBatch(events, batch.fast_path) if isinstance(batch, OpeningBatch) else events


def is_content(events: Sequence[Event]) -> bool:
    """Are these events nothing but content, which every layer passes on unchanged?"""
    for event in events:  # noqa: SIM110  a generator would cost more than the check
        if type(event) not in _CONTENT:
            return False
    return True


class TextRun(NamedTuple):
    """Texts of several text deltas of one part."""

    part: int
    texts: list[str]
    phase: Phase = ""


def join_texts(events: Sequence[Event | TextRun], limit: int = LONG_TEXT) -> list[Event]:
    """The events, with consecutive deltas of a text or reasoning part as one event of up to `limit`
    characters."""
    joiner = _TextJoiner(limit)
    for event in events:
        if isinstance(event, TextRun):
            joiner.extend(event)
        elif isinstance(event, TextDelta):
            joiner.extend(TextRun(event.part, [event.text], event.phase))
        elif isinstance(event, ReasoningDelta):
            joiner.extend(TextRun(event.part, [event.text]), is_reasoning=True)
        else:
            joiner.flush()
            joiner.joined.append(event)
    joiner.flush()
    return joiner.joined


class _TextJoiner:
    """Joins texts up to a length."""

    __slots__ = ("_is_reasoning", "_length", "_limit", "_part", "_phase", "_texts", "joined")

    def __init__(self, limit: int) -> None:
        self.joined: list[Event] = []
        self._limit = limit
        self._is_reasoning = False
        self._part = self._length = 0
        self._phase: Phase = ""
        self._texts: list[str] = []

    def extend(self, run: TextRun, *, is_reasoning: bool = False) -> None:
        """Add texts of a part."""
        part, texts, phase = run
        if part != self._part or phase != self._phase or is_reasoning is not self._is_reasoning:
            self.flush()
            self._part, self._phase, self._is_reasoning = part, phase, is_reasoning
        added = sum(map(len, texts))
        if self._length + added <= self._limit:
            self._texts += texts
            self._length += added
            return
        for text in texts:
            if self._length + len(text) > self._limit:
                self.flush()
            self._texts.append(text)
            self._length += len(text)

    def flush(self) -> None:
        """Add the event of the texts so far."""
        if not self._texts:
            return
        text = "".join(self._texts)
        self.joined.append(
            ReasoningDelta(self._part, text)
            if self._is_reasoning
            else TextDelta(self._part, text, self._phase)
        )
        self._texts.clear()
        self._length = 0
