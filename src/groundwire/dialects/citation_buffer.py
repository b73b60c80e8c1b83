"""The one policy for what comes after the text that it belongs to.

Gemini, Azure and Chat tell citations when the text is already out; a dialect that binds citations to
blocks cannot take words back. `exact` holds text until it is settled and then tells its citations first, so
that an encoder can cut blocks where claims begin and end. `live` lets text through at once; its citations
come at the tail, on the block that is still open.

Searches that are told late have gone before the text they served, so `exact` tells them before it too, and
`searches_before_text` does the same for a whole answer.
"""

from __future__ import annotations

from collections import deque

from groundwire.dialects.base import CitationPolicy
from groundwire.model import (
    Cited,
    Event,
    Failed,
    Finished,
    Part,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Text,
    TextDelta,
    TextSettled,
)

_SEARCHES = (SearchStarted, SearchCalled, SearchReturned)


class CitationBuffer:
    """A filter over events."""

    __slots__ = ("_citations", "_exact", "_held", "_late", "_unsettled")

    def __init__(self, policy: CitationPolicy) -> None:
        self._exact = policy == "exact"
        self._held: deque[Event] = deque()
        self._citations: list[Event] = []
        self._late = False
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
            case SearchStarted() | SearchCalled() | SearchReturned():
                self._late = self._late or bool(self._unsettled)
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
                if self._late:
                    self._late = False
                    going += self._late_searches()
                going += self._citations
                self._citations.clear()
            elif isinstance(event, Finished | Failed):
                going += self._citations
                self._citations.clear()
            going.append(self._held.popleft())
        return going

    def _late_searches(self) -> list[Event]:
        """The searches that no text follows, taken from where they were told."""
        last = max(place for place, event in enumerate(self._held) if isinstance(event, TextDelta))
        held = list(self._held)
        late: list[Event] = [event for event in held[last:] if isinstance(event, _SEARCHES)]
        self._held = deque(held[:last])
        self._held += (event for event in held[last:] if not isinstance(event, _SEARCHES))
        return late


def searches_before_text(parts: tuple[Part, ...], own: str) -> tuple[Part, ...]:
    """The parts with the searches before the text, where all of them were told after it.

    What the dialect `own` made stays where it is.
    """
    texts = [place for place, part in enumerate(parts) if isinstance(part, Text)]
    searches = [place for place, part in enumerate(parts) if isinstance(part, SearchCall | SearchResult)]
    if not texts or not searches or searches[0] < texts[-1]:
        return parts
    late = tuple(part for part in parts if isinstance(part, SearchCall | SearchResult))
    if any(own in part.extras for part in late):
        return parts
    rest = tuple(part for part in parts if not isinstance(part, SearchCall | SearchResult))
    return (*rest[: texts[0]], *late, *rest[texts[0] :])
