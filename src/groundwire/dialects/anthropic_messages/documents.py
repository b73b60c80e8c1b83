"""Documents that citations name by number.

`char_location`, `page_location` and `content_block_location` have no address, only a `document_index`. It
counts the documents of the request, in the order of its messages and tool results, and goes on with those
that were fetched in the answer. A number is believed unless the title or the cited text contradicts it; then
the one document that bears the citation out is meant, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.foreign_history import is_native
from groundwire.model import JsonObject, Opaque, Part, Request, SearchResult, Source, ToolResult
from groundwire.text.urls import safe_url

_MAX_INDEX = 1_000_000


class Document(NamedTuple):
    """A document of a conversation: one of the client has no address, and only plain text is kept."""

    url: str = ""
    title: str = ""
    text: str = ""


class Documents:
    """The documents of a conversation, in the order in which Anthropic counts them."""

    def __init__(self, known: Iterable[Document] = ()) -> None:
        self._known = list(known)

    def extend(self, documents: Iterable[Document]) -> None:
        """Count further documents."""
        self._known.extend(documents)

    def source_of(self, citation: Fields) -> Source:
        """The cited document: an address if it was fetched, else the title that the citation gives."""
        number = citation.get("document_index")
        index = number if type(number) is int and 0 <= number <= _MAX_INDEX else -1
        title = citation.text("document_title")
        quote = citation.text("cited_text")
        document = self._find(index, title, quote)
        name = title or document.title
        if not name and not document.url:
            name = f"Document {index + 1}" if index >= 0 else "Document"
        return Source(document.url, name, "cited")

    def _find(self, index: int, title: str, quote: str) -> Document:
        if 0 <= index < len(self._known) and not _contradicts(self._known[index], title, quote):
            return self._known[index]
        fitting = {document for document in self._known if _bears_out(document, title, quote)}
        return fitting.pop() if len(fitting) == 1 else Document()


def _contradicts(document: Document, title: str, quote: str) -> bool:
    if title and document.title:
        return title != document.title
    return bool(quote and document.text) and quote not in document.text


def _bears_out(document: Document, title: str, quote: str) -> bool:
    if title and document.title:
        return title == document.title
    return bool(quote) and quote in document.text


def documents_of(request: Request) -> tuple[Document, ...]:
    """The documents of a request, as it is sent: what another provider fetched goes as text."""
    return tuple(
        document
        for message in request.messages
        if message.role != "assistant" or is_native(message, NAME)
        for document in documents_in(message.parts)
    )


def documents_in(parts: Iterable[Part]) -> Iterator[Document]:
    """The documents among the parts of a turn."""
    for part in parts:
        match part:
            case Opaque(dialect, data) if dialect == NAME and data.get("type") == "document":
                yield _read(data)
            case ToolResult(_, content):
                yield from documents_in(content)
            case SearchResult():
                yield from fetched_in(as_object(part.extras.get(NAME, {}).get("block")))


def fetched_in(block: JsonObject) -> Iterator[Document]:
    """The document in a `web_fetch_tool_result`."""
    result = as_object(block.get("content"))
    document = as_object(result.get("content"))
    if result.get("type") == "web_fetch_result" and document:
        url = result.get("url")
        yield _read(document, safe_url(url) if isinstance(url, str) else "")


def _read(document: JsonObject, url: str = "") -> Document:
    title = document.get("title")
    source = as_object(document.get("source"))
    text = source.get("data") if source.get("type") == "text" else ""
    return Document(url, title if isinstance(title, str) else "", text if isinstance(text, str) else "")
