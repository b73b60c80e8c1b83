"""Questions of a conversation: their parts, what they compare, and follow-up questions made complete."""

from __future__ import annotations

import re
from functools import cache

from groundwire.engine.words import ignored_words, split_words, stem_word, word_list
from groundwire.text.lazy_pattern import lazy_pattern

_QUESTION_WORD = (
    r"how|what|why|when|where|who|which|whose|is|are|can|could|do|does|did|should|will|"
    r"wie|was|warum|wieso|wann|wo|wer|welche[rsnm]?|ist|sind|kann|können|soll|sollte|darf|dürfen|muss|gibt"
)
_SECOND_QUESTION = lazy_pattern(
    rf",?;?\s+(?:and|und|also|as well as|sowie)\s+(?:also\s+|auch\s+)?(?=(?:{_QUESTION_WORD})\b)",
    re.IGNORECASE,
)
_QUESTION_END = lazy_pattern(r"(?<=\?)\s+(?=\S)")
_BEGINS_QUESTION = lazy_pattern(rf"^\W*(?:{_QUESTION_WORD})\b", re.IGNORECASE)
_FOLLOW_UP = lazy_pattern(
    r"^\W*(?:and|und|but|aber|also|what about|how about|was ist mit|wie ist es mit|wie sieht es)\b"
    r"|\b(?:it|that|this|them|they|those|these|there|the same|undo|instead|dafür|damit|davon|darin|das|dies|"
    r"diese[rsnm]?|ihn|ihm|es|sie|rückgängig|stattdessen)\W*(?:\w+\W*){0,2}$"
    r"|\b(?:ones?|eine[nrs]?|welche)\W*$",
    re.IGNORECASE,
)
_ASKS_HOW = lazy_pattern(
    r"^\W*(?:how (?:do|to|can|could|should|would|is|are)\b"
    r"|wie (?!viele?\b|lange\b|alt\b|groß\b|hoch\b|oft\b)\w)"
    r"|\b(?:way|want|need|trying|would like) to\b|\bcan (?:i|you|we)\b|\bkann (?:ich|man)\b",
    re.IGNORECASE,
)
_ACTION = lazy_pattern(
    r"\b(?:how (?:(?:do|can|should|would|could) (?:I|you|we|one)|to) (\w+)|wie (\w+) (?:ich|man|wir))",
    re.IGNORECASE,
)
"""The verb of a question about how something is done."""
_ANOTHER_ACTION = lazy_pattern(
    rf"{_ACTION.pattern}(?: \w+)? (?:ones?|them|eine[nrs]?|welche)\W*$"
    r"|^\W*(?:and|but|what about|how about|und|aber) (?:to )?\w+ "
    r"(?:ones?|it|them|eine[nrs]?|sie|ihn|es|welche)\W*$",
    re.IGNORECASE,
)
_COMPARING = frozenset(
    (
        *(
            "difference",
            "differences",
            "compare",
            "compared",
            "vs",
            "versus",
            "or",
            "instead",
            "rather",
            "over",
        ),
        *("unterschied", "unterschiede", "vergleich", "vergleiche", "oder", "statt", "anstatt"),
    )
)
"""Every comparison has one of these words."""
_THING = r"[\w.()@+#*-]+(?: [\w.()@+#*-]+){0,2}?"
_ARTICLE = r"(?:(?:an?|the|eine?[nmrs]?|de[rmns]|die|das)\s+)?"
_COMPARISONS = (
    r"\bdifferences?\s+between\s+{x}\s+and\s+{y}",
    r"\bunterschiede?\s+zwischen\s+{x}\s+und\s+{y}",
    r"\b(?:compare|vergleiche?)\s+{x}\s+(?:and|with|to|und|mit)\s+{y}",
    (
        r"\b(?:use|choose|prefer|take|need|nehmen?|verwenden?|benutzen?|brauche|ich)\s+{x}\s+"
        r"(?:or|instead of|rather than|over|oder|statt|anstatt)\s+{y}"
    ),
    rf"^(?!(?:{_QUESTION_WORD})\b){{x}}\s+(?:or|oder|compared (?:to|with))\s+{{y}}",
    r"\b{x}\s+(?:vs\.?|versus)\s+{y}",
)
_AFTER_COMPARISON = (
    r"(?:\s*[?.!,;]|\s+(?:in|for|when|if|to|für|bei|wenn|um|benutzen|verwenden|nehmen)\b|\s*$)"
)
_MOST_PARTS = 4
_LEAST_WORDS = 3
"""Words of a part: a shorter one does not make sense on its own."""
_POLITE = ("please", "bitte")
_LONGEST_FOLLOW_UP = 10
"""Words; a longer question names its topic."""
_FEW_CONTENT_WORDS = 2
_MOST_CARRIED = 8
"""Content words that are carried over from the question before."""


