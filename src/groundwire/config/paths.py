"""Directories for configuration and data on each platform.

The rules are those of platformdirs: the XDG variables first, then the default of the platform. A relative XDG
path is ignored, as its specification demands: the current directory must not become the user's configuration.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

APP = "groundwire"
USER_FILE = "config.toml"
PROJECT_FILE = "groundwire.toml"


def config_dir(env: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """The directory of the user's configuration."""
    return os.path.join(_root(env, home, platform, "XDG_CONFIG_HOME", ".config"), APP)


def data_dir(env: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """The directory of groundwire's data."""
    return os.path.join(_root(env, home, platform, "XDG_DATA_HOME", os.path.join(".local", "share")), APP)


def opencode_config_dir(env: Mapping[str, str], home: str) -> str:
    """The directory of OpenCode's global configuration, which follows XDG on every platform."""
    return os.path.join(_root(env, home, "linux", "XDG_CONFIG_HOME", ".config"), "opencode")


def resolved(path: str, base: str, home: str) -> str:
    """Resolve a path: `~` is the home directory, and relative paths start at `base`."""
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def _root(env: Mapping[str, str], home: str, platform: str, variable: str, default: str) -> str:
    chosen = env.get(variable, "")
    if os.path.isabs(chosen):
        return chosen
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support")
    if platform == "win32":
        return env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    return os.path.join(home, default)
