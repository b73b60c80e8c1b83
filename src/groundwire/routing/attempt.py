"""One attempt at one provider: deadline, search count, attribution, circuit breaker, exactly one end.

Events are held back until the first visible one, because until then another provider can be tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from groundwire.errors import GroundwireError, Interrupted, TimedOut
from groundwire.model import (
    NOTHING_FOUND,
    Cited,
    Event,
    Failed,
    Finished,
    JsonObject,
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
from groundwire.model.batch import with_path_of
from groundwire.model.events import NO_USAGE
from groundwire.model.extras import merge_extras
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.continuation import with_continuation
from groundwire.routing.error_policy import is_unhealthy
from groundwire.routing.health import Breaker
from groundwire.routing.observe import CANCELLED, AttemptObserver, AttemptResult
from groundwire.transport.deadline import Deadline

_ENDS = (Finished, Failed)
_END_TYPES = frozenset(_ENDS)
_COUNTED = frozenset({Started, UsageSeen, SearchCalled, SearchReturned, Cited, Finished, Failed})


class SearchCounter:
    """Counts the searches of one answer for providers that do not report them, by their billing rule."""

    __slots__ = ("_calls", "_capabilities", "_found", "_model", "_queries", "_usage", "has_citations")

    def __init__(self, capabilities: Capabilities, model: str) -> None:
        self._capabilities = capabilities
        self._model = model
        self._usage = NO_USAGE
        self._calls: set[str] = set()
        self._queries: set[str] = set()
        self._found = False
        self.has_citations = False

    @property
    def model(self) -> str:
        """The model that the provider reports; until then the requested one."""
        return self._model

    @property
    def usage(self) -> Usage:
        """The usage so far, with the searches counted."""
        return self.completed_usage() or self._usage

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The same events, with the completed usage before the end if the provider did not count searches."""
        for index, event in enumerate(batch):
            if type(event) not in _COUNTED:
                continue
            if isinstance(event, _ENDS):
                usage = self.completed_usage()
                return batch if usage is None else [*batch[:index], UsageSeen(usage), *batch[index:]]
            self._count(event)
        return batch

    def _count(self, event: Event) -> None:
        match event:
            case Started(model=model) if model:
                self._model = model  # an alias is billed as the model it resolves to
            case UsageSeen(usage):
                self._usage = usage
            case SearchCalled(call=call) if call.kind == "search":
                self._calls.add(call.id)
                self._queries.update(query for text in call.queries if (query := text.strip()))
            case SearchReturned(result=result):
                self._found = self._found or any(source.url for source in result.sources)
            case Cited(citation):
                self.has_citations = True
                self._found = self._found or any(item.source.url for item in citation.evidence)

    def completed_usage(self) -> Usage | None:
        """The usage with the searches so far; None if the provider counts them, or there are none."""
        if self._usage.searches is not None:
            return None
        match self._capabilities.billing_for(self._model):
            case "prompt":
                count = int(self._found)
            case "query":
                # A search that reports pages but no query counts as one.
                count = len(self._queries) or int(bool(self._calls) and self._found)
            case "call":
                count = len(self._calls)
        return replace(self._usage, searches=count) if count else None


def attributed(event: Event, provider: str, model: str, *, ungrounded: bool = False) -> Event:
    """The event with its origin: provider in `Started`, provider and model in the extras of `Finished`.

    The latter also say `grounded: false` of an answer without citations that was to search the web.
    """
    if isinstance(event, Started):
        return replace(event, provider=provider)
    if isinstance(event, Finished):
        own: JsonObject = {"provider": provider, "model": model}
        if ungrounded and event.reason in _ANSWERED and event.detail != NOTHING_FOUND:
            own["grounded"] = False
        return replace(event, extras=merge_extras(event.extras, {"groundwire": own}))
    return event


_ANSWERED = frozenset({"stop", "length", "other"})
"""The ends of answers that should have sources."""


_ATTRIBUTED = frozenset({Started, Finished})
_INVISIBLE = (Started, Verbatim, Warned, UsageSeen)
_INVISIBLE_OF_ENGINES = (*_INVISIBLE, SearchStarted)
"""A search that an engine has started has found nothing yet: it is held back while another provider can be
tried."""
_SHARE = 0.5
"""The share of the remaining time that an attempt may use before its first visible event, while there are
other targets: a provider that does not respond must leave them time to answer."""
_SHARE_UNSTREAMED = 0.75
"""The same for a response that is not streamed, whose first event arrives with its last."""
_NO_ANSWER = "no answer in time"
_INCOMPLETE = "the answer was not complete in time"
_FAIR_CHANCE = 1.0
"""Seconds: an attempt that had less time before the deadline is not recorded against the provider."""


