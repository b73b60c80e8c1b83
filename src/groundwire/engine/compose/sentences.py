"""Sentence splitting, with exact offsets.

The segments are in order, do not overlap, and are separated by white space only: every visible character
belongs to one segment, and `text[segment.start:segment.end]` is the text, verbatim. What is not prose (code,
signatures, headings, bullets and rules) gets a kind of its own, so that it is not taken for a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.outline import Block
from groundwire.engine.words import MONTHS, word_list
from groundwire.text.lazy_pattern import lazy_pattern

SegmentKind: TypeAlias = Literal["prose", "item", "heading", "code", "signature", "bullet", "rule", "row"]
"""item: a sentence of a list; bullet: the character before it; rule: a decoration or a directive; row: of a
table, known from an outline only."""


class Segment(NamedTuple):
    """A range of the text, end exclusive."""

    start: int
    end: int
    kind: SegmentKind


class _SourceLine(NamedTuple):
    start: int
    end: int
    text: str
    """Without the white space around it."""
    kind: SegmentKind | Literal["blank"]
    bullet: int
    """The length of the bullet and the space after it."""
    is_item: bool
    """Does it begin an item of a list?"""


_BULLET = lazy_pattern(r"(?:[-*+•‣◦–·]|\(?\d{1,3}[.)]|\(?[a-z]\)|#\.)\s+(?=\S)")
_RULE = lazy_pattern(r"[=\-~^\"'`#*+_.:|\s<>]{3,}$|[+|](?:[-=+|\s]+)$|\.\. .*$|:\w[\w ]*:$|(?:```|~~~).*$")
_HEADING = lazy_pattern(r"#{1,6}\s+\S")
_FENCE = lazy_pattern(r"(?:```|~~~)")
_LABEL = lazy_pattern(r"[A-Z]\w+(?: \w+)?:$")
_DEFINITION = lazy_pattern(
    r"\*{0,2}[a-z_]\w*(?:\.\w+)*(?: \([^()]*\))?:\s+(?=\S)|[A-Za-z_][\w.]*(?:\([^()]*\))?\s+--\s+(?=\S)"
)
_TERM = lazy_pattern(r"[a-z_]\w*$")
_PROMPT = lazy_pattern(r">>>|\.\.\.(?:\s|$)|[$%] \S|\$ ")
_CODE = lazy_pattern(
    r"(?:from\s+[\w.]+\s+import\s|import\s+[\w.]+(?:\s+as\s+\w+)?(?:,\s*[\w.]+)*$|@\w[\w.]*(?:\(.*\))?$"
    r"|(?:def|class|for|while|if|elif|else|try|except|with|async|return|raise)\b.*:$|return\b[^.]*$"
    r"|[\w.\[\]'\"]+\s*(?:[-+*/|&]?=)\s*\S.*$|[\w.]+\(.*\)\s*(?:#.*)?$|[{}()\[\];]+$|.*[{}]$|</?\w+.*>$"
    # A line of prose may end with a semicolon too.
    r"|(?![A-Z]?[a-z]+(?: [\w'’,-]+){3} ).*;$"
    r"|\|.*\|$|\[[^()]*\)$|->\s|\"{3}|'{3})"
)
# An item of a list that begins with words may end with code.
_LISTED_PROSE = lazy_pattern(r"[-*+•‣◦–·]\s+[A-Z]?[a-z]+(?: [a-z'’]+){2}")
# A shell command: a program with options, or a well-known program.
_COMMAND = lazy_pattern(
    r"[a-z][\w.-]*(?:\s\S+)*?\s--?[a-z][\w-]*(?:[=\s].*)?(?<![.:,])$"
    r"|(?:pip|pipx|uv|npm|npx|apt|brew|docker|git|curl|sudo)\s[a-z-]+\s\S.*(?<![.:,])$"
)
# `repeat(object) -> create an iterator which …`: a sentence follows the arrow, not a type.
_DESCRIPTION_AFTER_ARROW = lazy_pattern(r"\)\s*-+>\s*(?:\w+,\s+)?(?=[A-Za-z][a-z]*\s+(?:[a-z]+\s+){2}[a-z])")
# Most lines are plain words and need no further checks.
_PLAIN = lazy_pattern(r"(?!(?:import|from|return|raise)\b)[^\W\d_][^=(){}\[\];:|<>@$%`~^#*\\]+[\w.,]$")
_SIGNATURE = lazy_pattern(r"(?:class |def |async def )?([A-Za-z_][\w.]*)\((?![\"'\d])")
_UNFINISHED = lazy_pattern(r"\w=[^\s,()]+,$|\*, |\*\w+,$")
_ARROW = lazy_pattern(r"\s*(?:(?:->|-->)\s*\S.*|:)?$")
_END = lazy_pattern(r"([.!?…]+)[\"'”’»)\]*_`]*(?=\s)|[。！？]+[」』”）]*")
_CODE_SPAN = lazy_pattern(r"``[^`]+``|`[^`\n]+`")
_WORD_BEFORE = lazy_pattern(r"[\w.]+$")
_PAIR = lazy_pattern(r"\b[^\W\d_]\.\s?[^\W\d_]$")  # `d. h`, `u. a`
_OPENING = "\"'“”‘’«»([{*_`„"


def split_sentences(text: str) -> list[Segment]:
    """All pieces of a text."""
    segments: list[Segment] = []
    block: list[_SourceLine] = []
    lines = _lines(text)
    for position, line in enumerate(lines):
        if block and (line.kind != "prose" or line.is_item):
            segments.extend(_block(text, block, followed=line))
            block = []
        if line.kind == "prose":
            underlined = position + 1 < len(lines) and _underlines(lines[position + 1], line)
            if underlined and not block:
                segments.append(Segment(line.start, line.end, "heading"))
            else:
                block.append(line)
        elif line.kind != "blank":
            segments.append(Segment(line.start, line.end, line.kind))
    if block:
        segments.extend(_block(text, block, followed=None))
    return segments


def split_blocks(text: str, blocks: Sequence[Block]) -> list[Segment]:
    """The pieces of a text whose structure is known. White space, bullets and rules are between them."""
    segments: list[Segment] = []
    for block in blocks:
        match block.kind:
            case "paragraph" | "item":
                kind: SegmentKind = "item" if block.kind == "item" else "prose"
                segments += [Segment(start, end, kind) for start, end in _cuts(text, block.start, block.end)]
            case other:
                segments.append(Segment(block.start, block.end, other))
    return segments


def derive_blocks(text: str, segments: Sequence[Segment]) -> list[Block]:
    """The code blocks and the items of lists with bullets or numbers, found by their form."""
    blocks: list[Block] = []
    number: int | None = None
    for before, segment in pairwise((Segment(0, 0, "rule"), *segments)):
        if segment.kind == "code":
            if before.kind == "code" and blocks:
                blocks[-1] = blocks[-1]._replace(end=segment.end)
            else:
                blocks.append(Block("code", text.rfind("\n", 0, segment.start) + 1, segment.end))
        elif segment.kind == "bullet":
            digits = text[segment.start : segment.end].strip("().")
            number = int(digits) if digits.isdecimal() else 0
        elif segment.kind == "item" and before.kind == "bullet":
            blocks.append(Block("item", segment.start, segment.end, 1, number=number or 0))
        elif segment.kind == "item" and blocks and blocks[-1].end == before.end:
            blocks[-1] = blocks[-1]._replace(end=segment.end)
        else:
            blocks.append(Block("paragraph", segment.start, segment.end))
    return blocks


class _LineClassifier:
    """Classifies lines in context: fences, literal blocks, continued paragraphs."""

    __slots__ = (
        *("_answers", "_body", "_fence", "_literal", "_previous", "_previous_indent", "_stopped"),
        *("_unfinished", "is_item"),
    )

    def __init__(self) -> None:
        self._answers = False
        self._body: int | None = None
        self._fence = ""
        self._literal: int | None = None
        self._previous: SegmentKind | Literal["blank"] = "blank"
        self._previous_indent = 0
        self._stopped = False
        self._unfinished = False
        """Do the parameters of a signature go on in the next line?"""
        self.is_item = False
        """Does the line before belong to an item of a list?"""

    def is_listing(self, indent: int) -> bool:
        """May the next line begin an item of a list of definitions (`timeout: The seconds to wait`)?"""
        return self._previous != "prose" or self.is_item or indent > self._previous_indent

    def kind(self, line: str, indent: int) -> SegmentKind | Literal["blank"]:
        """The kind of the next line."""
        kind = self._kind(line, indent) if line else "blank"
        # The output of an interpreter follows its prompt, up to the next blank line.
        self._answers = bool(line) and (self._answers or line.startswith(">>>"))
        self._previous = kind
        self.is_item = self.is_item and kind == "prose"
        self._stopped = line.endswith((".", "!", "?"))
        self._unfinished = kind == "signature" and line.endswith(",")
        if line:
            self._previous_indent = indent
        return kind

    def continue_as_prose(self) -> SegmentKind:
        """Marks the current line as prose, which the next line may continue."""
        self._previous = "prose"
        return "prose"

    def _kind(self, line: str, indent: int) -> SegmentKind:
        if _FENCE.match(line) and (not self._fence or line.startswith(self._fence)):
            self._fence = "" if self._fence else line[:3]
            return "rule"
        if self._fence:
            return "code"
        if self._answers or any(
            start is not None and indent > start for start in (self._literal, self._body)
        ):
            return "code"
        if self._unfinished and indent > self._previous_indent:
            return "signature"
        kind = _kind(line)
        if kind in ("code", "signature") and self._goes_on(line, indent):
            kind = "prose"
        # The body of a statement inside code: `print(root)` alone looks like a signature.
        self._body = indent if kind == self._previous == "code" and line.endswith(":") else None
        # reST announces a literal block by two colons; it lasts while lines are indented.
        self._literal = indent if kind == "prose" and line.endswith("::") else None
        return kind

    def _goes_on(self, line: str, indent: int) -> bool:
        """Wrapped prose may look like code; a continuation line belongs to its paragraph."""
        goes_on = self._previous == "prose" and not self._stopped and indent <= self._previous_indent
        return goes_on and not _PROMPT.match(line)


def _lines(text: str) -> list[_SourceLine]:
    """The lines with their kinds."""
    lines: list[_SourceLine] = []
    reader = _LineClassifier()
    position = 0
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        start = position + indent
        position += len(raw)
        defines = reader.is_listing(indent) and _DEFINITION.match(line) is not None
        kind = reader.kind(line, indent)
        description = _DESCRIPTION_AFTER_ARROW.search(line) if kind == "signature" else None
        if description is not None:
            lines.append(
                _SourceLine(
                    start, start + len(line[: description.end()].rstrip()), line, kind, 0, is_item=False
                )
            )
            start, line, kind = (
                start + description.end(),
                line[description.end() :],
                reader.continue_as_prose(),
            )
        bullet = _BULLET.match(line) if kind == "prose" else None
        length = bullet.end() if bullet else 0
        lines.append(_SourceLine(start, start + len(line), line, kind, length, bool(length) or defines))
        if kind == "prose":
            reader.is_item = bool(length) or defines or reader.is_item
    return lines


def _kind(line: str) -> SegmentKind:
    if _COMMAND.match(line):
        return "code"
    if _PLAIN.match(line):
        return "prose"
    if _PROMPT.match(line):
        return "code"
    if _HEADING.match(line) or _LABEL.match(line):
        return "heading"
    if _RULE.match(line):
        return "rule"
    if _is_signature(line):
        return "signature"
    return "code" if _CODE.match(line) and not _LISTED_PROSE.match(line) else "prose"


def _is_signature(line: str) -> bool:
    """`name(…)` whose bracket closes at the end of the line, before an arrow, or, after a comma, later on."""
    match = _SIGNATURE.match(line)
    if match is None:
        return False
    depth = 0
    for position in range(match.end() - 1, len(line)):
        depth += (line[position] in "([{") - (line[position] in ")]}")
        if not depth:
            return _ARROW.match(line, position + 1) is not None
    return _UNFINISHED.search(line) is not None


def _underlines(line: _SourceLine, above: _SourceLine) -> bool:
    return line.kind == "rule" and line.start > above.end and set(line.text) <= set("=-~^\"'`#*+")


def _block(text: str, lines: list[_SourceLine], followed: _SourceLine | None) -> Iterator[Segment]:
    """The pieces of a paragraph or a list item."""
    first, last = lines[0], lines[-1]
    start = first.start + first.bullet
    if first.bullet:
        yield Segment(first.start, first.start + len(first.text[: first.bullet].rstrip()), "bullet")
    elif _is_term(text, lines):
        # `maxsplit`, and below it, indented, what that means.
        yield Segment(start, first.end, "heading")
        start, first = lines[1].start, first._replace(is_item=True)
    elif _is_alone(lines, followed) and _is_title(first.text):
        yield Segment(start, first.end, "heading")
        return
    kind: SegmentKind = "item" if first.is_item else "prose"
    for begin, end in _cuts(text, start, last.end):
        yield Segment(begin, end, kind)


def _is_term(text: str, lines: list[_SourceLine]) -> bool:
    if len(lines) < 2 or not _TERM.match(lines[0].text):
        return False
    return _indent(text, lines[1]) > _indent(text, lines[0])


def _indent(text: str, line: _SourceLine) -> int:
    position = line.start
    while position and text[position - 1] in " \t":
        position -= 1
    return line.start - position


def _is_alone(lines: list[_SourceLine], followed: _SourceLine | None) -> bool:
    return len(lines) == 1 and not lines[0].is_item and (followed is None or followed.kind == "blank")


def _is_title(line: str) -> bool:
    """A short separate line that does not end like a sentence."""
    return len(line) <= 60 and line[-1] not in ".!?:;,…。！？)”\"'`" and len(line.split()) <= 8


def _cuts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges of sentences within a paragraph, without the white space between them."""
    spans = [match.span() for match in _CODE_SPAN.finditer(text, start, end)]
    begin = start
    for match in _END.finditer(text, start, end):
        while spans and spans[0][1] <= match.start():
            del spans[0]
        inside = spans and spans[0][0] <= match.start()
        if match.end() < end and not inside and _ends(text, match):
            yield begin, match.end()
            begin = _past_space(text, match.end())
    if begin < end:
        yield begin, end


