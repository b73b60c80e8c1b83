"""Gemini CLI searches with its own tool and finds the indexed pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.gemini_cli import ask_gemini, printed_by
from tests.clients.model import GROUNDED
from tests.clients.packages import GEMINI
from tests.clients.pages import ANSWER_URL, QUESTION
from tests.clients.running_gateway import RunningGateway

MODELS = ("", "anthropic/claude-opus-4-8", "openai/gpt-5.1")


@pytest.mark.parametrize("model", MODELS, ids=["own", "anthropic", "responses"])
def test_gemini_cli_prints_what_its_web_search_found_in_our_index(
    model: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    run = ask_gemini(gateway, home, ["-m", model] if model else [])
    assert run.code == 0, run
    show(f"{GEMINI.label}, google_web_search, model {model or 'of its own choice'}", printed_by(run))
    assert ANSWER_URL in printed_by(run), (run, gateway.model_requests)
    results = [json.loads(line) for line in run.out.splitlines() if '"tool_result"' in line]
    assert [result["output"] for result in results] == [f'Search results for "{QUESTION}" returned.']
    assert GROUNDED not in [request.output for request in gateway.model_requests]
