"""`groundwire providers`: whom you can ask, and what each can do."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence

from groundwire.client import ProviderStatus
from groundwire.config.schema import Config
from groundwire.dialects.json import dump_json
from groundwire.faces.cli import exits
from groundwire.faces.cli.console import BOLD, Console, styled
from groundwire.faces.cli.session import connect
from groundwire.faces.cli.table import lined_up
from groundwire.model import JsonObject
from groundwire.providers.capabilities import OPTIONS, Support
from groundwire.text.sanitise import escape_invisible_json, one_line

_COLUMNS: Mapping[str, str] = {
    "allowed_domains": "--allow",
    "blocked_domains": "--block",
    "live": "--no-live",
    "location": "--city…",
    "language": "--language",
    "since": "--since",
    "max_uses": "--max-uses",
    "max_sources": "--max-sources",
    "context_size": "--context",
}
_WORDS: Mapping[Support, str] = {"native": "yes", "emulated": "asked", "ignored": "-", "refused": "no"}
_LEGEND = (
    "yes: the provider does it   asked: asked for in words; domains are checked in the answer\n"
    "-: not used, with a warning   no: the request is refused, because it would not be kept"
)
SWITCHED_OFF = "switched off in the configuration"


def run(arguments: Namespace, console: Console) -> int:
    """Print the tables."""
    asker = connect(arguments, console)
    statuses = asker.providers()
    if arguments.json:
        providers = [encode_status(status) for status in statuses]
        console.write(escape_invisible_json(dump_json({"version": 1, "providers": list(providers)})) + "\n")
        return exits.OK
    rows = [("PROVIDER", "READY", "MODEL", "WHY"), *_rows(statuses, asker.config)]
    _print(console, rows)
    console.write("\n")
    _print(console, [("PROVIDER", "CITES", *_COLUMNS.values()), *map(_abilities, statuses)])
    console.write(f"\n{_LEGEND}\n")
    return exits.OK


def encode_status(status: ProviderStatus) -> JsonObject:
    """A provider, for programs."""
    abilities = status.capabilities
    return {
        "name": status.name,
        "title": status.title,
        "usable": status.usable,
        "reason": status.reason,
        "model": status.model,
        "dialect": status.dialect,
        "base_url": status.base_url,
        "citations": abilities.citations,
        "search": abilities.search,
        "options": {name: abilities.support(name) for name in OPTIONS},
    }


def switched_off(config: Config) -> list[str]:
    """The providers that the configuration forbids."""
    return [name for name, settings in config.providers.items() if settings.enabled is False]


def _rows(statuses: Sequence[ProviderStatus], config: Config) -> Iterator[tuple[str, ...]]:
    for status in statuses:
        ready = "yes" if status.usable else "no"
        yield one_line(status.name), ready, one_line(status.model), one_line(status.reason)
    for name in switched_off(config):
        yield one_line(name), "off", "", SWITCHED_OFF


def _abilities(status: ProviderStatus) -> tuple[str, ...]:
    abilities = status.capabilities
    cites = "no search" if abilities.search == "none" else abilities.citations
    return one_line(status.name), cites, *(_WORDS[abilities.support(name)] for name in _COLUMNS)


def _print(console: Console, rows: Sequence[Sequence[str]]) -> None:
    for number, line in enumerate(lined_up(rows)):
        console.write((styled(line, BOLD) if console.colored and not number else line) + "\n")
