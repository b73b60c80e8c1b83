"""Statements: the sentences of all passages, with what they say, what they speak of, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from groundwire.engine.compose.clean import clean_sentence, one_line, without_markup
from groundwire.engine.compose.sentences import Segment, split_sentences
from groundwire.engine.pages import Passage
from groundwire.engine.words import TextTerms, analyse, word_list
from groundwire.model.value import replace, value

_SEPARATOR = re.compile(r"\s+[—–|·:»-]\s+|\s+\(|:\s+")
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*(?:\(\))?")
_LONGEST_NAME = 80
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_DECLARED = re.compile(r"^(?:class|def|async def) |^\w+\.|[=*/,>]|\(\)")
_LISTED = re.compile(r"([A-Za-z_]\w*(?:\.\w+)+): ")
_CALLED = re.compile(r"(?:class |def |async def )?([A-Za-z_][\w.]*)\(")


@value
class Excerpt:
    """A connected part of a page: a passage, or several that adjoin."""

    url: str
    title: str
    text: str
    start: int
    score: float
    """Between 0 and 1, best 1."""


@value
class Statement:
    """A sentence of a page."""

    url: str
    quote: str
    """Verbatim."""
    words: TextTerms
    place: int
    """Where it stands in the page."""
    kind: str
    stretch: int
    number: int
    """Among the statements of its stretch."""
    subject: str = ""
    """What the page, or the section, is about, if that is a name; the sentence may not say it."""
    is_lead: bool = False
    """Does it open its page or section?"""
    leans: bool = False
    """Does it need the sentence before it?"""
    is_cut: bool = False
    """May its beginning or its end be missing?"""

    @property
    def text(self) -> str:
        """As it stands in an answer."""
        return clean_sentence(self.quote)


def join_passages(passages: Iterable[Passage]) -> list[Excerpt]:
    """The passages, with those of one page that adjoin or overlap joined; the order is that of the first."""
    passages = list(passages)
    best = max((passage.score for passage in passages), default=0.0)
    stretches: list[Excerpt] = []
    for place, passage in enumerate(passages):
        score = passage.score / best if best > 0 else 1.0 / (1 + place)
        new = Excerpt(passage.url, passage.title, passage.text, passage.start, min(1.0, max(0.0, score)))
        for index, known in enumerate(stretches):
            joined = _joined(known, new)
            if joined is not None:
                stretches[index] = joined
                break
        else:
            stretches.append(new)
    return stretches


def read_statements(stretches: Sequence[Excerpt]) -> list[Statement]:
    """Every sentence, each place of a page once."""
    statements: list[Statement] = []
    seen: set[tuple[str, int]] = set()
    for index, stretch in enumerate(stretches):
        for statement in _statements(stretch, index):
            if (stretch.url, statement.place) not in seen:
                seen.add((stretch.url, statement.place))
                statements.append(statement)
    return statements


def leading_name(title: str) -> str:
    """The name a title begins with (`json.dumps — Python documentation`), if it is one of code."""
    head = _SEPARATOR.split(one_line(title), maxsplit=1)[0].strip()
    is_word = head.isalpha() and (head.istitle() or head.isupper())
    return head if _NAME.fullmatch(head) and len(head) <= _LONGEST_NAME and not is_word else ""


def mentions(text: str, name: str) -> bool:
    """Does the text call the thing by its name, as a name? `copy` alone may just be a word."""
    last = name.removesuffix("()").rpartition(".")[2]
    own = re.escape(last)
    form = rf"\b{own}\b" if not last.isalpha() else rf"`[\w.]*\b{own}\b|\b{own}\("
    whole = rf"\b{re.escape(name)}\b|" if "." in name else ""
    return re.search(f"{whole}{form}", text) is not None


def _joined(known: Excerpt, new: Excerpt) -> Excerpt | None:
    if known.url != new.url:
        return None
    first, second = sorted((known, new), key=lambda stretch: stretch.start)
    overlap = first.start + len(first.text) - second.start
    if overlap < 0 or first.text[len(first.text) - overlap :][: len(second.text)] != second.text[:overlap]:
        return None
    return replace(first, text=first.text + second.text[overlap:], score=max(first.score, second.score))


def _statements(stretch: Excerpt, index: int) -> Iterator[Statement]:
    subject = named = leading_name(stretch.title)
    pieces = split_sentences(stretch.text)
    number = 0
    is_lead = stretch.start == 0
    for piece in pieces:
        quote = stretch.text[piece.start : piece.end]
        if piece.kind == "signature" and _begins_line(stretch.text, piece):
            subject = _called(quote, named) or subject
            is_lead = True
        if piece.kind not in ("prose", "item"):
            continue
        yield Statement(
            stretch.url,
            quote,
            analyse(without_markup(quote)),
            stretch.start + piece.start,
            piece.kind,
            index,
            number,
            _listed(quote, piece) or subject,
            is_lead,
            _leans(quote),
            _is_cut(stretch, piece, quote, is_last=piece is pieces[-1]),
        )
        number += 1
        is_lead = False


def _begins_line(text: str, piece: Segment) -> bool:
    return piece.start == 0 or text[piece.start - 1] == "\n"


def _called(signature: str, named: str) -> str:
    """The name in a signature, with the page's own before it where it is a part of that.

    On a page about no name, a plain `print(value)` is rather an example than something explained."""
    match = _CALLED.match(signature)
    if match is None or not (named or _DECLARED.search(signature)):
        return ""
    name = match[1]
    if named.endswith(f".{name}"):
        return named
    return name if not named or "." in name or name == named else f"{named}.{name}"


def _listed(quote: str, piece: Segment) -> str:
    """The name that a line of a list explains: `os.walk: Directory tree generator`."""
    match = _LISTED.match(quote) if piece.kind == "item" else None
    return match[1] if match else ""


def _leans(quote: str) -> bool:
    first = _FIRST_WORD.search(quote)
    return first is not None and first[0].lower() in word_list("back_references")


def _is_cut(stretch: Excerpt, piece: Segment, quote: str, *, is_last: bool) -> bool:
    begins_late = piece.start == 0 and stretch.start > 0 and quote[:1].islower()
    ends_early = is_last and quote[-1:].isalnum() and piece.kind == "prose"
    return begins_late or ends_early
