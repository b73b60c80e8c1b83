"""`groundwire tool`: runs a tool as an agent would, and prints its JSON result."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.faces.cli import exits
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.edge import report
from groundwire.faces.cli.parsers import UsageError
from groundwire.faces.cli.session import configure
from groundwire.model import NOTHING_FOUND, Json
from groundwire.text.sanitise import escape_invisible_json
from groundwire.tools import TOOLS, Outcome, call_tool


def run(arguments: Namespace, console: Console) -> int:
    """Call the tool; its result is printed whatever happened, and the exit code says how it went."""
    if arguments.name not in TOOLS:
        raise UsageError(f"there is no tool {arguments.name!r}; there are {', '.join(TOOLS)}")
    text = console.read() if arguments.arguments == "-" else arguments.arguments
    try:
        given = load_json(text, ClientWireError)
    except ClientWireError:
        given = None
    outcome = asyncio.run(_call(arguments, console, given))
    console.write(escape_invisible_json(dump_json(outcome.result)) + "\n")
    answer = outcome.answer
    if answer.error is not None:
        return report(answer.error, console)
    found = answer.text.strip() and answer.detail != NOTHING_FOUND
    return exits.OK if found else exits.NOTHING_FOUND


async def _call(arguments: Namespace, console: Console, given: Json) -> Outcome:
    asker = console.connect(configure(arguments, console), console.env)
    try:
        return await call_tool(asker, arguments.name, given, console.clock)
    finally:
        await asker.aclose()
