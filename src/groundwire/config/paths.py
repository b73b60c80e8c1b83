"""Where a platform keeps configuration and data, computed from what is passed in.

The rules are those of platformdirs: the XDG variables first, then the platform's own place. A relative
XDG path is ignored, as its specification demands: it would let the current directory pose as the user's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

APP = "groundwire"
USER_FILE = "config.toml"
PROJECT_FILE = "groundwire.toml"


def config_dir(env: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """The directory of the user's own configuration."""
    return os.path.join(_root(env, home, platform, "XDG_CONFIG_HOME", ".config"), APP)


def data_dir(env: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """The directory of what groundwire keeps."""
    return os.path.join(_root(env, home, platform, "XDG_DATA_HOME", os.path.join(".local", "share")), APP)


def opencode_config_dir(env: Mapping[str, str], home: str) -> str:
    """OpenCode's global configuration; it goes by XDG on every platform."""
    return os.path.join(_root(env, home, "linux", "XDG_CONFIG_HOME", ".config"), "opencode")


def resolved(path: str, base: str, home: str) -> str:
    """A path as people write it: `~` is their home, and a relative one starts at `base`."""
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
