"""Reads untrusted documents in worker processes, with limits of time, CPU and memory.

On malicious input a parser can take minutes, and a thread cannot be stopped. So every fetched document and
every file is read by a worker process (`worker.py`). An ordinary page costs a round trip through two pipes; a
page that exceeds its limits affects no other. The built-in knowledge is read in this process: it comes with
Python and is trusted.
"""

from __future__ import annotations

from groundwire.dialects.json import dump_json, load_json
from groundwire.engine.outline import fits
from groundwire.engine.pages import Page
from groundwire.engine.read import document_of
from groundwire.engine.read.document import Document, ReadResult
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import Json, JsonObject
from groundwire.model.value import field_names
from groundwire.transport.fetch import Fetched
from groundwire.transport.workers import WorkerLost, WorkerPool

SECONDS = 60.0
"""Timeout for a document that is added to the index: a book in PDF takes long."""
SECONDS_OF_A_SEARCH = 3.0
"""Timeout for a page that a search found."""

POOL = WorkerPool("groundwire.engine.read.worker")


def read_isolated(document: Document, seconds: float = SECONDS) -> ReadResult:
    """Reads a document in a worker process. Blocks."""
    try:
        return decode_reading(POOL.call(encode_document(document, seconds), seconds))
    except (WorkerLost, UpstreamWireError) as error:
        return ReadResult(why=f"it cannot be read: {error.message}")


class PageReader:
    """Reads the pages that a search found, in worker processes."""

    def __init__(self, seconds: float = SECONDS_OF_A_SEARCH) -> None:
        self._seconds = seconds

    def __call__(self, fetched: Fetched, /) -> Page | None:
        """The page that was fetched; None if it is an error page, nothing to read, or not to be kept.

        Raises `WorkerLost` for a page that exceeds its limits. Blocks.
        """
        if not 200 <= fetched.status < 300:
            return None
        request = encode_document(document_of(fetched), self._seconds)
        return decode_reading(POOL.call(request, self._seconds)).page

    def warm(self, count: int) -> None:
        """Starts workers for this many pages at once."""
        POOL.warm(count)

    def close(self) -> None:
        """Stops idle workers."""
        POOL.close_idle()


def encode_document(document: Document, seconds: float) -> bytes:
    """A request to the worker: a line of JSON, then the bytes of the document."""
    about: JsonObject = {name: getattr(document, name) for name in field_names(Document) if name != "data"}
    about |= {"headers": dict(document.headers), "seconds": seconds}
    return dump_json(about).encode() + b"\n" + document.data


def decode_document(request: bytes) -> tuple[Document, float]:
    """The document and the seconds it may take."""
    line, _, data = request.partition(b"\n")
    about = load_json(line, UpstreamWireError)
    match about:
        case {
            "media_type": str(media_type),
            "url": str(url),
            "charset": str(charset),
            "title": str(title),
            "headers": dict(headers),
            "is_complete": bool(is_complete),
            "seconds": int() | float() as seconds,
        }:
            texts = {name: value for name, value in headers.items() if isinstance(value, str)}
            return Document(data, media_type, url, charset, title, texts, is_complete), float(seconds)
    raise UpstreamWireError("expected a document")


def encode_reading(reading: ReadResult) -> bytes:
    """The worker's response."""
    page: Json = None
    if reading.page is not None:
        page = {name: getattr(reading.page, name) for name in field_names(Page)}
    body: JsonObject = {"page": page, "why": reading.why, "links": list(reading.links)}
    if reading.aside or reading.hidden:
        body |= {"aside": reading.aside, "hidden": reading.hidden}
    return dump_json(body).encode()


def decode_reading(response: bytes) -> ReadResult:
    """Decodes the worker's response. It may be compromised by its input: only text is accepted."""
    try:
        body = load_json(response, UpstreamWireError)
    except WireError:
        body = None
    match body:
        case {"page": dict(page), "why": str(why), "links": list(links), **more}:
            texts = {name: page.get(name) for name in field_names(Page)}
            kept = {name: text for name, text in texts.items() if isinstance(text, str)}
            if not fits(kept.get("outline", ""), kept.get("text", "")):
                kept["outline"] = ""
            others = {name: text for name in ("aside", "hidden") if isinstance(text := more.get(name), str)}
            known = tuple(link for link in links if isinstance(link, str))
            return ReadResult(Page(**kept), why, known, **others)
        case {"page": None, "why": str(why), "links": list(links)}:
            return ReadResult(None, why, tuple(link for link in links if isinstance(link, str)))
    raise UpstreamWireError("The worker did not return a page.")
