"""A website on loopback: it serves responses from a table and records the requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from groundwire.model.value import value
from groundwire.transport.safe_fetch import SafeFetcher
from groundwire.transport.ssrf import SsrfPolicy


@value
class CannedResponse:
    """The response at a path."""

    body: bytes
    media_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = {}


class Site:
    """The responses by path; all other paths are 404."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        self.answers: dict[str, CannedResponse] = {}
        self.requests: list[tuple[float, str]] = []
        self.before: Callable[[str], None] = lambda _: None
        """Called before a path is answered."""

    @property
    def paths(self) -> list[str]:
        """The requested paths, in order."""
        return [path for _, path in self.requests]

    def put(self, path: str, body: str, media_type: str = "text/html; charset=utf-8") -> None:
        """Serve a text at a path."""
        self.answers[path] = CannedResponse(body.replace("{site}", self.address).encode(), media_type)

    def fetcher(self) -> SafeFetcher:
        """A fetcher that may connect to this site."""
        return SafeFetcher(SsrfPolicy(trusted=frozenset({("127.0.0.1", self.port)})))


def page(title: str, *links: str, head: str = "") -> str:
    """An HTML page with enough text to be indexed."""
    menu = "".join(f"<li><a href='{link}'>{link}</a></li>" for link in links)
    words = f"This page is about {title} and tells everything there is to know about {title}. " * 4
    return (
        f"<html lang=en><head><title>{title}</title>{head}</head><main><p>{words}</p><ul>{menu}</ul></main>"
    )


@contextmanager
def website() -> Iterator[Site]:
    """Run a site until the block ends."""

    class SiteHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.requests.append((time.monotonic(), self.path))
            site.before(self.path)
            answer = site.answers.get(self.path, CannedResponse(b"nothing here", status=404))
            self.send_response(answer.status)
            self.send_header("content-type", answer.media_type)
            self.send_header("content-length", str(len(answer.body)))
            for name, text in answer.headers.items():
                self.send_header(name, text)
            with suppress(ConnectionError):  # the client may have disconnected
                self.end_headers()
                self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), SiteHandler)
    server.daemon_threads = True
    site = Site(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
