"""Ids of calls: none of them twice in a conversation.

The id says which call a result belongs to, and clients loop if an old one comes again. Gemini gives calls
none, so that they are made of the answer's own, which some servers never change; others begin to count anew
in every answer.
"""

from __future__ import annotations

from groundwire.model import Event, Request, ToolCall, ToolCallDelta
from groundwire.model.value import replace


class Ids:
    """Those that a conversation has used, and what stands in for them."""

    __slots__ = ("_used",)

    def __init__(self, request: Request) -> None:
        parts = (part for message in request.messages for part in message.parts)
        self._used = {part.id for part in parts if isinstance(part, ToolCall) and part.id}

    def __bool__(self) -> bool:
        return bool(self._used)

    def fresh(self, event: Event) -> Event:
        """The same event, with an id that is not used yet."""
        if not isinstance(event, ToolCallDelta) or event.id not in self._used:
            return event
        number = 2
        while f"{event.id}_{number}" in self._used:
            number += 1
        return replace(event, id=f"{event.id}_{number}")
