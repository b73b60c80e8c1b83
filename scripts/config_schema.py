"""Generate docs/config.schema.json, the JSON schema of config.toml, from the table that the loader uses.

With `--check`, nothing is written; the exit status is 1 if the file is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from groundwire.config.keys import json_schema

FILE = Path(__file__).parents[1] / "docs" / "config.schema.json"


def render() -> str:
    """Return the schema as JSON text."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the schema; with `--check`, compare it."""
    text = render()
    if "--check" not in arguments:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE.name} is out of date: run scripts/config_schema.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
