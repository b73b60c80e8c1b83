"""There is no stream: one JSON body, told when the answer is complete.

Until then spaces keep the connection alive; they are harmless before JSON.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply, StreamDecoder, StreamEncoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.sse import Frame
from groundwire.dialects.websearch.response import encode_response, read_result
from groundwire.errors import UpstreamWireError
from groundwire.model import Assembler, Event, Failed, Finished


class Decoder(StreamDecoder):
    """Events of the one body."""

    needs_content = False  # "nothing was found" is a result

    def on_frame(self, frame: Frame) -> None:
        for event in read_result(Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError).raw):
            self.emit(event)


class Encoder(StreamEncoder):
    """The one body."""

    content_type = "application/json"

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._answer = Assembler()

    def ping(self) -> bytes:
        """A space: nothing to a reader of JSON."""
        return b" " if not self._ended else b""

    def on_event(self, event: Event) -> None:
        self._answer.feed(event)
        if isinstance(event, Finished | Failed):
            body = encode_response(self._answer.answer(), self.reply)
            self.send_raw(dump_json(body).encode("utf-8", "replace"))
