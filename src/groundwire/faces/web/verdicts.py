"""The verdicts on the citations of an answer, for chips and source cards, read from the stored report.

What a page says is foreign text: it is on one line here, cut, and escaped where it is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from groundwire.chat.verification import checked_at, verification_of
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError
from groundwire.model import Answer
from groundwire.model.value import value
from groundwire.text.sanitise import one_line
from groundwire.verify.facts import ADDRESS_STANDING, CLAIM_STANDING, QUOTE_STANDING, Standing

Texts: TypeAlias = Mapping[str, str]

STANDINGS: tuple[Standing, ...] = ("failed", "unchecked", "open", "supported")
"""The order in which a standing decides where several citations meet."""
SYMBOLS: Mapping[Standing, str] = {"failed": "✗", "unchecked": "–", "open": "?", "supported": "✓"}
_TABLES: Mapping[str, Mapping[str, Standing]] = {
    "address": cast("Mapping[str, Standing]", ADDRESS_STANDING),
    "quote": cast("Mapping[str, Standing]", QUOTE_STANDING),
    "claimed": cast("Mapping[str, Standing]", CLAIM_STANDING),
}
_LONGEST = 400
_MOST_WORDS = 12
_SILENT = {"address": ("alive",), "quote": ("none", "unchecked"), "claimed": ("unchecked",)}
"""Verdicts that need no sentence: nothing is wrong, or another one says why."""


@value
class TextPair:
    """What the answer says, and what the page says, side by side."""

    ours: str
    theirs: str
    our_part: str = ""
    """The words that differ."""
    their_part: str = ""


@value
class Finding:
    """One sentence about the address, the quote or the claim."""

    standing: Standing
    sentence: str
    detail: str = ""
    pairs: tuple[TextPair, ...] = ()


@value
class CitationVerdict:
    """The verdict on one source of one citation."""

    citation: int
    url: str
    standing: Standing
    label: str
    claim: str
    findings: tuple[Finding, ...]

    @property
    def symbol(self) -> str:
        """The sign after the number of a chip."""
        return SYMBOLS[self.standing]

    @property
    def deciding(self) -> Finding | None:
        """The finding that explains the standing."""
        same = (finding for finding in self.findings if finding.standing == self.standing)
        return next(same, None) or next(iter(self.findings), None)


@value
class Verification:
    """All verdicts on an answer."""

    checked: str = ""
    """When it was checked; empty if it was not."""
    verdicts: tuple[CitationVerdict, ...] = ()

    def counts(self) -> tuple[tuple[Standing, int], ...]:
        """How many citations have each standing, those that occur."""
        numbers = [(name, sum(one.standing == name for one in self.verdicts)) for name in reversed(STANDINGS)]
        return tuple((name, number) for name, number in numbers if number)


def worst(verdicts: Iterable[CitationVerdict]) -> CitationVerdict | None:
    """The verdict that decides where several meet."""
    return min(verdicts, key=lambda one: STANDINGS.index(one.standing), default=None)


def read_verification(answer: Answer, texts: Texts) -> Verification:
    """The verdicts of the stored report; none if there is no report, or it cannot be read."""
    report = verification_of(answer)
    if report is None:
        return Verification()
    try:
        facts = list(Fields(report, ClientWireError).objs("citations"))
        verdicts = tuple(_verdict(fact, answer, texts) for fact in facts)
    except (ClientWireError, KeyError):
        return Verification()
    return Verification(one_line(checked_at(answer)), verdicts)


def _verdict(fact: Fields, answer: Answer, texts: Texts) -> CitationVerdict:
    index, url = fact.integer("citation") or 0, fact.text("url")
    standing = cast("Standing", fact.text("standing"))
    findings = list(_findings(fact, _quote(answer, index, url), texts))
    if standing == "failed" and not fact.flag("fails"):
        # The page lacks the claim, and another source of the citation has it.
        standing = "open"
        findings.insert(0, Finding("open", texts["verify_other_source"]))
    label = texts[f"standing_{standing}"]
    return CitationVerdict(index, url, standing, label, _cut(fact.text("claim")), tuple(findings))


def _quote(answer: Answer, index: int, url: str) -> str:
    if not 0 <= index < len(answer.citations):
        return ""
    return next((item.quote for item in answer.citations[index].evidence if item.source.url == url), "")


def _findings(fact: Fields, quote: str, texts: Texts) -> Iterator[Finding]:
    address = fact.obj("address")
    if fact.flag("allowed") is False:
        yield Finding("failed", texts["verify_not_allowed"])
    for part, pairs, detail in (
        ("address", (), " ".join(filter(None, (address.text("evidence"), address.text("target"))))),
        ("quote", _quote_pairs(fact.obj("quote"), quote), ""),
        ("claimed", tuple(_claim_pairs(fact.obj("claimed"))), _missing(fact.obj("claimed"), texts)),
    ):
        verdict = fact.obj(part).text("verdict")
        if verdict not in _SILENT[part]:
            sentence = f"{texts[f'verify_{part}']} {texts[f'verdict_{verdict}']}"
            yield Finding(_TABLES[part][verdict], sentence, _cut(detail), pairs)


def _quote_pairs(fact: Fields, quote: str) -> tuple[TextPair, ...]:
    if fact.text("verdict") not in ("nearly", "absent", "hidden"):
        return ()
    changes = [change for change in fact.items("changes") if isinstance(change, list) and len(change) == 2]
    ours, theirs = (str(part) for part in changes[0]) if changes else ("", "")
    return (TextPair(_cut(quote), _cut(fact.text("found")), _cut(ours), _cut(theirs)),)


def _claim_pairs(fact: Fields) -> Iterator[TextPair]:
    for statement in fact.objs("statements"):
        if statement.text("verdict") == "verbatim" or not statement.text("passage"):
            continue
        yield TextPair(
            _cut(statement.text("text")),
            _cut(statement.text("passage")),
            _cut(statement.text("claimed")),
            _cut(statement.text("stated")),
        )
    if quote := fact.text("model_quote"):
        yield TextPair("", _cut(quote))


def _missing(fact: Fields, texts: Texts) -> str:
    """The terms that the page lacks, and the model that decided."""
    words = [word for statement in fact.objs("statements") for word in statement.texts("missing")]
    listed = f"{texts['verify_missing']} {', '.join(_unique(words)[:_MOST_WORDS])}" if words else ""
    return " · ".join(filter(None, (fact.text("model"), listed)))


def _unique(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"
