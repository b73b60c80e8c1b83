"""OpenCode in all four dialects: with the engine as its model, and with a model that gets search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.opencode import PACKAGES, ask_opencode, printed_by, write_config
from tests.clients.packages import OPENCODE
from tests.clients.pages import ANSWER_URL
from tests.clients.running_gateway import RunningGateway


@pytest.mark.parametrize("dialect", PACKAGES)
def test_opencode_prints_the_sources_of_an_answer_in_every_dialect(
    dialect: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    write_config(gateway, home, dialect, "local")
    run = ask_opencode(home)
    assert run.code == 0, run
    show(f"{OPENCODE.label}, {PACKAGES[dialect][0]}, model local", printed_by(run))
    assert ANSWER_URL in printed_by(run), (run, gateway.log.read_text())


def test_opencode_prints_the_sources_of_a_model_that_is_given_search(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    write_config(gateway, home, "openai_chat", "openai_chat/gpt-5.1", {"web_search_options": {}})
    run = ask_opencode(home)
    assert run.code == 0, run
    show(f"{OPENCODE.label}, web_search_options, model openai_chat/gpt-5.1", printed_by(run))
    assert ANSWER_URL in printed_by(run), (run, gateway.model_requests)
