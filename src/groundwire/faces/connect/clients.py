"""Clients that groundwire can be connected to, as data: configuration files, paths of entries, entries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.config.paths import opencode_config_dir
from groundwire.errors import UnsupportedFeature
from groundwire.faces.connect.changes import Change, FileFormat
from groundwire.faces.connect.opencode_tools import tool_file
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

NAME = "groundwire"
GATEWAY = "http://127.0.0.1:8484"
SEED_TOOLS = ("websearch_gemini", "websearch_openai_oauth", "websearch_openrouter", "geminisearch")
"""The tools that OpenCode gets under exactly these names; `websearch` is one of its own."""


@value
class ConnectContext:
    """What file paths and entries depend on."""

    env: Mapping[str, str]
    home: str
    command: tuple[str, ...]
    """The command that starts groundwire."""
    url: str = GATEWAY
    platform: str = sys.platform


Locate: TypeAlias = Callable[[ConnectContext], str]
LocalServer: TypeAlias = Callable[[str, list[Json]], JsonObject]
RemoteServer: TypeAlias = Callable[[str], JsonObject]


@value
class ClientSpec:
    """A client that can use MCP servers."""

    title: str
    file: Locate
    path: tuple[str, ...]
    local: LocalServer
    remote: RemoteServer | None
    after: str
    """What the user does next."""
    form: FileFormat = "json"


def under(variable: str, default: str, *names: str) -> Locate:
    """A file in the directory that an environment variable names, by default one below the home directory."""

    def locate(context: ConnectContext) -> str:
        folder = context.env.get(variable) or os.path.join(context.home, default)
        return os.path.join(folder, *names)

    return locate


def _of_application(*names: str) -> Locate:
    """A file in the platform's directory for application data of the user."""

    def locate(context: ConnectContext) -> str:
        if context.platform == "darwin":
            folder = os.path.join(context.home, "Library", "Application Support")
        elif context.platform == "win32":
            folder = context.env.get("APPDATA") or os.path.join(context.home, "AppData", "Roaming")
        else:
            folder = context.env.get("XDG_CONFIG_HOME") or os.path.join(context.home, ".config")
        return os.path.join(folder, *names)

    return locate


