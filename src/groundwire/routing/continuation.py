"""A paused turn is continued by us, and the caller sees one answer.

After about ten searches Anthropic stops with `pause_turn`; the same request with the answer so far appended
goes on. Its parts and spans count from zero again and are shifted; its usage adds up. A client that is given
the provider's own bytes continues by itself.
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
from groundwire.model.value import field_names, replace
from groundwire.providers.spec import Batches, Provider

MAX_ROUNDS = 5


def with_continuation(provider: Provider, request: Request, rounds: int = MAX_ROUNDS) -> Batches:
    """The events of a turn, over as many rounds as it takes, within bounds."""
    if not provider.capabilities.pauses:
        return provider.batches(request)
    return _rounds(provider, request, rounds)


async def _rounds(provider: Provider, request: Request, rounds: int) -> Batches:
    parts = points = 0
    spent = Usage()
    pause: Finished | None = None
    warned: list[Event] = []
    for number in range(rounds):
        said: list[Event] = []
        verbatim = False
        pause = None
        async with aclosing(provider.batches(request)) as batches:
            async for batch in batches:
                said += batch
                verbatim = verbatim or any(isinstance(event, Verbatim) for event in batch)
                pause = None if verbatim else _pause(batch)
                told = [_shift(event, parts, points, spent) for event in batch if event is not pause]
                if number:
                    told = [event for event in told if not (isinstance(event, Started) or event in warned)]
                if told:
                    yield told
        if pause is None:
            return
        warned += [event for event in said if isinstance(event, Warned)]
        answer = assemble(said)
        # Not every number becomes a part of the answer: an empty text does not.
        parts += 1 + max((getattr(event, "part", -1) for event in said), default=-1)
        points += len(answer.text)
        spent = add_usage(spent, answer.usage)
        turn = Message("assistant", answer.parts, answer.citations)
        request = replace(request, messages=(*request.messages, turn), wire=None)
    limit = Warned("pause_limit", f"the provider paused {rounds} times: the answer may be incomplete")
    yield (limit, pause or Finished("pause"))


def _pause(batch: Sequence[Event]) -> Finished | None:
    last = batch[-1]
    return last if isinstance(last, Finished) and last.reason == "pause" else None


def add_usage(first: Usage, second: Usage) -> Usage:
    """Both together; what neither told stays unknown."""
    pairs = ((getattr(first, name), getattr(second, name)) for name in field_names(Usage))
    return Usage(*(None if a is None and b is None else (a or 0) + (b or 0) for a, b in pairs))


def _shift(event: Event, parts: int, points: int, spent: Usage) -> Event:
    if isinstance(event, UsageSeen):
        return UsageSeen(add_usage(spent, event.usage))
    if isinstance(event, Cited):
        span = event.citation.span
        if span is None or not points:
            return event
        return Cited(replace(event.citation, span=Span(span.start + points, span.end + points)))
    number = getattr(event, "part", None)
    return event if number is None or not parts else replace(event, part=number + parts)
