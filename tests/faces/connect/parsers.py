"""Independent parsers: JSON with comments and trailing commas, TOML, YAML, and files of variables."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

_COMMENT_OR_STRING = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def read_json(text: str) -> Any:
    """Parse JSON with comments."""
    plain = _COMMENT_OR_STRING.sub(lambda match: match[1] or " ", text.removeprefix("\ufeff"))
    return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", plain))


def read_config(text: str, suffix: str) -> Any:
    """Parse a configuration file."""
    plain = text.removeprefix("\ufeff")
    if suffix == ".toml":
        return tomllib.loads(plain)
    if suffix == ".yaml":
        return yaml.safe_load(plain)
    if suffix == ".env":
        return dict(line.split("=", 1) for line in plain.splitlines() if "=" in line and line[0] != "#")
    return read_json(text)
