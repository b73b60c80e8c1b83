"""The verifier: fetches cited pages, checks the citations, and asks a model about those that stay open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model import Answer, Request, SearchOptions
from groundwire.model.value import replace
from groundwire.transport.threads import run_in_thread
from groundwire.verify.check import AnswerChecker, cited_urls
from groundwire.verify.facts import CitationFact, ClaimFact, VerifyReport
from groundwire.verify.fetch import CitedPages
from groundwire.verify.model_check import ASKED, MOST_CLAIMS, model_fact, model_request
from groundwire.verify.pages import PreparedPage
from groundwire.verify.policy import VerifyPolicy
from groundwire.verify.score import support_score

AskModel: TypeAlias = Callable[[Request], Awaitable[str]]
"""Sends a request to the model of `verify.model`; returns the text of its answer."""

_ASKED_AT_ONCE = 4


def _doubt(claim: str, page: PreparedPage | None) -> float:
    """Lower for claims that a model should rather be asked about."""
    return support_score(claim, page) if page is not None else 0.0


class Verifier:
    """Verifies the citations of answers."""

    def __init__(self, pages: CitedPages, ask: AskModel | None = None, model: str = "") -> None:
        self._pages = pages
        self._ask = ask
        self._model = model

    async def report(
        self, answer: Answer, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        """The facts about every citation. Comparing takes a while for long pages, so a thread does it."""
        outcomes = await self._pages.outcomes(cited_urls(answer), policy or VerifyPolicy())
        checker = AnswerChecker(answer, outcomes, options)
        report = await run_in_thread(checker.report, "groundwire-verify")
        return report if self._ask is None else await self._with_model(report, checker, self._ask)

    async def _with_model(self, report: VerifyReport, checker: AnswerChecker, ask: AskModel) -> VerifyReport:
        """The report after a model was asked about open claims, each pair of claim and page once."""
        pairs = list(
            dict.fromkeys(
                (fact.claim, fact.url)
                for fact in report.facts
                if fact.claimed.verdict in ASKED and fact.claim
            )
        )
        if len(pairs) > MOST_CLAIMS:
            pairs = sorted(pairs, key=lambda pair: _doubt(pair[0], checker.page(pair[1])))[:MOST_CLAIMS]
        slots = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def reply(claim: str, page: PreparedPage | None) -> str:
            if page is None:
                return ""
            async with slots:
                try:
                    return await ask(model_request(claim, page))
                except GroundwireError:
                    return ""  # the claim stays open

        replies = await asyncio.gather(*(reply(claim, checker.page(url)) for claim, url in pairs))
        known = dict(zip(pairs, replies, strict=True))

        def decided(fact: CitationFact) -> ClaimFact:
            page, text = checker.page(fact.url), known.get((fact.claim, fact.url), "")
            if page is None or not text or fact.claimed.verdict not in ASKED:
                return fact.claimed
            return model_fact(fact.claimed, fact.claim, page, text, self._model)

        return replace(report, facts=tuple(replace(fact, claimed=decided(fact)) for fact in report.facts))
