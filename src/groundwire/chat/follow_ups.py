"""Topics for questions that could follow an answer: from the headings and titles of its sources.

No model is asked. The topics are stored with the answer, and phrased as questions where they are shown, in
the language of the reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from groundwire.chat.questions import EXTRAS
from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import Page
from groundwire.model import Answer, Json, JsonObject
from groundwire.model.value import replace, value
from groundwire.store.full_text import tokenize
from groundwire.text.sanitise import one_line
from groundwire.text.sources import label_of

MOST_TOPICS = 3
_TOPICS = "topics"
_LONGEST = 70
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z_]\w*", re.ASCII)
_SEPARATOR = re.compile(r"\s+[—–|·]\s+|\s+-\s+")
_ANSWER_HEADING = re.compile(r"(?m)^#{1,4}\s+(.+?)\s*#*$")
_NUMBER = re.compile(r"^\d+(?:\.\d+)*\.?\s+")
_COMMON = frozenset(
    {
        *(
            "abstract",
            "bibliography",
            "contents",
            "example",
            "examples",
            "footnotes",
            "further",
            "introduction",
        ),
        *("license", "more", "note", "notes", "overview", "reading", "references", "see", "also", "summary"),
        *("usage", "beispiel", "beispiele", "einleitung", "inhalt", "ubersicht", "zusammenfassung"),
    }
)
"""Headings of these words alone do not name a topic."""


@value
class Topic:
    """Something that a source is about: a heading, and its page if the heading needs it."""

    heading: str
    page: str = ""

    @property
    def is_name(self) -> bool:
        """Is it the name of a function, class or module?"""
        return _NAME.fullmatch(self.heading) is not None


def with_topics(answer: Answer, question: str, pages: Iterable[Page]) -> Answer:
    """The answer with the topics that may be asked about next. `pages` are the cited ones, if stored."""
    topics = list(_select(_candidates(answer, pages), question))
    if not topics:
        return answer
    encoded: list[Json] = [{"heading": topic.heading, "page": topic.page} for topic in topics]
    chat: JsonObject = {**answer.extras.get(EXTRAS, {}), _TOPICS: encoded}
    return replace(answer, extras={**answer.extras, EXTRAS: chat})


def topics_of(answer: Answer) -> list[Topic]:
    """The topics that are stored with an answer."""
    found = answer.extras.get(EXTRAS, {}).get(_TOPICS)
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    texts = ((entry.get("heading"), entry.get("page")) for entry in entries[:MOST_TOPICS])
    return [Topic(one, two) for one, two in texts if isinstance(one, str) and isinstance(two, str)]


def _candidates(answer: Answer, pages: Iterable[Page]) -> Iterator[Topic]:
    """Headings of the answer and of the cited pages; then titles, first of the pages that were not cited."""
    for match in _ANSWER_HEADING.finditer(answer.text):
        yield Topic(_clean(match[1]))
    for page in pages:
        title = _clean(_SEPARATOR.split(page.title)[0])
        for block in decode_outline(page.outline):
            if block.kind == "heading":
                heading = _clean(page.text[block.start : block.end])
                if heading != title:
                    yield Topic(heading, title)
    for source in sorted(answer.sources, key=lambda source: source.state == "cited"):
        yield Topic(_clean(_SEPARATOR.split(label_of(source))[0]))


def _select(candidates: Iterable[Topic], question: str) -> Iterator[Topic]:
    """The first topics that say something new."""
    known = set(tokenize(question))
    chosen: list[frozenset[str]] = []
    for topic in candidates:
        words = frozenset(tokenize(topic.heading))
        is_short = 2 < len(topic.heading) <= _LONGEST
        if not is_short or not words - known - _COMMON or words in chosen or "://" in topic.heading:
            continue
        chosen.append(words)
        yield topic
        if len(chosen) == MOST_TOPICS:
            return


def _clean(heading: str) -> str:
    line = one_line(heading).replace("¶", "").replace("`", "").replace("*", "").strip()
    return _NUMBER.sub("", line).rstrip(" :.")
