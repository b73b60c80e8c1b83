"""The body of an HTML page as blocks of text: paragraphs, headings, items, rows, preformatted text.

The tree is walked without recursion. What is no part of the reading (navigation, scripts, hidden elements) is
left out on the way; menus without a name of their own are known by being made of links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lxml import etree

from groundwire.model.value import value

_MOST_ELEMENTS = 400_000
# Not the head as a whole: where nobody closed it, libxml2 leaves <main> and its like inside.
LEFT_OUT = frozenset(
    (
        *("title", "script", "style", "noscript", "template", "nav", "aside", "footer", "select"),
        *("button", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map", "input"),
        *("textarea", "datalist", "dialog"),
    )
)
_LEFT_OUT_ROLES = frozenset(
    (
        *("navigation", "banner", "contentinfo", "complementary", "search", "dialog", "menu"),
        *("menubar", "toolbar"),
    )
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_ITEMS = frozenset(("li", "dt", "dd"))
_CELLS = frozenset(("td", "th"))
_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "body", "blockquote", "ul", "ol", "dl", "figure"),
        *("figcaption", "address", "hr", "details", "summary", "fieldset", "form", "caption"),
        *("center", "header", "hgroup", "legend", "table", "thead", "tbody", "tfoot"),
    )
)
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", ""))
_SPACES = re.compile(r"\s+")
_BREAKS = re.compile(r" *\n[ \n]*")
_DOUBLED = re.compile(r" {2,}")

_MENU_DENSITY = 0.6
_FEW_WORDS = 12


@value
class Block:
    """A piece of text that stands by itself."""

    kind: str
    """paragraph, heading, item, row or pre."""
    text: str
    linked: int = 0
    """How many of its characters lead somewhere."""


def blocks_of(root: etree._Element, left_out: frozenset[str] = LEFT_OUT) -> list[Block]:
    """The blocks under an element, in order."""
    flow = _Flow()
    walk = etree.iterwalk(root, events=("start", "end"))
    for count, (event, element) in enumerate(walk):
        if count > 2 * _MOST_ELEMENTS:
            break
        if event == "end":
            flow.leave(element)
            if element is not root:
                flow.write(element.tail)
        elif element is not root and _is_left_out(element, left_out):
            flow.skipped = element
            walk.skip_subtree()
        elif element.tag == "pre":
            flow.preformatted("".join(element.itertext()))
            flow.skipped = element
            walk.skip_subtree()
        else:
            flow.enter(element)
            flow.write(element.text)
    flow.flush()
    return flow.blocks


def without_menus(blocks: Sequence[Block]) -> list[Block]:
    """Without blocks that are mostly links and the few words between two of them; all if nothing is left."""
    menu = [_is_menu(block) for block in blocks]
    kept = [
        block
        for place, block in enumerate(blocks)
        if not menu[place] and not (_is_short(block) and all(_around(menu, place)))
    ]
    return kept if any(block.kind != "heading" for block in kept) else list(blocks)


def joined(blocks: Iterable[Block]) -> str:
    """One text: blank lines between blocks, but none within a list or a table."""
    pieces: list[str] = []
    before = ""
    for block in blocks:
        if pieces:
            pieces.append("\n" if block.kind == before and block.kind in ("item", "row") else "\n\n")
        pieces.append(block.text)
        before = block.kind
    return "".join(pieces)


def _is_menu(block: Block) -> bool:
    return block.kind not in ("heading", "pre") and block.linked > _MENU_DENSITY * len(block.text)


def _is_short(block: Block) -> bool:
    return block.kind in ("paragraph", "item") and len(block.text.split()) < _FEW_WORDS


def _around(menu: Sequence[bool], place: int) -> tuple[bool, bool]:
    before = menu[place - 1] if place else False
    return before, menu[place + 1] if place + 1 < len(menu) else before


def _is_left_out(element: etree._Element, names: frozenset[str]) -> bool:
    tag = element.tag
    if tag in names or not isinstance(tag, str):
        return True
    if tag == "header":
        return next(element.iterancestors("main", "article"), None) is None
    if tag == "a" and len(element) == 0 and (element.text or "").strip() in _PERMALINKS:
        return True
    return bool(element.attrib) and (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or element.get("role") in _LEFT_OUT_ROLES
        or _HIDING.search(element.get("style", "")) is not None
    )


class _Flow:
    """Collects text until a block ends."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.skipped: etree._Element | None = None
        """Left out: its end is to be ignored."""
        self._pieces: list[str] = []
        self._begun = False
        """Is there more than space among the pieces?"""
        self._linked = 0
        self._links = 0
        self._kind = "paragraph"
        self._rows = 0
        self._layouts: list[bool] = []
        """For every table we are in: does it hold the page together instead of data?"""

    def enter(self, element: etree._Element) -> None:
        """Begin an element."""
        tag = element.tag
        if tag == "a" and element.get("href") is not None:
            self._links += 1
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "table":
            self.flush()
            self._layouts.append(_is_layout(element))
        elif tag == "tr":
            self.flush()
            self._rows += not self._in_layout
            self._kind = "paragraph" if self._in_layout else "row"
        elif tag in _CELLS and not self._in_layout:
            self._pieces.append(" | " if self._begun else "")
        else:
            self._border(tag, begins=True)

    def leave(self, element: etree._Element) -> None:
        """End an element."""
        if element is self.skipped:
            self.skipped = None
            return
        tag = element.tag
        if tag == "a" and element.get("href") is not None:
            self._links -= 1
        elif tag == "tr":
            self._rows -= not self._in_layout
            self.flush()
        elif tag == "table":
            self.flush()
            self._layouts.pop()
        else:
            self._border(tag, begins=False)

    def write(self, text: str | None) -> None:
        """Text inside a block."""
        if text:
            text = _SPACES.sub(" ", text)
            self._pieces.append(text)
            self._begun = self._begun or text != " "
            if self._links:
                self._linked += len(text)

    def preformatted(self, text: str) -> None:
        """Text whose spaces and lines count."""
        self.flush()
        text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
        if text.strip():
            self.blocks.append(Block("pre", text))

    def flush(self) -> None:
        """End the block."""
        text = _DOUBLED.sub(" ", _BREAKS.sub("\n", "".join(self._pieces))).strip()
        if self._kind == "row":
            text = text.strip(" |")
        if text:
            self.blocks.append(Block(self._kind, text, min(self._linked, len(text))))
            self._kind = "row" if self._rows else "paragraph"
        self._pieces.clear()
        self._begun = False
        self._linked = 0

    @property
    def _in_layout(self) -> bool:
        return bool(self._layouts) and self._layouts[-1]

    def _border(self, tag: str, *, begins: bool) -> None:
        if tag in _HEADINGS:
            self.flush()
            self._kind = "heading" if begins else "paragraph"
        elif tag in _ITEMS and not self._rows:
            self.flush()
            self._kind = "item" if begins else "paragraph"
        elif self._rows and (tag in _BLOCKS or tag in _ITEMS):
            self._pieces.append(" ")
        elif tag in _BLOCKS or (tag in _CELLS and not self._rows):
            self.flush()


def _is_layout(table: etree._Element) -> bool:
    """Tables in tables, and tables with headings, were how pages were laid out once."""
    if table.get("role") == "presentation":
        return True
    inside = table.iter("table", *_HEADINGS)
    next(inside)
    return next(inside, None) is not None
