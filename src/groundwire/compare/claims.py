"""Aligns the claims of several answers: who agrees, who contradicts, who is alone.

A claim is a sentence with a citation. Two claims are compared with the rules that verify a claim against a
page: the words, names, numbers and dates that they share decide whether they are about the same thing, and a
different number, date or name in the same place, or a negation, is a contradiction. That they agree is said
only if most of each is in the other and no value differs. Everything else stays with its provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from groundwire.compare.comparison import Agreement, ClaimGroup, ClaimSide, Contribution, Difference
from groundwire.engine.compose.sentences import split_sentences
from groundwire.model import Answer
from groundwire.model.value import value
from groundwire.text.sources import source_key
from groundwire.verify.claims import AnswerClaims
from groundwire.verify.facts import StatementFact
from groundwire.verify.overlap import ClaimSentence, rank_sentences
from groundwire.verify.pages import PageText, PreparedPage
from groundwire.verify.quantities import says
from groundwire.verify.statements import check_statement

MOST_CLAIMS = 60
"""Of one answer: pairs of claims grow with the square."""
ALIGNED = 0.5
"""Share of the terms of each claim that the other must have, to agree. Half of the words of two sentences
about one subject differ although they say the same; claims about different things share less."""
RELATED = 0.25
"""Share of common words below which two claims are not compared."""
_CONTRADICTIONS = ("other_value", "other_name", "negated")


class _Claim:
    """A sentence of an answer, prepared for comparison."""

    __slots__ = ("page", "sentence", "side")

    def __init__(self, side: ClaimSide) -> None:
        self.side = side
        self.sentence = ClaimSentence(side.text)
        self.page = PreparedPage(PageText(side.text))


@value
class _Pair:
    """Two claims about the same thing."""

    strength: float
    one: int
    other: int
    difference: Difference | None = None


def group_claims(contributions: Sequence[Contribution]) -> tuple[ClaimGroup, ...]:
    """All claims in groups, contradictions first, then what most agree on."""
    claims = [
        _Claim(side)
        for contribution in contributions
        for side in claim_sides(contribution.provider, contribution.answer)
    ]
    groups = _Groups(claims)
    for pair in sorted(_pairs(claims), key=lambda pair: (-pair.strength, pair.one, pair.other)):
        groups.join(pair)
    return groups.result()


def claim_sides(provider: str, answer: Answer) -> tuple[ClaimSide, ...]:
    """The claims of an answer, each once, with the addresses that are cited for it."""
    reader = AnswerClaims(answer.text)
    urls: dict[str, dict[str, str]] = {}
    for citation in answer.citations:
        claim = reader.claim(citation)
        for segment in split_sentences(claim):
            sentence = claim[segment.start : segment.end].strip()
            if not sentence:
                continue
            known = urls.setdefault(sentence, {})
            for item in citation.evidence:
                known.setdefault(source_key(item.source), item.source.url)
    return tuple(
        ClaimSide(provider, text, tuple(url for url in cited.values() if url))
        for text, cited in list(urls.items())[:MOST_CLAIMS]
    )


def _pairs(claims: Sequence[_Claim]) -> Iterator[_Pair]:
    for one, other in combinations(range(len(claims)), 2):
        first, second = claims[one], claims[other]
        if first.side.provider != second.side.provider and _is_related(first.sentence, second.sentence):
            pair = _compare(one, first, other, second)
            if pair is not None:
                yield pair


def _is_related(one: ClaimSentence, other: ClaimSentence) -> bool:
    fewer = min(len(one.keys), len(other.keys))
    return bool(fewer) and len(one.keys & other.keys) >= RELATED * fewer


def _compare(one: int, first: _Claim, other: int, second: _Claim) -> _Pair | None:
    shares = _share(first, second), _share(second, first)
    strength = sum(shares) / 2
    there, back = (
        check_statement(first.side.text, second.page),
        check_statement(second.side.text, first.page),
    )
    for fact, turned in ((there, False), (back, True)):
        if fact.verdict in _CONTRADICTIONS:
            return _Pair(strength, one, other, _difference(first, second, fact, turned=turned))
    if "verbatim" in (there.verdict, back.verdict):
        return _Pair(1.0, one, other)
    if min(shares) < ALIGNED or not _values_agree(first.sentence, second.sentence):
        return None
    return _Pair(strength, one, other)


def _share(claim: _Claim, other: _Claim) -> float:
    """The share of a claim's terms that the other claim has."""
    overlaps = rank_sentences(claim.sentence, other.page)
    return max((item.share for item in overlaps), default=0.0)


def _values_agree(one: ClaimSentence, other: ClaimSentence) -> bool:
    """Do both have no numbers and dates, or one in common?"""
    if not one.values or not other.values:
        return not one.values and not other.values
    return any(
        found.quantity is not None
        and wanted.quantity is not None
        and (says(found.quantity, wanted.quantity) or says(wanted.quantity, found.quantity))
        for found in one.values
        for wanted in other.values
    )


def _difference(first: _Claim, second: _Claim, fact: StatementFact, *, turned: bool) -> Difference:
    claimed, stated = fact.claimed or fact.text, fact.stated or fact.passage
    one_says, other_says = (stated, claimed) if turned else (claimed, stated)
    return Difference(first.side.provider, one_says, second.side.provider, other_says)


class _Groups:
    """Claims that belong together. A group has at most one claim of each provider."""

    def __init__(self, claims: Sequence[_Claim]) -> None:
        self._claims = claims
        self._group = list(range(len(claims)))
        self._members: dict[int, list[int]] = {number: [number] for number in range(len(claims))}
        self._differences: dict[int, list[Difference]] = {}

    def join(self, pair: _Pair) -> None:
        """Join the groups of two claims, unless a provider would be in it twice."""
        one, other = self._group[pair.one], self._group[pair.other]
        if one != other:
            if self._providers(one) & self._providers(other):
                return
            for member in self._members[other]:
                self._group[member] = one
            self._members[one] += self._members.pop(other)
            self._differences.setdefault(one, []).extend(self._differences.pop(other, ()))
        if pair.difference is not None:
            self._differences.setdefault(one, []).append(pair.difference)

    def _providers(self, group: int) -> set[str]:
        return {self._claims[member].side.provider for member in self._members[group]}

    def result(self) -> tuple[ClaimGroup, ...]:
        """The groups in order."""
        groups = []
        for number, members in self._members.items():
            sides = tuple(self._claims[member].side for member in sorted(members))
            differences = tuple(self._differences.get(number, ()))
            agreement: Agreement = "contradicted" if differences else "agreed" if len(sides) > 1 else "single"
            groups.append(
                (_ORDER[agreement], -len(sides), min(members), ClaimGroup(agreement, sides, differences))
            )
        return tuple(group for *_, group in sorted(groups, key=lambda entry: entry[:3]))


_ORDER: dict[Agreement, int] = {"contradicted": 0, "agreed": 1, "single": 2}
