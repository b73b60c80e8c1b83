"""Citations of a text block: wire shape beside canonical evidence.

Those of web search have an address and an encrypted index. Those of documents name a document by its number
(`documents.py`), those of `search_result` blocks repeat its `source`. What Anthropic made is kept verbatim in
`extras` and given back as it came. What we made bears one of our tokens, which holds the exact span: a claim
may have been cut into several blocks. A source without an address is cited as a document that has a title.
"""

from __future__ import annotations

from html import unescape

from groundwire.dialects.anthropic_messages.documents import Documents, documents_of
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.tokens import is_ours, seal, unseal
from groundwire.dialects.base import Reply
from groundwire.dialects.fields import Fields
from groundwire.model import NO_EXTRAS, Evidence, Extras, JsonObject, Source, Span
from groundwire.text.urls import safe_url

_WEB = "web_search_result_location"
_SEARCH_RESULT = "search_result_location"


def decode_citation(fields: Fields, key: bytes, documents: Documents) -> tuple[Evidence, Span | None]:
    """A citation of a block; the span only if we cut it ourselves and wrote down where it was."""
    kind = fields.text("type")
    quote = fields.text("cited_text")
    token = fields.text("encrypted_index") or fields.text("file_id")
    if is_ours(token):
        title = fields.text("title") or fields.text("document_title")
        source = Source(safe_url(fields.text("url")), title, "cited")
        return Evidence(source, quote), _decode_span(unseal(token, key))
    extras: Extras = {NAME: {"citation": fields.raw}} if kind else NO_EXTRAS
    if kind in ("", _WEB):
        # `cited_text` may hold character references (`&#x27;`); what is quoted is the page.
        source = Source(safe_url(fields.text("url")), fields.text("title"), "cited")
        return Evidence(source, unescape(quote), extras=extras if token else NO_EXTRAS), None
    if kind == _SEARCH_RESULT or not fields.has("document_index"):
        return Evidence(_decode_search_result(fields), quote, extras=extras), None
    return Evidence(documents.source_of(fields), quote, extras=extras), None


def _decode_search_result(fields: Fields) -> Source:
    """The `source` of a client's search result is an address or any name."""
    name = fields.text("source") or fields.text("url")
    url = safe_url(name)
    title = fields.text("title") or fields.text("document_title")
    return Source(url, title or ("" if url else name), "cited")


class CitationWriter:
    """Writes the citations of one message."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._titles: dict[str, int] = {}
        self._documents: int | None = None

    def encode(self, evidence: Evidence, span: Span | None) -> JsonObject:
        """Evidence of anybody's making."""
        verbatim = evidence.extras.get(NAME, {}).get("citation")
        if isinstance(verbatim, dict):
            return verbatim
        source = evidence.source
        token = seal({"span": list(span or (0, 0))}, self._reply.key)
        if source.url:
            return {
                "type": _WEB,
                "url": source.url,
                "title": source.title or None,
                "encrypted_index": token,
                "cited_text": evidence.quote,
            }
        return {
            "type": "char_location",
            "cited_text": evidence.quote,
            "document_index": self._number(source.title),
            "document_title": source.title or None,
            "start_char_index": 0,
            "end_char_index": len(evidence.quote),
            "file_id": token,
        }

    def _number(self, title: str) -> int:
        """A number that no document of the request has: clients look documents up by it."""
        if self._documents is None:
            self._documents = len(documents_of(self._reply.request))
        return self._documents + self._titles.setdefault(title, len(self._titles))


def _decode_span(data: JsonObject) -> Span | None:
    match data.get("span"):
        case [int(start), int(end)] if 0 <= start <= end:
            return Span(start, end)
    return None