def _opencode_file(context: ConnectContext) -> str:
    folder = opencode_config_dir(context.env, context.home)
    commented = os.path.join(folder, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(folder, "opencode.json")


def _claude_file(context: ConnectContext) -> str:
    return os.path.join(context.env.get("CLAUDE_CONFIG_DIR") or context.home, ".claude.json")


def _plain(command: str, arguments: list[Json]) -> JsonObject:
    return {"command": command, "args": arguments}


def _typed(command: str, arguments: list[Json]) -> JsonObject:
    return {"type": "stdio", "command": command, "args": arguments}


def _http(url: str) -> JsonObject:
    return {"type": "http", "url": url}


# A search may take a minute and more; some clients time out sooner by default.
CLIENTS: Mapping[str, ClientSpec] = {
    "opencode": ClientSpec(
        "OpenCode",
        _opencode_file,
        ("mcp", NAME),
        lambda command, arguments: {"type": "local", "command": [command, *arguments], "timeout": 180_000},
        lambda url: {"type": "remote", "url": url, "oauth": False, "timeout": 180_000},
        "Start OpenCode again; `opencode mcp list` shows it.",
    ),
    "claude-code": ClientSpec(
        "Claude Code",
        _claude_file,
        ("mcpServers", NAME),
        _typed,
        _http,
        "Start Claude Code again; `claude mcp list` shows it.",
    ),
    "codex": ClientSpec(
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
    "gemini-cli": ClientSpec(
        "Gemini CLI",
        under("GEMINI_CLI_HOME", "", ".gemini", "settings.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"httpUrl": url},
        "Start Gemini CLI again; `/mcp` shows it.",
    ),
    "cursor": ClientSpec(
        "Cursor",
        under("", ".cursor", "mcp.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"url": url},
        "Cursor takes it up by itself; its settings show it under MCP.",
    ),
    "vscode": ClientSpec(
        "VS Code",
        _of_application("Code", "User", "mcp.json"),
        ("servers", NAME),
        _typed,
        _http,
        "VS Code asks whether to trust it when a chat first uses it.",
    ),
    "claude-desktop": ClientSpec(
        "Claude Desktop",
        _of_application("Claude", "claude_desktop_config.json"),
        ("mcpServers", NAME),
        _plain,
        None,
        "Quit Claude Desktop and start it again.",
    ),
}


def local_change(name: str, context: ConnectContext) -> Change:
    """The MCP server as a program that the client starts."""
    client = CLIENTS[name]
    command, *arguments = (*context.command, "mcp")
    entry = client.local(command, list(arguments))
    return Change(client.file(context), client.form, client.path, entry)


def http_change(name: str, context: ConnectContext) -> Change:
    """The MCP server of a running gateway."""
    client = CLIENTS[name]
    if client.remote is None:
        raise UnsupportedFeature(
            f"{client.title} can only use servers that it starts itself; leave out --http"
        )
    return Change(client.file(context), client.form, client.path, client.remote(f"{context.url}/mcp"))


def tool_changes(name: str, context: ConnectContext) -> list[Change]:
    """OpenCode's custom tools, a file each."""
    if name != "opencode":
        raise UnsupportedFeature(f"--tools is for opencode; {CLIENTS[name].title} has no custom tools")
    folder = os.path.join(opencode_config_dir(context.env, context.home), "tools")
    return [
        Change(os.path.join(folder, f"{tool}.ts"), "whole", (), tool_file(tool, context.command))
        for tool in SEED_TOOLS
    ]


@value
class GatewaySpec:
    """How a client is configured to send requests for its model to the gateway."""

    file: Locate
    form: FileFormat
    path: tuple[str, ...]
    entry: Callable[[str], Json]
    after: str
    """What the user does next."""


def _codex_provider(url: str) -> JsonObject:
    # Its newest models search only with the last of these members.
    return {
        "name": NAME,
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "supports_standalone_web_search": True,
    }


def _opencode_provider(url: str) -> JsonObject:
    # Without models a provider is not shown; the gateway knows more than these two. OpenCode copies the
    # options of a model into its requests: these request search.
    return {
        "npm": "@ai-sdk/openai-compatible",
        "name": NAME,
        "options": {"baseURL": f"{url}/v1", "apiKey": NAME},
        "models": {
            "auto": {
                "name": "auto: the first provider that can be used",
                "options": {"web_search_options": {}},
            },
            "local": {"name": "local: the pages that are indexed"},
        },
    }


GATEWAY_SPECS: Mapping[str, GatewaySpec] = {
    "claude-code": GatewaySpec(
        under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        "json",
        ("env", "ANTHROPIC_BASE_URL"),
        lambda url: url,
        "Claude Code wants a login or a key of its own. While the gateway has no keys it takes any: "
        "ANTHROPIC_AUTH_TOKEN=groundwire claude",
    ),
    "codex": GatewaySpec(
        CLIENTS["codex"].file,
        "toml",
        ("model_providers", NAME),
        _codex_provider,
        "`codex -c model_provider=groundwire` uses it. If the gateway has keys, env_key in the table names "
        "the variable that holds one.",
    ),
    "opencode": GatewaySpec(
        CLIENTS["opencode"].file,
        "json",
        ("provider", NAME),
        _opencode_provider,
        "Start OpenCode again and choose by /models, or `opencode -m groundwire/auto`. More models of the "
        "gateway are added under models, by the names that it knows them by: `provider/model`.",
    ),
    "gemini-cli": GatewaySpec(
        under("GEMINI_CLI_HOME", "", ".gemini", ".env"),
        "env",
        ("GOOGLE_GEMINI_BASE_URL",),
        lambda url: url,
        "Gemini CLI wants a login by key. While the gateway has no keys it takes any: "
        "GEMINI_API_KEY=groundwire gemini",
    ),
}


def gateway_change(name: str, context: ConnectContext) -> Change:
    """The client's own requests to its model, through the gateway."""
    spec = GATEWAY_SPECS.get(name)
    if spec is None:
        title = CLIENTS[name].title
        raise UnsupportedFeature(
            f"--gateway is for {', '.join(GATEWAY_SPECS)}; {title} is connected with --http, or without"
        )
    return Change(spec.file(context), spec.form, spec.path, spec.entry(context.url))


def all_changes(name: str, context: ConnectContext) -> list[list[Change]]:
    """All changes that may have been made for a client, grouped by file."""
    changes = [local_change(name, context)]
    if CLIENTS[name].remote is not None:
        changes.append(http_change(name, context))
    if name in GATEWAY_SPECS:
        changes.append(gateway_change(name, context))
    if name == "opencode":
        changes += tool_changes(name, context)
    files: dict[str, list[Change]] = {}
    for change in changes:
        files.setdefault(change.file, []).append(change)
    return list(files.values())
