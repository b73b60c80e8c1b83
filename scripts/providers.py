"""Writes docs/providers.md: whom groundwire can ask, with what credentials, and what each can do.

The tables come from the rows the program itself uses. With `--check` nothing is written; the exit status is
1 if the page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groundwire.credentials.lookup import Lookup
from groundwire.providers.base import Row
from groundwire.providers.capabilities import OPTIONS
from groundwire.providers.registry import BUILT_IN, built_in

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"

_HEAD = """\
# Providers

A provider is whom groundwire asks: an address, credentials, a dialect, and what it can do. `groundwire
providers` shows which of them you can use, `groundwire doctor` what was found where.

This page is written by `scripts/providers.py` from the rows the program itself uses.
"""

_SUPPORT = {
    "native": "yes",
    "emulated": "asked and audited",
    "ignored": "–",
    "refused": "refused",
}

_TAIL = """\
**yes**: the provider does it. **asked and audited**: it is asked for in words, and what falls outside is
removed from the answer. **–**: a hint that is not used, with a warning. **refused**: a restriction nobody
would keep to; the request is turned down rather than the restriction dropped.

## Any other server

A row in your configuration is a provider too:

```toml
[providers.perplexity]
dialect = "openai_chat"
base_url = "https://api.perplexity.ai"
key_env = "PERPLEXITY_API_KEY"
model = "sonar"
```

The same keys adjust a built-in provider. Packages add providers through the entry point group
`groundwire.providers`.
"""


def render(rows: list[Row]) -> str:
    """The page."""
    return "\n".join([_HEAD, *_who(rows), "", "## Search options", "", *_what(rows), "", _TAIL])


def _who(rows: list[Row]) -> Iterator[str]:
    yield _line("provider", "speaks", "default model", "credentials, first found wins")
    yield _line("---", "---", "---", "---")
    for row in rows:
        places = ", ".join(map(_place, row.lookups))
        yield _line(f"`{row.name}`", f"`{row.dialect}`", f"`{row.model}`", places)


def _place(lookup: Lookup) -> str:
    names = {
        "environment": f"`{lookup.name}`",
        "own": "own file",
        "opencode": f"OpenCode (`{lookup.name}`, {lookup.record})",
        "codex": "Codex CLI",
    }
    return names[lookup.kind]


def _what(rows: list[Row]) -> Iterator[str]:
    yield _line("option", *(f"`{row.name}`" for row in rows))
    yield _line("---", *("---" for _ in rows))
    for option in OPTIONS:
        yield _line(f"`{option}`", *(_SUPPORT[row.capabilities.support(option)] for row in rows))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page, or check it."""
    rows = [row for name in BUILT_IN if (row := built_in(name)) is not None]
    page = render(rows)
    if "--check" in sys.argv[1:]:
        if PAGE.is_file() and PAGE.read_text("utf-8") == page:
            return 0
        print("docs/providers.md is out of date: run scripts/providers.py", file=sys.stderr)
        return 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
