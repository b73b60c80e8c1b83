"""The closed vocabulary of verification, and the facts about a citation.

Every verdict has its evidence. `Supported` is said of two verdicts only: the claim stands in the page word
for word, or a model gave a quote that was found in the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from groundwire.model import Span
from groundwire.model.value import value

Place: TypeAlias = Literal["text", "list", "table", "code", "heading", "title", "aside", "hidden"]
"""Where a sentence of a page stands. aside: navigation, footers and boxes next to the content; hidden:
readers do not see it."""
AddressVerdict: TypeAlias = Literal["alive", "redirected", "gone", "blocked", "no_such_host", "unchecked"]
QuoteVerdict: TypeAlias = Literal["verbatim", "nearly", "absent", "hidden", "none", "unchecked"]
ClaimVerdict: TypeAlias = Literal[
    "verbatim",
    "model_supported",
    "unproven",
    "partial",
    "heading_only",
    "other_value",
    "other_name",
    "negated",
    "absent",
    "hidden_only",
    "model_rejected",
    "no_claim",
    "unchecked",
]
Standing: TypeAlias = Literal["supported", "open", "failed", "unchecked"]
"""What a verdict means for the citation."""

CLAIM_STANDING: Mapping[ClaimVerdict, Standing] = {
    "verbatim": "supported",
    "model_supported": "supported",
    "unproven": "open",
    "partial": "open",
    "heading_only": "open",
    "other_value": "failed",
    "other_name": "failed",
    "negated": "failed",
    "absent": "failed",
    "hidden_only": "failed",
    "model_rejected": "failed",
    "no_claim": "open",
    "unchecked": "unchecked",
}
QUOTE_STANDING: Mapping[QuoteVerdict, Standing] = {
    "verbatim": "supported",
    "nearly": "open",
    "absent": "failed",
    "hidden": "failed",
    "none": "open",
    "unchecked": "unchecked",
}
ADDRESS_STANDING: Mapping[AddressVerdict, Standing] = {
    "alive": "open",
    "redirected": "open",
    "gone": "failed",
    "blocked": "unchecked",
    "no_such_host": "failed",
    "unchecked": "unchecked",
}
"""That an address is alive supports nothing: it only can be checked."""

MEANINGS: Mapping[str, str] = {
    "alive": "the page was read",
    "redirected": "the address leads to another one",
    "gone": "there is no page at this address any more",
    "blocked": "the site does not show the page to programs",
    "no_such_host": "the host does not exist",
    "unchecked": "it could not be checked",
    "verbatim": "word for word in the page",
    "nearly": "in the page with other words in some places",
    "absent": "not in the page",
    "hidden": "only in text that the page does not show",
    "none": "no quote was given",
    "model_supported": "a model says so, and its quote is in the page",
    "unproven": "its words are in the page; whether the page says it cannot be told without a model",
    "partial": "some of it is not in the page",
    "heading_only": "only in a heading",
    "other_value": "the page says another number or date",
    "other_name": "the page says another name",
    "negated": "the page says the opposite: one of both is negated",
    "hidden_only": "only in text that the page does not show",
    "model_rejected": "a model says that the page does not say so",
    "no_claim": "the citation does not mark a claim",
}
"""One line for each verdict, for display."""


@value
class AddressFact:
    """Whether the cited address leads to a page."""

    verdict: AddressVerdict
    evidence: str = ""
    """The status, or why it could not be checked."""
    target: str = ""
    """Where it redirects to."""
    origin: Literal["web", "index", "folder", ""] = ""
    """Where the text that was compared comes from."""
    is_cut: bool = False
    """Was the page too long to compare all of it?"""


@value
class QuoteFact:
    """Whether the quoted passage is in the page."""

    verdict: QuoteVerdict
    found: str = ""
    """The passage of the page."""
    place: Place | Literal[""] = ""
    changes: tuple[tuple[str, str], ...] = ()
    """Where they differ: the words of the quote, the words of the page."""


@value
class StatementFact:
    """One sentence of a claim, and what the page has of it."""

    text: str
    verdict: ClaimVerdict
    found: tuple[str, ...] = ()
    """Its content words, names, numbers and dates that are in the passage."""
    missing: tuple[str, ...] = ()
    """Those that are not."""
    passage: str = ""
    """The sentence of the page that comes nearest."""
    place: Place | Literal[""] = ""
    claimed: str = ""
    """What the claim says in the place where the page says something else."""
    stated: str = ""
    """What the page says there."""
    note: str = ""
    """Why it cannot be told, where that is known."""


@value
class ClaimFact:
    """A claim: the verdict over all its sentences."""

    verdict: ClaimVerdict
    statements: tuple[StatementFact, ...] = ()
    model_quote: str = ""
    """The passage that a model named, as it stands in the page."""
    model: str = ""
    """The model that decided."""


@value
class CitationFact:
    """All facts about one source of one citation."""

    citation: int
    """The position of the citation in the answer, from 0 on."""
    span: Span | None
    claim: str
    url: str
    title: str
    address: AddressFact
    quote: QuoteFact
    claimed: ClaimFact
    allowed: bool = True
    """Do the domain lists allow the source?"""

    @property
    def standing(self) -> Standing:
        """The standing of this source by itself: failed before unchecked, supported before open."""
        parts = (
            ADDRESS_STANDING[self.address.verdict],
            QUOTE_STANDING[self.quote.verdict],
            CLAIM_STANDING[self.claimed.verdict],
            "open" if self.allowed else "failed",
        )
        if "failed" in parts:
            return "failed"
        if "unchecked" in parts:
            return "unchecked"
        return CLAIM_STANDING[self.claimed.verdict]


@value
class VerifyReport:
    """The facts about every citation of an answer."""

    facts: tuple[CitationFact, ...] = ()
    pages: int = 0
    """How many pages were looked at."""

    @property
    def failures(self) -> tuple[CitationFact, ...]:
        """The sources that fail. That a page lacks a claim counts only if no other source of the citation
        supports it."""
        supported = {fact.citation for fact in self.facts if fact.standing == "supported"}
        return tuple(
            fact
            for fact in self.facts
            if fact.standing == "failed" and not (fact.citation in supported and _only_lacks(fact))
        )

    @property
    def ok(self) -> bool:
        """Does nothing fail?"""
        return not self.failures

    def counts(self) -> Mapping[Standing, int]:
        """How many sources have each standing."""
        counts: dict[Standing, int] = {"supported": 0, "open": 0, "failed": 0, "unchecked": 0}
        for fact in self.facts:
            counts[fact.standing] += 1
        return counts


def _only_lacks(fact: CitationFact) -> bool:
    """Does the source fail only because the claim is not there?"""
    others = ADDRESS_STANDING[fact.address.verdict], QUOTE_STANDING[fact.quote.verdict]
    return fact.allowed and "failed" not in others and fact.claimed.verdict == "absent"