def split_question(question: str) -> tuple[str, ...]:
    """The parts of a question that asks several things; otherwise the question alone.

    A later part that refers to the first one gets its content words in `complete_question`, not here."""
    sentences = [part for part in _QUESTION_END.split(question) if part.strip()]
    parts = [part.strip() for sentence in sentences for part in _SECOND_QUESTION.split(sentence)]
    are_questions = all(_BEGINS_QUESTION.match(part) and len(part.split()) >= _LEAST_WORDS for part in parts)
    return tuple(parts) if 1 < len(parts) <= _MOST_PARTS and are_questions else (question,)


def compared_things(question: str) -> tuple[str, str] | None:
    """The two things that a question compares: "difference between a list and a tuple", "json or pickle"."""
    if _COMPARING.isdisjoint(split_words(question)):
        return None
    found = next((found for form in _comparisons() if (found := form.search(question))), None)
    if found is None:
        return None
    things = (found["x"].strip("."), found["y"].strip("."))
    are_things = all(set(split_words(thing)) - ignored_words() for thing in things)
    return things if are_things and things[0].casefold() != things[1].casefold() else None


@cache
def _comparisons() -> tuple[re.Pattern[str], ...]:
    # Compiling them takes longer than most questions, which compare nothing, have time for.
    x, y = f"{_ARTICLE}(?P<x>{_THING})", f"{_ARTICLE}(?P<y>{_THING})"
    return tuple(
        re.compile(form.format(x=x, y=y) + _AFTER_COMPARISON, re.IGNORECASE) for form in _COMPARISONS
    )


def asks_how(question: str) -> bool:
    """Does it ask how something is done, as a question or as a task: "sort a list", "Liste sortieren"?"""
    if _ASKS_HOW.search(question):
        return True
    words = [word for word in split_words(question) if word not in _POLITE]
    return len(words) > 1 and not word_list("task_verbs").isdisjoint((words[0], words[-1]))


def complete_question(question: str, earlier: str) -> str:
    """The query for a question: a follow-up question gets the content words of the question before it.

    "And how do I write one?" or "And write one?" after "How do I read a file?" is about another action: the
    verb of the question before is not carried over."""
    if not earlier.strip() or not is_follow_up(question):
        return question
    known = set(map(stem_word, split_words(question)))
    if _ANOTHER_ACTION.search(question) and (action := _ACTION.search(earlier)):
        known.add(stem_word((action[1] or action[2]).lower()))
    carried: dict[str, str] = {}
    for word in re.findall(r"[\w.+#-]*\w", earlier):
        stem = stem_word(word.lower())
        if word.lower() not in ignored_words() | word_list("question_words") and stem not in known:
            carried.setdefault(stem, word)
    words = list(carried.values())[:_MOST_CARRIED]
    return " ".join((question, *words)) if words else question


def is_follow_up(question: str) -> bool:
    """Is it a short question that needs the one before: "and on Windows?", "how do I undo that?"."""
    words = split_words(question)
    if not words or len(words) > _LONGEST_FOLLOW_UP:
        return False
    content = [word for word in words if word not in ignored_words() and len(word) > 1]
    return _FOLLOW_UP.search(question) is not None and len(content) <= _FEW_CONTENT_WORDS + 1
