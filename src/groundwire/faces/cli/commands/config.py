"""`groundwire config show`: every setting that is not empty, and where it comes from."""

from __future__ import annotations

import json
from argparse import Namespace

from groundwire.config.schema import Config, Setting
from groundwire.dialects.json import dump_json
from groundwire.faces.cli import exits
from groundwire.faces.cli.console import DIM, Console, styled
from groundwire.faces.cli.session import configure
from groundwire.model import JsonObject
from groundwire.text.sanitise import escape_invisible_json, one_line


def run(arguments: Namespace, console: Console) -> int:
    """Print the settings."""
    config = configure(arguments, console)
    if arguments.json:
        console.write(escape_invisible_json(dump_json(_encode(config))) + "\n")
        return exits.OK
    for setting in config.settings:
        line = one_line(f"{setting.name} = {_shown(setting)}")
        if arguments.origin:
            origin = f"# {one_line(setting.origin)}"
            line += "  " + (styled(origin, DIM) if console.colored else origin)
        console.write(line + "\n")
    return exits.OK


def _shown(setting: Setting) -> str:
    """The value as TOML would have it."""
    return json.dumps(setting.value, ensure_ascii=False)


def _encode(config: Config) -> JsonObject:
    return {
        "version": 1,
        "settings": [
            {"name": item.name, "value": item.value, "origin": item.origin} for item in config.settings
        ],
        "warnings": list(config.warnings),
    }
