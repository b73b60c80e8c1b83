"""`groundwire tools`: the tools, for people or as definitions for an API."""

from __future__ import annotations

import json
from argparse import Namespace
from textwrap import wrap

from groundwire.faces.cli import exits
from groundwire.faces.cli.console import BOLD, Console, styled
from groundwire.tools.formats import special_tools_in, tools_in
from groundwire.tools.registry import TOOLS
from groundwire.tools.schemas import pick
from groundwire.tools.special import DEFINITIONS


def run(arguments: Namespace, console: Console) -> int:
    """Print the tools."""
    if arguments.format or arguments.special:
        listed = special_tools_in if arguments.special else tools_in
        found = listed(arguments.format or "", arguments.lang)
        console.print(json.dumps(found, ensure_ascii=False, indent=2))
        return exits.OK
    for tool in TOOLS.values():
        taken = f"takes {', '.join(tool.arguments)}"
        _write(tool.name, (tool.description[arguments.lang], taken), console)
    for definition in DEFINITIONS:
        about = pick(definition["description"], arguments.lang)
        taken = "run by the model's provider; see --special"
        _write(str(definition["id"]), (about, taken), console)
    return exits.OK


def _write(name: str, paragraphs: tuple[str, ...], console: Console) -> None:
    columns = min(console.size()[0], 100)
    lines = [line for paragraph in paragraphs for line in wrap(paragraph, columns - 4)]
    console.write("\n    ".join([styled(name, BOLD) if console.colored else name, *lines]) + "\n")
