"""`groundwire find`: links of a search, without a composed answer."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncGenerator, Iterator

from groundwire.client import search_request
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import open_client
from groundwire.commands.runner import report_error
from groundwire.commands.search import check_provider
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import BOLD, DIM, YELLOW, Console, linked, styled
from groundwire.faces.cli.last_sources import save_sources
from groundwire.faces.cli.style import shorten
from groundwire.model import Event, JsonObject, Request, Source
from groundwire.model.value import replace
from groundwire.text.sanitise import escape_invisible_json, one_line
from groundwire.text.urls import safe_url, shown_address
from groundwire.tools.find import Link, LinkList, encode_find_error, encode_links, find_links

_DEFAULT_COUNT = 10
_SNIPPET_LINES = 2


def run_find(arguments: Namespace, console: Console) -> int:
    """Search, and print the links."""
    try:
        client = open_client(arguments, console)
        check_provider(client, arguments.provider)
        words: list[str] = arguments.query
        query = console.read() if words == ["-"] else " ".join(words)
        found = asyncio.run(_find(client, query.strip(), arguments.provider))
    except GroundwireError as error:
        if arguments.json:
            _write_json(console, encode_find_error(error))
        return report_error(error, console)
    save_sources(client.config.data_dir, [Source(link.url, link.title) for link in found.links])
    if arguments.json:
        _write_json(console, encode_links(found))
    else:
        _write_links(console, found)
    return exit_codes.OK if found.links else exit_codes.NOTHING_FOUND


async def _find(client: SearchClient, query: str, provider: str) -> LinkList:
    options = client.config.search
    if options.max_sources is None:
        options = replace(options, max_sources=_DEFAULT_COUNT)
    request = replace(search_request(query, options), stream=False, links_only=True)

    def open_stream(request: Request, provider: str, model: str) -> AsyncGenerator[Event, None]:
        return client.stream(request, provider=provider, model=model)

    try:
        return await find_links(request, provider, open_stream)
    finally:
        await client.aclose()


def _write_json(console: Console, body: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json(body)) + "\n")


def _write_links(console: Console, found: LinkList) -> None:
    for number, link in enumerate(found.links, 1):
        for line in _lines(link, number, console):
            console.write(line + "\n")
    for warning in found.warnings:
        console.note(f"Warning: {one_line(warning.message)}", YELLOW)
    if not found.links:
        console.note(f"groundwire: nothing was found for {one_line(found.query)!r}; try other words")


def _lines(link: Link, number: int, console: Console) -> Iterator[str]:
    """Number and title, the address, date and engine, then the beginning of the snippet."""
    width, _ = console.size()
    indent = " " * (len(str(number)) + 2)
    title = one_line(link.title)
    yield f"{number}. {styled(title, BOLD) if console.colored else title}"
    address = shown_address(link.url)
    yield indent + (linked(address, link.url) if console.linked and safe_url(link.url) else address)
    details = " · ".join(one_line(item) for item in (link.date[:10], link.engine) if item)
    if details:
        yield indent + (styled(details, DIM) if console.colored else details)
    snippet = one_line(link.snippet)
    if snippet:
        yield indent + shorten(snippet, max(width, 40) * _SNIPPET_LINES - 2 * len(indent))
