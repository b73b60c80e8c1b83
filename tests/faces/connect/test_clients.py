"""`groundwire connect --gateway` writes the base URL of the gateway to the configuration of a client."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from groundwire.faces.connect.gateways import GATEWAY_SPECS
from groundwire.files.env_edit import put, remove, value_of
from tests.faces.connect.parsers import read_config
from tests.faces.connect.test_connect import connect, tree

pytestmark = pytest.mark.server

URL = "http://127.0.0.1:8484"
FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/opencode.json",
    "gemini-cli": ".gemini/.env",
    "qwen-code": ".qwen/.env",
    "openclaw": ".openclaw/openclaw.json",
    "kilo": ".config/kilo/kilo.json",
    "crush": ".config/crush/crush.json",
    "goose": ".config/goose/custom_providers/groundwire.json",
    "zed": ".config/zed/settings.json",
    "open-webui": ".env",
}
TEXTS = {
    "claude-code": '{\n  "env": {"OTHER": "1"}, // mine\n  "model": "opus"\n}\n',
    "codex": '# mine\nmodel = "gpt-5.1"\n\n[model_providers.other]\nname = "x" # theirs\n',
    "opencode": '{\n  // mine\n  "provider": {"other": {"npm": "x"}},\n  "share": "disabled",\n}\n',
    "gemini-cli": "# mine\nOTHER=1",
    "qwen-code": "# mine\nOTHER=1",
    "openclaw": '{\n  // mine\n  "models": {"mode": "merge"},\n}\n',
    "kilo": '{"share": "disabled"}',
    "crush": '{\n  "providers": {\n    "other": {"type": "openai"}\n  }\n}\n',
    "goose": "{}\n",
    "zed": '// mine\n{\n  "theme": "One Dark",\n  "language_models": {},\n}\n',
    "open-webui": "PORT=3000\n",
}
BASE_URL_KEYS: dict[str, Sequence[str]] = {
    "claude-code": ("env", "ANTHROPIC_BASE_URL"),
    "codex": ("model_providers", "groundwire", "base_url"),
    "opencode": ("provider", "groundwire", "options", "baseURL"),
    "gemini-cli": ("GOOGLE_GEMINI_BASE_URL",),
    "qwen-code": ("OPENAI_BASE_URL",),
    "openclaw": ("models", "providers", "groundwire", "baseUrl"),
    "kilo": ("provider", "groundwire", "options", "baseURL"),
    "crush": ("providers", "groundwire", "base_url"),
    "goose": ("base_url",),
    "zed": ("language_models", "openai_compatible", "groundwire", "api_url"),
    "open-webui": ("OPENAI_API_BASE_URL",),
}
SHARED = ("codex", "opencode")
"""Clients that have MCP servers and models in one file."""


def config_file(home: Path, client: str, text: str) -> Path:
    file = home / FILES[client]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def base_url_in(file: Path, client: str) -> Any:
    found = read_config(file.read_text(), file.suffix or file.name)
    for name in BASE_URL_KEYS[client]:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def test_every_client_with_a_base_url_setting_is_tested() -> None:
    assert list(GATEWAY_SPECS) == list(FILES)


@pytest.mark.parametrize("client", FILES)
def test_the_base_url_is_written_once_and_undone_to_the_byte(client: str, tmp_path: Path) -> None:
    file = config_file(tmp_path, client, TEXTS[client])
    before = tree(tmp_path)
    assert connect(tmp_path, client, "--gateway", "--write")[0] == 0
    assert base_url_in(file, client).removesuffix("/chat/completions").removesuffix("/v1") == URL
    written = tree(tmp_path)
    assert "already connected" in connect(tmp_path, client, "--gateway", "--write")[1]
    assert tree(tmp_path) == written
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", FILES)
def test_undo_does_not_need_the_base_url(client: str, tmp_path: Path) -> None:
    config_file(tmp_path, client, TEXTS[client])
    before = tree(tmp_path)
    elsewhere = ("--url", "http://gw.example:1", "--write")
    assert connect(tmp_path, client, "--gateway", *elsewhere)[0] == 0
    assert connect(tmp_path, client, "--http", *elsewhere)[0] == 0
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", FILES)
def test_a_missing_file_is_created_and_removed_by_undo(client: str, tmp_path: Path) -> None:
    assert connect(tmp_path, client, "--gateway", "--write")[0] == 0
    assert base_url_in(tmp_path / FILES[client], client)
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("client", FILES)
def test_without_write_it_shows_what_to_add_and_the_next_step(client: str, tmp_path: Path) -> None:
    code, out, err = connect(tmp_path, client, "--gateway", "--url", "http://gw.example:1/")
    assert (code, tree(tmp_path)) == (0, {})
    assert "http://gw.example:1" in out
    assert GATEWAY_SPECS[client].after in err


@pytest.mark.parametrize("client", SHARED)
@pytest.mark.parametrize("order", list(permutations(("--gateway", "--http", ""))), ids="".join)
def test_changes_in_one_file_are_all_undone_in_any_order(
    client: str, order: tuple[str, ...], tmp_path: Path
) -> None:
    file = config_file(tmp_path, client, TEXTS[client])
    before = tree(tmp_path)
    for mode in order:
        assert connect(tmp_path, client, *filter(None, (mode,)), "--write")[0] == 0
    assert base_url_in(file, client)
    assert "groundwire" in str(read_config(file.read_text(), file.suffix)[_servers(client)])
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", SHARED)
def test_undo_removes_all_entries_and_keeps_later_changes_of_others(client: str, tmp_path: Path) -> None:
    file = config_file(tmp_path, client, TEXTS[client])
    was = read_config(TEXTS[client], file.suffix)
    connect(tmp_path, client, "--write")
    connect(tmp_path, client, "--gateway", "--write")
    with file.open("a") as more:
        more.write("\n# note\n" if file.suffix == ".toml" else "\n// note\n")
    assert "another program has changed the file" in connect(tmp_path, client, "--undo")[1]
    assert read_config(file.read_text(), file.suffix) == was
    assert "note" in file.read_text()
    assert sorted(tree(tmp_path)) == [FILES[client]]


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude-code", '{"env": {"ANTHROPIC_BASE_URL": "https://proxy.example"}}'),
        ("gemini-cli", "GOOGLE_GEMINI_BASE_URL=https://proxy.example\n"),
    ],
)
def test_a_base_url_set_by_the_user_is_not_removed_and_is_restored(
    client: str, text: str, tmp_path: Path
) -> None:
    file = config_file(tmp_path, client, text)
    before = tree(tmp_path)
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == before
    connect(tmp_path, client, "--gateway", "--write")
    assert base_url_in(file, client) == URL
    file.write_text(file.read_text() + "\n")
    connect(tmp_path, client, "--undo")
    assert file.read_text() == text + "\n"


def _servers(client: str) -> str:
    return "mcp" if client == "opencode" else "mcp_servers"


@pytest.mark.parametrize(
    ("text", "set_to", "without"),
    [
        ("", None, ""),
        ("A=1", "1", ""),
        ("export A = '1'\n", "1", ""),
        ('A="1 2"\r\nB=3\r\n', "1 2", "B=3\r\n"),
        ("A=1\nC=\nA=2\n", "2", "C=\n"),
        ("# A=1\nBA=2\nA_B=3\n", None, "# A=1\nBA=2\nA_B=3\n"),
        ("B=1", None, "B=1\n"),
    ],
)
def test_a_variable_is_read_set_and_removed_among_other_lines(
    text: str, set_to: str | None, without: str
) -> None:
    assert value_of(text, "A") == set_to
    edited = put(text, "A", "x")
    assert value_of(edited, "A") == "x"
    assert remove(edited, "A") == without
