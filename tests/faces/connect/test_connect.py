"""`groundwire connect` with the files of every client: show, write, write again, undo."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire.faces.cli.arguments import CLIENTS as NAMES
from groundwire.faces.connect.clients import CLIENTS, all_changes
from groundwire.faces.connect.locations import ConnectContext
from groundwire.tools import TOOLS
from tests.faces.connect.parsers import read_config
from tests.faces.fakes import Bench

pytestmark = pytest.mark.server

FILES = {
    "opencode": ".config/opencode/opencode.json",
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "qwen-code": ".qwen/settings.json",
    "openclaw": ".openclaw/openclaw.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "kilo": ".config/kilo/kilo.json",
    "crush": ".config/crush/crush.json",
    "goose": ".config/goose/config.yaml",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "zed": ".config/zed/settings.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "continue": ".continue/mcpServers/groundwire.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "librechat": "librechat.yaml",
}
PARENTS = {
    "opencode": "mcp",
    "codex": "mcp_servers",
    "openclaw": "mcp",
    "kilo": "mcp",
    "crush": "mcp",
    "goose": "extensions",
    "vscode": "servers",
    "zed": "context_servers",
}
ENTRY = "groundwire"

JSON_TEXTS = {
    "empty": "",
    "existing": '{\n  "%s": {\n    "other": {"command": "x"}\n  },\n  "theme": "dark"\n}\n',
    "no servers": '{"theme": "dark"}',
    "with comments": '// mine\n{\n  "theme": "dark", // night\n  "%s": {\n    /* none yet */\n  },\n}\n',
    "byte order mark": '\ufeff{\r\n  "%s": {}\r\n}\r\n',
}
TOML_TEXTS = {
    "empty": "",
    "existing": '[%s.other]\ncommand = "x"\n',
    "no servers": 'model = "x"',
    "with comments": '# mine\nmodel = "x" # good\n\n[%s.other] # theirs\ncommand = "x"\n# the end\n',
    "byte order mark": '\ufeffmodel = "x"\r\n',
}
YAML_TEXTS = {
    "empty": "",
    "existing": "%s:\n  other:\n    command: x\n    args: [a, 'b']\ntheme: dark\n",
    "no servers": "theme: dark",
    "with comments": "# mine\ntheme: dark # night\n%s: # none yet\n\n# the end\n",
    "byte order mark": "\ufeff%s: {}\r\ntheme: dark\r\n",
}
FORMS = {".json": JSON_TEXTS, ".toml": TOML_TEXTS, ".yaml": YAML_TEXTS}
CASES = [(client, case) for client in FILES for case in JSON_TEXTS]
BROKEN = {
    ".yaml": ("a: 1\nb 2\n", "line 2, column 1"),
    ".json": ('{\n  "a": 1,\n  "b" 2\n}\n', "line 3, column 7"),
    ".toml": ("a = 1\nb = = 2\n", "config.toml:2:5"),
}


def text_of(client: str, case: str) -> str:
    texts = FORMS[Path(FILES[client]).suffix]
    return texts[case].replace("%s", PARENTS.get(client, "mcpServers"))


def bench(home: Path, **env: str) -> Bench:
    return Bench(env={"HOME": str(home), "PATH": os.environ["PATH"], **env}, cwd=str(home))


def connect(home: Path, *words: str) -> tuple[int, str, str]:
    console = bench(home)
    code = console.run("connect", *words)
    return code, console.stdout, console.stderr


def tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def config_file(home: Path, client: str, text: str) -> Path:
    file = home / FILES[client]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def servers_in(document: Any, client: str) -> Any:
    """The object that holds the servers."""
    servers = document[PARENTS.get(client, "mcpServers")]
    return servers["servers"] if client == "openclaw" else servers


def entry_in(file: Path, client: str) -> Any:
    entry = servers_in(read_config(file.read_bytes().decode(), file.suffix), client)[ENTRY]
    return entry["transport"] if client == "cline" else entry


def command_of(entry: Any) -> list[str]:
    """The command line of a server's entry, in the spellings of all clients."""
    entry = entry.get("transport", entry)
    command = entry["cmd"] if "cmd" in entry else entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


def test_every_client_choice_is_implemented() -> None:
    assert tuple(CLIENTS) == NAMES == (*FILES, "open-webui")


@pytest.mark.parametrize(("client", "case"), CASES)
def test_a_written_entry_is_valid_for_other_parsers_and_undone_to_the_byte(
    client: str, case: str, tmp_path: Path
) -> None:
    file = config_file(tmp_path, client, text_of(client, case))
    before, text = tree(tmp_path), file.read_bytes().decode()
    was = read_config(text, file.suffix) if text else {}

    assert connect(tmp_path, client, "--write")[0] == 0
    now = read_config(file.read_bytes().decode(), file.suffix)
    command = command_of(servers_in(now, client).pop(ENTRY))
    assert command[-1] == "mcp"
    assert os.access(command[0], os.X_OK)
    parent = PARENTS.get(client, "mcpServers")
    now[parent].pop("servers", None)
    assert {**now, parent: now[parent]} == {**was, parent: was.get(parent) or {}}

    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", FILES)
