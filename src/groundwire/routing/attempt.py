"""One provider being asked: events from the first visible one on, and exactly one end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from groundwire.errors import GroundwireError, Interrupted, TimedOut
from groundwire.model import (
    Event,
    Failed,
    Finished,
    Request,
    SearchStarted,
    Started,
    UsageSeen,
    Verbatim,
    Warned,
)
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.continuation import continued
from groundwire.routing.deadline import Deadline
from groundwire.routing.engines import ENGINES
from groundwire.routing.error_policy import is_unhealthy
from groundwire.routing.health import Breaker
from groundwire.routing.search_count import SearchCounter
from groundwire.routing.signing import signed

_TERMINAL = (Finished, Failed)
_INVISIBLE = (Started, Verbatim, Warned, UsageSeen)
_NOTHING_YET = (*_INVISIBLE, SearchStarted)
"""A search of an engine that has begun has found nothing: as long as somebody else can be asked, it is not
shown."""


_SHARE = 0.5
"""Of the time that is left, what an attempt may use before its first visible event while there are others
to ask: a silent provider must leave them time to answer."""
_SHARE_OF_WHOLE = 0.75
"""The same for an answer that comes in one piece, whose first event is its last."""
_SILENT = "no answer in time"
_INCOMPLETE = "the answer was not complete in time"
_TELLING = 1.0
"""Seconds: an attempt that got less and was cut off by the deadline says nothing about the provider."""


class Attempt:
    """Errors before anything was shown are raised; later ones are told."""

    __slots__ = (
        "_breaker",
        "_cut",
        "_ended",
        "_invisible",
        "_model",
        "_probes",
        "_visible",
        "_waited",
        "last",
        "provider",
    )

    def __init__(self, provider: Provider, breaker: Breaker, *, last: bool, probes: bool) -> None:
        self.provider = provider
        self.last = last
        """Is there nobody to ask after this one?"""
        self._breaker = breaker
        self._cut = False
        """Did the deadline of the request end it before the provider had a fair chance?"""
        self._probes = probes
        self._visible = False
        self._ended = False
        self._model = ""
        self._invisible = _NOTHING_YET if provider.name in ENGINES and not last else _INVISIBLE
        self._waited = 0.0
        """Seconds until something was shown, or until the end if nothing was."""

    @property
    def is_hopeless(self) -> bool:
        """Has it failed so often that it is not asked twice?"""
        return self._breaker.is_open

    async def batches(self, request: Request, ends: float, detour: Sequence[Warned] = ()) -> Batches:
        """The answer, complete before `ends` by the loop's clock, after warnings about earlier attempts."""
        held: list[Event] = []
        began = self._breaker.now()
        self._ended = self._cut = False
        self._model = request.model
        deadline = Deadline(self._first_limit(request, ends))
        counter = SearchCounter(self.provider.capabilities, request.model or self.provider.model)
        try:
            async with aclosing(continued(self.provider, request)) as batches:
                while batch := counter.feed(await self._next(batches, deadline)):
                    if self._visible:
                        self._judge(batch)
                        yield batch
                        continue
                    self._waited = self._breaker.now() - began
                    self._judge(batch)
                    held += (self._signed(event) for event in batch)
                    self._visible = _shows(batch, self._invisible)
                    if self._visible:
                        deadline.ends = ends
                        if detour:
                            yield detour
                        yield held
        finally:
            deadline.close()
            if self._probes:
                self._breaker.release()

    def _first_limit(self, request: Request, ends: float) -> float:
        """When something must be visible: earlier than `ends` if there is another provider to ask."""
        now = asyncio.get_running_loop().time()
        early = request.stream or self.provider.name in ENGINES
        share = 1.0 if self.last else _SHARE if early else _SHARE_OF_WHOLE
        left = (ends - now) * share
        self._cut = left < _TELLING
        return now + left

    async def _next(self, batches: Batches, deadline: Deadline) -> Sequence[Event]:
        """The provider's next events, with exactly one end, whatever the provider does; then nothing."""
        error: GroundwireError | None = None
        try:
            with deadline:
                while (batch := await anext(batches, None)) is not None:
                    if told := self._to_the_end(batch):
                        return told
        except GroundwireError as failure:
            error = failure
            self._cut = False
        except TimeoutError:
            error = TimedOut(_INCOMPLETE if self._visible else _SILENT)
        if self._ended:
            return ()
        self._ended = True
        return (Failed(error or Interrupted(f"{self.provider.name} stopped without an end")),)

    def _to_the_end(self, batch: Sequence[Event]) -> Sequence[Event]:
        if self._ended:  # the provider may still have to tidy up
            return [event for event in batch if isinstance(event, Verbatim)]
        end = _end_of(batch)
        if end is None:
            return batch
        self._ended = True
        if not self._visible:
            return batch[: end + 1]  # signed with all that was held
        return [*batch[:end], self._signed(batch[end])]

    def _signed(self, event: Event) -> Event:
        # A default model is known for certain only when it answers: the provider may have had to change it.
        return signed(event, self.provider.name, self._model or self.provider.model)

    def _judge(self, batch: Sequence[Event]) -> None:
        """Note how it ended, where it did."""
        last = batch[-1]
        if isinstance(last, _TERMINAL):
            error = last.error if isinstance(last, Failed) else None
            if error is None or (is_unhealthy(error) and not self._cut):
                self._breaker.record(ok=error is None, seconds=self._waited)


def _shows(batch: Sequence[Event], invisible: tuple[type[Event], ...]) -> bool:
    """Is there something to show? An error that comes before all else is raised."""
    shown = next((event for event in batch if not isinstance(event, invisible)), None)
    if isinstance(shown, Failed):
        raise shown.error
    return shown is not None


def _end_of(batch: Sequence[Event]) -> int | None:
    """Where the terminal event stands."""
    for at, event in enumerate(batch):
        if isinstance(event, _TERMINAL):
            return at
    return None
