"""Verification of a stored answer, for its owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.chat.questions import ChatQuestion
from groundwire.errors import TurnedAway
from groundwire.model import Answer, SearchOptions, Source
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from groundwire.verify.check import check_answer
from groundwire.verify.facts import VerifyReport
from groundwire.verify.policy import VerifyPolicy
from tests.chat.scripted_chat import answered, open_chat
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server


async def test_an_answer_is_verified_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Source("https://docs.example/page", "A page")
    async with (
        Upstream(answer("gemini", answer_events("It does.", page, query="does it?"))) as upstream,
        open_chat(tmp_path, {"p": provider_at("gemini", upstream.url)}) as chat,
    ):
        turn = await answered(chat, ChatQuestion("Does it?", "", agent="finder"))

        policies = []

        async def averify(
            made: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
        ) -> VerifyReport:
            policies.append(policy)
            return check_answer(made, {})

        monkeypatch.setattr(chat.groundwire, "averify", averify)
        report = await chat.verify("", turn.session.id, turn.answer.number)
        assert [fact.url for fact in report.facts] == [page.url]
        for owner, number in (("other", turn.answer.number), ("", turn.question.number), ("", 99)):
            with pytest.raises(TurnedAway):
                await chat.verify(owner, turn.session.id, number)
        # The sources of the embedded index are stored here: no site is contacted.
        chat._store.add_message(replace(turn.answer, provider="local"))
        await chat.verify("", turn.session.id, turn.answer.number)
        assert [policy.offline if policy else None for policy in policies] == [None, True]
