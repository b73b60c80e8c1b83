"""Checks the citations of an answer against the pages they cite: a function of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groundwire.model import Answer, Citation, Evidence, SearchOptions
from groundwire.model.value import replace, value
from groundwire.text.domains import admits
from groundwire.verify.claims import AnswerClaims, check_claim
from groundwire.verify.facts import AddressFact, CitationFact, ClaimFact, QuoteFact, VerifyReport
from groundwire.verify.pages import PageText, PreparedPage
from groundwire.verify.passages import check_quote

MOST_TEXT = 5_000_000
"""Code points of all pages of an answer that are compared: some seconds of CPU time."""
_TOO_MUCH = "the cited pages have too much text to compare all of it"
_NO_ADDRESS = AddressFact("unchecked", "the source has no address")
_NOT_FETCHED = AddressFact("unchecked", "it was not fetched")


@value
class PageOutcome:
    """What was found at an address: the fact, and the text if there is any."""

    address: AddressFact
    page: PageText | None = None


def page_address(url: str) -> str:
    """The address of a page without the fragment: sections of a page are fetched once."""
    return url.partition("#")[0].strip()


def cited_urls(answer: Answer) -> tuple[str, ...]:
    """The URLs that an answer cites, each once, in the order of the citations."""
    cited = (item.source.url for citation in answer.citations for item in citation.evidence)
    return tuple(dict.fromkeys(url for url in cited if url))


class AnswerChecker:
    """Checks the citations of one answer. Every page is prepared once, every claim compared once with it."""

    def __init__(
        self, answer: Answer, outcomes: Mapping[str, PageOutcome], options: SearchOptions | None = None
    ) -> None:
        self._answer = answer
        self._outcomes = outcomes
        self._options = options or SearchOptions()
        self._claims = AnswerClaims(answer.text)
        self._text_left = MOST_TEXT
        self._prepared: dict[int, PreparedPage | None] = {}
        """By the identity of the text: the sections of a page share it."""
        self._compared: dict[tuple[str, int], ClaimFact] = {}

    def report(self) -> VerifyReport:
        """The facts about all citations."""
        facts = [
            fact
            for number, citation in enumerate(self._answer.citations)
            for fact in self._citation_facts(number, citation)
        ]
        return VerifyReport(tuple(facts), len({page_address(url) for url in self._outcomes}))

    def page(self, url: str) -> PreparedPage | None:
        """The prepared page of a cited URL; None if it could not be read, or there is too much text."""
        outcome = self._outcomes.get(url)
        if outcome is None or outcome.page is None:
            return None
        if id(outcome.page) not in self._prepared:
            self._text_left -= outcome.page.size
            self._prepared[id(outcome.page)] = PreparedPage(outcome.page) if self._text_left >= 0 else None
        return self._prepared[id(outcome.page)]

    def _citation_facts(self, number: int, citation: Citation) -> Iterator[CitationFact]:
        claim = self._claims.claim(citation)
        facts = [self._evidence_fact(number, citation, item, claim) for item in citation.evidence]
        return _with_shared_quotes(citation.evidence, facts)

    def _evidence_fact(self, number: int, citation: Citation, item: Evidence, claim: str) -> CitationFact:
        url = item.source.url
        address = _NO_ADDRESS if not url else _NOT_FETCHED
        if (outcome := self._outcomes.get(url)) is not None:
            address = outcome.address
        page = self.page(url)
        if page is None:
            if outcome is not None and outcome.page is not None:
                address = replace(address, verdict="unchecked", evidence=_TOO_MUCH)
            quote = QuoteFact("unchecked" if item.quote else "none")
            claimed = ClaimFact("unchecked" if claim else "no_claim")
        else:
            address = replace(address, is_cut=address.is_cut or page.is_cut)
            quote = check_quote(item.quote, page) if item.quote else QuoteFact("none")
            claimed = self._claim_fact(claim, page)
        return CitationFact(
            number,
            citation.span,
            claim,
            url,
            item.source.title,
            address,
            quote,
            claimed,
            allowed=not url or admits(self._options, item.source),
        )

    def _claim_fact(self, claim: str, page: PreparedPage) -> ClaimFact:
        known = self._compared.get((claim, id(page)))
        if known is None:
            known = self._compared[claim, id(page)] = check_claim(claim, page)
        return known


def check_answer(
    answer: Answer, outcomes: Mapping[str, PageOutcome], options: SearchOptions | None = None
) -> VerifyReport:
    """The facts about every citation of an answer, given what is at the cited addresses."""
    return AnswerChecker(answer, outcomes, options).report()


def _with_shared_quotes(
    evidence: Sequence[Evidence], facts: Sequence[CitationFact]
) -> Iterator[CitationFact]:
    """Some formats give the quotes of a citation without saying which source each is from: then every source
    has all of them. A quote that one of the sources has is not missed in the others."""
    found = {
        item.quote
        for item, fact in zip(evidence, facts, strict=True)
        if fact.quote.verdict in ("verbatim", "nearly")
    }
    for item, fact in zip(evidence, facts, strict=True):
        is_shared = fact.quote.verdict == "absent" and item.quote in found
        yield replace(fact, quote=QuoteFact("none")) if is_shared else fact
