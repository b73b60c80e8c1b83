"""Markdown pages of the documentation as HTML, and the sections of a page that its search finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from groundwire.model.value import value

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ResolveLink = Callable[[str], str | None]
"""The `href` of a link on the site; None if the target is not part of it."""

_NOT_IN_FRAGMENT = re.compile(r"[^\w\- ]")
_SEARCHED_LEVELS = ("h1", "h2", "h3")


@value
class DocsSection:
    """A heading with the text below it, up to the next heading."""

    fragment: str
    heading: str
    level: int
    text: str


@value
class DocsArticle:
    """A rendered page."""

    html: str
    sections: tuple[DocsSection, ...]

    @property
    def title(self) -> str:
        """The first heading."""
        return self.sections[0].heading if self.sections else ""


def render_article(text: str, resolve: ResolveLink) -> DocsArticle:
    """Render a page. Its headings get the fragments that GitHub gives them."""
    parser = _parser()
    tokens = parser.parse(text)
    _set_fragments(tokens)
    for token in tokens:
        _resolve_links(token.children or (), resolve)
        if "style" in token.attrs:
            # The policy of the page forbids style attributes; markdown-it only writes alignments of columns.
            token.attrSet("class", str(token.attrs.pop("style")).replace("text-align:", "align-"))
    html = parser.renderer.render(tokens, parser.options, {})
    # A wide table or a long line scrolls on its own; the keyboard can reach it.
    html = html.replace("<table>", '<div class="wide" tabindex="0" role="region" aria-label="table"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return DocsArticle(html, tuple(_sections(tokens)))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  a gateway for programs shows no page

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _set_fragments(tokens: Sequence[Token]) -> None:
    counts: dict[str, int] = {}
    for heading, content in _headings(tokens):
        fragment = _NOT_IN_FRAGMENT.sub("", content.content.lower()).replace(" ", "-")
        count = counts[fragment] = counts.get(fragment, -1) + 1
        heading.attrSet("id", f"{fragment}-{count}" if count else fragment)


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            yield token, tokens[index + 1]


def _resolve_links(tokens: Sequence[Token], resolve: ResolveLink) -> None:
    hidden = False
    for token in tokens:
        if token.type == "link_open":
            href = resolve(str(token.attrs["href"]))
            hidden = token.hidden = href is None
            token.attrSet("href", href or "")
            if href is not None and "//" in href:
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "link_close":
            token.hidden = hidden
        elif token.type == "image":
            token.attrSet("src", resolve(str(token.attrs["src"])) or "")


def _sections(tokens: Sequence[Token]) -> Iterator[DocsSection]:
    starts = [
        index
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in _SEARCHED_LEVELS
    ]
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        opening, content = tokens[start : start + 2]
        texts = [_plain(token) for token in tokens[start + 2 : end] if token.type in ("inline", "fence")]
        yield DocsSection(str(opening.attrs["id"]), _plain(content), int(opening.tag[1:]), " ".join(texts))


def _plain(token: Token) -> str:
    parts = [item.content or " " for item in token.children] if token.children else [token.content]
    return " ".join("".join(parts).split())
