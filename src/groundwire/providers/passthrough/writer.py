"""Passthrough writer: forwards the provider's bytes to the client. Only errors in between are encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.dialects.base import Dialect, Reply
from groundwire.errors import GroundwireError, WireError
from groundwire.model import Event, Failed, Verbatim
from groundwire.providers.passthrough.scan import scan_frames

_ERROR = b"event: error\n"
_SEQUENCE_KEY = b'"sequence_number"'
_SEQUENCE_NUMBER = re.compile(rb'("sequence_number":\s*)(\d+)')


class PassthroughWriter:
    """Extracts the response bytes from batches of events."""

    __slots__ = ("_language", "_last", "_reply")

    def __init__(self, language: Dialect, reply: Reply) -> None:
        self._language = language
        self._reply = reply
        self._last = b""

    def feed(self, batch: Sequence[Event]) -> bytes:
        """The bytes of a batch; an error that the provider did not send is encoded."""
        data = b"".join([event.data for event in batch if isinstance(event, Verbatim)])
        self.sent(data)
        last = batch[-1] if batch else None
        if isinstance(last, Failed) and not self._has_error(last, data):
            return data + self.fail(last.error)
        return data

    def _has_error(self, failed: Failed, data: bytes) -> bool:
        """Is the error in the provider's bytes? A malformed stream contains none, and neither does one that
        ends too early, whose first frames may have waited for a visible event until then."""
        if isinstance(failed.error, WireError):
            return False
        return any(isinstance(event, Failed) for event in scan_frames(self._language, data).events)

    @property
    def is_numbered(self) -> bool:
        """Do the frames of the dialect have sequence numbers? Then `sent` needs to see all of them."""
        return self._language.name == "openai_responses"

    def sent(self, data: bytes) -> None:
        """Note the sequence numbers of bytes that are sent: those of an error continue them."""
        if data.find(_SEQUENCE_KEY) >= 0:
            self._last = data

    def fail(self, error: GroundwireError) -> bytes:
        """The frames that end a forwarded stream with an error."""
        frames = self._language.encoder(self._reply).feed(Failed(error))
        frames = frames[max(frames.find(_ERROR), 0) :]  # the opening frames were sent already
        sent = [int(match[2]) for match in _SEQUENCE_NUMBER.finditer(self._last)]
        numbers = iter(range(sent[-1] + 1 if sent else 0, 2**63))
        return _SEQUENCE_NUMBER.sub(lambda match: match[1] + str(next(numbers)).encode(), frames)
