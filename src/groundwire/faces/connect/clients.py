"""Programs that groundwire can be connected to, as data: files, paths of entries, entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.config.paths import opencode_config_dir
from groundwire.errors import UnsupportedFeature
from groundwire.faces.connect.changes import Change, FileFormat
from groundwire.faces.connect.gateways import GATEWAY_SPECS, gateway_entries
from groundwire.faces.connect.locations import (
    ConnectContext,
    Locate,
    claude_file,
    first_existing,
    in_config,
    in_deployment,
    of_application,
    opencode_file,
    under,
)
from groundwire.faces.connect.opencode_tools import tool_file
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

NAME = "groundwire"
SEED_TOOLS = ("websearch_gemini", "websearch_openai_oauth", "websearch_openrouter", "geminisearch")
"""The tools that OpenCode gets under exactly these names; `websearch` is one of its own."""

LocalServer: TypeAlias = Callable[[str, list[Json]], JsonObject]
RemoteServer: TypeAlias = Callable[[str], JsonObject]


@value
class ClientSpec:
    """A program that can use MCP servers."""

    title: str
    file: Locate
    path: tuple[str, ...]
    local: LocalServer | None
    """The entry of a server that the program starts; None if it starts none."""
    remote: RemoteServer | None
    """The entry of a server at a URL; None if it connects to none."""
    after: str
    """What the user does next."""
    form: FileFormat = "json"
    commands: tuple[str, ...] = ()
    """Executables that show that it is installed."""


def _plain(command: str, arguments: list[Json]) -> JsonObject:
    return {"command": command, "args": arguments}


def _typed(command: str, arguments: list[Json]) -> JsonObject:
    return {"type": "stdio", "command": command, "args": arguments}


def _http(url: str) -> JsonObject:
    return {"type": "http", "url": url}


def _at_url(url: str) -> JsonObject:
    return {"url": url}


def _opencode_local(command: str, arguments: list[Json]) -> JsonObject:
    return {"type": "local", "command": [command, *arguments], "timeout": 180_000}


def _opencode_remote(url: str) -> JsonObject:
    return {"type": "remote", "url": url, "oauth": False, "timeout": 180_000}


def _goose(fields: JsonObject) -> JsonObject:
    # Goose ignores an extension without a description.
    return {
        "name": NAME,
        "description": "Cited web search",
        "enabled": True,
        "timeout": 180,
        **fields,
    }


def _open_webui(url: str) -> JsonObject:
    search = f"{url.removesuffix('/mcp')}/v1/external"
    return {
        "ENABLE_WEB_SEARCH": "true",
        "WEB_SEARCH_ENGINE": "external",
        "EXTERNAL_WEB_SEARCH_URL": search,
        "EXTERNAL_WEB_SEARCH_API_KEY": NAME,
    }


# A search may take a minute and more; some clients time out sooner by default.
CLIENTS: Mapping[str, ClientSpec] = {
    "opencode": ClientSpec(
        "OpenCode",
        first_existing(opencode_file("opencode.jsonc"), opencode_file("opencode.json")),
        ("mcp", NAME),
        _opencode_local,
        _opencode_remote,
        "Start OpenCode again; `opencode mcp list` shows it.",
        commands=("opencode",),
    ),
    "claude-code": ClientSpec(
        "Claude Code",
        claude_file,
        ("mcpServers", NAME),
        _typed,
        _http,
        "Start Claude Code again; `claude mcp list` shows it.",
        commands=("claude",),
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
        commands=("codex",),
    ),
    "gemini-cli": ClientSpec(
        "Gemini CLI",
        under("GEMINI_CLI_HOME", "", ".gemini", "settings.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"httpUrl": url},
        "Start Gemini CLI again; `/mcp` shows it.",
        commands=("gemini",),
    ),
    "qwen-code": ClientSpec(
        "Qwen Code",
        under("QWEN_HOME", ".qwen", "settings.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"httpUrl": url},
        "Start Qwen Code again; `qwen mcp list` shows it.",
        commands=("qwen",),
    ),
    "openclaw": ClientSpec(
        "OpenClaw",
        under("OPENCLAW_STATE_DIR", ".openclaw", "openclaw.json"),
        ("mcp", "servers", NAME),
        _plain,
        lambda url: {"url": url, "transport": "streamable-http"},
        "Start OpenClaw's gateway again; `openclaw mcp list` shows it.",
        commands=("openclaw",),
    ),
    "cline": ClientSpec(
        "Cline",
        under("", os.path.join(".cline", "data", "settings"), "cline_mcp_settings.json"),
        ("mcpServers", NAME),
        lambda command, arguments: {"transport": _typed(command, arguments)},
        lambda url: {"transport": {"type": "streamableHttp", "url": url}},
        "Start Cline again; its MCP page shows it.",
        commands=("cline",),
    ),
    "kilo": ClientSpec(
        "Kilo Code",
        first_existing(in_config("kilo", "kilo.jsonc"), in_config("kilo", "kilo.json")),
        ("mcp", NAME),
        _opencode_local,
        _opencode_remote,
        "Start Kilo again; `kilo mcp list` shows it.",
        commands=("kilo", "kilocode"),
    ),
    "crush": ClientSpec(
        "Crush",
        in_config("crush", "crush.json"),
        ("mcp", NAME),
        lambda command, arguments: {**_typed(command, arguments), "timeout": 180},
        lambda url: {**_http(url), "timeout": 180},
        "Start Crush again; its sidebar shows it under MCPs.",
        commands=("crush",),
    ),
    "goose": ClientSpec(
        "Goose",
        in_config("goose", "config.yaml", windows=("Block", "goose", "config", "config.yaml")),
        ("extensions", NAME),
        lambda command, arguments: _goose({"type": "stdio", "cmd": command, "args": arguments}),
        lambda url: _goose({"type": "streamable_http", "uri": url}),
        "Start a new session of Goose; `goose configure` shows it under extensions.",
        "yaml",
        commands=("goose",),
    ),
    "cursor": ClientSpec(
        "Cursor",
        under("", ".cursor", "mcp.json"),
        ("mcpServers", NAME),
        _plain,
        _at_url,
        "Cursor takes it up by itself; its settings show it under MCP.",
        commands=("cursor", "cursor-agent"),
    ),
    "vscode": ClientSpec(
        "VS Code",
        of_application("Code", "User", "mcp.json"),
        ("servers", NAME),
        _typed,
        _http,
        "VS Code asks whether to trust it when a chat first uses it.",
        commands=("code",),
    ),
    "zed": ClientSpec(
        "Zed",
        in_config("zed", "settings.json", windows=("Zed", "settings.json")),
        ("context_servers", NAME),
        _plain,
        _at_url,
        "Zed takes it up by itself; the settings of its agent panel show it.",
        commands=("zed", "zeditor"),
    ),
    "windsurf": ClientSpec(
        "Windsurf",
        under("", os.path.join(".codeium", "windsurf"), "mcp_config.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"serverUrl": url},
        "Refresh the list of MCP servers in Cascade.",
        commands=("windsurf",),
    ),
    "continue": ClientSpec(
        "Continue",
        under("CONTINUE_GLOBAL_DIR", ".continue", "mcpServers", f"{NAME}.json"),
        ("mcpServers", NAME),
        _plain,
        lambda url: {"type": "streamable-http", "url": url},
        "Reload the window of the editor; agent mode shows it among its tools.",
    ),
    "claude-desktop": ClientSpec(
        "Claude Desktop",
        of_application("Claude", "claude_desktop_config.json"),
        ("mcpServers", NAME),
        _plain,
        None,
        "Quit Claude Desktop and start it again.",
    ),
    "librechat": ClientSpec(
        "LibreChat",
        in_deployment("CONFIG_PATH", "librechat.yaml"),
        ("mcpServers", NAME),
        lambda command, arguments: {**_typed(command, arguments), "timeout": 180_000},
        lambda url: {"type": "streamable-http", "url": url, "timeout": 180_000},
        "Start LibreChat again. In a container, 127.0.0.1 is the container itself: give --url with a name "
        "that it can reach, and list the host under mcpSettings.allowedDomains.",
        "yaml",
    ),
    "open-webui": ClientSpec(
        "Open WebUI",
        in_deployment("", ".env"),
        (),
        None,
        _open_webui,
        "Start Open WebUI again with this file as its environment. Settings that were saved on its admin "
        "page come first. In a container, 127.0.0.1 is the container itself: give --url with a name that "
        "it can reach.",
        "env",
        commands=("open-webui",),
    ),
}


def local_changes(name: str, context: ConnectContext) -> list[Change]:
    """The MCP server as a program that the client starts."""
    client = CLIENTS[name]
    if client.local is None:
        raise UnsupportedFeature(f"{client.title} starts no servers: add --http, and run `groundwire serve`")
    command, *arguments = (*context.command, "mcp")
    return _entry_changes(client, context, client.local(command, list(arguments)))


def http_changes(name: str, context: ConnectContext) -> list[Change]:
    """The MCP server of a running gateway."""
    client = CLIENTS[name]
    if client.remote is None:
        raise UnsupportedFeature(
            f"{client.title} can only use servers that it starts itself; leave out --http"
        )
    return _entry_changes(client, context, client.remote(f"{context.url}/mcp"))


def _entry_changes(client: ClientSpec, context: ConnectContext, entry: JsonObject) -> list[Change]:
    file = client.file(context)
    if client.path:
        return [Change(file, client.form, client.path, entry)]
    return [Change(file, client.form, (name,), item) for name, item in entry.items()]


def tool_changes(name: str, context: ConnectContext) -> list[Change]:
    """OpenCode's custom tools, a file each."""
    if name != "opencode":
        raise UnsupportedFeature(f"--tools is for opencode; {CLIENTS[name].title} has no custom tools")
    folder = os.path.join(opencode_config_dir(context.env, context.home), "tools")
    return [
        Change(os.path.join(folder, f"{tool}.ts"), "whole", (), tool_file(tool, context.command))
        for tool in SEED_TOOLS
    ]


def gateway_changes(name: str, context: ConnectContext) -> list[Change]:
    """The client's own requests to its model, through the gateway."""
    if name not in GATEWAY_SPECS:
        title = CLIENTS[name].title
        raise UnsupportedFeature(
            f"--gateway is for {', '.join(GATEWAY_SPECS)}; {title} is connected with --http, or without"
        )
    return gateway_entries(name, context)


def all_changes(name: str, context: ConnectContext) -> list[list[Change]]:
    """All changes that may have been made for a client, grouped by file."""
    client = CLIENTS[name]
    changes = [] if client.local is None else local_changes(name, context)
    if client.remote is not None:
        changes += http_changes(name, context)
    if name in GATEWAY_SPECS:
        changes += gateway_changes(name, context)
    if name == "opencode":
        changes += tool_changes(name, context)
    files: dict[str, list[Change]] = {}
    for change in changes:
        files.setdefault(change.file, []).append(change)
    return list(files.values())
