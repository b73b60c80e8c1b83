"""One provider being asked: events from the first visible one on, and exactly one end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from types import TracebackType

from groundwire.errors import GroundwireError, Interrupted, TimedOut
from groundwire.model import (
    Cited,
    Event,
    Failed,
    Finished,
    Request,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    Usage,
    UsageSeen,
    Verbatim,
    Warned,
)
from groundwire.model.extras import Extras, merge_extras
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.continuation import with_continuation
from groundwire.routing.error_policy import is_unhealthy
from groundwire.routing.health import Breaker


class Deadline:
    """Interrupts the task inside its block when the time is up; the block then raises `TimeoutError`.

    As `asyncio.timeout`, but the block can be entered once for every batch of a stream, by different tasks,
    and the limit can be moved meanwhile: one timer serves the whole stream, set again only when it fires.
    """

    __slots__ = ("_cancelling", "_expired", "_loop", "_task", "_timer", "ends")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        """By the clock of the event loop."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._expired = False

    @property
    def is_over(self) -> bool:
        return self._loop.time() >= self.ends

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        if self.is_over:
            raise TimeoutError
        task = self._task = asyncio.current_task()
        self._cancelling = task.cancelling() if task is not None else 0
        if self._timer is None or self._timer.when() > self.ends:
            self._set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        self._expired = False
        # A task that was also cancelled from outside stays cancelled.
        if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _set(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self.ends, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if not self.is_over:
            self._set()
        elif self._task is not None:
            self._expired = True
            self._task.cancel()


_TERMINAL = (Finished, Failed)
_WATCHED = frozenset({Started, UsageSeen, SearchCalled, SearchReturned, Cited, Finished, Failed})


class SearchCounter:
    """Watches the events of one answer, and adds the number of searches to its usage before its end."""

    __slots__ = ("_calls", "_capabilities", "_found", "_model", "_queries", "_usage")

    def __init__(self, capabilities: Capabilities, model: str) -> None:
        self._capabilities = capabilities
        self._model = model
        self._usage = Usage()
        self._calls: set[str] = set()
        self._queries: set[str] = set()
        self._found = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The same events; one more where the answer ends and its searches were not counted."""
        for place, event in enumerate(batch):
            if type(event) not in _WATCHED:
                continue
            if isinstance(event, _TERMINAL):
                usage = self._complete_usage()
                return batch if usage is None else [*batch[:place], UsageSeen(usage), *batch[place:]]
            self._note(event)
        return batch

    def _note(self, event: Event) -> None:
        match event:
            case Started(model=model) if model:
                self._model = model  # an alias is billed as the model that it leads to
            case UsageSeen(usage):
                self._usage = usage
            case SearchCalled(call=call) if call.kind == "search":
                self._calls.add(call.id)
                self._queries.update(query for text in call.queries if (query := text.strip()))
            case SearchReturned(result=result):
                self._found = self._found or any(source.url for source in result.sources)
            case Cited(citation):
                self._found = self._found or any(item.source.url for item in citation.evidence)

    def _complete_usage(self) -> Usage | None:
        if self._usage.searches is not None:
            return None
        match self._capabilities.billing_for(self._model):
            case "prompt":
                count = int(self._found)
            case "query":
                # A search that reports pages and no query was made all the same.
                count = len(self._queries) or int(bool(self._calls) and self._found)
            case "call":
                count = len(self._calls)
        return replace(self._usage, searches=count) if count else None


def attributed(event: Event, provider: str, model: str) -> Event:
    """The event; a start with the provider's name, an end with `extras["groundwire"]`."""
    if isinstance(event, Started):
        return replace(event, provider=provider)
    if isinstance(event, Finished):
        signature: Extras = {"groundwire": {"provider": provider, "model": model}}
        return replace(event, extras=merge_extras(event.extras, signature))
    return event


_ENDS = (Finished, Failed)
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
        self._invisible = _NOTHING_YET if _is_engine(provider) and not last else _INVISIBLE
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
            async with aclosing(with_continuation(self.provider, request)) as batches:
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
        early = request.stream or _is_engine(self.provider)
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
        return attributed(event, self.provider.name, self._model or self.provider.model)

    def _judge(self, batch: Sequence[Event]) -> None:
        """Note how it ended, where it did."""
        last = batch[-1]
        if isinstance(last, _ENDS):
            error = last.error if isinstance(last, Failed) else None
            if error is None or (is_unhealthy(error) and not self._cut):
                self._breaker.record(ok=error is None, seconds=self._waited)


def _is_engine(provider: Provider) -> bool:
    return provider.capabilities.kind == "engine"


def _shows(batch: Sequence[Event], invisible: tuple[type[Event], ...]) -> bool:
    """Is there something to show? An error that comes before all else is raised."""
    shown = next((event for event in batch if not isinstance(event, invisible)), None)
    if isinstance(shown, Failed):
        raise shown.error
    return shown is not None


def _end_of(batch: Sequence[Event]) -> int | None:
    """Where the terminal event stands."""
    for at, event in enumerate(batch):
        if isinstance(event, _ENDS):
            return at
    return None
