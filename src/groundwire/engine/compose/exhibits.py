"""Exhibits: code blocks, lists, tables and signatures of a page that an answer shows whole.

Their layout is plain text. Code and tables are indented by four spaces, which Markdown reads as preformatted
text; they end with a line break, so that a citation marker is not part of their last line. A list has one
line for each item. The quote of an exhibit is page text, verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent
from typing import Literal, TypeAlias

from groundwire.engine.compose.clean import clean_line, one_line, visible
from groundwire.engine.outline import Block
from groundwire.model.value import value

ExhibitKind: TypeAlias = Literal["code", "list", "table", "signature"]

INDENT = "    "
_CELLS = re.compile(r"\t| {2,}| \| ")
_LONGEST_EXHIBIT = 1600
"""Characters; a longer one is not shown. A passage is shorter, so this only excludes joined passages."""
_MOST_ROWS = 8
"""Rows of a table that are shown whole; of a longer one, the rows that answer, or the first ones."""
_LONGEST_CELL = 60


@value
class Exhibit:
    """A range of an excerpt that is shown as it is laid out."""

    kind: ExhibitKind
    start: int
    end: int
    blocks: tuple[Block, ...]

    def covers(self, position: int) -> bool:
        """Is this position of the excerpt inside?"""
        return self.start <= position < self.end


@value
class Layout:
    """An exhibit as it is shown: the text, and the quotes it consists of."""

    text: str
    quotes: tuple[str, ...]


def find_exhibits(blocks: Sequence[Block]) -> list[Exhibit]:
    """The exhibits of an excerpt, in order: code blocks, signatures, and runs of items and rows."""
    exhibits: list[Exhibit] = []
    run: list[Block] = []
    for block in blocks:
        if run and (block.kind != run[-1].kind or block.kind not in ("item", "row") or _begins(block)):
            exhibits += _exhibit(run)
            run = []
        run.append(block)
    return [*exhibits, *_exhibit(run)]


def lay_out(exhibit: Exhibit, text: str, chosen: Sequence[int] = ()) -> Layout | None:
    """The exhibit as text; None if it is too long. `chosen`: the offsets that answer, for a long table."""
    quote = text[exhibit.start : exhibit.end]
    if len(quote) > _LONGEST_EXHIBIT and exhibit.kind != "table":
        return None
    if exhibit.kind == "list":
        return Layout("\n".join(_list_lines(exhibit, text)), tuple(_item_quotes(exhibit, text)))
    if exhibit.kind == "table":
        return _table(exhibit, text, chosen)
    # A code block of plain text begins with its own indentation.
    lines = dedent(visible(quote).expandtabs(4)).strip("\n").split("\n")
    return Layout("".join(f"{INDENT}{line}".rstrip() + "\n" for line in lines), (quote,))


def _begins(block: Block) -> bool:
    """Does it begin a table with the names of its columns, or a list with the number 1?"""
    return (block.kind == "row" and block.level > 0) or (block.kind == "item" and block.number == 1)


def _exhibit(run: Sequence[Block]) -> Iterator[Exhibit]:
    if not run:
        return
    kinds: dict[str, ExhibitKind] = {"code": "code", "signature": "signature", "item": "list", "row": "table"}
    kind = kinds.get(run[0].kind)
    if kind is not None and (kind not in ("list", "table") or len(run) > 1):
        yield Exhibit(kind, run[0].start, run[-1].end, tuple(run))


def _list_lines(exhibit: Exhibit, text: str) -> Iterator[str]:
    least = min(block.level for block in exhibit.blocks)
    for block in exhibit.blocks:
        mark = f"{block.number}." if block.number else "-"
        indent = "  " * min(block.level - least, 1)
        yield f"{indent}{mark} {clean_line(text[block.start : block.end])}"


def _item_quotes(exhibit: Exhibit, text: str) -> Iterator[str]:
    """The verbatim text of the items. Items with nothing but space between them are quoted together; a mark
    between them is part of a file, but not of the page that a browser shows."""
    first, *rest = exhibit.blocks
    start, end = first.start, first.end
    for block in rest:
        if text[end : block.start].strip():
            yield text[start:end]
            start = block.start
        end = block.end
    yield text[start:end]


def _table(exhibit: Exhibit, text: str, chosen: Sequence[int]) -> Layout | None:
    rows = list(exhibit.blocks)
    if len(rows) > _MOST_ROWS:
        answering = [row for row in rows[1:] if any(row.start <= offset < row.end for offset in chosen)]
        rows = [rows[0], *(answering or rows[1:])[:_MOST_ROWS]]
    cells = [[_cell(cell) for cell in _CELLS.split(text[row.start : row.end])] for row in rows]
    if any(len(cell) > _LONGEST_CELL for line in cells for cell in line):
        body = "".join(f"{INDENT}{' | '.join(line)}\n" for line in cells)
    else:
        widths = [max(map(len, column)) for column in _columns(cells)]
        body = "".join(
            INDENT
            + "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=False)).rstrip()
            + "\n"
            for line in cells
        )
    return Layout(body, tuple(_ranges(rows, exhibit.blocks, text)))


def _cell(text: str) -> str:
    return one_line(text).replace("`", "")


def _columns(cells: Sequence[Sequence[str]]) -> list[list[str]]:
    most = max(map(len, cells))
    return [[line[number] for line in cells if number < len(line)] for number in range(most)]


def _ranges(rows: Sequence[Block], every: Sequence[Block], text: str) -> Iterator[str]:
    """The verbatim text of the rows; adjacent rows together."""
    numbers = [every.index(row) for row in rows]
    begin = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            yield text[every[numbers[begin]].start : every[numbers[at - 1]].end]
            begin = at
