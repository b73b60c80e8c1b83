"""Hold-back buffer for citations that arrive after the text they belong to.

Gemini, Azure and Chat send citations when the text is already out; a dialect that binds citations to blocks
cannot take text back. `exact` holds text until it is settled and then releases its citations first, so that
an encoder can split blocks where claims begin and end. `live` lets text through at once; its citations
follow, on the text block that is still open.

Searches that are reported late were made before the text that uses them, so `exact` releases them before it,
and `searches_before_text` does the same for a whole answer.
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
    """Reorders events so that citations come before their text."""

    __slots__ = ("_citations", "_exact", "_held", "_late", "_unsettled")

    def __init__(self, policy: CitationPolicy) -> None:
        self._exact = policy == "exact"
        self._held: deque[Event] = deque()
        self._citations: list[Event] = []
        self._late = False
        self._unsettled: set[int] = set()

    def feed(self, event: Event) -> list[Event]:
        """Take an event and return the events that can be encoded now."""
        if not self._exact:
            return [event]
        if type(event) is TextDelta and event.part in self._unsettled:
            self._held.append(event)
            first = self._held[0]
            # More text of a part that is held: it waits as well.
            return [] if type(first) is TextDelta and first.part in self._unsettled else self._release()
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
        """Release everything before the first unsettled text, citations first."""
        released: list[Event] = []
        while self._held:
            event = self._held[0]
            if isinstance(event, TextDelta):
                if event.part in self._unsettled:
                    break
                if self._late:
                    self._late = False
                    released += self._late_searches()
                released += self._citations
                self._citations.clear()
            elif isinstance(event, Finished | Failed):
                released += self._citations
                self._citations.clear()
            released.append(self._held.popleft())
        return released

    def _late_searches(self) -> list[Event]:
        """Remove and return the searches, if all of them come after the text."""
        last = max(index for index, event in enumerate(self._held) if isinstance(event, TextDelta))
        held = list(self._held)
        if any(isinstance(event, _SEARCHES) for event in held[:last]):
            return []
        late: list[Event] = [event for event in held[last:] if isinstance(event, _SEARCHES)]
        self._held = deque(held[:last])
        self._held += (event for event in held[last:] if not isinstance(event, _SEARCHES))
        return late


def searches_before_text(parts: tuple[Part, ...], own: str) -> tuple[Part, ...]:
    """Move the searches before the text, if all of them come after it.

    Parts that the dialect `own` made stay where they are.
    """
    texts = [index for index, part in enumerate(parts) if isinstance(part, Text)]
    searches = [index for index, part in enumerate(parts) if isinstance(part, SearchCall | SearchResult)]
    if not texts or not searches or searches[0] < texts[-1]:
        return parts
    late = tuple(part for part in parts if isinstance(part, SearchCall | SearchResult))
    if any(own in part.extras for part in late):
        return parts
    rest = tuple(part for part in parts if not isinstance(part, SearchCall | SearchResult))
    return (*rest[: texts[0]], *late, *rest[texts[0] :])
