"""A login service on loopback: single-use refresh tokens, revocation on reuse, and a kill switch."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.credentials.builders import Rotation


class LoginService(ThreadingHTTPServer):
    """Answers refreshes one at a time; `kill` makes it kill the next process that sends one."""

    daemon_threads = True

    def __init__(self, rotation: Rotation) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rotation = rotation
        self.posts = 0
        self.kill: Literal["", "before", "after"] = ""
        """Whether to kill before or after the token is spent."""
        self.spent: Callable[[], None] = lambda: None
        """Called when a token has been spent, before its answer is sent."""
        self.turn = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/oauth/token"


class _Handler(BaseHTTPRequestHandler):
    server: LoginService

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        service = self.server
        with service.turn:
            service.posts += 1
            kill, service.kill = service.kill, ""
            if kill != "before":
                status, answer = service.rotation.answer(body)
            if kill:
                os.kill(int(self.headers["x-process"]), signal.SIGKILL)
                return
            spent, service.spent = service.spent, lambda: None
            spent()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the library's
        pass


@contextmanager
def login_service(rotation: Rotation) -> Iterator[LoginService]:
    """Run a service until the block ends."""
    service = LoginService(rotation)
    thread = threading.Thread(target=service.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join(5)
        service.server_close()