class Attempt:
    """Raises errors before the first visible event; a later error is a `Failed` event."""

    __slots__ = (
        "_breaker",
        "_counter",
        "_cut",
        "_end",
        "_ended",
        "_invisible",
        "_is_engine",
        "_may_be_grounded",
        "_model",
        "_observe",
        "_probes",
        "_visible",
        "_waited",
        "last",
        "provider",
    )

    def __init__(
        self,
        provider: Provider,
        breaker: Breaker,
        *,
        last: bool,
        probes: bool,
        observe: AttemptObserver | None = None,
    ) -> None:
        self.provider = provider
        self._observe = observe
        self._end: Event | None = None
        """The event that ended the answer."""
        self.last = last
        """Is this the last target of the plan?"""
        self._breaker = breaker
        self._cut = False
        """Did the deadline end the attempt before the provider had a fair chance?"""
        self._probes = probes
        self._visible = False
        self._ended = False
        self._counter: SearchCounter | None = None
        self._may_be_grounded = True
        """Was no search requested, or are citations not read because the answer is passed through?"""
        self._model = ""
        self._is_engine = provider.capabilities.kind == "engine"
        self._invisible = _INVISIBLE_OF_ENGINES if self._is_engine and not last else _INVISIBLE
        self._waited = 0.0
        """Seconds until the first visible event, or until the end if there was none."""

    @property
    def is_circuit_open(self) -> bool:
        """Has the provider failed so often that it is not retried?"""
        return self._breaker.is_open

    async def batches(self, request: Request, ends: float, warnings: Sequence[Warned] = ()) -> Batches:
        """The answer, complete before `ends` (event loop time), after the warnings about earlier attempts."""
        held: list[Event] = []
        began = self._breaker.now()
        self._ended = self._cut = False
        self._end = None
        self._model = request.model
        deadline = Deadline(self._first_event_limit(request, ends))
        counter = SearchCounter(self.provider.capabilities, request.model or self.provider.model)
        self._counter = counter
        self._may_be_grounded = request.search is None
        report_end = self._observe(self.provider, request) if self._observe is not None else None
        batches = with_continuation(self.provider, request)
        try:
            try:
                while batch := counter.feed(await self._next(batches, deadline)):
                    if self._visible:
                        self._record_end(batch)
                        yield batch
                        continue
                    self._waited = self._breaker.now() - began
                    self._record_end(batch)
                    self._may_be_grounded = self._may_be_grounded or _is_verbatim(batch)
                    held += [
                        self._attributed(event) if type(event) in _ATTRIBUTED else event for event in batch
                    ]
                    self._visible = _has_visible(batch, self._invisible)
                    if self._visible:
                        deadline.ends = ends
                        if warnings:
                            yield warnings
                        yield with_path_of(batch, held)
            finally:
                await batches.aclose()
        finally:
            deadline.close()
            if self._probes:
                self._breaker.release()
            if report_end is not None:
                report_end(self._result(counter))

    def _first_event_limit(self, request: Request, ends: float) -> float:
        """When the first visible event is due: before `ends` if there is another target to try."""
        now = asyncio.get_running_loop().time()
        early = request.stream or self._is_engine
        share = 1.0 if self.last else _SHARE if early else _SHARE_UNSTREAMED
        left = (ends - now) * share
        self._cut = left < _FAIR_CHANCE
        return now + left

    async def _next(self, batches: Batches, deadline: Deadline) -> Sequence[Event]:
        """The provider's next batch, with exactly one end whatever the provider does; empty after it."""
        error: GroundwireError | None = None
        try:
            with deadline:
                while (batch := await anext(batches, None)) is not None:
                    if kept := self._up_to_end(batch):
                        return kept
        except GroundwireError as failure:
            error = failure
            self._cut = False
        except TimeoutError:
            error = TimedOut(_INCOMPLETE if self._visible else _NO_ANSWER)
        if self._ended:
            return ()
        self._ended = True
        return (Failed(error or Interrupted(f"{self.provider.name} stopped without an end")),)

    def _up_to_end(self, batch: Sequence[Event]) -> Sequence[Event]:
        if self._ended:  # the provider may still clean up
            return [event for event in batch if isinstance(event, Verbatim)]
        end = _end_of(batch)
        if end is None:
            return batch
        self._ended = True
        if not self._visible:
            return batch[: end + 1]  # attributed with the events that were held back
        return [*batch[:end], self._attributed(batch[end], batch)]

    def _attributed(self, event: Event, batch: Sequence[Event] = ()) -> Event:
        """The event with its origin. `batch` is one whose citations are not counted yet."""
        if type(event) not in _ATTRIBUTED:
            return event
        # The default model is certain only now: the provider may have replaced a retired one.
        counted = self._counter is not None and self._counter.has_citations
        cited = counted or Cited in map(type, batch)
        return attributed(
            event,
            self.provider.name,
            self._model or self.provider.model,
            ungrounded=not cited and not self._may_be_grounded,
        )

    def _result(self, counter: SearchCounter) -> AttemptResult:
        end = self._end
        error = "" if isinstance(end, Finished) else end.error.code if isinstance(end, Failed) else CANCELLED
        return AttemptResult(
            counter.model,
            counter.usage,
            end.reason if isinstance(end, Finished) else "",
            error,
            self._waited if self._visible else None,
        )

    def _record_end(self, batch: Sequence[Event]) -> None:
        """Report the outcome to the circuit breaker, if this batch ends the answer."""
        last = batch[-1]
        if isinstance(last, _ENDS):
            self._end = last
            error = last.error if isinstance(last, Failed) else None
            if error is None or (is_unhealthy(error) and not self._cut):
                self._breaker.record(ok=error is None, seconds=self._waited)


def _is_verbatim(batch: Sequence[Event]) -> bool:
    return Verbatim in map(type, batch)


def _has_visible(batch: Sequence[Event], invisible: tuple[type[Event], ...]) -> bool:
    """Is there a visible event? Raises an error that precedes one."""
    first = next((event for event in batch if not isinstance(event, invisible)), None)
    if isinstance(first, Failed):
        raise first.error
    return first is not None


def _end_of(batch: Sequence[Event]) -> int | None:
    """The index of the terminal event."""
    for index, event in enumerate(batch):
        if type(event) in _END_TYPES:
            return index
    return None
