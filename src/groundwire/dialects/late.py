"""The one policy for citations that come after their text.

Gemini, Azure and Chat tell citations when the text is already out; a dialect that binds citations to
blocks cannot take words back. `exact` holds text until it is settled and then tells its citations first, so
that an encoder can cut blocks where claims begin and end. `live` lets text through at once; its citations
come at the tail, on the block that is still open.
"""

from __future__ import annotations

from collections import deque

from groundwire.dialects.base import CitationPolicy
from groundwire.model import Cited, Event, Failed, Finished, TextDelta, TextSettled


class LateCitations:
    """A filter over events."""

    __slots__ = ("_citations", "_exact", "_held", "_unsettled")

    def __init__(self, policy: CitationPolicy) -> None:
        self._exact = policy == "exact"
        self._held: deque[Event] = deque()
        self._citations: list[Event] = []
        self._unsettled: set[int] = set()

    def feed(self, event: Event) -> list[Event]:
        """The events that may go out now."""
        if not self._exact:
            return [event]
        match event:
            case Cited():
                self._citations.append(event)
                return self._release()
            case TextDelta(part):
                self._unsettled.add(part)
            case TextSettled(part):
                self._unsettled.discard(part)
            case Finished() | Failed():
                self._unsettled.clear()
        self._held.append(event)
        return self._release()

    def _release(self) -> list[Event]:
        """Whatever stands before the first unsettled text, with its citations ahead of it."""
        going: list[Event] = []
        while self._held:
            event = self._held[0]
            if isinstance(event, TextDelta):
                if event.part in self._unsettled:
                    break
                going += self._citations
                self._citations.clear()
            elif isinstance(event, Finished | Failed):
                going += self._citations
                self._citations.clear()
            going.append(self._held.popleft())
        return going
