"""Whole answers: facts for every source of every citation, their standing, and the cost of many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import Answer, Citation, Evidence, SearchOptions, Source, Span, Text
from groundwire.verify import check as check_module
from groundwire.verify.check import PageOutcome, check_answer, cited_urls
from groundwire.verify.encode import encode_report, explain_failure, with_report
from groundwire.verify.facts import (
    ADDRESS_STANDING,
    CLAIM_STANDING,
    MEANINGS,
    QUOTE_STANDING,
    AddressFact,
    VerifyReport,
)
from groundwire.verify.pages import PageText, PreparedPage
from tests.growth import LINEAR, growth
from tests.verify.labelled_pages import HALVES, Half, fact_of, load_claims, measure, measure_quantities

ALIVE = AddressFact("alive", "HTTP 200", origin="web")
TOWER = "The tower is 324 metres tall."


def outcome(text: str) -> PageOutcome:
    return PageOutcome(ALIVE, PageText(text))


def answer(text: str, *evidence: Evidence) -> Answer:
    return Answer((Text(text),), (Citation(Span(0, len(text)), evidence),), finish="stop")


def cited(url: str, quote: str = "") -> Evidence:
    return Evidence(Source(url, state="cited"), quote)


@pytest.mark.parametrize("half", HALVES)
def test_verdicts_of_the_labelled_pages_are_right(half: Half) -> None:
    results = {item.label: item for item in measure(half)}
    assert sum(item.written for item in results.values()) >= 100
    assert min(results["other_value"].precision, results["other_value"].recall) >= 0.95
    assert results["verbatim"].precision == 1.0
    assert min(item.recall for item in results.values()) >= 0.9


@pytest.mark.parametrize("part", ["tuning", "check"])
def test_another_number_is_found_in_whatever_form_it_is_written(part: str) -> None:
    result = measure_quantities(part)
    assert result.written >= 20
    assert min(result.precision, result.recall) >= 0.95


@pytest.mark.parametrize("half", HALVES)
def test_only_verbatim_claims_are_supported_without_a_model(half: Half) -> None:
    for claim in load_claims(half):
        assert (fact_of(claim).standing == "supported") == (claim.label == "verbatim"), claim


def test_every_verdict_has_a_standing_and_a_meaning() -> None:
    assert {*CLAIM_STANDING, *QUOTE_STANDING, *ADDRESS_STANDING} == set(MEANINGS)
    assert {name for name, standing in CLAIM_STANDING.items() if standing == "supported"} == {
        "verbatim",
        "model_supported",
    }


def test_a_claim_that_one_source_supports_does_not_fail_because_another_lacks_it() -> None:
    made = answer(TOWER, cited("https://a.example/"), cited("https://b.example/"))
    lacking = outcome("Cats sleep for most of the day.")
    report = check_answer(made, {"https://a.example/": outcome(TOWER), "https://b.example/": lacking})
    assert [fact.claimed.verdict for fact in report.facts] == ["verbatim", "absent"]
    assert report.ok
    assert not check_answer(made, dict.fromkeys(("https://a.example/", "https://b.example/"), lacking)).ok


def test_a_contradiction_fails_whatever_other_sources_say() -> None:
    made = answer(TOWER, cited("https://a.example/"), cited("https://b.example/"))
    other = outcome("The tower is 300 metres tall.")
    report = check_answer(made, {"https://a.example/": outcome(TOWER), "https://b.example/": other})
    assert [fact.url for fact in report.failures] == ["https://b.example/"]
    assert "“324”" in explain_failure(report.failures[0])
    assert "“300”" in explain_failure(report.failures[0])


def test_a_quote_is_looked_for_in_its_own_source() -> None:
    made = answer(
        TOWER, cited("https://a.example/", TOWER), cited("https://b.example/", "Dogs bark at night.")
    )
    pages = {"https://a.example/": outcome(TOWER), "https://b.example/": outcome(TOWER)}
    assert [fact.quote.verdict for fact in check_answer(made, pages).facts] == ["verbatim", "absent"]
    shared = answer(TOWER, *(cited(url, TOWER) for url in pages))
    pages["https://b.example/"] = outcome("Cats sleep for most of the day.")
    assert [fact.quote.verdict for fact in check_answer(shared, pages).facts] == ["verbatim", "none"]


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        (SearchOptions(), True),
        (SearchOptions(allowed_domains=("a.example",)), True),
        (SearchOptions(allowed_domains=("b.example",)), False),
        (SearchOptions(blocked_domains=("a.example",)), False),
    ],
)
def test_a_source_outside_the_domain_lists_fails(options: SearchOptions, allowed: bool) -> None:
    report = check_answer(
        answer(TOWER, cited("https://a.example/")), {"https://a.example/": outcome(TOWER)}, options
    )
    assert (report.facts[0].allowed, report.ok) == (allowed, allowed)


def test_what_was_not_fetched_is_unchecked() -> None:
    report = check_answer(
        answer(TOWER, cited("https://a.example/", "x y"), Evidence(Source("", "A book"))), {}
    )
    assert [fact.standing for fact in report.facts] == ["unchecked", "unchecked"]
    assert report.facts[0].quote.verdict == "unchecked"
    assert report.facts[1].address.evidence == "the source has no address"
    assert report.ok


def test_an_answer_without_citations_has_an_empty_report() -> None:
    assert check_answer(Answer((Text("Hello."),)), {}) == VerifyReport()


def test_the_report_is_carried_by_the_answer() -> None:
    made = answer("The tower is 330 metres tall.", cited("https://a.example/"))
    report = check_answer(made, {"https://a.example/": outcome(TOWER)})
    carried = with_report(made, report)
    body = encode_report(report)
    assert carried.extras["groundwire"]["verification"] == body
    assert [warning.code for warning in carried.warnings] == ["citation_failed"]
    assert body["ok"] is False
    assert body["counts"] == {"supported": 0, "open": 0, "failed": 1, "unchecked": 0}


PAGES = {
    f"https://a.example/{number}": outcome(
        "\n\n".join(f"Tower {at} is {at + number} metres tall." for at in range(30))
    )
    for number in range(5)
}


def check_many(count: int) -> VerifyReport:
    """Check an answer with many citations of sections of five pages."""
    sentences = [f"Tower {at % 30} is {at} metres tall. " for at in range(count)]
    starts = [0]
    for sentence in sentences:
        starts.append(starts[-1] + len(sentence))
    citations = tuple(
        Citation(Span(starts[at], starts[at + 1] - 1), (cited(f"https://a.example/{at % 5}#{at}"),))
        for at in range(count)
    )
    made = Answer((Text("".join(sentences)),), citations)
    return check_answer(made, {url: PAGES[url.partition("#")[0]] for url in cited_urls(made)})


def test_many_citations_cost_linear_time() -> None:
    assert growth(check_many, 15) < LINEAR


@pytest.mark.thorough
def test_ten_thousand_citations_are_checked() -> None:
    report = check_many(10_000)
    assert (len(report.facts), report.pages) == (10_000, 5)
    assert growth(check_many, 100) < LINEAR


def test_each_page_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[PageText] = []

    class CountedPage(PreparedPage):
        def __init__(self, page: PageText) -> None:
            prepared.append(page)
            super().__init__(page)

    monkeypatch.setattr(check_module, "PreparedPage", CountedPage)
    check_many(40)
    assert len(prepared) == 5


def test_pages_beyond_the_limit_of_text_are_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "MOST_TEXT", 2 * len(TOWER))
    urls = [f"https://a.example/{number}" for number in range(3)]
    made = answer(TOWER, *map(cited, urls))
    report = check_answer(made, {url: outcome(TOWER) for url in urls})
    assert [fact.standing for fact in report.facts] == ["supported", "supported", "unchecked"]
    assert "too much text" in report.facts[2].address.evidence


@given(st.text(max_size=80), st.text(max_size=160), st.text(max_size=40))
def test_any_text_can_be_compared(claim: str, page: str, quote: str) -> None:
    made = answer(claim, cited("https://a.example/", quote))
    report = check_answer(made, {"https://a.example/": outcome(page)})
    assert len(report.facts) == 1
    assert encode_report(report)["citations"]


NUMBERS = st.text("0123456789.,'-/:% $€", max_size=30)


@given(NUMBERS, NUMBERS)
def test_any_digits_can_be_compared(claim: str, page: str) -> None:
    made = answer(f"The tower has {claim} steps.", cited("https://a.example/"))
    check_answer(made, {"https://a.example/": outcome(f"The tower has {page} steps.")})


def test_a_long_page_of_common_words_costs_no_more_for_each_claim() -> None:
    claim = answer("The old tower is tall and the old tower is red.", cited("https://a.example/"))

    def check(count: int) -> VerifyReport:
        page = outcome("\n\n".join(f"The old tower is tall, {at}." for at in range(count)))
        return check_answer(claim, {"https://a.example/": page})

    assert growth(check, 30) < LINEAR
