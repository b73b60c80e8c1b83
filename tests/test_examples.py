"""The examples and the first command of the README print what the documentation shows."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from groundwire.chat.agents import read_app
from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.built_index import copy_index
from tests.faces.gateway.serving import provider_at, serving

__all__ = ["copy_index"]
pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[1]


def test_the_first_command_prints_what_the_readme_shows(
    tmp_path: Path, copy_index: Callable[[Path], None]
) -> None:
    copy_index(tmp_path / ".local" / "share" / "groundwire")
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


OFFLINE: Mapping[str, tuple[str, ...]] = {
    "agent_tool.py": ("os.walk", "docs.python.org"),
    "ask.py": ("Directory tree generator.", "/library/os.html#os.walk"),
    "bibliography.py": ("@misc{", "Accessed 2026-01-31"),
    "cited_answer.py": (
        "[3] 東京都の統計 (https://toukei.example/tokyo)",
        "'東京の人口は約1,400万人です' ['https://toukei.example/tokyo']",
    ),
    "compare_providers.py": ("one answered", "two answered", "contradict"),
    "compatible_server.py": ("The Nile is 6650 km long. ['https://river.example/nile']",),
    "conversation.py": ("> And how do I write one?", "json"),
    "failover.py": ("The Nile is 6650 km long.", "1 to the second"),
    "handle_errors.py": ("do not retry",),
    "many_questions.py": ("How do I copy a file?",),
    "markdown_answer.py": ("os.walk", "docs.python.org"),
    "own_pages.py": ("Every employee has 29 days of leave a year.",),
    "scripted_provider.py": ("['https://river.example/nile']", "the provider received: {"),
    "search_options.py": ("https://github.com/python/cpython/",),
    "stop_early.py": ("first text: The Nile is 6650 km long.", "sent completely: False"),
    "stream_events.py": ("search:", "text:", "cited: ["),
    "translate_stream.py": ("event: message_start", "https://river.example/nile"),
    "verify_answer.py": ("supported  verbatim     The tower is 324", "failed     other_value"),
}
"""Examples that need neither a key nor a network, and what they print."""
WITH_GATEWAY: Mapping[str, tuple[str, ...]] = {
    "anthropic_sdk.py": ("The Nile is 6650 km long.", "https://river.example/nile"),
    "gemini_sdk.py": ("The Nile is 6650 km long.", "https://river.example/nile"),
    "http_search.py": ("The Nile is 6650 km long.", "https://river.example/nile"),
    "openai_sdk.py": ("Responses: The Nile is 6650 km long.", "Chat: The Nile is 6650 km long."),
}
"""Examples that use a gateway."""


def test_every_example_has_an_expected_output() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*OFFLINE, *WITH_GATEWAY}


def _problems(expected: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Run the examples in this process, and say which do not print what they should."""
    found = []
    for name, parts in expected.items():
        output = io.StringIO()
        with redirect_stdout(output):
            runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        found += [
            f"{name}: {part!r} is not in {output.getvalue()}"
            for part in parts
            if part not in output.getvalue()
        ]
    return found


def _set_environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    patch.setattr(sys, "argv", ["example"])
    for name, text in (
        ("HOME", str(home)),
        ("GROUNDWIRE_DATA_DIR", str(home / "data")),
        ("GROUNDWIRE_BUILD_INDEX", "0"),
        ("GROUNDWIRE_SEMANTIC", "0"),
    ):
        patch.setenv(name, text)


def _notebook_output(notebook: Path) -> str:
    """Run the code cells in order."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 3
    namespace: dict[str, object] = {}
    output = io.StringIO()
    with redirect_stdout(output):
        for cell in code:
            exec(cell, namespace)  # noqa: S102  our own notebook
    return output.getvalue()


def test_examples_and_notebooks_print_what_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copy_index: Callable[[Path], None]
) -> None:
    _set_environment(monkeypatch, tmp_path)
    copy_index(tmp_path / "data")
    assert _problems(OFFLINE) == []
    notebooks = ROOT / "examples" / "notebooks"
    assert "/library/os.html#os.walk" in _notebook_output(notebooks / "cited_search.ipynb")
    assert "'Köln' https://stadt.example/" in _notebook_output(notebooks / "between_vendors.ipynb")
    assert len(list(notebooks.iterdir())) == 2


async def test_examples_with_the_official_clients_print_cited_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set_environment(monkeypatch, tmp_path)
    events = answer_events("The Nile is 6650 km long.", Source("https://river.example/nile"), query="nile")
    async with (
        Upstream(answer("anthropic_messages", events)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as gateway,
    ):
        monkeypatch.setenv("GROUNDWIRE_URL", gateway.url)
        assert await asyncio.to_thread(_problems, WITH_GATEWAY) == []


def test_the_page_about_examples_lists_all() -> None:
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    files = [path for path in (ROOT / "examples").rglob("*.*") if "__pycache__" not in path.parts]
    assert [path.name for path in files if f"`{path.name}`" not in page] == []


def test_the_example_of_an_app_is_an_agent_that_searches() -> None:
    agent = read_app((ROOT / "examples" / "apps" / "gpt5-web-search.json").read_text("utf-8"))
    assert (agent.id, agent.model, agent.web_search) == ("gpt5-web-search", "gpt-5", True)
    assert set(agent.name) == set(agent.description) == set(agent.prompt) == {"en", "de"}
