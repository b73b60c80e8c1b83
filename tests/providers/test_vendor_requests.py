"""Requests are those of the vendors' own SDKs, as `scripts/vendor_requests.py` recorded them."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.providers.catalog import CATALOG
from groundwire.providers.registry import load_registered
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from tests.providers.harness import KEY, VENDORS, ProviderCase, world

pytestmark = pytest.mark.server

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "vendor_requests.json").read_text())
SCRIPT = run_path(str(Path(__file__).parents[2] / "scripts" / "vendor_requests.py"))
WITHOUT_SDK = {"openai_oauth"}
"""The backend of ChatGPT has no SDK. xAI's own is gRPC; its HTTP API is that of OpenAI, as are those of
OpenRouter, Azure and Qwen."""
ENGINES = {
    entry.name: row for entry in CATALOG if isinstance(row := load_registered(entry.name), ApiEngineSpec)
}
ENGINES_WITHOUT_SDK = {"brave", "jina", "searxng", "serper"}
"""Their vendors publish none for Python."""


def test_every_vendor_with_an_sdk_is_compared() -> None:
    vendors, engines = set(SCRIPT["VENDORS"]), set(SCRIPT["ENGINES"])
    assert vendors == {case.name for case in VENDORS} - WITHOUT_SDK
    assert engines == set(ENGINES) - ENGINES_WITHOUT_SDK
    assert set(FACTS) == vendors | engines


@pytest.mark.parametrize("name", sorted(set(ENGINES) - ENGINES_WITHOUT_SDK))
def test_a_request_of_an_engine_equals_that_of_the_sdk(name: str) -> None:
    sent, fact = SCRIPT["engine_request"](ENGINES[name], SCRIPT["ENGINES"][name].base), FACTS[name]
    assert (sent.method, sent.path) == (fact["method"], fact["path"])
    assert (sent.body, sent.query) == (fact["body"], fact.get("query", {}))
    assert fact["authentication"].items() <= sent.authentication.items()


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
