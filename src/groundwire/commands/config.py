"""Configuration of a command, with the options of the command line on top; and `groundwire config show`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime

from groundwire.client_protocol import SearchClient
from groundwire.config.load import load
from groundwire.config.schema import Config, Setting
from groundwire.dialects.json import dump_json
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import DIM, YELLOW, Console, styled
from groundwire.model import Json, JsonObject, SearchOptions
from groundwire.providers.policy import check_domains
from groundwire.text.sanitise import escape_invisible_json, one_line

_SETTINGS: Mapping[str, str] = {
    "allow": "search.allowed_domains",
    "block": "search.blocked_domains",
    "country": "search.country",
    "region": "search.region",
    "city": "search.city",
    "timezone": "search.timezone",
    "language": "search.language",
    "since": "search.since",
    "until": "search.until",
    "max_uses": "search.max_uses",
    "max_sources": "search.max_sources",
    "context": "search.context_size",
    "live": "search.live",
    "data_dir": "data_dir",
    "resolve": "resolve_redirects",
}
"""Arguments, and the settings they override."""


def load_config(arguments: Namespace, console: Console) -> Config:
    """Load the configuration, and print its warnings."""
    now = console.clock()
    flags = _flags(arguments, now)
    template = getattr(arguments, "template", "")
    config = load(console.env, console.home, console.cwd, flags, lambda: now, template)
    for warning in config.warnings:
        console.note(f"Warning: {warning}", YELLOW)
    return config


def open_client(arguments: Namespace, console: Console) -> SearchClient:
    """Make the `Groundwire` of a command."""
    return console.connect(load_config(arguments, console), console.env)


def _flags(arguments: Namespace, now: float) -> Mapping[str, Json]:
    given = {name: item for name, item in vars(arguments).items() if item is not None and item != []}
    check_domains(
        SearchOptions(
            allowed_domains=tuple(given.get("allow", ())), blocked_domains=tuple(given.get("block", ()))
        )
    )
    if "since" in given:
        # Some providers take a period with both its ends, or none at all.
        given["until"] = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return {setting: given[name] for name, setting in _SETTINGS.items() if name in given}


def run_config(arguments: Namespace, console: Console) -> int:
    """Print the settings."""
    config = load_config(arguments, console)
    if arguments.json:
        console.write(escape_invisible_json(dump_json(_encode_config(config))) + "\n")
        return exit_codes.OK
    for setting in config.settings:
        line = one_line(f"{setting.name} = {_shown(setting)}")
        if arguments.origin:
            origin = f"# {one_line(setting.origin)}"
            line += "  " + (styled(origin, DIM) if console.colored else origin)
        console.write(line + "\n")
    return exit_codes.OK


def _shown(setting: Setting) -> str:
    """The value as TOML."""
    return json.dumps(setting.value, ensure_ascii=False)


def _encode_config(config: Config) -> JsonObject:
    return {
        "version": 1,
        "settings": [
            {"name": item.name, "value": item.value, "origin": item.origin} for item in config.settings
        ],
        "warnings": list(config.warnings),
    }
