"""The outline of a text: headings, paragraphs, code blocks, list items and table rows, as ranges of it.

Blocks are in order and do not overlap. A table row is one line, its cells are separated by tabs. A section
is a heading with everything up to the next heading; `Section` has the headings above a position.

A page stores its outline as a short text (`encode_outline`): one line for each block with its kind, level,
distance from the block before, length, number and anchor. That is a few bytes for each block, can be stored
and compared like any other field, and is decoded only where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from groundwire.text.lazy_pattern import lazy_pattern

BlockKind: TypeAlias = Literal["heading", "signature", "paragraph", "code", "item", "row"]
"""signature: the declaration of a documented name, which opens a section like a heading."""


class Block(NamedTuple):
    """A range of a text in code points, end exclusive."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """Of a heading 1 to 6, of a signature 7 or more; of an item its nesting, from 1 on, and of another block
    the nesting of the list it is in; of a row 1 if it has the names of the columns."""
    anchor: str = ""
    """The fragment of the URL that leads to a heading."""
    number: int = 0
    """The number of an item in a numbered list."""


class Section(NamedTuple):
    """The headings above a position of a text, outermost first."""

    headings: tuple[str, ...] = ()
    anchor: str = ""
    """Of the innermost heading."""


HEADINGS = ("heading", "signature")
"""The kinds of blocks that open a section."""

_LETTERS: dict[str, BlockKind] = {
    "h": "heading",
    "s": "signature",
    "p": "paragraph",
    "c": "code",
    "i": "item",
    "r": "row",
}
_LETTER_OF = {kind: letter for letter, kind in _LETTERS.items()}
_LINE = lazy_pattern(r"([hspcir])(\d{0,2}),(\d{1,8}),(\d{1,8})(?:,(\d{1,8}))?(?:#(\S{1,200}))?")
_ANCHOR = lazy_pattern(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")
_MOST_LEVELS = 99


def safe_anchor(anchor: str) -> str:
    """The anchor if it can be part of a URL; empty if not."""
    return anchor if _ANCHOR.fullmatch(anchor) else ""


def encode_outline(blocks: Iterable[Block]) -> str:
    """The blocks as one text."""
    lines: list[str] = []
    position = 0
    for kind, start, end, level, anchor, number in blocks:
        line = f"{_LETTER_OF[kind]}{min(level, _MOST_LEVELS) or ''},{start - position},{end - start}"
        if number:
            line += f",{number}"
        lines.append(f"{line}#{anchor}" if anchor else line)
        position = end
    return "\n".join(lines)


def decode_outline(outline: str) -> list[Block]:
    """The blocks of an encoded outline. Raises `ValueError` if it is not one."""
    blocks: list[Block] = []
    position = 0
    for line in outline.split("\n") if outline else ():
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError("not an outline")
        letter, level, gap, length, number, anchor = match.groups()
        start = position + int(gap)
        position = start + int(length)
        blocks.append(
            Block(_LETTERS[letter], start, position, int(level or 0), anchor or "", int(number or 0))
        )
    return blocks


def fits(outline: str, text: str) -> bool:
    """Is it an outline of this text: in the right form, with all ranges inside?"""
    try:
        blocks = decode_outline(outline)
    except ValueError:
        return False
    return not blocks or blocks[-1].end <= len(text)


def clip(blocks: Iterable[Block], start: int, end: int) -> list[Block]:
    """The blocks of a part of a text, with offsets in that part; a block that is cut keeps its kind."""
    clipped = (
        block._replace(start=max(block.start, start) - start, end=min(block.end, end) - start)
        for block in blocks
        if block.start < end and block.end > start
    )
    return [block for block in clipped if block.start < block.end]


class Parts(NamedTuple):
    """A part of a text with its section and its blocks."""

    section: Section
    blocks: list[Block]
    """With offsets in the part."""


def outline_parts(text: str, blocks: Sequence[Block], ranges: Iterable[tuple[int, int]]) -> Iterator[Parts]:
    """The section and the blocks of consecutive ranges of a text.

    Headings at the beginning of a range belong to its section: those directly after each other, as a title
    and the heading of its first section."""
    above: list[Block] = []
    position = 0
    for start, end in ranges:
        while position < len(blocks) and blocks[position].end <= start:
            _open(above, blocks[position])
            position += 1
        upto = position
        while upto < len(blocks) and blocks[upto].start < end:
            upto += 1
        opened = list(above)
        for block in blocks[position:upto]:
            if block.kind not in HEADINGS:
                break
            _open(opened, block)
        headings = tuple(" ".join(text[block.start : block.end].split()) for block in opened)
        anchor = next((block.anchor for block in reversed(opened) if block.anchor), "")
        yield Parts(Section(headings, anchor), clip(blocks[position:upto], start, end))


def _open(above: list[Block], block: Block) -> None:
    """Opens a section: it ends the sections of its level and below."""
    if block.kind in HEADINGS:
        while above and above[-1].level >= block.level:
            above.pop()
        above.append(block)