def test_a_missing_file_is_created_and_removed_by_undo(client: str, tmp_path: Path) -> None:
    assert connect(tmp_path, client, "--write")[0] == 0
    file = tmp_path / FILES[client]
    assert entry_in(file, client)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert connect(tmp_path, client, "--undo")[0] == 0
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("client", FILES)
def test_an_existing_connection_is_not_changed(client: str, tmp_path: Path) -> None:
    connect(tmp_path, client, "--write")
    file = tmp_path / FILES[client]
    before, when = tree(tmp_path), file.stat().st_mtime_ns
    code, out, _ = connect(tmp_path, client, "--write")
    assert (code, tree(tmp_path), file.stat().st_mtime_ns) == (0, before, when)
    assert "already connected" in out


@pytest.mark.parametrize("client", FILES)
def test_an_invalid_file_is_rejected_with_the_position_and_not_changed(client: str, tmp_path: Path) -> None:
    text, position = BROKEN[Path(FILES[client]).suffix]
    config_file(tmp_path, client, text)
    before = tree(tmp_path)
    code, out, err = connect(tmp_path, client, "--write")
    assert (code, out, tree(tmp_path)) == (4, "", before)
    assert position in err
    assert FILES[client] in err


@pytest.mark.parametrize("client", [name for name in FILES if name != "claude-desktop"])
def test_another_mode_replaces_the_first_and_undo_restores_the_original(client: str, tmp_path: Path) -> None:
    file = config_file(tmp_path, client, text_of(client, "with comments"))
    before = tree(tmp_path)
    connect(tmp_path, client, "--write")
    assert connect(tmp_path, client, "--http", "--url", "http://127.0.0.1:9000/", "--write")[0] == 0
    entry = entry_in(file, client)
    assert "http://127.0.0.1:9000/mcp" in entry.values()
    assert not {"command", "cmd"} & entry.keys()
    console = bench(tmp_path)
    assert console.run("connect", client, "--undo", "--url", "http://127.0.0.1:9000") == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("client", FILES)
def test_undo_keeps_later_changes_of_others(client: str, tmp_path: Path) -> None:
    file = config_file(tmp_path, client, text_of(client, "existing"))
    was = read_config(file.read_text(), file.suffix)
    connect(tmp_path, client, "--write")
    with file.open("a") as more:
        more.write("\n// note\n" if file.suffix == ".json" else "\n# note\n")
    code, out, _ = connect(tmp_path, client, "--undo")
    assert code == 0
    assert "another program has changed the file" in out
    assert read_config(file.read_text(), file.suffix) == was
    assert "note" in file.read_text()
    assert sorted(tree(tmp_path)) == [FILES[client]]


def test_undo_restores_an_entry_of_the_user(tmp_path: Path) -> None:
    text = '{"mcpServers": {"groundwire": {"command": "mine", "args": []}}}'
    file = config_file(tmp_path, "cursor", text)
    connect(tmp_path, "cursor", "--write")
    file.write_text(file.read_text() + "\n")
    connect(tmp_path, "cursor", "--undo")
    assert json.loads(file.read_text()) == json.loads(text)


def test_additional_fields_of_an_entry_are_kept(tmp_path: Path) -> None:
    connect(tmp_path, "cursor", "--write")
    file = tmp_path / FILES["cursor"]
    document = json.loads(file.read_text())
    document["mcpServers"]["groundwire"]["env"] = {"GEMINI_API_KEY": "k"}
    file.write_text(json.dumps(document))
    assert "already connected" in connect(tmp_path, "cursor", "--write")[1]
    assert json.loads(file.read_text()) == document


def test_undo_without_a_connection_changes_nothing(tmp_path: Path) -> None:
    config_file(tmp_path, "codex", 'model = "x"\n')
    before = tree(tmp_path)
    code, out, _ = connect(tmp_path, "codex", "--undo")
    assert (code, tree(tmp_path)) == (0, before)
    assert "not connected" in out


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    link = tmp_path / FILES["cursor"]
    link.parent.mkdir()
    link.symlink_to(real)
    connect(tmp_path, "cursor", "--write")
    assert link.is_symlink()
    assert "groundwire" in real.read_text()
    connect(tmp_path, "cursor", "--undo")
    assert real.read_text() == "{}"


def test_file_permissions_are_kept(tmp_path: Path) -> None:
    file = config_file(tmp_path, "gemini-cli", "{}")
    file.chmod(0o640)
    connect(tmp_path, "gemini-cli", "--write")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("client", FILES)
