"""Pages of the embedded index that answers cite: reading them again, and finding a quote in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from groundwire.client_protocol import SearchClient
from groundwire.engine.pages import Page
from groundwire.errors import GroundwireError, NotFound
from groundwire.model import Answer, Span
from groundwire.store.base import StoredMessage

EMBEDDED = "local"
"""The provider whose sources are pages of the embedded index."""
_MOST_PAGES = 2
_SECONDS = 2.0
_WORD = re.compile(r"\w+")
_MOST_WORDS = 120


def is_indexed(message: StoredMessage) -> bool:
    """Are the sources of an answer pages of the embedded index?"""
    return message.provider == EMBEDDED


def has_only_index(url: str) -> bool:
    """Is it the address of a page that only the index has: of a file, or of documentation without a URL?"""
    return url.startswith(("file:", "local:"))


async def stored_page(url: str, client: SearchClient) -> Page:
    """The page of the index that a source cites; raises `NotFound`. The address of a section is that of its
    page with a fragment."""
    try:
        return await client.page(url, live=False)
    except NotFound:
        page, mark, _ = url.partition("#")
        if not mark:
            raise
        return await client.page(page, live=False)


async def cited_pages(answer: Answer, client: SearchClient) -> list[Page]:
    """The first pages that an answer cites, as far as they are in the index and can be read in time."""
    urls = dict.fromkeys(item.source.url for citation in answer.citations for item in citation.evidence)
    pages: list[Page] = []
    for url in list(urls)[:_MOST_PAGES]:
        try:
            async with asyncio.timeout(_SECONDS):
                pages.append(await stored_page(url, client))
        except (GroundwireError, TimeoutError):
            continue
    return pages


def find_quote(text: str, quote: str) -> Span | None:
    """Where a quote is in a text; white space and punctuation may differ."""
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return Span(start, start + len(quote))
    words: Sequence[str] = _WORD.findall(quote)[:_MOST_WORDS]
    if not words:
        return None
    # Bounded gaps: the search stays linear.
    found = re.search(r"\W{1,40}".join(map(re.escape, words)), text, re.IGNORECASE)
    return Span(*found.span()) if found else None
