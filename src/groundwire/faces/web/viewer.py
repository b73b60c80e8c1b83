"""The viewer: a page of the embedded index as it was read, with the cited passage marked.

Only text is stored, so nothing of the page's own markup is shown. The outline tells headings, code, lists and
tables apart.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

from groundwire.chat.answers import web_link
from groundwire.chat.indexed import find_quote, stored_page
from groundwire.engine.outline import Block, BlockKind, decode_outline
from groundwire.engine.pages import Page
from groundwire.errors import TurnedAway
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.model import Span
from groundwire.text.sanitise import one_line, sanitise
from groundwire.text.urls import shown_address

_LONGEST_URL = 4_000
_LONGEST_QUOTE = 2_000
_MOST_CHARACTERS = 400_000
"""Longer pages are shown around the passage."""
_INDENTED = re.compile(r"\n[ \t]+\S")
_CONTAINERS: dict[BlockKind, str] = {"item": "ul", "row": "table"}


async def show_stored_page(web: WebApp, request: PageRequest) -> None:
    """Show a stored page, with the quote marked."""
    exchange = request.exchange
    url = exchange.query_param("url")[:_LONGEST_URL]
    quote = exchange.query_param("quote")[:_LONGEST_QUOTE]
    if not url.strip():
        raise TurnedAway(status=404, message="no page is named", code="NOT_FOUND")
    page = await stored_page(url, request.app.groundwire)
    html, is_found = await asyncio.to_thread(page_html, page, quote)
    link = web_link(url)
    await web.send(
        request,
        "stored_page",
        title=one_line(page.title) or one_line(url),
        address=link.host if link else shown_address(url),
        href=link.href if link else "",
        date=one_line(page.published)[:60],
        blocks=html,
        is_missing=bool(quote) and not is_found,
    )


def page_html(page: Page, quote: str) -> tuple[str, bool]:
    """The text of a page as HTML, and whether the quote was found in it."""
    marked = find_quote(page.text, quote)
    start = max(0, marked.start - _MOST_CHARACTERS // 2) if marked else 0
    shown = Span(start, min(len(page.text), start + _MOST_CHARACTERS))
    writer = _PageWriter(page.text, marked)
    blocks = [block for block in _blocks(page) if block.start < shown.end and block.end > shown.start]
    return "".join(writer.write(blocks)), marked is not None


def _blocks(page: Page) -> list[Block]:
    """The blocks of a page: those of its outline, and the text between them as paragraphs."""
    found: list[Block] = []
    position = 0
    for block in decode_outline(page.outline):
        found += _paragraphs(page.text, position, block.start)
        found.append(block)
        position = block.end
    return [*found, *_paragraphs(page.text, position, len(page.text))]


def _paragraphs(text: str, start: int, end: int) -> Iterator[Block]:
    position = start
    for piece in text[start:end].split("\n\n"):
        if piece.strip():
            yield Block("paragraph", position, position + len(piece))
        position += len(piece) + 2


class _PageWriter:
    """Writes blocks of a text as HTML; the first mark has the id `quote`."""

    def __init__(self, text: str, marked: Span | None) -> None:
        self._text = text
        self._marked = marked
        self._has_mark = False

    def write(self, blocks: list[Block]) -> Iterator[str]:
        """The HTML of the blocks."""
        for container, group in groupby(blocks, key=lambda block: _CONTAINERS.get(block.kind, "")):
            html = "".join(map(self._block, group))
            if container == "table":
                html = f'<div class="table" tabindex="0"><table>{html}</table></div>'
            elif container:
                html = f"<{container}>{html}</{container}>"
            yield html

    def _block(self, block: Block) -> str:
        if block.kind == "row":
            return f"<tr>{''.join(self._cells(block))}</tr>"
        html = self._span(block.start, block.end)
        if block.kind == "heading":
            # The title of the page is above its first level.
            level = min(block.level + 1, 6)
            return f'<h{level} dir="auto">{html}</h{level}>'
        if block.kind in ("code", "signature"):
            return f'<pre tabindex="0"><code>{html}</code></pre>'
        if block.kind == "item":
            return f'<li dir="auto">{html}</li>'
        # Indented lines are code or a table that the outline does not know.
        kind = ' class="lines"' if _INDENTED.search(self._text, block.start, block.end) else ""
        return f'<p{kind} dir="auto">{html}</p>'

    def _cells(self, block: Block) -> Iterator[str]:
        position = block.start
        for cell in self._text[block.start : block.end].split("\t"):
            yield f'<td dir="auto">{self._span(position, position + len(cell))}</td>'
            position += len(cell) + 1

    def _span(self, start: int, end: int) -> str:
        """A range of the text, with the part of the quote that is in it marked."""
        text, marked = self._text, self._marked
        if marked is None or marked.end <= start or marked.start >= end:
            return _safe(text[start:end])
        left, right = max(start, marked.start), min(end, marked.end)
        name = "" if self._has_mark else ' id="quote"'
        self._has_mark = True
        return (
            f"{_safe(text[start:left])}<mark{name}>{_safe(text[left:right])}</mark>{_safe(text[right:end])}"
        )


def _safe(text: str) -> str:
    return escape(sanitise(text))


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/page", show_stored_page, about="A page of the index, with a passage marked."),
)