def test_without_write_it_only_shows_what_to_add(client: str, tmp_path: Path) -> None:
    code, out, err = connect(tmp_path, client)
    assert (code, tree(tmp_path)) == (0, {})
    assert "~/" + FILES[client] in err
    assert servers_in(read_config(out, Path(FILES[client]).suffix), client)[ENTRY]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("cursor", "--gateway"), "--gateway is for claude-code, codex, opencode, gemini-cli"),
        (("open-webui",), "add --http"),
        ((), "name the program"),
        (("codex", "--tools"), "--tools is for opencode"),
        (("claude-desktop", "--http"), "leave out --http"),
        (("codex", "--http", "--tools"), "choose one of"),
        (("codex", "--write", "--undo"), "choose one of"),
    ],
)
def test_incompatible_options_are_rejected(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    code, _, err = connect(tmp_path, *words)
    assert code == 2
    assert reason in err
    assert tree(tmp_path) == {}


def test_opencode_with_comments_keeps_its_own_file(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")
    connect(tmp_path, "opencode", "--write")
    assert sorted(path.name for path in folder.iterdir() if "backup" not in path.name) == ["opencode.jsonc"]


@pytest.mark.parametrize(
    ("platform", "env", "client", "file"),
    [
        ("darwin", {}, "vscode", "/h/Library/Application Support/Code/User/mcp.json"),
        ("win32", {"APPDATA": "/roaming"}, "claude-desktop", "/roaming/Claude/claude_desktop_config.json"),
        ("linux", {"CODEX_HOME": "/c"}, "codex", "/c/config.toml"),
        ("linux", {"CLAUDE_CONFIG_DIR": "/c"}, "claude-code", "/c/.claude.json"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "opencode", "/x/opencode/opencode.json"),
        ("darwin", {}, "zed", "/h/.config/zed/settings.json"),
        ("win32", {"APPDATA": "/roaming"}, "goose", "/roaming/Block/goose/config/config.yaml"),
        ("linux", {"CONFIG_PATH": "/srv/librechat.yaml"}, "librechat", "/srv/librechat.yaml"),
    ],
)
def test_configuration_files_have_the_path_of_the_platform(
    platform: str, env: dict[str, str], client: str, file: str
) -> None:
    context = ConnectContext(env, "/h", ("groundwire",), platform=platform)
    assert all_changes(client, context)[0][0].file == file


def test_open_webui_gets_its_search_service_from_variables_and_loses_them_again(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# mine\nWEB_SEARCH_ENGINE=searxng\nPORT=3000")
    before = tree(tmp_path)
    assert connect(tmp_path, "open-webui", "--http", "--write")[0] == 0
    assert connect(tmp_path, "open-webui", "--gateway", "--write")[0] == 0
    assert read_config((tmp_path / ".env").read_text(), ".env") == {
        "WEB_SEARCH_ENGINE": "external",
        "PORT": "3000",
        "ENABLE_WEB_SEARCH": "true",
        "EXTERNAL_WEB_SEARCH_URL": "http://127.0.0.1:8484/v1/external",
        "EXTERNAL_WEB_SEARCH_API_KEY": "groundwire",
        "OPENAI_API_BASE_URL": "http://127.0.0.1:8484/v1",
    }
    assert connect(tmp_path, "open-webui", "--undo")[0] == 0
    assert tree(tmp_path) == before


def test_the_list_shows_what_is_installed_and_connected(tmp_path: Path) -> None:
    config_file(tmp_path, "zed", "{}")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "crush"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    connect(tmp_path, "windsurf", "--write")
    console = Bench(env={"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}, cwd=str(tmp_path))
    assert console.run("connect", "--list") == 0
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in console.stdout.splitlines()}
    assert rows["zed"] == "has a folder ~/.config/zed/settings.json"
    assert rows["crush"] == "~/bin/crush ~/.config/crush/crush.json"
    assert rows["windsurf"] == "has a folder yes ~/.codeium/windsurf/mcp_config.json"
    assert rows["goose"] == "~/.config/goose/config.yaml"
    assert list(rows)[1:] == list(NAMES)


def test_custom_tools_have_the_exact_names_and_are_removed_by_undo(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode" / "tools"
    folder.mkdir(parents=True)
    (folder / "geminisearch.ts").write_text("// mine\n")
    before = tree(tmp_path)
    assert connect(tmp_path, "opencode", "--tools", "--write")[0] == 0
    names = {path.stem for path in folder.glob("*.ts")}
    assert names == {"websearch_gemini", "websearch_openai_oauth", "websearch_openrouter", "geminisearch"}
    assert names <= set(TOOLS)
    assert connect(tmp_path, "opencode", "--undo")[0] == 0
    assert tree(tmp_path) == before


def test_a_custom_tool_returns_the_contract_in_a_javascript_runtime(tmp_path: Path) -> None:
    """The files have no TypeScript syntax, so that any JavaScript runtime can execute them."""
    connect(tmp_path, "opencode", "--tools", "--write")
    written = tmp_path / ".config" / "opencode" / "tools" / "websearch_openrouter.ts"
    module = tmp_path / "tool.mjs"
    module.write_text(written.read_text())
    script = (
        "import tool from './tool.mjs';"
        "console.log(JSON.stringify(Object.keys(tool.args)));"
        f"console.log(await tool.execute({{query: 'x'}}, {{directory: {json.dumps(str(tmp_path))}}}));"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603
        ["node", "--input-type=module", "-e", script],  # noqa: S607
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    arguments, result = done.stdout.splitlines()
    assert json.loads(arguments) == ["query"]
    assert json.loads(result)["error"]["type"] == "MISSING_OPENROUTER_API_KEY"
