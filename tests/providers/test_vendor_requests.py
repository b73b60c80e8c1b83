"""Requests are those of the vendors' own SDKs, as `scripts/vendor_requests.py` recorded them."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from tests.providers.harness import KEY, VENDORS, ProviderCase, world

pytestmark = pytest.mark.server

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "vendor_requests.json").read_text())
SCRIPT = run_path(str(Path(__file__).parents[2] / "scripts" / "vendor_requests.py"))
WITHOUT_SDK = {"gemini", "vertex", "vertex_claude", "openrouter", "openai_oauth", "xai", "azure", "qwen"}
"""google-genai builds bodies from its own types (`tests/oracles`). The others have no SDK for the API that is
used here: OpenRouter and xAI document that of OpenAI, with fields that it does not know."""


def test_every_vendor_with_an_sdk_is_compared() -> None:
    assert set(FACTS) == set(SCRIPT["VENDORS"]) == {case.name for case in VENDORS} - WITHOUT_SDK


@pytest.mark.parametrize("case", [case for case in VENDORS if case.name in FACTS], ids=str)
async def test_a_request_equals_that_of_the_vendors_sdk(case: ProviderCase) -> None:
    fact = FACTS[case.name]
    async with world(case, answer(case.dialect, answer_events("Yes."))) as here:
        outcome = await here.ask(SCRIPT["request_to"](case.row(here.upstream.url)))
        (sent,) = here.upstream.requests
    assert outcome.error is None
    shown = {name: text.replace(KEY, SCRIPT["KEY"]) for name, text in sent.headers.items()}
    assert (sent.method, sent.path) == (fact["method"], fact["path"])
    assert {name: shown[name] for name in fact["authentication"]} == fact["authentication"]
    assert json.loads(sent.body) == fact["body"]
