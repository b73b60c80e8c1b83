"""Models: only a quote that is in the page and about the claim counts."""

from __future__ import annotations

import pytest

from groundwire.errors import Overloaded
from groundwire.model import Request
from groundwire.model.value import replace
from groundwire.verify.check import AnswerChecker, PageOutcome, check_answer
from groundwire.verify.claims import check_claim
from groundwire.verify.facts import AddressFact, ClaimVerdict
from groundwire.verify.model_check import model_fact, model_request
from groundwire.verify.pages import PageText, PreparedPage
from groundwire.verify.verifier import Verifier
from tests.verify.test_check import answer, cited

CLAIM = "The tower attracts more people in summer."
TEXT = "In July and August the tower has twice as many visitors. The lift is slow. Tickets cost 9 euros."
PAGE = PreparedPage(PageText(TEXT, hidden="The tower attracts more people in summer, say all."))
QUOTE = "In July and August the tower has twice as many visitors."


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (f'{{"verdict": "supported", "quote": "{QUOTE}"}}', "model_supported"),
        (f'```json\n{{"verdict": "supported", "quote": "{QUOTE}"}}\n```', "model_supported"),
        ('{"verdict": "supported", "quote": "The tower is crowded in summer."}', "partial"),
        ('{"verdict": "supported", "quote": "Tickets cost 9 euros."}', "partial"),
        (
            '{"verdict": "supported", "quote": "The tower attracts more people in summer, say all."}',
            "partial",
        ),
        ('{"verdict": "supported", "quote": ""}', "partial"),
        ('{"verdict": "not_supported", "quote": ""}', "model_rejected"),
        ('{"verdict": "cannot_tell"}', "partial"),
        ("I think so.", "partial"),
        ('{"verdict": 1}', "partial"),
        ("{", "partial"),
    ],
)
def test_the_quote_decides(reply: str, verdict: ClaimVerdict) -> None:
    known = replace(check_claim(CLAIM, PAGE), verdict="partial")
    assert model_fact(known, CLAIM, PAGE, reply, "p/m").verdict == verdict


def test_the_model_sees_the_nearest_sentences_and_no_hidden_text() -> None:
    request = model_request(CLAIM, PAGE)
    assert QUOTE in request.query
    assert "say all" not in request.query
    assert request.search is None


async def test_a_model_is_asked_about_open_claims_only_and_its_errors_leave_them_open() -> None:
    asked: list[str] = []

    async def ask(request: Request) -> str:
        asked.append(request.query)
        if len(asked) > 1:
            raise Overloaded("busy")
        return f'{{"verdict": "supported", "quote": "{QUOTE}"}}'

    outcome = PageOutcome(AddressFact("alive", origin="web"), PageText(TEXT))

    class Pages:
        async def outcomes(self, urls: object, policy: object) -> dict[str, PageOutcome]:
            return {"https://a.example/": outcome}

    verifier = Verifier(Pages(), ask, "p/m")  # type: ignore[arg-type]
    made = answer(CLAIM, cited("https://a.example/"))
    fact = (await verifier.report(made)).facts[0]
    assert (fact.claimed.verdict, fact.claimed.model, fact.standing) == (
        "model_supported",
        "p/m",
        "supported",
    )
    assert fact.claimed.model_quote == QUOTE.rstrip(".")
    for claim in ("The lift is slow.", "Tickets cost 7 euros."):
        assert (await verifier.report(answer(claim, cited("https://a.example/")))).facts[
            0
        ].claimed.model == ""
    assert len(asked) == 1
    again = await verifier.report(made)
    assert again.facts == check_answer(made, {"https://a.example/": outcome}).facts
    assert AnswerChecker(made, {}).page("https://a.example/") is None
