"""`groundwire compare`: the same question to several providers, side by side."""

from __future__ import annotations

import asyncio
import os
import time
from argparse import Namespace
from contextlib import suppress
from typing import Literal

from groundwire.client import search_request
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import open_client
from groundwire.commands.search import question_text, unknown_provider
from groundwire.compare.comparison import Comparison
from groundwire.compare.encode import encode_comparison
from groundwire.compare.page import render_page
from groundwire.compare.picture import draw_comparison
from groundwire.compare.png import draw_png
from groundwire.compare.run import ComparePolicy
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.comparison import write_comparison
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.images import encode_image, image_protocol
from groundwire.faces.cli.live import Status
from groundwire.text.sanitise import escape_invisible_json

_DOING = {"searching": "searching", "answering": "answering", "done": "done"}


def run_compare(arguments: Namespace, console: Console) -> int:
    """Ask all providers, and print the comparison."""
    query = question_text(arguments, console)
    client = open_client(arguments, console)
    providers = chosen_providers(arguments.providers, client)
    comparison = asyncio.run(_run(client, query, providers, arguments, console))
    for option, write in (("html", render_page), ("svg", draw_comparison)):
        if name := getattr(arguments, option):
            _write_file(console, name, write(comparison).encode("utf-8"))
    if arguments.png:
        _write_file(console, arguments.png, draw_png(draw_comparison(comparison)))
    if arguments.json:
        console.write(escape_invisible_json(dump_json(encode_comparison(comparison))) + "\n")
    else:
        write_comparison(console, comparison)
        if not arguments.no_image:
            _show_image(console, comparison)
    return _exit_code(comparison)


def _show_image(console: Console, comparison: Comparison) -> None:
    """Draw the comparison in the terminal, if that can show images and the extra `pictures` is installed."""
    protocol = image_protocol(console.env) if console.moves else ""
    if protocol:
        with suppress(ConfigError):
            console.write("\n" + encode_image(draw_png(draw_comparison(comparison)), protocol))


def chosen_providers(names: str, client: SearchClient) -> tuple[str, ...]:
    """The providers to ask: those that are named, or all models and engines that can be used."""
    if names:
        chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        for name in chosen:
            provider = name.partition("/")[0]
            if provider not in client.names:
                raise unknown_provider(client, provider)
    else:
        usable = client.usable()
        chosen = tuple(name for name in client.names if usable[name] and client.can_search(name))
    if len(chosen) < 2:
        found = f"only {chosen[0]} can be used" if chosen else "no provider can be used"
        raise ConfigError(f"a comparison needs two providers, but {found}; name them with --providers a,b")
    return chosen


async def _run(
    client: SearchClient, query: str, providers: tuple[str, ...], arguments: Namespace, console: Console
) -> Comparison:
    status = Status(console, time.monotonic)
    doing = dict.fromkeys(providers, "searching")

    def report(provider: str, step: Literal["searching", "answering", "done"]) -> None:
        doing[provider] = _DOING[step]
        status.show("  ".join(f"{name}: {what}" for name, what in doing.items()))

    spinning = asyncio.create_task(status.spin())
    try:
        request = search_request(query, client.config.search)
        policy = ComparePolicy(arguments.timeout, arguments.wait)
        return await client.acompare(request, providers, policy=policy, report=report)
    finally:
        spinning.cancel()
        with suppress(asyncio.CancelledError):
            await spinning
        status.clear()
        await client.aclose()


def _exit_code(comparison: Comparison) -> int:
    outcomes = {item.outcome for item in comparison.contributions}
    if "answered" in outcomes:
        return exit_codes.OK
    return exit_codes.NOTHING_FOUND if outcomes == {"nothing"} else exit_codes.UPSTREAM


def _write_file(console: Console, name: str, data: bytes) -> None:
    path = os.path.join(console.cwd, os.path.expanduser(name))
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}") from None
    console.note(f"wrote {name}")
