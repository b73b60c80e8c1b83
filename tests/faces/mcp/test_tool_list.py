"""Which tools are listed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundwire.config.load import load
from groundwire.faces.mcp.tool_list import NAMES, tool_definitions
from groundwire.tools import TOOLS
from groundwire.tools.definitions import tools_in
from tests.faces.mcp.served import KEY, Library

pytestmark = pytest.mark.server

KEYLESS = ["websearch", "websearch_web", "websearch_local", "search", "fetch", "verify_citations"]


def names(home: Path, env: Mapping[str, str], *, every: bool = False) -> list[str]:
    known = {"HOME": str(home), "GROUNDWIRE_DATA_DIR": str(home), **env}
    library = Library(load(known, str(home), str(home)), env=known)
    return [str(tool["name"]) for tool in tool_definitions(library, every=every)]


@pytest.mark.parametrize(
    ("env", "more"),
    [
        ({}, ()),
        ({"OPENROUTER_API_KEY": KEY}, ("websearch_openrouter",)),
        ({"ANTHROPIC_API_KEY": KEY}, ("websearch_anthropic",)),
        ({"GEMINI_API_KEY": KEY}, ("websearch_gemini", "geminisearch")),
        ({"GOOGLE_API_KEY": KEY}, ("websearch_gemini",)),
    ],
)
def test_only_usable_tools_are_listed(env: dict[str, str], more: tuple[str, ...], tmp_path: Path) -> None:
    assert sorted(names(tmp_path, env)) == sorted([*KEYLESS, *more])


def test_a_key_in_its_own_block_is_enough_for_geminisearch(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    block = {"provider": {"geminisearch": {"options": {"apiKey": KEY}}}}
    (folder / "opencode.json").write_text(json.dumps(block))
    assert sorted(names(tmp_path, {})) == sorted([*KEYLESS, "geminisearch"])


def test_all_tools_are_listed_on_request(tmp_path: Path) -> None:
    assert names(tmp_path, {}, every=True) == list(NAMES) == [*TOOLS, "search", "fetch", "verify_citations"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_definitions_are_those_of_the_command_line(language: str, tmp_path: Path) -> None:
    library = Library(load({}, str(tmp_path), str(tmp_path)), env={"HOME": str(tmp_path)})
    ours = tool_definitions(library, language, every=True)[: len(TOOLS)]
    theirs = tools_in("mcp", language)
    same = ("name", "description", "inputSchema", "annotations")
    assert [{key: tool[key] for key in same} for tool in ours] == theirs
    assert all(tool["title"] for tool in ours)
