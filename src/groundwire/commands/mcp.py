"""`groundwire mcp`: serves the search tools over MCP on standard input and output."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from groundwire.commands.config import open_client
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import Console
from groundwire.faces.mcp.handshake import require_mcp_package
from groundwire.faces.mcp.stdio import serve


def run_mcp(arguments: Namespace, console: Console) -> int:
    """Serve until the client disconnects."""
    require_mcp_package()
    if console.stdin.isatty():
        console.note("groundwire: waiting for an MCP client on standard input; Ctrl-C ends it")
        console.note("To set up a client: groundwire connect --help")
    asyncio.run(_serve(arguments, console))
    return exit_codes.OK


async def _serve(arguments: Namespace, console: Console) -> None:
    client = open_client(arguments, console)
    building = asyncio.create_task(asyncio.to_thread(client.build_index))
    try:
        await serve(client, language=arguments.lang, every=arguments.all)
    finally:
        await building
        await client.aclose()
