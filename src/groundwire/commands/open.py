"""`groundwire open`: opens a source of the last answer in the browser."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from groundwire.commands.config import load_config
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import RED, Console
from groundwire.faces.cli.last_sources import load_sources
from groundwire.model import Source
from groundwire.text.urls import safe_url, shown_address


def run_open(arguments: Namespace, console: Console) -> int:
    """Open the source, or print its address."""
    sources = load_sources(load_config(arguments, console).data_dir)
    if sources is None:
        console.note("groundwire: there is no answer yet; ask with `groundwire search` first", RED)
        return exit_codes.NOTHING_FOUND
    return open_source(arguments.number, sources, console, only_print=arguments.only_print)


def open_source(number: int, sources: Sequence[Source], console: Console, *, only_print: bool = False) -> int:
    """Open one of the numbered sources; where that is not possible, print its address."""
    if not 1 <= number <= len(sources):
        count = {0: "no sources", 1: "one source"}.get(len(sources), f"{len(sources)} sources")
        console.note(f"groundwire: there is no source {number}; the last answer has {count}", RED)
        return exit_codes.NOTHING_FOUND
    address = sources[number - 1].url
    if url := safe_url(address):
        if only_print or not console.browse(url):
            console.print(url)
        else:
            console.note(f"Opened {url}")
        return exit_codes.OK
    if local := shown_address(address):
        console.print(local)
        if not only_print:
            console.note(f"It is a page of the index, not of the web: groundwire index show {local}")
        return exit_codes.OK
    console.note(f"groundwire: source {number} has no address that can be opened", RED)
    return exit_codes.NOTHING_FOUND
