"""`groundwire providers` lists the providers; `groundwire login` stores their keys. A key is never
printed."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from getpass import getpass

from groundwire.client import ProviderStatus
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import open_client
from groundwire.config.schema import Config
from groundwire.credentials.secret import Secret, sendable
from groundwire.credentials.stores import OWN_FILE, OWN_FILE_NAME, store_key
from groundwire.dialects.json import dump_json
from groundwire.errors import RequestError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import BOLD, Console, styled, wrap_words
from groundwire.faces.cli.style import align_columns, split_columns
from groundwire.model import JsonObject
from groundwire.providers.catalog import CATALOG
from groundwire.providers.policy import OPTIONS, Support
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
_SUPPORT_LABELS: Mapping[Support, str] = {
    "native": "yes",
    "emulated": "prompt",
    "ignored": "-",
    "refused": "no",
}
_LEGEND = (
    "yes: the provider supports it. prompt: requested in the prompt; domains are checked in the answer.\n"
    "-: not applied, with a warning. no: the request is refused."
)
_UNLIMITED = 10_000
"""Columns of a file or a pipe."""
SWITCHED_OFF = "switched off in the configuration"


def run_providers(arguments: Namespace, console: Console) -> int:
    """Print the tables."""
    client = open_client(arguments, console)
    client.find_servers()
    everything = client.providers()
    statuses = everything if arguments.all else listed(everything, client.config)
    if arguments.json:
        providers = [encode_status(status) for status in statuses]
        console.write(escape_invisible_json(dump_json({"version": 1, "providers": list(providers)})) + "\n")
        return exit_codes.OK
    columns = console.size()[0] if console.stdout.isatty() else _UNLIMITED
    _print(console, [("PROVIDER", "READY", "MODEL", "WHY"), *_rows(statuses, client.config)], columns)
    abilities = [("PROVIDER", "CITES", *_COLUMNS.values()), *map(_abilities, statuses)]
    for part in split_columns(abilities, columns):
        console.write("\n")
        _print(console, part)
    console.write("\n" + "\n".join(wrap_words(_LEGEND, columns)) + "\n")
    if more := len(everything) - len(statuses):
        console.write(f"{more} more need a key or a server: groundwire providers --all\n")
    return exit_codes.OK


def listed(statuses: Sequence[ProviderStatus], config: Config) -> list[ProviderStatus]:
    """The providers that can be used or are configured, and the best-known ones."""
    unlisted = {entry.name for entry in CATALOG if not entry.listed}
    return [item for item in statuses if item.usable or item.name not in unlisted - config.providers.keys()]


def encode_status(status: ProviderStatus) -> JsonObject:
    """A provider as JSON."""
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
    """The providers that are disabled in the configuration."""
    return [name for name, settings in config.providers.items() if settings.enabled is False]


def _rows(statuses: Sequence[ProviderStatus], config: Config) -> Iterator[tuple[str, ...]]:
    for status in statuses:
        ready = "yes" if status.usable else "no"
        yield one_line(status.name), ready, one_line(status.model), one_line(status.reason)
    for name in switched_off(config):
        yield one_line(name), "off", "", SWITCHED_OFF


def _abilities(status: ProviderStatus) -> tuple[str, ...]:
    abilities, name = status.capabilities, one_line(status.name)
    if abilities.search == "none":
        return name, "no search", *("" for _ in _COLUMNS)
    return name, abilities.citations, *(_SUPPORT_LABELS[abilities.support(option)] for option in _COLUMNS)


def _print(console: Console, rows: Sequence[Sequence[str]], columns: int = _UNLIMITED) -> None:
    for number, line in enumerate(align_columns(rows, columns)):
        console.write((styled(line, BOLD) if console.colored and not number else line) + "\n")


_LONGEST = 4096


def run_login(arguments: Namespace, console: Console) -> int:
    """Store a key, remove one, or list the providers that take one."""
    if arguments.key:
        raise UsageError(
            "do not write a key on the command line, where others can see it; enter it at the prompt"
        )
    client = open_client(arguments, console)
    if not arguments.provider:
        return _list(client, console)
    name: str = arguments.provider
    if name not in client.keyed:
        raise RequestError(_not_keyed(client, name))
    path = os.path.join(client.config.config_dir, OWN_FILE_NAME)
    if arguments.remove:
        return _remove(client, name, path, console)
    key = _read_key(name, console)
    replaced = asyncio.run(store_key(client.config.config_dir, name, key))
    console.note(
        f"{'Replaced' if replaced else 'Stored'} the key of {name} in {path}, readable by you alone."
    )
    used = next((finding.place for finding in client.findings(name) if finding.found), "")
    if used and not used.startswith(OWN_FILE):
        console.note(f"It is not used yet: {one_line(used)} comes first.")
    return exit_codes.OK


def _remove(client: SearchClient, name: str, path: str, console: Console) -> int:
    if not asyncio.run(store_key(client.config.config_dir, name, None)):
        console.note(f"groundwire: there is no key of {name} in {path}")
        return exit_codes.NOTHING_FOUND
    console.note(f"Removed the key of {name} from {path}.")
    return exit_codes.OK


def _read_key(name: str, console: Console) -> Secret:
    """Read a key from the terminal without echo, or from a pipe."""
    typed = console.stdin.isatty()
    text = (getpass(f"Key of {name}: ", console.stderr) if typed else console.read()).strip()
    if not text:
        raise UsageError("no key was given; enter it at the prompt, or pipe it in")
    key = sendable(text)
    if not key or len(text) > _LONGEST:
        raise UsageError("this cannot be a key: a key is one line of printable ASCII without blanks")
    return key


def _list(client: SearchClient, console: Console) -> int:
    rows = [("PROVIDER", "KEY FOUND IN")]
    for name in client.keyed:
        found = next((finding.place for finding in client.findings(name) if finding.found), "-")
        rows.append((one_line(name), one_line(found)))
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


def _not_keyed(client: SearchClient, name: str) -> str:
    known = ", ".join(client.keyed)
    status = next((item for item in client.providers() if item.name == name), None)
    if status is None:
        return f"unknown provider {name!r}; these take a key: {known}"
    why = "" if status.usable else f" {status.reason}"
    return f"{name} takes no key.{why} These do: {known}"
