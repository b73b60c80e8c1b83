"""Continuation of paused turns: the caller sees one answer.

After about ten searches Anthropic stops with `pause_turn`; the same request with the answer so far appended
continues it. Parts and spans of the next round count from zero again and are shifted; usage is added up. A
client that receives the provider's own bytes continues by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from groundwire.model import (
    Cited,
    Event,
    Finished,
    Message,
    Request,
    Span,
    Started,
    Usage,
    UsageSeen,
    Verbatim,
    Warned,
    assemble,
)
from groundwire.model.batch import FastPath, OpeningBatch
from groundwire.model.value import field_names, replace
from groundwire.providers.spec import Batches, Provider

MAX_ROUNDS = 5


def with_continuation(provider: Provider, request: Request, rounds: int = MAX_ROUNDS) -> Batches:
    """The events of a turn, over at most `rounds` requests."""
    if not provider.capabilities.pauses:
        return provider.batches(request)
    return _rounds(provider, request, rounds)


async def _rounds(provider: Provider, request: Request, rounds: int) -> Batches:
    parts = offset = 0
    used = Usage()
    pause: Finished | None = None
    warned: list[Event] = []
    path: FastPath | None = None
    for number in range(rounds):
        received: list[Event] = []
        verbatim = False
        pause = None
        async with aclosing(provider.batches(request)) as batches:
            async for batch in batches:
                received += batch
                verbatim = verbatim or any(isinstance(event, Verbatim) for event in batch)
                pause = None if verbatim else _pause(batch)
                shifted = [_shift(event, parts, offset, used) for event in batch if event is not pause]
                if number:
                    shifted = [
                        event for event in shifted if not (isinstance(event, Started) or event in warned)
                    ]
                if path is None and isinstance(batch, OpeningBatch):
                    path = batch.fast_path if verbatim else _recorded_path(batch.fast_path, received)
                if shifted:
                    yield OpeningBatch(shifted, path) if path and not number else shifted
        if pause is None:
            return
        warned += [event for event in received if isinstance(event, Warned)]
        answer = assemble(received)
        # Not every part number becomes a part of the answer: an empty text does not.
        parts += 1 + max((getattr(event, "part", -1) for event in received), default=-1)
        offset += len(answer.text)
        used = add_usage(used, answer.usage)
        turn = Message("assistant", answer.parts, answer.citations)
        request = replace(request, messages=(*request.messages, turn), wire=None)
    limit = Warned("pause_limit", f"the provider paused {rounds} times: the answer may be incomplete")
    yield (limit, pause or Finished("pause"))


def _recorded_path(inner: FastPath, received: list[Event]) -> FastPath:
    """A fast path whose content is recorded, because it is part of the next request if the turn pauses."""
    outer = FastPath()

    def write(events: Sequence[Event]) -> bool:
        if outer.write_events is None or not outer.write_events(events):
            return False
        received.extend(events)
        return True

    inner.write_events = write
    return outer


def _pause(batch: Sequence[Event]) -> Finished | None:
    last = batch[-1]
    return last if isinstance(last, Finished) and last.reason == "pause" else None


def add_usage(first: Usage, second: Usage) -> Usage:
    """The sum of both; a field that neither has stays None."""
    pairs = ((getattr(first, name), getattr(second, name)) for name in field_names(Usage))
    return Usage(*(None if a is None and b is None else (a or 0) + (b or 0) for a, b in pairs))


def _shift(event: Event, parts: int, offset: int, used: Usage) -> Event:
    if isinstance(event, UsageSeen):
        return UsageSeen(add_usage(used, event.usage))
    if isinstance(event, Cited):
        span = event.citation.span
        if span is None or not offset:
            return event
        return Cited(replace(event.citation, span=Span(span.start + offset, span.end + offset)))
    number = getattr(event, "part", None)
    return event if number is None or not parts else replace(event, part=number + parts)
