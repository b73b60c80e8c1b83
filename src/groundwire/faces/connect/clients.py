"""The clients, as data: where their configuration lies, under which names, and how they spell a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.config.paths import opencode_config_dir
from groundwire.errors import UnsupportedFeature
from groundwire.faces.connect.changes import Change, Form
from groundwire.faces.connect.opencode_tools import tool_file
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

NAME = "groundwire"
GATEWAY = "http://127.0.0.1:8484"
SEED_TOOLS = ("websearch_gemini", "websearch_openai_oauth", "websearch_openrouter", "geminisearch")
"""The tools that OpenCode gets under exactly these names; `websearch` is one of its own."""


@value
class Surroundings:
    """What the place of files and the words of entries depend on."""

    env: Mapping[str, str]
    home: str
    command: tuple[str, ...]
    """How groundwire is started."""
    url: str = GATEWAY
    platform: str = sys.platform


Place: TypeAlias = Callable[[Surroundings], str]
Local: TypeAlias = Callable[[str, list[Json]], JsonObject]
Remote: TypeAlias = Callable[[str], JsonObject]


@value
class Client:
    """A program that can use MCP servers."""

    title: str
    file: Place
    path: tuple[str, ...]
    local: Local
    remote: Remote | None
    after: str
    """What the user does next."""
    form: Form = "json"


def under(variable: str, default: str, *names: str) -> Place:
    """A file in the directory that a variable names, or else in one at home."""

    def place(around: Surroundings) -> str:
        folder = around.env.get(variable) or os.path.join(around.home, default)
        return os.path.join(folder, *names)

    return place


def _of_application(*names: str) -> Place:
    """A file where the platform keeps what applications know about their user."""

    def place(around: Surroundings) -> str:
        if around.platform == "darwin":
            folder = os.path.join(around.home, "Library", "Application Support")
        elif around.platform == "win32":
            folder = around.env.get("APPDATA") or os.path.join(around.home, "AppData", "Roaming")
        else:
            folder = around.env.get("XDG_CONFIG_HOME") or os.path.join(around.home, ".config")
        return os.path.join(folder, *names)

    return place


def _opencode_file(around: Surroundings) -> str:
    folder = opencode_config_dir(around.env, around.home)
    commented = os.path.join(folder, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(folder, "opencode.json")


def _claude_file(around: Surroundings) -> str:
    return os.path.join(around.env.get("CLAUDE_CONFIG_DIR") or around.home, ".claude.json")


def _plain(command: str, arguments: list[Json]) -> JsonObject:
    return {"command": command, "args": arguments}


def _typed(command: str, arguments: list[Json]) -> JsonObject:
    return {"type": "stdio", "command": command, "args": arguments}


def _http(url: str) -> JsonObject:
    return {"type": "http", "url": url}


# A search may take a minute and more; some clients give up sooner unless they are told.
CLIENTS: Mapping[str, Client] = {
    "opencode": Client(
        "OpenCode",
        _opencode_file,
        ("mcp", NAME),
        lambda command, arguments: {"type": "local", "command": [command, *arguments], "timeout": 180_000},
        lambda url: {"type": "remote", "url": url, "oauth": False, "timeout": 180_000},
        "Start OpenCode again; `opencode mcp list` shows it.",
    ),
    "claude-code": Client(
        "Claude Code",
        _claude_file,
        ("mcpServers", NAME),
        _typed,
        _http,
        "Start Claude Code again; `claude mcp list` shows it.",
    ),
    "codex": Client(
        "Codex",
        under("CODEX_HOME", ".codex", "config.toml"),
        ("mcp_servers", NAME),
        lambda command, arguments: {
            "command": command,
            "args": arguments,
            "startup_timeout_sec": 60,
            "tool_timeout_sec": 180,
        },
        lambda url: {"url": url, "tool_timeout_sec": 180},
        "Start Codex again; `codex mcp list` shows it.",
        "toml",
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        under("GEMINI_CLI_HOME", "", ".gemini", "settings.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"httpUrl": url},
        "Start Gemini CLI again; `/mcp` shows it.",
    ),
    "cursor": Client(
        "Cursor",
        under("", ".cursor", "mcp.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"url": url},
        "Cursor takes it up by itself; its settings show it under MCP.",
    ),
    "vscode": Client(
        "VS Code",
        _of_application("Code", "User", "mcp.json"),
        ("servers", NAME),
        _typed,
        _http,
        "VS Code asks whether to trust it when a chat first uses it.",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        _of_application("Claude", "claude_desktop_config.json"),
        ("mcpServers", NAME),
        _plain,
        None,
        "Quit Claude Desktop and start it again.",
    ),
}


def local_change(name: str, around: Surroundings) -> Change:
    """The MCP server as a program that the client starts."""
    client = CLIENTS[name]
    command, *arguments = (*around.command, "mcp")
    entry = client.local(command, list(arguments))
    return Change(client.file(around), client.form, client.path, entry)


def http_change(name: str, around: Surroundings) -> Change:
    """The MCP server of a running gateway."""
    client = CLIENTS[name]
    if client.remote is None:
        raise UnsupportedFeature(f"{client.title} takes only servers that it starts; leave out --http")
    return Change(client.file(around), client.form, client.path, client.remote(f"{around.url}/mcp"))


def tool_changes(name: str, around: Surroundings) -> list[Change]:
    """OpenCode's custom tools, a file each."""
    if name != "opencode":
        raise UnsupportedFeature(f"--tools is for opencode; {CLIENTS[name].title} has no custom tools")
    folder = os.path.join(opencode_config_dir(around.env, around.home), "tools")
    return [
        Change(os.path.join(folder, f"{tool}.ts"), "whole", (), tool_file(tool, around.command))
        for tool in SEED_TOOLS
    ]
