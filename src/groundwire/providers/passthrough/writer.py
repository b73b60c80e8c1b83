"""The provider's own bytes, given on to a client of its dialect. Only how they break off is told by us."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.dialects.base import Dialect, Reply
from groundwire.errors import GroundwireError, WireError
from groundwire.model import Event, Failed, Verbatim

_ERROR = b"event: error\n"
_COUNTED = b'"sequence_number"'
_NUMBER = re.compile(rb'("sequence_number":\s*)(\d+)')


class PassthroughWriter:
    """Bytes out of batches of events that come with them."""

    __slots__ = ("_language", "_last", "_reply")

    def __init__(self, language: Dialect, reply: Reply) -> None:
        self._language = language
        self._reply = reply
        self._last = b""

    def feed(self, batch: Sequence[Event]) -> bytes:
        """What these events were told by; an end that nobody told is told here."""
        data = b"".join(event.data for event in batch if isinstance(event, Verbatim))
        if _COUNTED in data:
            self._last = data
        last = batch[-1]
        # An error of the provider's stands in its bytes; bytes that are none of the dialect's tell nothing.
        if isinstance(last, Failed) and (not data or isinstance(last.error, WireError)):
            return data + self.fail(last.error)
        return data

    def fail(self, error: GroundwireError) -> bytes:
        """The frames that end a stream whose beginning was not of our making."""
        told = self._language.encoder(self._reply).feed(Failed(error))
        told = told[max(told.find(_ERROR), 0) :]  # how an answer begins was said already
        said = [int(match[2]) for match in _NUMBER.finditer(self._last)]
        numbers = iter(range(said[-1] + 1 if said else 0, 2**63))
        return _NUMBER.sub(lambda match: match[1] + str(next(numbers)).encode(), told)
