"""Writes docs/providers.md: the providers and engines, their credentials, models and search options.

The tables come from the rows the program itself uses. With `--check` nothing is written; the exit status is
1 if the page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groundwire.client import Groundwire, ProviderStatus
from groundwire.config.schema import KNOWN_PROVIDERS, Config
from groundwire.credentials.lookup import Lookup
from groundwire.engine.engines.registry import API_ENGINES, api_engine
from groundwire.providers.models import CHECKED, MODELS
from groundwire.providers.policy import OPTIONS
from groundwire.providers.registry import find_spec

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"

_HEAD = """\
# Providers

A provider answers questions: it has an address, credentials, a dialect, and search options that it honours.
An engine only finds pages; groundwire quotes the answer from them. `groundwire providers` shows which of
them you can use, `groundwire doctor` where credentials were found, and `groundwire login` stores a key.

This page is written by `scripts/providers.py` from the rows the program itself uses.
"""

_SUPPORT = {"native": "yes", "emulated": "asked", "ignored": "–", "refused": "refused"}
_OTHERS = {
    "copilot": "the login of its own CLI; off unless `providers.copilot.enabled = true` or chosen by name",
    "searxng": "none; `SEARXNG_URL` is its address",
}

_OPTIONS = """\
**yes**: the provider or engine does it. **asked**: it is asked for in words; for domain lists, sources that
fall outside are removed from the answer. **–**: a hint that is not used, with a warning. **refused**: a
restriction that would not be kept; the request is refused rather than the restriction dropped.

Gemini takes a location natively only as coordinates; country, region and city are asked for in words.
"""

_MODELS = f"""\
Without a model in the request or the configuration, a provider is asked for its default. If the vendor
answers that it no longer has that model, groundwire asks once for the vendor's current model of the same
family, and says so in a warning. A model that you name is never replaced.

Announcements were last checked on {CHECKED}.
"""

_TAIL = """\
## Any other server

A table in your configuration is a provider too:

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


def render(statuses: list[ProviderStatus]) -> str:
    """The page."""
    return "\n".join(
        [
            *(_HEAD, *_who(statuses), ""),
            *("## Search options", "", *_what(statuses), "", _OPTIONS),
            *("## Default models", "", _MODELS, *_models(), ""),
            _TAIL,
        ]
    )


def _who(statuses: list[ProviderStatus]) -> Iterator[str]:
    yield _line("provider", "speaks", "default model", "credentials, first found wins")
    yield _line("---", "---", "---", "---")
    for status in statuses:
        places = _OTHERS.get(status.name) or ", ".join(map(_place, _lookups(status.name))) or "none"
        speaks = (
            status.dialect if " " in status.dialect or status.dialect == "engine" else f"`{status.dialect}`"
        )
        yield _line(f"`{status.name}`", speaks, f"`{status.model}`" if status.model else "", places)


def _lookups(name: str) -> tuple[Lookup, ...]:
    if name in API_ENGINES:
        return api_engine(name).lookups
    row = find_spec(name)
    return row.lookups if row else ()


def _place(lookup: Lookup) -> str:
    names = {
        "environment": f"`{lookup.name}`",
        "own": f"`groundwire login {lookup.name}`",
        "opencode": f"OpenCode (`{lookup.name}`, {lookup.record})",
        "codex": "Codex CLI",
    }
    return names[lookup.kind]


def _what(statuses: list[ProviderStatus]) -> Iterator[str]:
    yield _line("provider", *(f"`{option}`" for option in OPTIONS))
    yield _line("---", *("---" for _ in OPTIONS))
    for status in statuses:
        cells = (_SUPPORT[status.capabilities.support(option)] for option in OPTIONS)
        yield _line(f"`{status.name}`", *cells)


def _models() -> Iterator[str]:
    yield _line("provider", "model", "announced end", "then")
    yield _line("---", "---", "---", "---")
    for model in MODELS:
        default = model == next(other for other in MODELS if other.provider == model.provider)
        name = f"`{model.name}`" + ("" if default else " (earlier default)")
        yield _line(
            f"`{model.provider}`",
            name,
            model.ends or "none",
            f"`{model.successor}`" if model.successor else "",
        )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page, or check it."""
    found = {status.name: status for status in Groundwire(Config(), env={"HOME": "/nonexistent"}).providers()}
    page = render([found[name] for name in KNOWN_PROVIDERS])
    if "--check" in sys.argv[1:]:
        if PAGE.is_file() and PAGE.read_text("utf-8") == page:
            return 0
        print("docs/providers.md is out of date: run scripts/providers.py", file=sys.stderr)
        return 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
