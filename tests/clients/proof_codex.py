"""Codex searches: hosted, as its model's provider would; and by its own request to `/alpha/search`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.codex import STANDALONE, ask_codex, items_of, printed_by, write_config
from tests.clients.packages import CODEX
from tests.clients.pages import ANSWER_URL, QUESTION
from tests.clients.running_gateway import RunningGateway

MODELS = ("gpt-5.1", "openai_chat/gpt-5.1", "local")
"""A model that the engine searches for, one of another dialect, and the engine itself."""


@pytest.mark.parametrize("model", MODELS)
def test_codex_prints_what_the_hosted_search_found_in_our_index(
    model: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    write_config(gateway, home, model=model)
    run = ask_codex(home)
    assert run.code == 0, run
    show(f"{CODEX.label}, hosted web_search, model {model}", printed_by(run))
    assert ANSWER_URL in printed_by(run), (run, gateway.model_requests)
    assert [item["query"] for item in items_of(run, "web_search")] == [QUESTION]


def test_codex_prints_what_its_own_search_request_found_in_our_index(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    write_config(gateway, home, more=STANDALONE)
    run = ask_codex(home, ["--enable", "standalone_web_search"])
    assert run.code == 0, run
    show(f"{CODEX.label}, /alpha/search", printed_by(run))
    assert ANSWER_URL in printed_by(run), (run, gateway.model_requests)
    [search] = items_of(run, "web_search")
    assert ANSWER_URL in str(search["results"])
