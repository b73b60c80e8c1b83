"""`groundwire search`: a question in, a cited answer out."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from typing import Protocol

from groundwire.client import question
from groundwire.commands.config import open_client
from groundwire.errors import GroundwireError, RequestError
from groundwire.faces.cli import exit_codes, output
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console, SearchClient
from groundwire.faces.cli.live import LiveRenderer, Status, describe
from groundwire.faces.cli.output import SearchQuestion, write_footer, write_sources
from groundwire.faces.cli.runner import report_error
from groundwire.model import NOTHING_FOUND, Answer, Assembler, Event, Failed, Request
from groundwire.model.value import replace

_FORMS = ("json", "jsonl", "markdown", "raw")


class Teller(Protocol):
    """Tells an answer in one of the forms."""

    def feed(self, event: Event) -> None:
        """Tell an event."""

    def finish(self, answer: Answer) -> None:
        """Tell the rest."""


class Whole:
    """Tells the answer when it is complete."""

    def __init__(self, console: Console, status: Status, form: Callable[[Answer], str]) -> None:
        self._console = console
        self._status = status
        self._form = form

    def feed(self, event: Event) -> None:
        """Show what is being searched for."""
        if doing := describe(event):
            self._status.show(doing)

    def finish(self, answer: Answer) -> None:
        """Print the answer."""
        self._status.clear()
        text = self._form(answer)
        if text.strip():
            self._console.write(text.rstrip("\n") + "\n")


class Lines:
    """Tells every event on a line of its own."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def feed(self, event: Event) -> None:
        """Print the event."""
        self._status.clear()
        self._console.write(output.as_line(event) + "\n")

    def finish(self, answer: Answer) -> None:
        """Everything has been said."""


class Screen:
    """Tells the answer on a terminal while it comes."""

    def __init__(self, console: Console, status: Status, *, at_once: bool) -> None:
        self._console = console
        self._status = status
        self._live = LiveRenderer(console, status)
        self._at_once = at_once

    def feed(self, event: Event) -> None:
        """Write what has come."""
        if not self._at_once:
            self._live.feed(event)
        elif doing := describe(event):
            self._status.show(doing)

    def finish(self, answer: Answer) -> None:
        """Write the rest, and the sources."""
        order = self._live.finish(answer)
        self._live.end(blank_line=bool(order.sources))
        write_sources(self._console, order, self._live.unplaced, answer)


_WHOLE: Mapping[str, Callable[[Answer], str]] = {
    "": output.as_text,
    "markdown": output.as_markdown,
    "raw": output.as_raw,
}


def run_search(arguments: Namespace, console: Console) -> int:
    """Ask, and print the answer."""
    form = _form(arguments)
    asked = SearchQuestion(_query(arguments, console), arguments.provider, arguments.model)
    try:
        asker = open_client(arguments, console)
        request = question(asked.query, asker.config.search)
        if asked.provider not in ("auto", *asker.names):
            raise RequestError(f"unknown provider {asked.provider!r}; known are {', '.join(asker.names)}")
        request = replace(request, stream=not arguments.no_stream)
        return asyncio.run(_ask(asker, asked, request, form, console))
    except GroundwireError as error:
        # Before anybody was asked: programs are told as well.
        _tell_failure(error, form, asked, console)
        return report_error(error, console)


async def _ask(
    asker: SearchClient, asked: SearchQuestion, request: Request, form: str, console: Console
) -> int:
    began = time.monotonic()
    status = Status(console, time.monotonic)
    teller = _teller(form, asked, console, status, at_once=not request.stream)
    assembler = Assembler()
    status.show("Asking…" if asked.provider == "auto" else f"Asking {asked.provider}…")
    asker.watch_index(lambda done: status.show(f"Reading {done.what} ({done.done} of {done.total})"))
    spinning = asyncio.create_task(status.spin())
    try:
        async with aclosing(asker.stream(request, provider=asked.provider, model=asked.model)) as events:
            async for event in events:
                assembler.feed(event)
                teller.feed(event)
    except GroundwireError as error:
        assembler.feed(Failed(error))
        teller.feed(Failed(error))
    finally:
        spinning.cancel()
        with suppress(asyncio.CancelledError):
            await spinning
        status.clear()
        await asker.aclose()
    answer = assembler.answer()
    teller.finish(answer)
    write_footer(console, answer, asked, time.monotonic() - began)
    return _end(answer, asked, console)


def _end(answer: Answer, asked: SearchQuestion, console: Console) -> int:
    if answer.error is not None:
        return report_error(answer.error, console)
    if answer.detail == NOTHING_FOUND:
        return exit_codes.NOTHING_FOUND  # the answer says so itself
    if answer.text.strip():
        return exit_codes.OK
    if answer.finish in ("filtered", "refused"):
        console.note("groundwire: there is no answer; ask in other words, or ask another provider")
        return exit_codes.FAILURE
    console.note(f"groundwire: nothing was found for {asked.query!r}; try other words or fewer restrictions")
    return exit_codes.NOTHING_FOUND


def _teller(form: str, asked: SearchQuestion, console: Console, status: Status, *, at_once: bool) -> Teller:
    if form == "jsonl":
        return Lines(console, status)
    if form == "json":
        return Whole(console, status, lambda answer: output.as_json(answer, asked))
    if not form and console.moves:
        return Screen(console, status, at_once=at_once)
    return Whole(console, status, _WHOLE[form])


def _form(arguments: Namespace) -> str:
    chosen = [form for form in _FORMS if getattr(arguments, form)]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(f'--{form}' for form in chosen)} cannot be used together")
    return chosen[0] if chosen else ""


def _query(arguments: Namespace, console: Console) -> str:
    words: list[str] = arguments.query
    query = console.read() if words == ["-"] else " ".join(words)
    return query.strip()


def _tell_failure(error: GroundwireError, form: str, asked: SearchQuestion, console: Console) -> None:
    if form == "json":
        console.write(output.as_json(Answer(error=error), asked) + "\n")
    elif form == "jsonl":
        console.write(output.as_line(Failed(error)) + "\n")
