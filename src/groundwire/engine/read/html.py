"""Reads HTML: metadata of the head, and the readable part of the body as blocks of text.

The tree is walked without recursion. Navigation, scripts and hidden elements are left out; menus without
markup of their own are recognised by their share of links.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from lxml import etree

from groundwire.engine.outline import HEADINGS, Block, BlockKind, safe_anchor
from groundwire.engine.read.document import Document, DocumentContent
from groundwire.engine.read.normalise import clean, decode, normal_date
from groundwire.model.value import value
from groundwire.text.urls import domain_of, safe_url

_AGENT = "groundwire"
_PARTS = re.compile(r"[-_,;\s]")
_MOST_LINKS = 5000
_LONGEST_ADDRESS = 2000
_LONGEST_LD = 1_000_000
_DATES = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "dcterms.created",
    "citation_publication_date",
    "publish-date",
)


def title_of(root: etree._Element) -> str:
    """`og:title`, else the title, else the first heading."""
    named = _metas(root).get("og:title", "")
    return named or _words(root.find(".//title")) or _words(next(root.iter("h1"), None))


def published_of(root: etree._Element) -> str:
    """The publication date."""
    metas = _metas(root)
    for name in _DATES:
        if date := normal_date(metas.get(name, "")):
            return date
    for text in _linked_data(root):
        if date := normal_date(text):
            return date
    times = sorted(root.iter("time"), key=lambda time: time.get("pubdate") is None)
    return next(filter(None, (normal_date(time.get("datetime", "")) for time in times)), "")


def language_of(root: etree._Element, headers: Mapping[str, str]) -> str:
    """The declared language, two letters."""
    html = root if root.tag == "html" else root.find("html")
    declared = "" if html is None else html.get("lang") or html.get("xml:lang") or ""
    metas = _metas(root)
    for text in (declared, metas.get("content-language", ""), headers.get("content-language", "")):
        if code := two_letters(text):
            return code
    return ""


def two_letters(text: str) -> str:
    """`de` of `de-AT`; empty if it does not start with two letters."""
    code = _PARTS.split(text.strip().lower(), maxsplit=1)[0]
    return code if len(code) == 2 and code.isascii() and code.isalpha() else ""


def base_of(root: etree._Element, url: str) -> str:
    """The base URL of relative links."""
    base = root.find(".//base[@href]")
    return url if base is None else _joined(url, base.get("href"))


def canonical_of(root: etree._Element, url: str, base: str) -> str:
    """The canonical URL, if it is on the same host."""
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            address = safe_url(urldefrag(_joined(base, link.get("href"))).url)
            if address and len(address) <= _LONGEST_ADDRESS and domain_of(address) == domain_of(url):
                return address
    return ""


def links_of(root: etree._Element, base: str) -> tuple[str, ...]:
    """The URLs of its links, each once, without fragments."""
    found: dict[str, None] = {}
    for link in root.iter("a", "area"):
        href = link.get("href")
        if not href or "nofollow" in (link.get("rel") or "").lower().split():
            continue
        address = safe_url(urldefrag(_joined(base, href)).url)
        if address and len(address) <= _LONGEST_ADDRESS:
            found[address] = None
            if len(found) >= _MOST_LINKS:
                break
    return tuple(found)


def robots_of(root: etree._Element, headers: Mapping[str, str]) -> set[str]:
    """Robots directives (`noindex`, `nofollow`, `none`) of the head and of the `X-Robots-Tag` header."""
    directives = headers.get("x-robots-tag", "").lower()
    # `googlebot: noindex` is for another agent, and so is everything after it.
    agent, colon, own_directives = directives.partition(":")
    if colon and agent.strip() in (_AGENT, "*"):
        directives = own_directives
    elif colon:
        directives = agent.rpartition(",")[0]
    metas = _metas(root)
    directives = ",".join((directives, metas.get("robots", ""), metas.get(_AGENT, ""))).lower()
    return {word.strip() for word in directives.split(",") if word.strip()}


def _metas(root: etree._Element) -> dict[str, str]:
    """The `meta` elements; of each name the first."""
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        text = " ".join((meta.get("content") or "").split())
        if name and text:
            found.setdefault(name.strip().lower(), text)
    return found


def _linked_data(root: etree._Element) -> Iterator[str]:
    """All `datePublished` values in JSON-LD."""
    for script in root.iter("script"):
        if (script.get("type") or "").strip().lower() != "application/ld+json":
            continue
        text = script.text or ""
        if len(text) > _LONGEST_LD:
            continue
        try:
            waiting: deque[object] = deque([json.loads(text)])
        except (ValueError, RecursionError):
            continue
        while waiting:
            item = waiting.popleft()
            if isinstance(item, dict):
                date = item.get("datePublished")
                if isinstance(date, str):
                    yield date
                waiting += item.values()
            elif isinstance(item, list):
                waiting += item


def _joined(base: str, href: str | None) -> str:
    try:
        joined = urljoin(base, (href or "").strip())
        urlsplit(joined)
    except ValueError:  # brackets that are not an IPv6 address
        return ""
    return joined


def _words(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


_MOST_ELEMENTS = 400_000
# Not the whole head: if it is not closed, libxml2 leaves <main> and other elements inside.
LEFT_OUT = frozenset(
    (
        *("title", "script", "style", "noscript", "template", "nav", "aside", "footer", "select"),
        *("button", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map", "input"),
        *("textarea", "datalist", "dialog"),
    )
)
_REFERENCES = "seealso"
"""Class of a box with links to other pages, in documentation that Sphinx made: what it says of them would be
taken for what this page says."""
_LEFT_OUT_ROLES = frozenset(
    (
        *("navigation", "banner", "contentinfo", "complementary", "search", "dialog", "menu"),
        *("menubar", "toolbar"),
    )
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_ITEMS = frozenset(("li", "dt", "dd"))
_SECTIONS = frozenset(("section", "div", "article", "main"))
_SIGNATURE_LEVEL = 7
"""The level of a documented name that is not inside another one: below all headings."""
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
_CELL_SPACES = re.compile(r" *\t *")
_LONGEST_NUMBER = 8

_MENU_DENSITY = 0.6
_FEW_WORDS = 12


@value
class HtmlBlock:
    """A block of text, with the fields of `Block`."""

    kind: BlockKind
    text: str
    linked: int = 0
    """The number of its characters inside links."""
    level: int = 0
    anchor: str = ""
    number: int = 0


def blocks_of(root: etree._Element, left_out: frozenset[str] = LEFT_OUT) -> list[HtmlBlock]:
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
            flow.skip(element)
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


def without_menus(blocks: Sequence[HtmlBlock]) -> list[HtmlBlock]:
    """Drops blocks that are mostly links, and short blocks between two of them; all blocks if none is
    left."""
    menu = [_is_menu(block) for block in blocks]
    kept = [
        block
        for position, block in enumerate(blocks)
        if not menu[position] and not (_is_short(block) and all(_around(menu, position)))
    ]
    return kept if any(block.kind != "heading" for block in kept) else list(blocks)


def joined(blocks: Iterable[HtmlBlock]) -> tuple[str, tuple[Block, ...]]:
    """The text of the blocks and its outline: blank lines between them, except within a list or a table."""
    pieces: list[str] = []
    outline: list[Block] = []
    before = ""
    length = 0
    for block in blocks:
        # Character references such as &#27; bring back control characters that were removed from the bytes.
        text = clean(block.text).strip("\n").rstrip()
        if not text:
            continue
        if pieces:
            pieces.append("\n" if block.kind == before and block.kind in ("item", "row") else "\n\n")
            length += len(pieces[-1])
        pieces.append(text)
        outline.append(Block(block.kind, length, length + len(text), block.level, block.anchor, block.number))
        length += len(text)
        before = block.kind
    return "".join(pieces), tuple(outline)


def _is_menu(block: HtmlBlock) -> bool:
    return block.kind not in ("heading", "signature", "code") and block.linked > _MENU_DENSITY * len(
        block.text
    )


def _is_short(block: HtmlBlock) -> bool:
    return block.kind in ("paragraph", "item") and len(block.text.split()) < _FEW_WORDS


def _around(menu: Sequence[bool], position: int) -> tuple[bool, bool]:
    before = menu[position - 1] if position else False
    return before, menu[position + 1] if position + 1 < len(menu) else before


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
        or _REFERENCES in element.get("class", "").split()
        or _HIDING.search(element.get("style", "")) is not None
    )


class _OpenList:
    """A list that is being read."""

    __slots__ = ("documents", "number")

    def __init__(self, element: etree._Element) -> None:
        term = next(element.iterchildren("dt"), None) if element.tag == "dl" else None
        self.documents = term is not None and bool(term.get("id"))
        """Does it document names, each with an anchor of its own? Sphinx writes a `dl` for each name."""
        self.number = _integer(element.get("start"), 1) - 1 if element.tag == "ol" else -1
        """Of the item before, in a numbered list."""

    def next_number(self, item: etree._Element) -> int:
        """The number of the next item; 0 if the list has no numbers."""
        if self.number < 0:
            return 0
        self.number = _integer(item.get("value"), self.number + 1)
        return self.number


class _Flow:
    """Collects the text of elements into blocks."""

    def __init__(self) -> None:
        self.blocks: list[HtmlBlock] = []
        self.skipped: etree._Element | None = None
        """The element that is left out: its end event is ignored."""
        self._pieces: list[str] = []
        self._begun = False
        """Is there more than white space among the pieces?"""
        self._linked = 0
        self._links = 0
        self._kind: BlockKind = "paragraph"
        self._level = 0
        self._number = 0
        self._describes = False
        """Is the item the description of the term before it? It is nested below it."""
        self._anchor = ""
        """Of the heading that is being read."""
        self._section = ""
        """The id of an element that has begun without text so far: the anchor of the heading in it."""
        self._lists: list[_OpenList] = []
        self._rows = 0
        self._columns = 0
        self._layouts: list[bool] = []
        """For every open table: is it a layout table?"""

    def enter(self, element: etree._Element) -> None:
        """Starts an element."""
        tag = element.tag
        if tag == "a" and element.get("href") is not None:
            self._links += 1
        elif tag == "br":
            self._pieces.append(" " if self._rows else "\n")
        elif tag == "table":
            self.flush()
            self._layouts.append(_is_layout(element))
        elif tag == "tr":
            self._enter_row(element)
        elif tag in _CELLS and not self._in_layout:
            self._pieces.append("\t" if self._columns else "")
            self._columns += 1
        else:
            self._border(element, begins=True)
        self._note_anchor(element)

    def leave(self, element: etree._Element) -> None:
        """Ends an element."""
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
            self._border(element, begins=False)

    def skip(self, element: etree._Element) -> None:
        """Leaves an element out. An empty link may be an anchor, and the link to a heading names it."""
        self.skipped = element
        if element.tag != "a":
            return
        self._note_anchor(element)
        href = element.get("href") or ""
        if self._kind in HEADINGS and not self._anchor and href.startswith("#"):
            self._anchor = safe_anchor(unquote(href[1:]))

    def write(self, text: str | None) -> None:
        """Adds text to the block."""
        if text:
            text = _SPACES.sub(" ", text)
            self._pieces.append(text)
            self._begun = self._begun or text != " "
            if self._links:
                self._linked += len(text)

    def preformatted(self, text: str) -> None:
        """Adds a block of preformatted text."""
        self.flush()
        text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
        if text.strip():
            self._section = ""
            self.blocks.append(HtmlBlock("code", text, level=self._depth))

    def flush(self) -> None:
        """Ends the block."""
        text = "".join(self._pieces)
        if self._columns and not self._in_layout:
            # A tab before the first word is an empty cell.
            text = _DOUBLED.sub(" ", _CELL_SPACES.sub("\t", text)).strip(" ").rstrip()
        else:
            text = _DOUBLED.sub(" ", _BREAKS.sub("\n", text)).strip()
        if text:
            self.blocks.append(self._block(text))
            self._kind = "row" if self._rows else "paragraph"
            self._section = ""
        self._pieces.clear()
        self._begun = False
        self._linked = 0
        self._columns = 0

    def _block(self, text: str) -> HtmlBlock:
        linked = min(self._linked, len(text))
        if self._kind in HEADINGS:
            return HtmlBlock(self._kind, text, linked, self._level, self._anchor or self._section)
        if self._kind == "row":
            return HtmlBlock("row", text, linked, self._level)
        if self._kind != "item":
            return HtmlBlock(self._kind, text, linked, self._depth)
        return HtmlBlock("item", text, linked, max(1, self._depth) + self._describes, number=self._number)

    @property
    def _in_layout(self) -> bool:
        return bool(self._layouts) and self._layouts[-1]

    @property
    def _depth(self) -> int:
        """How many lists are open, without those that document names."""
        return sum(not item.documents for item in self._lists)

    def _enter_row(self, row: etree._Element) -> None:
        self.flush()
        self._rows += not self._in_layout
        self._kind = "paragraph" if self._in_layout else "row"
        self._level = int(all(cell.tag == "th" for cell in row) and len(row) > 0)

    def _note_anchor(self, element: etree._Element) -> None:
        anchor = safe_anchor(element.get("id") or (element.get("name") if element.tag == "a" else "") or "")
        if not anchor:
            return
        if self._kind in HEADINGS and not self._anchor:
            self._anchor = anchor
        elif element.tag in _SECTIONS or (element.tag == "a" and not self._begun):
            self._section = anchor

    def _border(self, element: etree._Element, *, begins: bool) -> None:
        tag = element.tag
        if tag in _LISTS and not self._rows:
            self._change_list(element, begins=begins)
        elif tag in _HEADINGS:
            self._open_heading("heading", int(tag[1]), begins=begins)
        elif tag in _ITEMS and not self._rows:
            self._change_item(element, begins=begins)
        elif self._rows and (tag in _BLOCKS or tag in _ITEMS):
            self._pieces.append(" ")
        elif tag in _BLOCKS or (tag in _CELLS and not self._rows):
            self.flush()

    def _change_list(self, element: etree._Element, *, begins: bool) -> None:
        self.flush()
        if begins:
            self._lists.append(_OpenList(element))
        elif self._lists:
            self._lists.pop()

    def _change_item(self, item: etree._Element, *, begins: bool) -> None:
        current = self._lists[-1] if self._lists else None
        if current is not None and current.documents:
            if item.tag == "dt":
                names = sum(opened.documents for opened in self._lists)
                self._open_heading("signature", _SIGNATURE_LEVEL + names - 1, begins=begins)
            else:
                self.flush()
                self._kind = "paragraph"
            return
        self.flush()
        # A description that is read without its list is not an item of one.
        is_item = begins and (current is not None or item.tag == "li")
        self._kind = "item" if is_item else "paragraph"
        if is_item:
            self._number = current.next_number(item) if current is not None else 0
            self._describes = item.tag == "dd"

    def _open_heading(self, kind: BlockKind, level: int, *, begins: bool) -> None:
        self.flush()
        self._kind = kind if begins else "paragraph"
        self._level = level
        self._anchor = ""


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) <= _LONGEST_NUMBER else default


def _is_layout(table: etree._Element) -> bool:
    """Nested tables and tables with headings are used for page layout."""
    if table.get("role") == "presentation":
        return True
    inside = table.iter("table", *_HEADINGS)
    next(inside)
    return next(inside, None) is not None


_LONGEST = 10_000_000
_LONGEST_OTHER = 500_000
_SCRIPTS = frozenset(("script", "style"))
_NO_TEXT = frozenset(
    (
        *("title", "script", "style", "template", "svg", "iframe", "object", "embed", "canvas", "audio"),
        *("video", "map", "input", "textarea", "datalist", "select"),
    )
)
"""Elements whose text is not shown, or is not text of the page."""
_SHORT = 250
"""Characters; a shorter main part may be an empty frame, then the whole page is read."""


def read_html(document: Document) -> DocumentContent:
    """Reads an HTML document. Its canonical URL is used only on the same host."""
    root = parse(decode(document.data[:_LONGEST], document.charset, markup=True))
    if root is None:
        return DocumentContent("")
    base = base_of(root, document.url)
    directives = robots_of(root, document.headers)
    blocks = readable_blocks(root)
    text, outline = joined(blocks)
    return DocumentContent(
        text=text,
        outline=outline,
        title=title_of(root),
        published=published_of(root),
        language=language_of(root, document.headers),
        address=canonical_of(root, document.url, base),
        links=() if directives & {"nofollow", "none"} else links_of(root, base),
        refusal="it asks not to be indexed" if directives & {"noindex", "none"} else "",
        aside=_other_blocks(root, blocks) if document.is_complete else "",
        hidden=_hidden_text(root) if document.is_complete else "",
    )


def _other_blocks(root: etree._Element, known: Sequence[HtmlBlock]) -> str:
    """The visible blocks that are not among the known ones, one in a line."""
    texts = {block.text for block in known}
    others = (block.text for block in blocks_of(root, _NO_TEXT) if block.text not in texts)
    return "\n".join(" ".join(text.split()) for text in others)[:_LONGEST_OTHER]


def _hidden_text(root: etree._Element) -> str:
    """The text of elements that their own markup hides, one in a line. What a style sheet hides is not
    known."""
    lines: list[str] = []
    walk = etree.iterwalk(root, events=("start",))
    for count, (_, element) in enumerate(walk):
        if count > _MOST_ELEMENTS:
            break
        if element.tag in _SCRIPTS:
            walk.skip_subtree()
        elif _is_hidden(element):
            lines.append(_words(element))
            walk.skip_subtree()
    return "\n".join(lines)[:_LONGEST_OTHER]


def _is_hidden(element: etree._Element) -> bool:
    return (
        element.tag == "template"
        or element.get("hidden") is not None
        or _HIDING.search(element.get("style", "")) is not None
    )


def read_fragment(markup: str) -> DocumentContent:
    """Markup without navigation, rendered Markdown and reStructuredText; the title is the first heading."""
    root = parse(markup)
    if root is None:
        return DocumentContent("")
    # docutils puts notes and footnotes into <aside>.
    blocks = blocks_of(root, LEFT_OUT - {"aside"})
    text, outline = joined(blocks)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    return DocumentContent(text, heading, outline=outline)


def parse(markup: str) -> etree._Element | None:
    """Parses HTML: at most 256 levels deep (libxml2's limit), nothing is loaded or expanded."""
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        return etree.fromstring(clean(markup).encode("utf-8"), parser)
    except etree.ParseError:  # nothing at all, or nothing but a comment
        return None


def readable_blocks(root: etree._Element) -> list[HtmlBlock]:
    """The blocks of the main part of a page; of the whole page without menus, if no part is marked."""
    main = _main_part(root)
    if main is not None:
        blocks = blocks_of(main)
        if sum(len(block.text) for block in blocks) >= _SHORT:
            return blocks
    return without_menus(blocks_of(root))


def _main_part(root: etree._Element) -> etree._Element | None:
    """The element marked as main content; an article only if it is the only one."""
    for element in root.iter("main", "div", "section", "article"):
        if element.tag == "main" or element.get("role") == "main":
            return element
    articles = [article for article in root.iter("article") if not _is_inside_article(article)]
    return articles[0] if len(articles) == 1 else None


def _is_inside_article(element: etree._Element) -> bool:
    return next(element.iterancestors("article"), None) is not None
