"""Reading documents of strangers in a process apart, with limits of time, processor and memory.

A parser that meets the right bytes takes minutes, and a thread cannot be stopped. So each document that was
fetched, or that is a file, is read by a worker process (`worker.py`). An ordinary page costs a way through
two pipes; a page that exceeds its limits costs itself and nothing else. The knowledge that groundwire starts
with is read in this process: it comes with Python and is not hostile.
"""

from __future__ import annotations

from groundwire.dialects.json import dump_json, load_json
from groundwire.engine.pages import Page
from groundwire.engine.read import document_of
from groundwire.engine.read.document import Document, ReadResult
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import Json, JsonObject
from groundwire.model.value import field_names
from groundwire.transport.fetch import Fetched
from groundwire.transport.workers import WorkerLost, WorkerPool

SECONDS = 60.0
"""For a document that somebody wants in the index: a book in PDF takes long."""
SECONDS_OF_A_SEARCH = 3.0
"""For a page that a search found."""

POOL = WorkerPool("groundwire.engine.read.worker")


def read_isolated(document: Document, seconds: float = SECONDS) -> ReadResult:
    """The page, or why there is none. Blocks."""
    try:
        return decode_reading(POOL.call(encode_document(document, seconds), seconds))
    except (WorkerLost, UpstreamWireError) as error:
        return ReadResult(why=f"it cannot be read: {error.message}")


class PageReader:
    """Reads what a search found."""

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
        """Start workers for so many pages at once."""
        POOL.warm(count)

    def close(self) -> None:
        """End the workers that have nothing to do."""
        POOL.close_idle()


def encode_document(document: Document, seconds: float) -> bytes:
    """A request for the worker: a line of JSON, and the bytes of the document."""
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
            "seconds": int() | float() as seconds,
        }:
            texts = {name: value for name, value in headers.items() if isinstance(value, str)}
            return Document(data, media_type, url, charset, title, texts), float(seconds)
    raise UpstreamWireError("expected a document")


def encode_reading(reading: ReadResult) -> bytes:
    """The worker's response."""
    page: Json = None
    if reading.page is not None:
        page = {name: getattr(reading.page, name) for name in field_names(Page)}
    return dump_json({"page": page, "why": reading.why, "links": list(reading.links)}).encode()


def decode_reading(response: bytes) -> ReadResult:
    """What the worker read. It has met hostile bytes: nothing it says is taken for more than text."""
    try:
        body = load_json(response, UpstreamWireError)
    except WireError:
        body = None
    match body:
        case {"page": dict(page), "why": str(why), "links": list(links)}:
            texts = {name: page.get(name) for name in field_names(Page)}
            kept = {name: text for name, text in texts.items() if isinstance(text, str)}
            return ReadResult(Page(**kept), why, tuple(link for link in links if isinstance(link, str)))
        case {"page": None, "why": str(why), "links": list(links)}:
            return ReadResult(None, why, tuple(link for link in links if isinstance(link, str)))
    raise UpstreamWireError("the worker said something else than a page")
