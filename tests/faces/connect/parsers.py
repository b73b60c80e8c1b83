"""Independent parsers: JSON without comments and trailing commas, and TOML, with the standard library."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

_COMMENT_OR_STRING = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def read_json(text: str) -> Any:
    """Parse JSON with comments."""
    plain = _COMMENT_OR_STRING.sub(lambda match: match[1] or " ", text.removeprefix("\ufeff"))
    return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", plain))


def read_config(text: str, suffix: str) -> Any:
    """Parse a configuration file."""
    return tomllib.loads(text.removeprefix("\ufeff")) if suffix == ".toml" else read_json(text)
