"""A temporary machine for configuration tests: a home, a project, and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundwire.config.load import load
from groundwire.config.schema import Config
from groundwire.errors import ConfigError
from groundwire.model import Json

NOW = 1_790_000_000.0
"""2026-09-21T14:13:20Z"""


class Machine:
    """The paths of the configuration files, and functions that write and load them."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "work" / "project"
        self.managed = root / "etc" / "opencode"
        self.user_file = self.home / ".config" / "groundwire" / "config.toml"
        self.project_file = self.project / "groundwire.toml"
        self.opencode_file = self.home / ".config" / "opencode" / "opencode.json"
        self.project_opencode_file = self.project / "opencode.json"
        for folder in (self.home, self.project / ".git", self.managed):
            folder.mkdir(parents=True)

    def write_user_file(self, text: str) -> Path:
        """Write the user's own file."""
        return write(self.user_file, text)

    def write_project_file(self, text: str) -> Path:
        """Write the project's file."""
        return write(self.project_file, text)

    def load(
        self,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, Json] | None = None,
        cwd: Path | None = None,
    ) -> Config:
        """Load the configuration."""
        return load(env or {}, str(self.home), str(cwd or self.project), flags, lambda: NOW)

    def load_error(
        self, env: Mapping[str, str] | None = None, flags: Mapping[str, Json] | None = None
    ) -> str:
        """The message of the error when loading fails."""
        with pytest.raises(ConfigError) as caught:
            self.load(env, flags)
        return caught.value.message


def write(path: Path, content: object) -> Path:
    """Write a text, or anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def origin(config: Config, name: str) -> str:
    """Where a setting came from; empty when it is not set."""
    return next((setting.origin for setting in config.settings if setting.name == name), "")


def websearch(model: Json, provider: str = "google") -> Json:
    """An OpenCode configuration that sets the model for web search."""
    return {"provider": {provider: {"options": {"websearch": {"model": model}}}}}


def geminisearch(**options: Json) -> Json:
    """An OpenCode configuration with the geminisearch block."""
    return {"provider": {"geminisearch": {"options": dict(options)}}}
