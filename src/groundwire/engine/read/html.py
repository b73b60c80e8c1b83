"""HTML: what its head says, and the readable part of its body."""

from __future__ import annotations

from lxml import etree

from groundwire.engine.read import html_head
from groundwire.engine.read.decoding import clean, decode
from groundwire.engine.read.document import Content, Document
from groundwire.engine.read.html_blocks import LEFT_OUT, blocks_of, joined, without_menus

_LONGEST = 10_000_000
_SHORT = 250
"""A main part with fewer characters may be an empty frame: then the whole page is looked at."""


def read(document: Document) -> Content:
    """What stands in it. The page decides about its own address only within its host."""
    root = parse(decode(document.data[:_LONGEST], document.charset, markup=True))
    if root is None:
        return Content("")
    base = html_head.base_of(root, document.url)
    asks = html_head.robots_of(root, document.headers)
    return Content(
        text=_readable(root),
        title=html_head.title_of(root),
        published=html_head.published_of(root),
        language=html_head.language_of(root, document.headers),
        address=html_head.canonical_of(root, document.url, base),
        links=() if asks & {"nofollow", "none"} else html_head.links_of(root, base),
        refusal="it asks not to be indexed" if asks & {"noindex", "none"} else "",
    )


def read_fragment(markup: str) -> tuple[str, str]:
    """Text and first heading of markup that is all content: what Markdown and reStructuredText become."""
    root = parse(markup)
    if root is None:
        return "", ""
    # docutils puts notes and footnotes into <aside>.
    blocks = blocks_of(root, LEFT_OUT - {"aside"})
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    return joined(blocks), heading


def parse(markup: str) -> etree._Element | None:
    """The tree, at most 256 levels deep (libxml2's own bound), with nothing loaded and nothing expanded."""
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        return etree.fromstring(clean(markup).encode("utf-8"), parser)
    except etree.ParseError:  # nothing at all, or nothing but a comment
        return None


def _readable(root: etree._Element) -> str:
    main = _main_part(root)
    if main is not None:
        text = joined(blocks_of(main))
        if len(text) >= _SHORT:
            return text
    return joined(without_menus(blocks_of(root)))


def _main_part(root: etree._Element) -> etree._Element | None:
    """The element that says it is the main one; one of several articles is not."""
    for element in root.iter("main", "div", "section", "article"):
        if element.tag == "main" or element.get("role") == "main":
            return element
    articles = [article for article in root.iter("article") if not _is_inside_article(article)]
    return articles[0] if len(articles) == 1 else None


def _is_inside_article(element: etree._Element) -> bool:
    return next(element.iterancestors("article"), None) is not None
