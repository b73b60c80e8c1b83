"""Grades one answer against its question. Pure: the caller has searched and composed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from groundwire.engine.compose.answer import Composition
from groundwire.engine.pages import Passage
from groundwire.model import Citation
from tests.engine.question_sets import Question

_DOCUMENTATION = re.compile(r"https://docs\.python\.org/\d(?:\.\d+)?/(?P<path>[^#?]+)(?:#(?P<anchor>.*))?")
_NAME = re.compile(r"[\w.]+")
Judge: TypeAlias = Callable[[Question, str, str], bool]
DEPTH = 10
"""How many passages count as retrieved: those on the first page of a list of results."""


class Grade(NamedTuple):
    """What is right in an answer."""

    answered: bool
    """At least one statement with a citation."""
    right_first: bool
    """The first citation is of a page that answers the question."""
    exact_first: bool
    """The first citation is of an object or a section that answers it, not of another object of the page."""
    right_cited: bool
    """Any citation is of such a page."""
    retrieved_first: bool
    """The first passage was of such a page, whatever was composed from it."""
    retrieved: bool
    """One of the first ten passages was of such a page."""
    contained: bool
    """The text has what the question requires, or it requires nothing."""


def grade(question: Question, answer: Composition, passages: Sequence[Passage] = ()) -> Grade:
    """Grades an answer and the passages it was composed from."""
    right = [_is_cited(question, citation, is_right) for citation in answer.citations]
    exact = [_is_cited(question, citation, is_exact) for citation in answer.citations[:1]]
    found = [is_right(question, passage.url, passage.title) for passage in passages[:DEPTH]]
    return Grade(
        answered=answer.found and bool(answer.citations),
        right_first=right[:1] == [True],
        exact_first=exact == [True],
        right_cited=any(right),
        retrieved_first=found[:1] == [True],
        retrieved=any(found),
        contained=answer.found and contains(answer.text, question.must_contain),
    )


def is_right(question: Question, url: str, title: str) -> bool:
    """Is it a page of the question: by its address, its file, or the name that its title begins with?"""
    cited = _DOCUMENTATION.fullmatch(url)
    if cited and any(_is_page(page, cited["path"], cited["anchor"] or "") for page in question.pages):
        return True
    if url.partition("#")[0].rpartition("/")[2] in question.files:
        return True
    name = _NAME.match(title)
    return name is not None and name[0].rstrip(".") in question.names


def is_exact(question: Question, url: str, title: str) -> bool:
    """Is it right, and not just another object of a right page? An object's anchor is a dotted name."""
    cited = _DOCUMENTATION.fullmatch(url)
    if cited is None or "." not in (cited["anchor"] or ""):
        return is_right(question, url, title)
    named = f"{cited['path']}#{cited['anchor']}" in question.pages
    return named or cited["anchor"] in question.names


def contains(text: str, wanted: str) -> bool:
    """Is it in the text as whole words, in any case, with any white space? "3" is not in "30"."""
    words = r"\s+".join(map(re.escape, wanted.split()))
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    after = r"(?!\w)" if wanted[-1:].isalnum() else ""
    return re.search(before + words + after, text, re.IGNORECASE) is not None


def _is_cited(question: Question, citation: Citation, judge: Judge) -> bool:
    return any(judge(question, item.source.url, item.source.title) for item in citation.evidence)


def _is_page(wanted: str, path: str, anchor: str) -> bool:
    """A wanted anchor may be missing in the cited address, but not be another one."""
    wanted_path, _, wanted_anchor = wanted.partition("#")
    return path == wanted_path and (not wanted_anchor or anchor in ("", wanted_anchor))
