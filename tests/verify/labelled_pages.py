"""Labelled claims about pages that we wrote ourselves, and what the verifier makes of them.

The pages of `tuning_pages.toml` were used to choose thresholds and rules; those of `test_pages.toml` only
measure. `quantity_pages.toml` has numbers in many forms, in a part for each purpose.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from groundwire.engine.read import read
from groundwire.engine.read.document import Document
from groundwire.model import Answer, Citation, Evidence, Source, Span, Text
from groundwire.transport.fetch import Fetched
from groundwire.verify.addresses import response_fact
from groundwire.verify.check import PageOutcome, check_answer
from groundwire.verify.facts import CitationFact
from groundwire.verify.pages import PageText

Half: TypeAlias = Literal["tuning", "test"]
HALVES: tuple[Half, ...] = ("tuning", "test")
_QUANTITY_URL = "https://numbers.example/"
_FOLDER = Path(__file__).parent / "labelled"
_OPEN = ("unproven", "partial")
"""A paraphrase cannot be told from another statement with the same words: it has to stay open."""


class LabelledClaim(NamedTuple):
    """A claim with the label that it was written for."""

    label: str
    text: str
    quote: str
    outcome: PageOutcome
    url: str


def load_claims(half: Half) -> list[LabelledClaim]:
    """The claims of one half of the pages."""
    pages = tomllib.loads((_FOLDER / f"{half}_pages.toml").read_text("utf-8"))["page"]
    return [
        LabelledClaim(label, text, "".join(quote), outcome, page["url"])
        for page in pages
        for outcome in [outcome_of(page["html"], page["url"], page.get("status", 200))]
        for label, text, *quote in page["claims"]
    ]


def outcome_of(html: str, url: str, status: int = 200) -> PageOutcome:
    """A page as the shell would report it, read in this process."""
    fetched = Fetched(url, status, "text/html", "utf-8", html.encode())
    address = response_fact(url, fetched)
    if status != 200:
        return PageOutcome(address)
    reading = read(Document(fetched.body, "text/html", url, "utf-8", is_complete=True))
    assert reading.page is not None
    page = reading.page
    text = PageText(page.text, page.outline, page.title, page.language, reading.aside, reading.hidden)
    return PageOutcome(address, text)


def fact_of(claim: LabelledClaim) -> CitationFact:
    """The facts about an answer that consists of the claim alone."""
    evidence = Evidence(Source(claim.url), claim.quote)
    answer = Answer((Text(claim.text),), (Citation(Span(0, len(claim.text)), (evidence,)),), finish="stop")
    return check_answer(answer, {claim.url: claim.outcome}).facts[0]


def predicted(fact: CitationFact) -> str:
    """The label that the facts amount to."""
    if fact.address.verdict == "gone":
        return "gone"
    if fact.quote.verdict == "absent":
        return "quote_absent"
    verdict = fact.claimed.verdict
    return "paraphrased" if verdict in _OPEN else verdict


class LabelResult(NamedTuple):
    """How often a label was given, and how often it was right."""

    label: str
    written: int
    given: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.written if self.written else 1.0


def measure(half: Half) -> list[LabelResult]:
    """Precision and recall of every label."""
    pairs = [(claim.label, predicted(fact_of(claim))) for claim in load_claims(half)]
    written = Counter(label for label, _ in pairs)
    given = Counter(label for _, label in pairs)
    right = Counter(label for label, other in pairs if label == other)
    return [
        LabelResult(label, written[label], given[label], right[label]) for label in sorted({*written, *given})
    ]


def measure_answers(name: str) -> list[tuple[str, str, str]]:
    """Claims that got another verdict than their labels allow: label, verdict, claim."""
    pages = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))["page"]
    return [
        (label, given, text)
        for page in pages
        for outcome in [outcome_of(page["html"], page["url"], page.get("status", 200))]
        for label, text in page["claims"]
        for given in [predicted(fact_of(LabelledClaim(label, text, "", outcome, page["url"])))]
        if given not in label.replace("partial", "paraphrased").replace("unproven", "paraphrased").split("|")
    ]


def measure_quantities(part: str) -> LabelResult:
    """Precision and recall of "the page says another number" on one part of `quantity_pages.toml`."""
    pages = tomllib.loads((_FOLDER / "quantity_pages.toml").read_text("utf-8"))["page"]
    pairs = [
        (label, fact_of(LabelledClaim(label, text, "", outcome, _QUANTITY_URL)).claimed.verdict)
        for page in pages
        if page["part"] == part
        for outcome in [outcome_of(f"<main><p>{page['text']}</p></main>", _QUANTITY_URL)]
        for label, text in page["claims"]
    ]
    label = "other_value"
    return LabelResult(
        label,
        sum(written == label for written, _ in pairs),
        sum(given == label for _, given in pairs),
        sum(written == given == label for written, given in pairs),
    )
