"""Where the programs keep their configuration files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.config.paths import opencode_config_dir
from groundwire.model.value import value

GATEWAY = "http://127.0.0.1:8484"


@value
class ConnectContext:
    """What file paths and entries depend on."""

    env: Mapping[str, str]
    home: str
    command: tuple[str, ...]
    """The command that starts groundwire."""
    url: str = GATEWAY
    platform: str = sys.platform
    cwd: str = ""


Locate: TypeAlias = Callable[[ConnectContext], str]


def under(variable: str, default: str, *names: str) -> Locate:
    """A file in the directory that an environment variable names, by default one below the home directory."""

    def locate(context: ConnectContext) -> str:
        folder = context.env.get(variable) or os.path.join(context.home, default)
        return os.path.join(folder, *names)

    return locate


def of_application(*names: str) -> Locate:
    """A file in the platform's directory for application data of the user."""
    return lambda context: os.path.join(_application_data(context), *names)


def in_config(*names: str, windows: tuple[str, ...] = ()) -> Locate:
    """A file in the directory for configuration, which macOS shares with Linux for these programs.

    `windows` is its path below the directory for application data there.
    """

    def locate(context: ConnectContext) -> str:
        if context.platform == "win32":
            return os.path.join(_application_data(context), *(windows or names))
        folder = context.env.get("XDG_CONFIG_HOME") or os.path.join(context.home, ".config")
        return os.path.join(folder, *names)

    return locate


def in_deployment(variable: str, name: str) -> Locate:
    """A file of a server's deployment: named by a variable, otherwise in the current directory."""
    return lambda context: context.env.get(variable) or os.path.join(context.cwd, name)


def first_existing(*candidates: Locate) -> Locate:
    """The first file that exists, otherwise the last one."""

    def locate(context: ConnectContext) -> str:
        paths = [candidate(context) for candidate in candidates]
        return next((path for path in paths if os.path.exists(path)), paths[-1])

    return locate


def opencode_file(name: str) -> Locate:
    """A file in OpenCode's directory."""
    return lambda context: os.path.join(opencode_config_dir(context.env, context.home), name)


def claude_file(context: ConnectContext) -> str:
    """Claude Code's file of MCP servers."""
    return os.path.join(context.env.get("CLAUDE_CONFIG_DIR") or context.home, ".claude.json")


def _application_data(context: ConnectContext) -> str:
    if context.platform == "darwin":
        return os.path.join(context.home, "Library", "Application Support")
    if context.platform == "win32":
        return context.env.get("APPDATA") or os.path.join(context.home, "AppData", "Roaming")
    return context.env.get("XDG_CONFIG_HOME") or os.path.join(context.home, ".config")
