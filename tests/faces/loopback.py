"""A scripted provider on loopback that uses the dialect of the requested path, and can stall or fail.

Our own encoders make the responses from events, so that a test states what the provider answers and not the
wire format.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import Event, assemble

BOUND = 10.0
PATHS = {
    "/v1beta/": "gemini",
    "/v1/messages": "anthropic_messages",
    "/v1/responses": "openai_responses",
    "/responses": "openai_responses",
    "/v1/chat/completions": "openai_chat",
}


class Loopback:
    """The script of the provider, and the requests that it received."""

    def __init__(self) -> None:
        self.events: Sequence[Event] = ()
        self.status = 200
        self.error_body = b"{}"
        self.raw: bytes | None = None
        """The body of a response in the wire format of the provider."""
        self.requests: list[dict[str, Any]] = []
        self.pause: Callable[[int], None] = lambda _: None
        """Called before each frame of a stream, and before the body of a response."""
        self.stalled = threading.Event()
        self.disconnected = threading.Event()
        self.address = ""

    def stall_after(self, frames: int) -> None:
        """Stop sending after this many frames, until the caller disconnects."""

        def pause(number: int) -> None:
            if number == frames:
                self.stalled.set()
                raise Stalled

        self.pause = pause

    def frames(self, name: str) -> Iterator[bytes]:
        """The frames of a streamed response."""
        encoder = dialect(name).encoder(Reply(id="1", model="sample-model", citations="live"))
        for event in self.events:
            if data := encoder.feed(event):
                yield data
        yield encoder.close()

    def body(self, name: str) -> bytes:
        """The body of a response that is not streamed."""
        if self.raw is not None:
            return self.raw
        reply = Reply(id="1", model="sample-model")
        return json.dumps(dialect(name).encode_response(assemble(self.events), reply)).encode()


class Stalled(Exception):
    """Raised to stop sending."""


class LoopbackServer(ThreadingHTTPServer):
    """HTTP server whose handlers follow one script."""

    daemon_threads = True

    def __init__(self, script: Loopback) -> None:
        super().__init__(("127.0.0.1", 0), LoopbackHandler)
        self.script = script


class LoopbackHandler(BaseHTTPRequestHandler):
    """Answers one request as scripted."""

    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Handle a request."""
        script = self.server.script
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {key.lower(): text for key, text in self.headers.items()}
        script.requests.append({"path": self.path, "headers": headers, "body": body})
        name = next(name for path, name in PATHS.items() if self.path.startswith(path))
        if script.status != 200:
            self._send(script.status, script.error_body)
        elif "stream" in self.path or body.get("stream"):
            self._stream(name)
        else:
            self._whole(name)

    def _whole(self, name: str) -> None:
        script = self.server.script
        try:
            script.pause(0)
            self._send(200, script.body(name))
        except Stalled:
            self.close_connection = True
            if self._has_disconnected():
                script.disconnected.set()

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, name: str) -> None:
        script = self.server.script
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for number, frame in enumerate(script.frames(name)):
                script.pause(number)
                self.wfile.write(frame)
                self.wfile.flush()
        except Stalled:
            if self._has_disconnected():
                script.disconnected.set()
        except ConnectionError:
            script.disconnected.set()

    def _has_disconnected(self) -> bool:
        self.connection.settimeout(BOUND)
        try:
            return not self.connection.recv(1)
        except ConnectionError:
            return True


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A running provider."""
    script = Loopback()
    server = LoopbackServer(script)
    script.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(BOUND)
