"""A paused turn is continued by us, and the caller sees one answer.

After about ten searches Anthropic stops with `pause_turn`; the same request with the answer so far appended
goes on. Its parts and spans count from zero again and are shifted; its usage adds up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from groundwire.model import (
    Assembler,
    Cited,
    Event,
    Finished,
    Message,
    Request,
    Span,
    Started,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.model.value import field_names, replace
from groundwire.providers.base import Provider

MAX_ROUNDS = 5


async def continued(
    provider: Provider, request: Request, rounds: int = MAX_ROUNDS
) -> AsyncGenerator[Event, None]:
    """The events of a turn, over as many rounds as it takes, within bounds."""
    parts = points = 0
    spent = Usage()
    pause: Finished | None = None
    warned: list[Event] = []
    for number in range(rounds):
        assembler = Assembler()
        pause = None
        highest = -1
        async with aclosing(provider.events(request)) as events:
            async for event in events:
                assembler.feed(event)
                # Not every number becomes a part of the answer: an empty text does not.
                highest = max(highest, getattr(event, "part", -1))
                if isinstance(event, Finished) and event.reason == "pause":
                    pause = event
                elif not number or not (isinstance(event, Started) or event in warned):
                    yield _shift(event, parts, points, spent)
                if isinstance(event, Warned):
                    warned.append(event)
        if pause is None:
            return
        answer = assembler.answer()
        parts += highest + 1
        points += len(answer.text)
        spent = add_usage(spent, answer.usage)
        request = replace(
            request, messages=(*request.messages, Message("assistant", answer.parts, answer.citations))
        )
    yield Warned("pause_limit", f"the provider paused {rounds} times: the answer may be incomplete")
    yield pause or Finished("pause")


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
