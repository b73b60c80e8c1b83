"""Response decoder: stream events and whole messages to events."""

from __future__ import annotations

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.cohere_chat.search import NAME
from groundwire.dialects.cohere_reader import CohereReader
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import Frame
from groundwire.errors import UpstreamWireError, WireError

_SENTINEL = b"[DONE]"


class Decoder(StreamDecoder):
    """Decodes a message from stream events, or whole."""

    def __init__(self, fault: type[WireError] = UpstreamWireError) -> None:
        super().__init__()
        self._fault = fault
        self.reader = CohereReader(self.queue, NAME)

    def on_frame(self, frame: Frame) -> None:
        data = frame.data.strip()
        if not data or data == _SENTINEL:
            return
        try:
            self.reader.read(Fields.of(load_json(data, self._fault), self._fault))
        except WireError:
            self.reader.settle()
            raise

    def on_end(self) -> None:
        self.reader.settle()
