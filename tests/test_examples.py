"""The examples and the first command of the README print what the documentation shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.chat.agents import read_app

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[1]


def test_the_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shown = re.findall(r"```text\n\$ make run\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    question = re.findall(r"\$\$\{Q:-(.*?)\}", (ROOT / "Makefile").read_text("utf-8"))[0]
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "groundwire", "search", "--provider", "local", question],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "GROUNDWIRE_BUILD_INDEX": "0",
            "GROUNDWIRE_SEMANTIC": "0",
        },
    )
    lines = [line for line in shown[0].splitlines() if line.strip() and "…" not in line]
    assert len(lines) >= 2
    for line in lines:
        assert line in result.stdout


def test_the_example_decodes_a_stream_and_prints_its_citations() -> None:
    result = subprocess.run(  # noqa: S603
        [sys.executable, str(ROOT / "examples" / "cited_answer.py")],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert "[3] 東京都の統計 (https://toukei.example/tokyo)" in result.stdout
    assert "'東京の人口は約1,400万人です' ['https://toukei.example/tokyo']" in result.stdout


def test_the_example_of_an_app_is_an_agent_that_searches() -> None:
    agent = read_app((ROOT / "examples" / "apps" / "gpt5-web-search.json").read_text("utf-8"))
    assert (agent.id, agent.model, agent.web_search) == ("gpt5-web-search", "gpt-5", True)
    assert set(agent.name) == set(agent.description) == set(agent.prompt) == {"en", "de"}
