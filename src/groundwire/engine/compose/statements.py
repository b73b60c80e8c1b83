"""Statements: the sentences of all passages, with their terms, their subject and their position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from groundwire.engine.compose.clean import CLOSING, ENDED, clean_sentence, one_line, without_markup
from groundwire.engine.compose.exhibits import Exhibit, find_exhibits
from groundwire.engine.compose.sentences import (
    Segment,
    begins_within_sentence,
    derive_blocks,
    split_blocks,
    split_sentences,
)
from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import ClosestSentence, Passage
from groundwire.engine.retrieve.translate import english_stems
from groundwire.engine.words import TextTerms, analyse, text_language, word_list
from groundwire.model.value import replace, value
from groundwire.text.lazy_pattern import lazy_pattern

_SEPARATOR = lazy_pattern(r"\s+[—–|·:»-]\s+|\s+\(|:\s+")
_NAME = lazy_pattern(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*(?:\(\))?")
_LONGEST_NAME = 80
_ANNOUNCED_SEGMENTS = 60
"""Lines of code, items or rows that are read after a colon: more than a passage has."""
_FIRST_WORD = lazy_pattern(r"[^\W\d_]+")
_DECLARED = lazy_pattern(r"^(?:class|def|async def) |^\w+\.|[=*/,>]|\(\)")
_LISTED = lazy_pattern(r"([A-Za-z_]\w*(?:\.\w+)+): ")
_CALLED = lazy_pattern(r"(?:class |def |async def )?([A-Za-z_][\w.]*)\(")


_ABOUT_THE_PAGE = lazy_pattern(
    r"(?:Source code|Quelltext): \S+|Availability: |This module is part of |See also\b"
    r"|(?:Note|Warning|Caution|Important|Attention|Tip|Hint|Examples?|Hinweis|Warnung|Achtung|Wichtig|Tipp|"
    r"Beispiele?)\W*\Z"
)
"""Lines of a reference that say nothing of their subject, and labels of remarks."""
_REMARK = lazy_pattern(
    r"(?:New|Changed|Added|Deprecated|Removed) (?:in|since) version |\([^()]*\)\.?\Z", re.IGNORECASE
)
"""Remarks on versions, and in parentheses: they do not introduce their subject."""
ABOUT_THE_TEXT = lazy_pattern(
    r"\b(?:this|the (?:next|following|previous|rest of the)) (?:section|chapter|document|tutorial|howto)s?\b"
    r"|\bdiese[mrs]? (?:Abschnitt|Kapitel|Dokument)",
    re.IGNORECASE,
)
"""A sentence about the text that it is in: what follows, or what is assumed."""
_SEE_ALSO = lazy_pattern(r"(?:See also|Siehe auch)\W*\Z", re.IGNORECASE)
"""The label of a list of other pages."""


@value
class Excerpt:
    """A contiguous part of a page: a passage, or several adjacent passages joined."""

    url: str
    title: str
    text: str
    start: int
    score: float
    """Between 0 and 1, best 1."""
    section: str = ""
    """The headings above it, one in a line."""
    outline: str = ""
    """The structure of the text, encoded; empty if it must be found by its form."""
    published: str = ""
    about: float = 0.0
    """How well the subject of its page is known to match the question; see `Passage`."""
    closest: tuple[ClosestSentence, ...] = ()
    """The sentences of its passages that are closest to the question in meaning. Offsets in the page."""
    language: str = ""

    def closeness(self, statement: Statement) -> float:
        """How close a statement is to the question in meaning, if it is one of the closest; else 0."""
        end = statement.offset + len(statement.quote)
        near = (item.similarity for item in self.closest if item.start < end and statement.offset < item.end)
        return max(near, default=0.0)


@value
class Statement:
    """A sentence of a page."""

    url: str
    quote: str
    """Verbatim."""
    words: TextTerms
    offset: int
    """Offset in the text of the page, in code points."""
    kind: str
    excerpt: int
    number: int
    """Position among the statements of its excerpt."""
    subject: str = ""
    """The name that the page or section documents, whether or not the sentence mentions it."""
    is_lead: bool = False
    """Is it the first statement of its page or section?"""
    depends_on_previous: bool = False
    """Does it need the sentence before it, as `This returns …` does?"""
    continues: bool = False
    """Is it the rest of a sentence that code interrupts? What is before the code is the statement before."""
    is_interrupted: bool = False
    """Does the sentence go on after the code that follows it?"""
    is_cut: bool = False
    """May its beginning or its end be missing?"""
    announced: TextTerms | None = None
    """The terms of the code, list or table that it announces with a colon."""
    english: frozenset[str] = frozenset()
    """The stems of the English words for those of a German sentence."""

    @property
    def text(self) -> str:
        """The sentence as it appears in an answer."""
        return clean_sentence(self.quote)


def join_passages(passages: Iterable[Passage]) -> list[Excerpt]:
    """Joins adjacent and overlapping passages of a page; the order is that of the first passage."""
    passages = list(passages)
    best = max((passage.score for passage in passages), default=0.0)
    excerpts: list[Excerpt] = []
    for position, passage in enumerate(passages):
        score = passage.score / best if best > 0 else 1.0 / (1 + position)
        new = Excerpt(
            *(passage.url, passage.title, passage.text, passage.start, min(1.0, max(0.0, score))),
            *(passage.section, passage.outline, passage.published, passage.about, _in_page(passage)),
            text_language(passage.language, passage.text),
        )
        for index, known in enumerate(excerpts):
            joined = _joined(known, new)
            if joined is not None:
                excerpts[index] = joined
                break
        else:
            excerpts.append(new)
    return excerpts


def _in_page(passage: Passage) -> tuple[ClosestSentence, ...]:
    if passage.closest is None:
        return ()
    start, end, similarity = passage.closest
    return (ClosestSentence(passage.start + start, passage.start + end, similarity),)


def read_statements(excerpts: Sequence[Excerpt]) -> list[Statement]:
    """Every sentence; each position of a page once."""
    statements: list[Statement] = []
    seen: set[tuple[str, int]] = set()
    for index, excerpt in enumerate(excerpts):
        for statement in _statements(excerpt, index):
            if (excerpt.url, statement.offset) not in seen:
                seen.add((excerpt.url, statement.offset))
                statements.append(statement)
    return statements


def leading_name(title: str) -> str:
    """The code name at the beginning of a title (`json.dumps — Python documentation`), if there is one."""
    head = _SEPARATOR.split(one_line(title), maxsplit=1)[0].strip()
    is_word = head.isalpha() and (head.istitle() or head.isupper())
    return head if _NAME.fullmatch(head) and len(head) <= _LONGEST_NAME and not is_word else ""


def mentions(text: str, name: str) -> bool:
    """Does the text mention the name as a name? `copy` alone may be an ordinary word."""
    last = name.removesuffix("()").rpartition(".")[2]
    own = re.escape(last)
    form = rf"\b{own}\b" if not last.isalpha() else rf"`[\w.]*\b{own}\b|\b{own}\("
    whole = rf"\b{re.escape(name)}\b|" if "." in name else ""
    return re.search(f"{whole}{form}", text) is not None


def _joined(known: Excerpt, new: Excerpt) -> Excerpt | None:
    if known.url != new.url:
        return None
    first, second = sorted((known, new), key=lambda excerpt: excerpt.start)
    overlap = first.start + len(first.text) - second.start
    if overlap < 0 or first.text[len(first.text) - overlap :][: len(second.text)] != second.text[:overlap]:
        return None
    score = max(first.score, second.score)
    about = max(first.about, second.about)
    closest = first.closest + second.closest
    if overlap >= len(second.text):
        return replace(first, score=score, about=about, closest=closest)
    text = first.text + second.text[overlap:]
    return replace(first, text=text, score=score, about=about, outline="", closest=closest)


def exhibits_of(excerpt: Excerpt) -> list[Exhibit]:
    """The code blocks, lists, tables and signatures of an excerpt. A signature is known from an outline
    only: that of a documentation string is often made up by a program."""
    if excerpt.outline:
        return find_exhibits(decode_outline(excerpt.outline))
    return find_exhibits(derive_blocks(excerpt.text, split_sentences(excerpt.text)))


def _segments(excerpt: Excerpt) -> list[Segment]:
    if excerpt.outline:
        return split_blocks(excerpt.text, decode_outline(excerpt.outline))
    return split_sentences(excerpt.text)


def _statements(excerpt: Excerpt, index: int) -> Iterator[Statement]:
    named = leading_name(excerpt.title)
    subject = _documented_name(excerpt.section) or named
    segments = _segments(excerpt)
    number = 0
    is_lead = excerpt.start == 0
    columns = ""
    interrupted = _interrupted(excerpt.text, segments)
    refers_to_others = False
    for position, segment in enumerate(segments):
        quote = excerpt.text[segment.start : segment.end]
        refers_to_others = segment.kind == "item" if refers_to_others else _SEE_ALSO.match(quote) is not None
        if segment.kind == "signature" and _begins_line(excerpt.text, segment):
            subject = _called(quote, named) or subject
            is_lead = True
        elif segment.kind == "heading" and excerpt.outline:
            is_lead = True
        elif segment.kind == "row" and (position == 0 or segments[position - 1].kind != "row"):
            columns = quote
            continue
        if segment.kind not in ("prose", "item", "row") or refers_to_others or _ABOUT_THE_PAGE.match(quote):
            continue
        is_remark = _REMARK.match(quote) is not None or ABOUT_THE_TEXT.search(quote) is not None
        words = f"{columns} {quote}" if segment.kind == "row" else quote
        yield Statement(
            excerpt.url,
            quote,
            analyse(without_markup(words)),
            excerpt.start + segment.start,
            segment.kind,
            index,
            number,
            _listed(quote, segment) or subject,
            is_lead and not is_remark,
            # The first sentence about a name is shown after the name: "OSError: This exception is raised …".
            _depends_on_previous(quote) and not (is_lead and subject),
            position in interrupted.values(),
            position in interrupted,
            _is_cut(excerpt, segment, quote, is_last=segment is segments[-1]),
            _announced(excerpt.text, quote, segments[position + 1 :][:_ANNOUNCED_SEGMENTS]),
            english_stems(words, excerpt.language),
        )
        number += 1
        is_lead = is_lead and is_remark


def _interrupted(text: str, segments: Sequence[Segment]) -> dict[int, int]:
    """The places of sentences that code interrupts, each with the place of its rest, which begins in lower
    case: `When you run a module with`, a command, `the code in the module is executed.`"""
    found: dict[int, int] = {}
    before: int | None = None
    for position, segment in enumerate(segments):
        if segment.kind == "code":
            continue
        if segment.kind == "prose":
            quote = text[segment.start : segment.end]
            if before is not None and position > before + 1 and begins_within_sentence(quote):
                found[before] = position
            is_ended = quote.rstrip(CLOSING).endswith(ENDED) and not quote.endswith(":")
            before = None if is_ended else position
        else:
            before = None
    return found


def _announced(text: str, quote: str, following: Sequence[Segment]) -> TextTerms | None:
    """The terms of what directly follows a colon, up to the next prose."""
    if not quote.endswith(":"):
        return None
    shown: list[str] = []
    for segment in following:
        if segment.kind not in ("code", "item", "row", "bullet"):
            break
        shown.append(text[segment.start : segment.end])
    return analyse(without_markup("\n".join(shown))) if shown else None


def _documented_name(section: str) -> str:
    """The name that a section documents, if its heading is a signature: `os.walk(top, topdown=True)`."""
    heading = section.rpartition("\n")[2]
    match = _CALLED.match(heading)
    return match[1] if match and _DECLARED.search(heading) else ""


def _begins_line(text: str, segment: Segment) -> bool:
    return segment.start == 0 or text[segment.start - 1] == "\n"


def _called(signature: str, named: str) -> str:
    """The name in a signature, qualified with the name of the page.

    On a page that documents no name, a plain `print(value)` is an example, not a definition."""
    match = _CALLED.match(signature)
    if match is None or not (named or _DECLARED.search(signature)):
        return ""
    name = match[1]
    if named.endswith(f".{name}"):
        return named
    return name if not named or "." in name or name == named else f"{named}.{name}"


def _listed(quote: str, segment: Segment) -> str:
    """The name that a list item explains: `os.walk: Directory tree generator`."""
    match = _LISTED.match(quote) if segment.kind == "item" else None
    return match[1] if match else ""


def _depends_on_previous(quote: str) -> bool:
    first = _FIRST_WORD.search(quote)
    return first is not None and first[0].lower() in word_list("back_references")


def _is_cut(excerpt: Excerpt, segment: Segment, quote: str, *, is_last: bool) -> bool:
    begins_late = segment.start == 0 and excerpt.start > 0 and quote[:1].islower()
    ends_early = is_last and quote[-1:].isalnum() and segment.kind == "prose"
    return begins_late or ends_early
