"""Finds the structure of plain text: headings, paragraphs, lists, tables and code, by their typography.

Text of files and of PDF is wrapped at some width, with or without blank lines between paragraphs. A line that
ends a sentence well before that width ends a paragraph; a short line that is not a sentence, before a line
that begins one, is a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundwire.engine.outline import Block

_BULLET = re.compile(r"(?:[-*+•‣◦–·]|\(?(\d{1,3})[.)]|\(?[a-z]\))\s+(?=\S)")
_RULE = re.compile(r"[=\-~^\"'`#*+_.:|\s]{3,}")
_UNDERLINES = "=-~^\"'`#*+"
_MARKDOWN_HEADING = re.compile(r"(#{1,6})\s+(?=\S)")
_FENCE = re.compile(r"(```|~~~)")
_COLUMNS = re.compile(r"\t+|(?<=\S) {2,}(?=\S)|(?<=\S) +\| +(?=\S)")
_NUMBERED_TITLE = re.compile(r"(?:§ ?)?(\d{1,3}(?:\.\d{1,3}){0,4})\.?\s+(?=[^\W\d_])")
_CODE_CHARACTERS = re.compile(r"[=(){}\[\];<>$|\\]|^\s*(?:>>>|[#$] |import |from |def |class )")
_COMMAND = re.compile(r"[a-z./~][^\"“„]* --?[a-zA-Z][^\"“„.]*$")
"""A command with an option, and not a sentence about one."""
_OPEN_STATEMENT = re.compile(r"(?:async )?(?:def|class) \w+\([^)]*$")
"""The first line of a statement whose parameters go on in the next line."""
_SENTENCE_START = re.compile(r"[\"'“„»(\[]?(?:[^\W_a-zäöüß]|[-*•])")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’»)\]]{0,3}$")
_CODE_INDENT = 4
_DEEPEST = 20
_WRAPPED = 120
"""Characters. Text whose lines are longer is not wrapped: each line is a paragraph."""
_SHORT_LINE = 0.75
"""Share of the width below which a line ended early. Chosen by hand."""
_UNFINISHED = re.compile(r"\b(?:and|by|or|the|with|durch|mit|oder|und)$", re.IGNORECASE)
"""The end of a line that goes on in the next block, such as a command. `Logging in` may be a heading."""
_LONGEST_TITLE = 80
_MOST_TITLE_WORDS = 10
_TITLE_LEVEL, _HEADING_LEVEL = 1, 2


class _Line(NamedTuple):
    start: int
    end: int
    text: str
    """Without the white space around it."""
    indent: int

    def is_blank(self) -> bool:
        return not self.text


def plain_blocks(text: str) -> list[Block]:
    """The blocks of a plain text."""
    reader = _PlainReader(_lines(text))
    blocks = list(reader.blocks())
    if blocks and blocks[0].kind == "heading":
        blocks[0] = blocks[0]._replace(level=_TITLE_LEVEL)
    return blocks


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    position = 0
    for raw in text.split("\n"):
        words = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        lines.append(_Line(position + indent, position + indent + len(words), words, indent))
        position += len(raw) + 1
    return lines


class _PlainReader:
    """Reads lines into blocks, from top to bottom."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._at = 0
        self._marks: list[str] = []
        """The characters that underline headings, in order: the first underlines the highest level."""

    def blocks(self) -> Iterator[Block]:
        """All blocks, in order."""
        lines = self._lines
        while self._at < len(lines):
            line = lines[self._at]
            if line.is_blank():
                self._at += 1
            elif _FENCE.match(line.text):
                yield from self._fenced()
            elif self._is_code():
                yield self._code()
            elif (heading := self._marked_heading()) is not None:
                yield heading
            elif _RULE.fullmatch(line.text):
                self._at += 1
            elif self._is_row(self._at) and self._is_row(self._at + 1):
                yield from self._table()
            elif _BULLET.match(line.text) and not self._is_numbered_title():
                yield from self._list()
            else:
                yield from self._paragraphs()

    def _fenced(self) -> Iterator[Block]:
        """A code block between fences; without an end, up to the end of the text."""
        fence = self._lines[self._at].text[:3]
        first = self._at = self._at + 1
        while self._at < len(self._lines) and not self._lines[self._at].text.startswith(fence):
            self._at += 1
        inside = self._lines[first : self._at]
        self._at += 1
        if any(line.text for line in inside):
            yield Block("code", inside[0].start - inside[0].indent, max(line.end for line in inside))

    def _is_code(self) -> bool:
        line = self._lines[self._at]
        if line.indent >= _CODE_INDENT:
            return bool(_CODE_CHARACTERS.search(line.text) or _COMMAND.match(line.text))
        following = self._lines[self._at + 1 : self._at + 2]
        return bool(_OPEN_STATEMENT.match(line.text)) and any(
            after.text and after.indent >= _CODE_INDENT for after in following
        )

    def _code(self) -> Block:
        """Lines that are indented as much as the first; blank lines between them belong to the block."""
        first = last = self._at
        indent = max(_CODE_INDENT, self._lines[first].indent)
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and line.indent < indent:
                break
            last = self._at if line.text else last
            self._at += 1
        begin = self._lines[first]
        return Block("code", begin.start - begin.indent, self._lines[last].end)

    def _marked_heading(self) -> Block | None:
        """A heading that is underlined, or marked as in Markdown."""
        line = self._lines[self._at]
        if marked := _MARKDOWN_HEADING.match(line.text):
            self._at += 1
            return Block("heading", line.start + marked.end(), line.end, len(marked[1]))
        under = self._lines[self._at + 1].text if self._at + 1 < len(self._lines) else ""
        is_rule = len(under) >= 3 and len(set(under)) == 1 and under[0] in _UNDERLINES
        if not is_rule or len(line.text) > _LONGEST_TITLE or _RULE.fullmatch(line.text):
            return None
        if under[0] not in self._marks:
            self._marks.append(under[0])
        self._at += 2
        return Block("heading", line.start, line.end, self._marks.index(under[0]) + 1)

    def _is_numbered_title(self) -> bool:
        """Is it a heading like `1. Vacation`, and not the first item of a list?"""
        line, *rest = self._lines[self._at : self._at + 3]
        following = next((other for other in rest if other.text), None)
        if following is None or not _NUMBERED_TITLE.match(line.text) or not _is_title(line.text):
            return False
        is_item = _BULLET.match(following.text) is not None or following.indent > line.indent
        return not is_item and _SENTENCE_START.match(following.text) is not None

    def _is_row(self, number: int) -> bool:
        return number < len(self._lines) and _COLUMNS.search(self._lines[number].text) is not None

    def _table(self) -> Iterator[Block]:
        """Lines with columns; rules between them are left out."""
        first = True
        while self._is_row(self._at) or (
            self._at < len(self._lines) and _RULE.fullmatch(self._lines[self._at].text)
        ):
            line = self._lines[self._at]
            self._at += 1
            if not _RULE.fullmatch(line.text):
                yield Block("row", line.start, line.end, int(first))
                first = False

    def _list(self) -> Iterator[Block]:
        """The items of a list. Lines that are indented, or follow without a blank line, continue an item."""
        indents: list[int] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            bullet = _BULLET.match(line.text)
            if bullet is None:
                return
            indents = [*(indent for indent in indents if indent < line.indent), line.indent][:_DEEPEST]
            self._at += 1
            end = line.end
            while self._at < len(self._lines) and self._continues_item(self._lines[self._at]):
                end = self._lines[self._at].end
                self._at += 1
            start = line.start + bullet.end()
            yield Block("item", start, end, len(indents), number=int(bullet[1] or 0))
            self._skip_blank_before_item()

    def _continues_item(self, line: _Line) -> bool:
        return bool(line.text) and _BULLET.match(line.text) is None and not self._marks_heading(line)

    def _marks_heading(self, line: _Line) -> bool:
        return _MARKDOWN_HEADING.match(line.text) is not None or _FENCE.match(line.text) is not None

    def _skip_blank_before_item(self) -> None:
        after = self._at
        while after < len(self._lines) and self._lines[after].is_blank():
            after += 1
        if after < len(self._lines) and after - self._at == 1 and _BULLET.match(self._lines[after].text):
            self._at = after

    def _paragraphs(self) -> Iterator[Block]:
        """The paragraphs and headings up to the next blank line, list, table or code block."""
        run = [self._lines[self._at]]
        self._at += 1
        while self._at < len(self._lines) and self._continues_text(self._lines[self._at]):
            run.append(self._lines[self._at])
            self._at += 1
        width = max(len(line.text) for line in run)
        begin = 0
        for number in range(1, len(run) + 1):
            is_alone = begin == number - 1
            if number < len(run) and not _is_border(
                run[number - 1].text, run[number].text, width, is_alone=is_alone
            ):
                continue
            first, last = run[begin], run[number - 1]
            if is_alone and _is_title(first.text) and (number < len(run) or number == 1):
                yield Block("heading", first.start, first.end, _title_level(first.text))
            else:
                yield Block("paragraph", first.start, last.end)
            begin = number

    def _continues_text(self, line: _Line) -> bool:
        if not line.text or _RULE.fullmatch(line.text) or self._marks_heading(line):
            return False
        under = self._lines[self._at + 1].text if self._at + 1 < len(self._lines) else ""
        is_underlined = len(under) >= 3 and set(under) <= set("=-~")
        return not is_underlined and _BULLET.match(line.text) is None


def _is_border(last: str, following: str, width: int, *, is_alone: bool) -> bool:
    """Does a paragraph, or a heading, end between two lines? `is_alone`: it has one line so far."""
    if width > _WRAPPED:
        return True
    if not _SENTENCE_START.match(following):
        return False
    is_short = len(last) < _SHORT_LINE * width
    if is_alone and is_short and _is_title(last):
        return True
    return (is_short and _SENTENCE_END.search(last) is not None) or (
        _NUMBERED_TITLE.match(following) is not None and _is_title(following)
    )


def _is_title(line: str) -> bool:
    """A short line that begins like a sentence and does not end like one; a question may be a heading."""
    if len(line) > _LONGEST_TITLE or len(line.split()) > _MOST_TITLE_WORDS or line[-1] in ".!:;,…":
        return False
    if _UNFINISHED.search(line):
        return False
    return _SENTENCE_START.match(line) is not None or _NUMBERED_TITLE.match(line) is not None


def _title_level(line: str) -> int:
    numbered = _NUMBERED_TITLE.match(line)
    if numbered:
        return min(6, _HEADING_LEVEL + numbered[1].count("."))
    return _HEADING_LEVEL
