"""`groundwire tools`: the tools, for people or as definitions for an API."""

from __future__ import annotations

import json
from argparse import Namespace
from textwrap import wrap

from groundwire.faces.cli import exits
from groundwire.faces.cli.console import BOLD, Console, styled
from groundwire.tools.formats import tools_in
from groundwire.tools.registry import TOOLS


def run(arguments: Namespace, console: Console) -> int:
    """Print the tools."""
    if arguments.format:
        found = tools_in(arguments.format, arguments.lang)
        console.print(json.dumps(found, ensure_ascii=False, indent=2))
        return exits.OK
    columns = min(console.size()[0], 100)
    for tool in TOOLS.values():
        name = styled(tool.name, BOLD) if console.colored else tool.name
        taken = f"takes {', '.join(tool.arguments)}"
        about = [*wrap(tool.description[arguments.lang], columns - 4), *wrap(taken, columns - 4)]
        console.write("\n    ".join([name, *about]) + "\n")
    return exits.OK
