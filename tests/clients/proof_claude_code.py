"""Claude Code searches with its own tool and finds the indexed pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude_code import claude, result_of, searches_of
from tests.clients.packages import CLAUDE_NEW, CLAUDE_OLD, ClientPackage
from tests.clients.pages import ANSWER_URL, QUESTION
from tests.clients.running_gateway import RunningGateway

MODELS = ("", "openai/gpt-5.1", "openai_chat/gpt-5.1", "gemini/gemini-2.5-flash")
"""Its own model, and those of other vendors by way of the gateway."""


@pytest.mark.parametrize("model", MODELS, ids=["own", "responses", "chat", "gemini"])
@pytest.mark.parametrize("package", [CLAUDE_OLD, CLAUDE_NEW], ids=lambda package: package.version)
def test_claude_code_prints_what_its_web_search_found_in_our_index(
    package: ClientPackage, model: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    chosen = ["--model", model] if model else []
    run = claude(package, gateway, home, ["--allowedTools", "WebSearch", *chosen])
    assert run.code == 0, run
    show(f"{package.label}, WebSearch, model {model or 'of its own choice'}", result_of(run))
    assert ANSWER_URL in result_of(run), (run, gateway.model_requests)
    [search] = searches_of(run)
    assert search["query"] == QUESTION
    assert search["searchCount"] == 1
    assert ANSWER_URL in str(search["results"])


def test_the_model_is_not_asked_to_search(gateway: RunningGateway, home: Path) -> None:
    run = claude(CLAUDE_NEW, gateway, home, ["--allowedTools", "WebSearch"])
    assert run.code == 0, run
    assert [request.api for request in gateway.model_requests] == ["anthropic_messages"] * 3, (
        gateway.model_requests
    )
