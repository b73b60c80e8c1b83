"""Claims of an answer: the text that each citation stands for, and the verdict over its sentences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from groundwire.engine.compose.sentences import split_sentences
from groundwire.model import Citation, Span
from groundwire.text.annotate import strip_markers
from groundwire.verify.facts import ClaimFact, ClaimVerdict, StatementFact
from groundwire.verify.pages import PreparedPage
from groundwire.verify.statements import check_statement

LONGEST_CLAIM = 4000
"""Code points of a claim that are compared; what is longer is not one claim."""
_FEWEST_WORDS = 3
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\(\s*<?[^)\s]*>?(?:\s+\"[^\"\n]*\")?\s*\)")
_BARE_LINK = re.compile(r"<?https?://[^\s<>)\]]+>?")
_NUMBER_MARKER = re.compile(r"\s?\[(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3})*)\]")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*{1,3}|~~|`+|(?<![^\W_])_{1,3}|_{1,3}(?![^\W_]))")
_LINE_START = re.compile(r"^[ \t]*(?:#{1,6}\s+|[-*+•]\s+|\d{1,3}[.)]\s+|>\s?)", re.MULTILINE)
_PARENTHESES = re.compile(r"\s?\(\s*[,;]?\s*\)")


class AnswerClaims:
    """The claims of one answer. Its text is split into sentences once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._segments = [
            segment for segment in split_sentences(text) if segment.kind not in ("bullet", "rule")
        ]
        self._starts = [segment.start for segment in self._segments]

    def claim(self, citation: Citation) -> str:
        """The text that a citation stands for, without markup; empty if it marks none.

        Of a marker it is the sentence before it, of a span of one or two words the sentence around them.
        """
        span = citation.span
        if span is None:
            return ""
        if citation.anchor == "claim" and span.start < span.end:
            text = plain_claim(self._text[span.start : span.end])
            if len(text.split()) >= _FEWEST_WORDS:
                return text
            return plain_claim(self._sentence_around(span.start)) or text
        return plain_claim(self._sentence_before(span))

    def _sentence_around(self, offset: int) -> str:
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return ""
        segment = self._segments[index]
        return self._text[segment.start : segment.end]

    def _sentence_before(self, span: Span) -> str:
        """The sentence that a marker ends or follows; several markers may follow each other."""
        index = bisect_left(self._starts, span.start)
        index = index if index < len(self._starts) and self._starts[index] < span.start else index - 1
        while index >= 0:
            segment = self._segments[index]
            sentence = self._text[segment.start : min(segment.end, max(span.start, segment.start))]
            if len(plain_claim(sentence).split()) >= _FEWEST_WORDS:
                return self._text[segment.start : max(segment.end, span.start)]
            index -= 1
        return ""


def plain_claim(text: str) -> str:
    """The words of a claim, without Markdown, links and markers, on one line."""
    text = _NUMBER_MARKER.sub("", strip_markers(text[:LONGEST_CLAIM]))
    text = _BARE_LINK.sub("", _LINK.sub(_link_words, text))
    text = _EMPHASIS.sub("", _LINE_START.sub("", text))
    return " ".join(_PARENTHESES.sub("", text).split())


def _link_words(match: re.Match[str]) -> str:
    """The words of a link, unless they only name its site, as OpenAI's citations do."""
    words = match[1]
    return "" if "." in words and " " not in words.strip() else words


_CONTRADICTIONS: tuple[ClaimVerdict, ...] = ("other_value", "other_name", "negated")
_WEAKEST: tuple[ClaimVerdict, ...] = ("hidden_only", "partial", "heading_only", "unproven", "verbatim")


def check_claim(claim: str, page: PreparedPage) -> ClaimFact:
    """The facts about a claim, sentence by sentence."""
    if not claim:
        return ClaimFact("no_claim")
    pieces = [claim[segment.start : segment.end] for segment in split_sentences(claim)]
    statements = tuple(check_statement(piece, page) for piece in pieces if piece.strip())
    return ClaimFact(claim_verdict(statements), statements)


def claim_verdict(statements: Sequence[StatementFact]) -> ClaimVerdict:
    """A contradiction in one sentence counts for the whole claim; otherwise the weakest sentence does. If
    only some of the sentences are absent, the claim is partly there."""
    verdicts = [fact.verdict for fact in statements if fact.verdict != "no_claim"]
    if not verdicts:
        return "no_claim"
    for verdict in _CONTRADICTIONS:
        if verdict in verdicts:
            return verdict
    if "absent" in verdicts:
        return "absent" if set(verdicts) == {"absent"} else "partial"
    return next(verdict for verdict in _WEAKEST if verdict in verdicts)
