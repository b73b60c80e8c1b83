"""Batches of events, and the fast path that content takes once an answer has begun.

Until the first visible event a request may fail over to another provider, so its events go through every
layer. After it nearly all that arrives is content that no layer changes. `FastPath` takes such content from
the provider's connection to the client's in one call, without waking a task. Everything else (citations,
usage, warnings, errors, the end), and content that the client cannot take at the moment, goes through the
layers as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from groundwire.model.events import Event, ReasoningDelta, TextDelta, Usage

_CONTENT = frozenset({TextDelta, ReasoningDelta})


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
