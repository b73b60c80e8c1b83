"""`groundwire tool` runs a tool and prints its JSON result; `groundwire tools` lists the tools."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from textwrap import wrap

from groundwire.commands.config import load_config
from groundwire.commands.runner import report_error
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import BOLD, Console, styled
from groundwire.model import NOTHING_FOUND, Json
from groundwire.text.sanitise import escape_invisible_json
from groundwire.tools import TOOLS, Outcome, call_tool
from groundwire.tools.definitions import DEFINITIONS, special_tools_in, tools_in
from groundwire.tools.schemas import pick


def run_tool(arguments: Namespace, console: Console) -> int:
    """Run a tool; its result is always printed, and the exit code tells whether it failed."""
    if arguments.name not in TOOLS:
        raise UsageError(f"there is no tool {arguments.name!r}; there are {', '.join(TOOLS)}")
    text = console.read() if arguments.arguments == "-" else arguments.arguments
    try:
        given = load_json(text, ClientWireError)
    except ClientWireError:
        given = None
    outcome = asyncio.run(_call_tool(arguments, console, given))
    console.write(escape_invisible_json(dump_json(outcome.result)) + "\n")
    answer = outcome.answer
    if answer.error is not None:
        return report_error(answer.error, console)
    found = answer.text.strip() and answer.detail != NOTHING_FOUND
    return exit_codes.OK if found else exit_codes.NOTHING_FOUND


async def _call_tool(arguments: Namespace, console: Console, given: Json) -> Outcome:
    client = console.connect(load_config(arguments, console), console.env)
    try:
        return await call_tool(client, arguments.name, given, console.clock)
    finally:
        await client.aclose()


def run_tools(arguments: Namespace, console: Console) -> int:
    """Print the tools."""
    if arguments.format or arguments.special:
        listed = special_tools_in if arguments.special else tools_in
        found = listed(arguments.format or "", arguments.lang)
        console.print(json.dumps(found, ensure_ascii=False, indent=2))
        return exit_codes.OK
    for tool in TOOLS.values():
        taken = f"takes {', '.join(tool.arguments)}"
        _write(tool.name, (tool.description[arguments.lang], taken), console)
    for definition in DEFINITIONS:
        about = pick(definition["description"], arguments.lang)
        taken = "run by the model's provider; see --special"
        _write(str(definition["id"]), (about, taken), console)
    return exit_codes.OK


def _write(name: str, paragraphs: tuple[str, ...], console: Console) -> None:
    columns = min(console.size()[0], 100)
    lines = [line for paragraph in paragraphs for line in wrap(paragraph, columns - 4)]
    console.write("\n    ".join([styled(name, BOLD) if console.colored else name, *lines]) + "\n")
