"""The text of an answer as HTML: CommonMark, sanitised, with citation chips.

Chips never change the text. It is rendered with and without them; where the results differ, chips are moved
to the end of the word before them, of their word or of their line, and if nothing helps they follow the text.
Nothing is loaded from other hosts: an image becomes a link, and a link shows the host it leads to.
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
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from groundwire.chat.answers import web_link
from groundwire.faces.web.formulas import FORMULAS, MATH_ATTRIBUTES, MATH_TAGS, add_formulas, formula_html
from groundwire.faces.web.headers import LINK_REL
from groundwire.faces.web.highlight import highlight
from groundwire.model import Citation
from groundwire.model.value import replace, value
from groundwire.text.annotate import MarkerPlacement, MarkerPosition, Placeholders, annotate, place_markers
from groundwire.text.sanitise import one_line

_TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code"),
    *("em", "strong", "s", "a", "span", "sup", "table", "thead", "tbody", "tr", "th", "td", *MATH_TAGS),
}
_ATTRIBUTES = {
    "a": {"href", "target", "class"},
    "span": {"class"},
    "sup": {"class"},
    "code": {"class"},
    "ol": {"start", "class"},
    "li": {"value", "class"},
    **MATH_ATTRIBUTES,
}
_LONGEST = 200_000
_STARRED = re.compile(r"\*{1,2}(?:args|kwargs|kwds|kw)\b(?!\*)")
"""Parameters of Python functions as they are written in signatures."""
_TASK = re.compile(r"\[([ xX])\]\s+")
_NAME = re.compile(r"__[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*__(?!\w)")
_KINDS = (object, type, int, str, dict, set, BaseException, FunctionType, ModuleType, GeneratorType)
_PYTHON_NAMES = frozenset(name for kind in _KINDS for name in dir(kind) if _NAME.fullmatch(name)) | {
    *("__main__", "__file__", "__path__", "__all__", "__slots__", "__version__", "__future__", "__import__"),
    *("__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__", "__del__"),
    *("__get__", "__set__", "__delete__", "__set_name__", "__post_init__", "__fspath__", "__missing__"),
    *("__copy__", "__deepcopy__", "__bytes__", "__complex__", "__prepare__", "__getattr__"),
}
"""Names with a meaning in Python, which are never meant as emphasis."""
_PLACEHOLDER = "placeholder"
_BLANK = re.compile(r"\s|$")
_MOST_MOVED = 60

ChipWriter = Callable[[Sequence[Citation], int], str]
"""Writes the HTML of the chips at one position; positions are numbered from 0."""


def _end_of_text_before(text: str, offset: int) -> int:
    """The end of the last word before an offset, also if it is in another paragraph."""
    return len(text[:offset].rstrip()) or offset


def _end_of_word(text: str, offset: int) -> int:
    found = _BLANK.search(text, offset)
    return found.start() if found else offset


def _end_of_line(text: str, offset: int) -> int:
    """The end of the line; in a table, the end of the last cell."""
    end = text.find("\n", offset)
    start = text.rfind("\n", 0, offset) + 1
    line = text[start : len(text) if end < 0 else end].rstrip()
    if line.startswith("|") and line.endswith("|"):
        line = line[:-1].rstrip()
    return start + len(line)


_MOVES: tuple[Callable[[str, int], int], ...] = (_end_of_text_before, _end_of_word, _end_of_line)


@value
class RenderedMarkdown:
    """Top-level blocks of HTML, and the citations that have no chip in them."""

    blocks: tuple[str, ...]
    unplaced: tuple[Citation, ...] = ()


def render_text(
    text: str,
    citations: Sequence[Citation],
    breaks: Sequence[int],
    chips: ChipWriter,
    *,
    formulas: bool = True,
) -> RenderedMarkdown:
    """Render Markdown with chips. Citations without a span are returned as unplaced."""
    if len(text) > _LONGEST:
        return RenderedMarkdown((f"<pre>{escape(text)}</pre>",), tuple(citations))
    renderer = _ChipRenderer(
        text, place_markers(text, citations, attach_to_word=True), breaks, formulas=formulas
    )
    found = renderer.render()
    if found is None:
        return RenderedMarkdown(tuple(renderer.plain_blocks), tuple(citations))
    placed = [citation for group in found.groups for citation in group]
    unplaced = [citation for citation in citations if citation.span is not None and citation not in placed]
    unplaced += (citation for citation in citations if citation.span is None)
    blocks = (
        renderer.pattern.sub(lambda match: chips(found.groups[int(match[1])], int(match[1])), block)
        for block in found.blocks
    )
    return RenderedMarkdown(tuple(blocks), tuple(unplaced))


@value
class _BlocksWithPlaceholders:
    """Blocks in which placeholder `n` marks the chips of the nth group of citations."""

    blocks: tuple[str, ...]
    groups: tuple[tuple[Citation, ...], ...]


class _ChipRenderer:
    """Renders one text with as many placeholders for chips as leave its HTML unchanged."""

    def __init__(
        self, text: str, placement: MarkerPlacement, breaks: Sequence[int], *, formulas: bool
    ) -> None:
        self._text = text
        self._formulas = formulas
        self._placement = placement
        self._breaks = breaks
        self._placeholders = Placeholders(text)
        self.pattern = self._placeholders.pattern
        self.plain_blocks = _rendered(*self._parse(self._annotate(())[0]))

    def render(self) -> _BlocksWithPlaceholders | None:
        """The blocks, with each chip moved no further than necessary."""
        positions = self._placement.positions
        if not positions:
            return None
        if (whole := self._try(positions)) is not None:
            return whole
        moved = [found for position in positions[:_MOST_MOVED] if (found := self._move(position))]
        return self._try(moved) or self._one_by_one(moved)

    def _move(self, position: MarkerPosition) -> MarkerPosition | None:
        """The nearest position at which the chip alone leaves the text unchanged."""
        candidates = (
            position,
            *(position._replace(offset=move(self._text, position.offset)) for move in _MOVES),
        )
        return next((candidate for candidate in candidates if self._try((candidate,))), None)

    def _one_by_one(self, positions: Sequence[MarkerPosition]) -> _BlocksWithPlaceholders | None:
        """As many chips as leave the text unchanged together."""
        best: _BlocksWithPlaceholders | None = None
        kept: list[MarkerPosition] = []
        for position in positions:
            if (found := self._try((*kept, position))) is not None:
                best = found
                kept.append(position)
        return best

    def _try(self, positions: Sequence[MarkerPosition]) -> _BlocksWithPlaceholders | None:
        """Render with placeholders; None if they change the text, or one is not part of it."""
        text, groups = self._annotate(positions)
        tokens, environment = self._parse(text)
        if any(map(self._in_attributes, tokens)):
            return None
        blocks = _rendered(tokens, environment)
        found = {match[1] for block in blocks for match in self.pattern.finditer(block)}
        plain = [self.pattern.sub("", block) for block in blocks]
        if len(found) != len(groups) or plain != self.plain_blocks:
            return None
        return _BlocksWithPlaceholders(tuple(blocks), groups)

    def _parse(self, text: str) -> tuple[list[Token], dict[str, Any]]:
        environment: dict[str, Any] = {_PLACEHOLDER: self.pattern, FORMULAS: self._formulas}
        return _parser().parse(text, environment), environment

    def _annotate(self, positions: Sequence[MarkerPosition]) -> tuple[str, tuple[tuple[Citation, ...], ...]]:
        groups: list[tuple[Citation, ...]] = []

        def write(citations: Sequence[Citation], _: bool) -> str:  # noqa: FBT001  a MarkerWriter
            groups.append(tuple(citations))
            return self._placeholders(len(groups) - 1)

        placement = replace(self._placement, positions=tuple(positions))
        return annotate(self._text, placement, write, self._breaks).text, tuple(groups)

    def _in_attributes(self, token: Token) -> bool:
        return any(self.pattern.search(str(item)) for item in token.attrs.values()) or any(
            map(self._in_attributes, token.children or ())
        )


def _rendered(tokens: list[Token], environment: dict[str, Any]) -> list[str]:
    parser = _parser()
    blocks: list[str] = []
    start = depth = 0
    for index, token in enumerate(tokens, 1):
        depth += token.nesting
        if depth == 0:
            html = parser.renderer.render(tokens[start:index], parser.options, environment)
            blocks.append(_clean(html))
            start = index
    return blocks


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel=LINK_REL,
        strip_comments=True,
    ).strip()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("emphasis", "name", _read_name)
    add_formulas(parser)
    footnote_plugin(parser, inline=False)
    parser.core.ruler.after("inline", "tasks", _mark_tasks)
    for name in ("ref", "block_open", "block_close", "open", "close", "anchor"):
        parser.add_render_rule(f"footnote_{name}", getattr(_Renderer, f"footnote_{name}"))
    # `web_link` decides which links are safe when they are written.
    parser.validateLink = _any_link  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _read_name(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
    """Keeps names of code, `object.__init__`, `__main__` or `*args`, from becoming emphasis."""
    match = _STARRED.match(state.src, state.pos)
    if match is None:
        match = _NAME.match(state.src, state.pos)
        if match is None or not _is_code(state.src, match):
            return False
    if not silent:
        state.pending += match[0]
    state.pos = match.end()
    return True


def _is_code(text: str, name: re.Match[str]) -> bool:
    around = text[name.start() - 1 : name.start()], text[name.end() : name.end() + 1]
    return around[0] == "." or around[1] in ("(", ".", "[") or name[0] in _PYTHON_NAMES


def _mark_tasks(state: StateCore) -> None:
    """Replaces `[ ]` and `[x]` at the beginning of list items by boxes."""
    tokens = state.tokens
    for index, token in enumerate(tokens[2:], 2):
        children = token.children or []
        if token.type != "inline" or tokens[index - 2].type != "list_item_open" or not children:
            continue
        match = _TASK.match(children[0].content) if children[0].type == "text" else None
        if match:
            tokens[index - 2].attrJoin("class", "task")
            children[0].content = ("☐ " if match[1] == " " else "☑ ") + children[0].content[match.end() :]


def _any_link(url: str) -> bool:  # noqa: ARG001
    return True


class _Renderer(RendererHTML):
    """CommonMark's renderer, with safe links, and links in place of images."""

    def link_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """An anchor, if the URL is http or https."""
        token = tokens[index]
        link = web_link(str(token.attrs.get("href", "")))
        label = "".join(_label(tokens, index))
        token.meta = {"link": link}
        closing = _closing(tokens, index)
        if closing is not None:
            closing.meta = {"host": "" if link is None or link.domain in label else link.domain, "open": link}
        return _anchor(link.href) if link else "<span>"

    def link_close(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """The end of the anchor, and the host it leads to."""
        meta = tokens[index].meta
        if not meta.get("open"):
            return "</span>"
        host = meta.get("host", "")
        return "</a>" + (f' <span class="host">({escape(host)})</span>' if host else "")

    def image(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """A link to the image, which is not loaded."""
        token = tokens[index]
        label = one_line(token.content) or "…"
        link = web_link(str(token.attrs.get("src", "")))
        if link is None:
            return escape(label)
        return f'{_anchor(link.href)}{escape(label)}</a> <span class="host">({escape(link.domain)})</span>'

    def fence(self, tokens: Sequence[Token], index: int, _: Any, environment: Any) -> str:
        """A code block with its tokens marked."""
        language = (tokens[index].info.split() or [""])[0]
        code = highlight(tokens[index].content, language, environment[_PLACEHOLDER])
        return f"<pre><code>{code}</code></pre>"

    def code_block(self, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
        """An indented code block."""
        return self.fence(tokens, index, options, environment)

    def formula(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """A formula."""
        token = tokens[index]
        html = formula_html(token.content, display=token.meta["display"])
        return f"<p>{html}</p>" if token.block else html

    def footnote_ref(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """The number of a footnote."""
        return f'<sup class="footnote">{tokens[index].meta["id"] + 1}</sup>'

    def footnote_block_open(self, *_: Any) -> str:
        """The beginning of the list of footnotes."""
        return '<ol class="footnotes">'

    def footnote_block_close(self, *_: Any) -> str:
        """The end of the list of footnotes."""
        return "</ol>"

    def footnote_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """The beginning of a footnote."""
        return f'<li value="{tokens[index].meta["id"] + 1}">'

    def footnote_close(self, *_: Any) -> str:
        """The end of a footnote."""
        return "</li>"

    def footnote_anchor(self, *_: Any) -> str:
        """There is no link back: the numbers in the text are links."""
        return ""

    def heading_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """Headings of an answer are two levels below those of the page."""
        return f"<{_heading(tokens[index].tag)}>"

    def heading_close(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        """The end of a heading."""
        return f"</{_heading(tokens[index].tag)}>"


def _anchor(href: str) -> str:
    return f'<a href="{escape(href)}" target="_blank">'


def _heading(tag: str) -> str:
    return f"h{min(int(tag[1:]) + 2, 6)}"


def _label(tokens: Sequence[Token], index: int) -> list[str]:
    contents = []
    for token in tokens[index + 1 :]:
        if token.type == "link_close":
            break
        contents.append(token.content)
    return contents


def _closing(tokens: Sequence[Token], index: int) -> Token | None:
    return next((token for token in tokens[index + 1 :] if token.type == "link_close"), None)
