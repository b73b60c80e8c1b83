"""The values of a comparison: what each provider answered, the merged sources, and the aligned claims."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.model import Answer
from groundwire.model.value import value

Outcome: TypeAlias = Literal["answered", "nothing", "failed", "late"]
"""nothing: the answer has no text; late: the provider was still silent when the others had finished."""
Agreement: TypeAlias = Literal["agreed", "contradicted", "single"]


@value
class Contribution:
    """What one provider answered, or why it did not."""

    provider: str
    answer: Answer
    outcome: Outcome
    reason: str = ""
    """Why there is no answer, or why it is not complete."""
    seconds: float = 0.0
    """Until the answer was complete."""
    first_seconds: float | None = None
    """Until the first word of the answer."""


@value
class MergedSource:
    """A source, with all who used it."""

    url: str
    title: str
    domain: str
    score: float
    """Reciprocal rank fusion over the providers."""
    ranks: tuple[tuple[str, int], ...]
    """The rank of the source in the list of each provider, from 1 on."""
    cited_by: tuple[str, ...]
    """The providers whose text cites it; the others have only found it."""


@value
class ClaimSide:
    """What one provider says."""

    provider: str
    text: str
    urls: tuple[str, ...] = ()
    """The sources that it cites for this."""


@value
class Difference:
    """Two providers that say different things in the same place."""

    one: str
    one_says: str
    other: str
    other_says: str


@value
class ClaimGroup:
    """A claim, with all who make it or contradict it."""

    agreement: Agreement
    sides: tuple[ClaimSide, ...]
    differences: tuple[Difference, ...] = ()


@value
class Comparison:
    """The answers of several providers to one question, side by side."""

    query: str
    contributions: tuple[Contribution, ...]
    sources: tuple[MergedSource, ...] = ()
    claims: tuple[ClaimGroup, ...] = ()
    removed: int = 0
    """Sources that the domain lists do not allow."""

    def count(self, agreement: Agreement) -> int:
        """How many claims are agreed, contradicted, or made by one provider only."""
        return sum(group.agreement == agreement for group in self.claims)


def count_noun(number: int, noun: str) -> str:
    """A number with its noun: `1 source`, `2 sources`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
