"""Arranges the selected statements of an answer with the code blocks, lists and tables they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundwire.engine.compose.exhibits import Exhibit, Layout, lay_out
from groundwire.engine.compose.select import SelectedStatement, Selection
from groundwire.engine.compose.statements import Excerpt, Statement, exhibits_of
from groundwire.engine.outline import decode_outline
from groundwire.engine.retrieve.question import asks_how
from groundwire.text.lazy_pattern import lazy_pattern

_ABOUT_CODE = lazy_pattern(
    r"\b(?:examples?|code|snippet|command|syntax|usage|beispiele?|befehl|quelltext)\b", re.IGNORECASE
)
_ABOUT_LIST = lazy_pattern(
    r"^\W*(?:which\b|what are\b|list\b|what (?:do|must|should|have|has) "
    r"|welche\b|was sind\b|was (?:muss|soll|tun|mache))"
    r"|\b(?:steps?|kinds|types|options|schritte?|arten)\b",
    re.IGNORECASE,
)


class Entry(NamedTuple):
    """A sentence or an exhibit of an answer."""

    url: str
    item: SelectedStatement | None = None
    layout: Layout | None = None
    announces: bool = False
    """Is the sentence followed by what it announces with a colon, or by the code that interrupts it?"""


def arrange(query: str, selection: Selection, excerpts: Sequence[Excerpt]) -> list[list[Entry]]:
    """The paragraphs of the answer: their sentences, and the exhibits that belong to them."""
    arranger = _Arranger(query, excerpts)
    paragraphs = [arranger.paragraph(paragraph) for paragraph in selection.paragraphs]
    if paragraphs and arranger.wants_code and not arranger.has_code:
        paragraphs[0] += arranger.example(selection.paragraphs[0])
    return [paragraph for paragraph in paragraphs if paragraph]


class _Arranger:
    """Finds the exhibits of statements; each exhibit is shown once."""

    def __init__(self, query: str, excerpts: Sequence[Excerpt]) -> None:
        how = asks_how(query)
        self.wants_code = how or _ABOUT_CODE.search(query) is not None
        self._wants_list = how or _ABOUT_LIST.search(query) is not None
        self.has_code = False
        self._excerpts = excerpts
        self._exhibits: dict[int, list[Exhibit]] = {}
        self._shown: set[tuple[str, int]] = set()

    def paragraph(self, items: Sequence[SelectedStatement]) -> list[Entry]:
        """The entries of one paragraph."""
        entries: list[Entry] = []
        for item in items:
            if item is not items[0] and self._is_later_example(item.statement, items[0].statement):
                continue
            if self._is_in_shown(item.statement):
                continue
            entries += self._opening(item.statement)
            around = self._around(item.statement, items)
            if around is None:
                entries += self._sentence(item)
            else:
                offsets = [self._position(other.statement) for other in items if self._is_in(other, item)]
                shown = self._show(item.statement.excerpt, around, offsets)
                entries += shown or [Entry(item.statement.url, item)]
        return entries

    def example(self, items: Sequence[SelectedStatement]) -> list[Entry]:
        """The first code block after the first statement in its section, and the signature of the section."""
        statement = items[0].statement
        position = self._position(statement)
        known = self._of(statement)
        signatures = [one for one in known if one.kind == "signature" and one.start <= position]
        text = self._excerpts[statement.excerpt].text
        # The signature of a glossary entry is its name alone, with which the answer already begins.
        calls = [one for one in signatures[-1:] if text[one.start : one.end].strip() != statement.subject]
        entries = [entry for one in calls for entry in self._show(statement.excerpt, one)]
        for number, excerpt in self._section_from(statement):
            least = position if number == statement.excerpt else 0
            for one in self._exhibits_of(number):
                if one.start > least and one.kind == "signature" and excerpt.outline:
                    return entries
                if one.start >= least and one.kind == "code" and (shown := self._show(number, one)):
                    return entries + shown
        return entries

    def _is_later_example(self, statement: Statement, first: Statement) -> bool:
        """Does a statement about a documented name announce code, although there is some before it? The first
        example shows how a thing is used, the others what else can be done with it."""
        following = self._following(statement)
        announces = statement.subject and statement.quote.rstrip().endswith(":")
        if statement.is_interrupted:
            return False
        if following is None or following.kind != "code" or not announces:
            return False
        positions = (
            excerpt.start + one.start
            for number, excerpt in self._section_from(first)
            for one in self._exhibits_of(number)
            if one.kind == "code"
        )
        return any(first.offset < position < statement.offset for position in positions)

    def _section_from(self, statement: Statement) -> list[tuple[int, Excerpt]]:
        """The excerpts of the statement's section from the statement on, in the order of the page."""
        own = self._excerpts[statement.excerpt]
        following = [
            (number, excerpt)
            for number, excerpt in enumerate(self._excerpts)
            if (excerpt.url, excerpt.section) == (own.url, own.section) and excerpt.start >= own.start
        ]
        return sorted(following, key=lambda item: item[1].start)

    def _sentence(self, item: SelectedStatement) -> Iterator[Entry]:
        """A sentence, and the exhibit directly after it if it announces one or the question wants code."""
        statement = item.statement
        announces = statement.quote.rstrip().endswith(":") or statement.is_interrupted
        following = self._following(statement)
        shown: list[Entry] = []
        if following is not None and (announces or (self.wants_code and following.kind == "code")):
            shown = self._show(statement.excerpt, following)
        yield Entry(statement.url, item, announces=announces and bool(shown))
        yield from shown

    def _opening(self, statement: Statement) -> list[Entry]:
        """The code or the table that opens the section of a statement, if the statement directly follows it
        and comments on it."""
        text = self._excerpts[statement.excerpt].text
        position = self._position(statement)
        before = [one for one in self._of(statement) if one.end <= position]
        if not before or statement.kind != "prose" or text[before[-1].end : position].strip("`~ \n\t"):
            return []
        opening = before[-1]
        if not (self.wants_code if opening.kind == "code" else self._wants_list and opening.kind == "table"):
            return []
        outline = self._excerpts[statement.excerpt].outline
        above = [block.kind for block in decode_outline(outline) if block.end <= opening.start]
        opens = bool(outline) and all(kind == "heading" for kind in above)
        return self._show(statement.excerpt, opening) if opens else []

    def _is_in_shown(self, statement: Statement) -> bool:
        """Is it part of a list or a table that is shown already?"""
        position = self._position(statement)
        return any(
            one.covers(position) and self._is_shown(statement.excerpt, one) for one in self._of(statement)
        )

    def _around(self, statement: Statement, items: Sequence[SelectedStatement]) -> Exhibit | None:
        """The table, or the list, that is shown instead of the statement: a list if it is asked for, if its
        items are steps, or if several of them answer."""
        position = self._position(statement)
        found = next((one for one in self._of(statement) if one.covers(position)), None)
        if found is None or found.kind == "table":
            return found
        if found.kind != "list":
            return None
        count = sum(
            other.statement.excerpt == statement.excerpt and found.covers(self._position(other.statement))
            for other in items
        )
        return found if count > 1 or self._wants_list else None

    def _following(self, statement: Statement) -> Exhibit | None:
        text = self._excerpts[statement.excerpt].text
        end = self._position(statement) + len(statement.quote)
        for one in self._of(statement):
            if one.start >= end and one.kind != "signature":
                return one if not text[end : one.start].strip("-*+•0123456789.() \n\t`") else None
        return None

    def _show(self, number: int, exhibit: Exhibit, offsets: Sequence[int] = ()) -> list[Entry]:
        """Shows an exhibit of the excerpt with this number, unless it is shown already."""
        excerpt = self._excerpts[number]
        layout = None if self._is_shown(number, exhibit) else lay_out(exhibit, excerpt.text, offsets)
        if layout is None:
            return []
        self._shown.add((excerpt.url, excerpt.start + exhibit.start))
        self.has_code = self.has_code or exhibit.kind == "code"
        return [Entry(excerpt.url, layout=layout)]

    def _is_shown(self, number: int, exhibit: Exhibit) -> bool:
        excerpt = self._excerpts[number]
        return (excerpt.url, excerpt.start + exhibit.start) in self._shown

    def _is_in(self, other: SelectedStatement, item: SelectedStatement) -> bool:
        return other.statement.excerpt == item.statement.excerpt

    def _of(self, statement: Statement) -> list[Exhibit]:
        return self._exhibits_of(statement.excerpt)

    def _exhibits_of(self, number: int) -> list[Exhibit]:
        if number not in self._exhibits:
            self._exhibits[number] = exhibits_of(self._excerpts[number])
        return self._exhibits[number]

    def _position(self, statement: Statement) -> int:
        """Its position in the excerpt."""
        return statement.offset - self._excerpts[statement.excerpt].start
