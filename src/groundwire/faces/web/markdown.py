"""The text of an answer as HTML: CommonMark, sanitised, with chips where sources are cited.

Chips never change the text. It is rendered with and without them, and if there is a difference their places
are moved: to the words before them, to the ends of words, of lines; at last they stand below the text.
Nothing is ever loaded from elsewhere: a picture becomes a link, and a link shows the host it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from types import FunctionType, GeneratorType, ModuleType
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from groundwire.chat.links import web_link
from groundwire.faces.web.chips import (
    Marked,
    Place,
    mark,
    places_in,
    to_line_end,
    to_word_end,
    to_words_before,
)
from groundwire.faces.web.visible import one_line
from groundwire.model import Citation
from groundwire.model.value import value

REL = "noopener noreferrer nofollow ugc"
_TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code"),
    *("em", "strong", "s", "a", "span", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "target", "class"}, "span": {"class"}, "ol": {"start"}}
_LONGEST = 200_000
_NAME = re.compile(r"__[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*__(?!\w)")
_KINDS = (object, type, int, str, dict, set, BaseException, FunctionType, ModuleType, GeneratorType)
_PYTHON_NAMES = frozenset(name for kind in _KINDS for name in dir(kind) if _NAME.fullmatch(name)) | {
    *("__main__", "__file__", "__path__", "__all__", "__slots__", "__version__", "__future__", "__import__"),
    *("__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__", "__del__"),
    *("__get__", "__set__", "__delete__", "__set_name__", "__post_init__", "__fspath__", "__missing__"),
    *("__copy__", "__deepcopy__", "__bytes__", "__complex__", "__prepare__", "__getattr__"),
}
"""Names that Python gives a meaning to, so that nobody means emphasis by them."""
_SETTLING: tuple[Callable[[str, int], int], ...] = (to_words_before, to_word_end, to_line_end)
_MOST_MOVED = 60

ChipWriter = Callable[[Sequence[Citation], int], str]
"""The HTML of the chips of a place, which has a number."""


@value
class Prose:
    """Blocks of HTML, and the citations that found no place in them."""

    blocks: tuple[str, ...]
    unplaced: tuple[Citation, ...] = ()


def write_prose(text: str, citations: Sequence[Citation], breaks: Sequence[int], chips: ChipWriter) -> Prose:
    """The text with its chips. Citations without a place speak for the whole."""
    general = tuple(citation for citation in citations if citation.span is None)
    places, cuts = places_in(text, citations)
    bare = mark(text, (), cuts, breaks)
    if len(text) > _LONGEST or bare is None:
        return Prose((f"<pre>{escape(text)}</pre>",), tuple(citations))
    plain = _blocks(bare.text)

    def faithful(places: Sequence[Place]) -> _Told | None:
        marked = mark(text, places, cuts, breaks)
        return _faithful(marked, plain) if marked is not None else None

    found = _settled(text, places, faithful) if places else None
    if found is None:
        return Prose(tuple(plain), tuple(citations))
    kept = [citation for group in found.marked.groups for citation in group]
    lost = (place.citation for place in places if place.citation not in kept)
    blocks = tuple(_with_chips(block, found.marked, chips) for block in found.blocks)
    return Prose(blocks, (*lost, *general))


@value
class _Told:
    """A text with marks, and what became of it."""

    marked: Marked
    blocks: tuple[str, ...]


def _settled(
    text: str, places: Sequence[Place], faithful: Callable[[Sequence[Place]], _Told | None]
) -> _Told | None:
    """The text with all marks that leave it as it is, each moved no further than needed."""
    if (whole := faithful(places)) is not None:
        return whole
    kept = []
    for place in places[:_MOST_MOVED]:
        moves = (place, *(place._replace(point=settle(text, place.point)) for settle in _SETTLING))
        if moved := next((one for one in moves if faithful((one,))), None):
            kept.append(moved)
    return faithful(kept) or _one_by_one(kept, faithful)


def _one_by_one(places: Sequence[Place], faithful: Callable[[Sequence[Place]], _Told | None]) -> _Told | None:
    """As many marks as bear each other."""
    found: _Told | None = None
    kept: list[Place] = []
    for place in places:
        if (told := faithful((*kept, place))) is not None:
            found = told
            kept.append(place)
    return found


def _faithful(marked: Marked, plain: list[str]) -> _Told | None:
    """The blocks, if they say with marks what they say without, and all marks are in what is said."""
    tokens, environment = _parsed(marked.text)
    if any(_in_attributes(token, marked) for token in tokens):
        return None
    blocks = _rendered(tokens, environment)
    found = {match[1] for block in blocks for match in marked.pattern.finditer(block)}
    bare = [marked.pattern.sub("", block) for block in blocks]
    return _Told(marked, tuple(blocks)) if len(found) == len(marked.groups) and bare == plain else None


def _in_attributes(token: Token, marked: Marked) -> bool:
    return any(marked.pattern.search(str(item)) for item in token.attrs.values()) or any(
        _in_attributes(child, marked) for child in token.children or ()
    )


def _with_chips(block: str, marked: Marked, chips: ChipWriter) -> str:
    def chip(number: int) -> str:
        return chips(marked.groups[number], number)

    return marked.pattern.sub(lambda match: chip(int(match[1])), block)


def _blocks(text: str) -> list[str]:
    """The top-level blocks of a text, each as safe HTML."""
    return _rendered(*_parsed(text))


def _parsed(text: str) -> tuple[list[Token], dict[str, Any]]:
    environment: dict[str, Any] = {}
    return _parser().parse(text, environment), environment


def _rendered(tokens: list[Token], environment: dict[str, Any]) -> list[str]:
    parser = _parser()
    blocks: list[str] = []
    start = depth = 0
    for place, token in enumerate(tokens, 1):
        depth += token.nesting
        if depth == 0:
            html = parser.renderer.render(tokens[start:place], parser.options, environment)
            blocks.append(_clean(html))
            start = place
    return blocks


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel=REL,
        strip_comments=True,
    ).strip()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("emphasis", "name", _read_name)
    # Which links are safe is decided where they are written, by the parser of everybody's addresses.
    parser.validateLink = _any_link  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _read_name(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
    """A name between double underscores is no emphasis where it is code: `object.__init__`, `__main__`."""
    match = _NAME.match(state.src, state.pos)
    if match is None or not _is_code(state.src, match):
        return False
    if not silent:
        state.pending += match[0]
    state.pos = match.end()
    return True


def _is_code(text: str, name: re.Match[str]) -> bool:
    beside = text[name.start() - 1 : name.start()], text[name.end() : name.end() + 1]
    return beside[0] == "." or beside[1] in ("(", ".", "[") or name[0] in _PYTHON_NAMES


def _any_link(url: str) -> bool:  # noqa: ARG001
    return True


class _Renderer(RendererHTML):
    """CommonMark's renderer, with links and pictures of our own making."""

    def link_open(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """An anchor, if the address is one of the web."""
        token = tokens[place]
        link = web_link(str(token.attrs.get("href", "")))
        label = "".join(_words(tokens, place))
        token.meta = {"link": link}
        closing = _closing(tokens, place)
        if closing is not None:
            closing.meta = {"host": "" if link is None or link.domain in label else link.domain, "open": link}
        return _anchor(link.href) if link else "<span>"

    def link_close(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """The end of the anchor, and whom it leads to."""
        meta = tokens[place].meta
        if not meta.get("open"):
            return "</span>"
        host = meta.get("host", "")
        return "</a>" + (f' <span class="host">({escape(host)})</span>' if host else "")

    def image(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """A picture is not loaded: its address is linked."""
        token = tokens[place]
        label = one_line(token.content) or "…"
        link = web_link(str(token.attrs.get("src", "")))
        if link is None:
            return escape(label)
        return f'{_anchor(link.href)}{escape(label)}</a> <span class="host">({escape(link.domain)})</span>'

    def fence(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """Code as it stands."""
        return f"<pre><code>{escape(tokens[place].content)}</code></pre>"

    def heading_open(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """Headings of an answer stand below those of the page."""
        return f"<{_heading(tokens[place].tag)}>"

    def heading_close(self, tokens: Sequence[Token], place: int, *_: Any) -> str:
        """The end of a heading."""
        return f"</{_heading(tokens[place].tag)}>"


def _anchor(href: str) -> str:
    return f'<a href="{escape(href)}" target="_blank">'


def _heading(tag: str) -> str:
    return f"h{min(int(tag[1:]) + 2, 6)}"


def _words(tokens: Sequence[Token], place: int) -> list[str]:
    words = []
    for token in tokens[place + 1 :]:
        if token.type == "link_close":
            break
        words.append(token.content)
    return words


def _closing(tokens: Sequence[Token], place: int) -> Token | None:
    return next((token for token in tokens[place + 1 :] if token.type == "link_close"), None)
