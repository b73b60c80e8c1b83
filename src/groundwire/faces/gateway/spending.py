"""Costs for clients that cannot do without them.

The AI SDK (OpenCode) takes a `response.completed` without `usage` for no end at all: it asks again, and
again. Where nothing was counted, nought is told.
"""

from __future__ import annotations

from contextlib import aclosing

from groundwire.faces.gateway.handler import Batches
from groundwire.model import Event, Finished, Usage, UsageSeen, Verbatim
from groundwire.model.value import replace


async def counted(batches: Batches) -> Batches:
    """The answer, with a count of tokens before its end."""
    usage, known = Usage(), False
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                usage = event.usage if isinstance(event, UsageSeen) else usage
                known = known or isinstance(event, Verbatim)
            if known or usage.input_tokens is not None:
                yield batch
            else:
                yield [told for event in batch for told in _before_end(event, usage)]


def _before_end(event: Event, usage: Usage) -> tuple[Event, ...]:
    if not isinstance(event, Finished):
        return (event,)
    nought = replace(usage, input_tokens=0, output_tokens=usage.output_tokens or 0)
    return (UsageSeen(nought), event)