def _past_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _ends(text: str, match: re.Match[str]) -> bool:
    """Does a sentence end at this stop, or is it an abbreviation, an initial, an ordinal, an ellipsis?"""
    if match[1] is None:
        return True
    following = text[match.end() : match.end() + 40].lstrip()
    after = following.lstrip(_OPENING)
    if not after:
        return True
    if match[1] == "." and _is_shortened(text, match.start(), after):
        return False
    if after[0].islower() and not following.startswith("`"):
        return "." in match[1] and _is_name(after)
    return True


def _is_shortened(text: str, stop: int, after: str) -> bool:
    """Is the full stop part of an abbreviation, an initial or an ordinal?"""
    before_stop = text[max(0, stop - 24) : stop]
    before = _WORD_BEFORE.search(before_stop)
    word = before[0].lower() if before else ""
    if _PAIR.search(before_stop):
        return True
    if word in word_list("abbreviations"):
        return not (word in _MAY_END and after[0].isupper())
    if word.isdigit() and len(word) <= 2:
        return _is_number_with_stop(before_stop[: -len(word)].rstrip(), after)
    return len(word) == 1 and word.isalpha() and text[stop - 1].isupper()


def _is_number_with_stop(before: str, after: str) -> bool:
    """Is `2.` an ordinal, as in German, or the number of an item, and not the end of a sentence?"""
    if after.split(maxsplit=1)[0].strip(".,").lower() in _AFTER_ORDINALS:
        return True
    words = before.rsplit(maxsplit=1)
    return not before or before[-1] in ".!?:;" or words[-1].lower() in _BEFORE_ORDINALS


_MAY_END = frozenset(["etc", "usw", "al"])
_BEFORE_ORDINALS = frozenset(
    (
        *("am", "im", "vom", "zum", "der", "die", "das", "dem", "den", "des", "ein", "eine", "einem"),
        *("einen", "jeder", "jede", "jedes", "jeden", "ab", "bis"),
    )
)
_AFTER_ORDINALS = frozenset(MONTHS) | {"jahrhundert", "jahrhunderts", "weltkrieg", "weltkriegs", "auflage"}


def begins_within_sentence(text: str) -> bool:
    """Does a text begin in lower case, and not with a word of code?"""
    after = text.lstrip(_OPENING)
    return after[:1].islower() and not text.startswith("`") and not _is_name(after)


def _is_name(after: str) -> bool:
    """A word of code may begin a sentence in lower case: `json.dumps`, `os_path`, `len()`."""
    word = after.split(maxsplit=1)[0]
    return "_" in word.strip("_") or "(" in word or "." in word.rstrip(".,;:!?)")
