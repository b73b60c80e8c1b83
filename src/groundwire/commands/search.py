"""`groundwire search`: answers a question with citations."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Protocol

from groundwire.client import search_request
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import open_client
from groundwire.commands.runner import report_error
from groundwire.errors import GroundwireError, RequestError
from groundwire.faces.cli import exit_codes, output
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.live import LiveRenderer, Status, describe
from groundwire.faces.cli.output import SearchQuestion, write_footer, write_sources
from groundwire.model import NOTHING_FOUND, Answer, Assembler, Event, Failed, Request
from groundwire.model.value import replace, value
from groundwire.text.sanitise import escape_invisible_json

if TYPE_CHECKING:
    from groundwire.verify.facts import VerifyReport

_FORMATS = ("json", "jsonl", "markdown", "raw")
BIBLIOGRAPHIES = ("bibtex", "ris", "csl-json", "markdown-list")


@value
class SearchPlan:
    """What is asked, and what is done with the answer."""

    question: SearchQuestion
    request: Request
    output_format: str
    verify: bool = False
    resolve: bool = False

    @property
    def is_complete(self) -> bool:
        """Is nothing written before the answer is complete?"""
        return not self.request.stream or self.resolve


class AnswerWriter(Protocol):
    """Writes an answer in one of the output formats."""

    def feed(self, event: Event) -> None:
        """Take an event."""

    def finish(self, answer: Answer) -> None:
        """Write the rest."""


class CompleteWriter:
    """Writes the answer when it is complete."""

    def __init__(self, console: Console, status: Status, render: Callable[[Answer], str]) -> None:
        self._console = console
        self._status = status
        self._format = render

    def feed(self, event: Event) -> None:
        """Show what is being searched for."""
        if doing := describe(event):
            self._status.show(doing)

    def finish(self, answer: Answer) -> None:
        """Print the answer."""
        self._status.clear()
        text = self._format(answer)
        if text.strip():
            self._console.write(text.rstrip("\n") + "\n")


class EventLineWriter:
    """Writes every event as one line of JSON."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def feed(self, event: Event) -> None:
        """Print the event."""
        self._status.clear()
        self._console.write(output.as_line(event) + "\n")

    def finish(self, answer: Answer) -> None:
        """Write nothing: every event is written already."""


class TerminalWriter:
    """Writes the answer to a terminal while it arrives."""

    def __init__(self, console: Console, status: Status, *, complete: bool) -> None:
        self._console = console
        self._status = status
        self._live = LiveRenderer(console, status)
        self._complete = complete

    def feed(self, event: Event) -> None:
        """Write what an event adds."""
        if not self._complete:
            self._live.feed(event)
        elif doing := describe(event):
            self._status.show(doing)

    def finish(self, answer: Answer) -> None:
        """Write the rest, and the sources."""
        numberer = self._live.finish(answer)
        self._live.end(blank_line=bool(numberer.sources))
        write_sources(self._console, numberer, self._live.unplaced, answer)


_COMPLETE_FORMATS: Mapping[str, Callable[[Answer], str]] = {
    "": output.as_text,
    "markdown": output.as_markdown,
    "raw": output.as_raw,
}


def run_search(arguments: Namespace, console: Console) -> int:
    """Send the question, and print the answer."""
    output_format = _format(arguments)
    if output_format == "jsonl" and arguments.resolve:
        raise UsageError("--resolve and --jsonl cannot be used together: events are printed as they come")
    question = SearchQuestion(
        question_text(arguments, console), arguments.provider, arguments.model, arguments.max_cost
    )
    try:
        client = open_client(arguments, console)
        request = search_request(question.query, client.config.search)
        if question.provider not in ("auto", *client.names):
            raise RequestError(f"unknown provider {question.provider!r}; known are {', '.join(client.names)}")
        request = replace(request, stream=not arguments.no_stream)
        resolve = arguments.resolve or (client.config.resolve_redirects and output_format != "jsonl")
        plan = SearchPlan(question, request, output_format, arguments.verify, resolve)
        return asyncio.run(_run(client, plan, console))
    except GroundwireError as error:
        # No request was sent: the error is written in the output format as well.
        _write_error(error, output_format, question, console)
        return report_error(error, console)


async def _run(client: SearchClient, plan: SearchPlan, console: Console) -> int:
    began = time.monotonic()
    status = Status(console, time.monotonic)
    question = plan.question
    writer = _writer(plan, console, status)
    assembler = Assembler()
    report: VerifyReport | None = None
    status.show("Asking…" if question.provider == "auto" else f"Asking {question.provider}…")
    client.watch_index(lambda done: status.show(f"Reading {done.what} ({done.done} of {done.total})"))
    spinning = asyncio.create_task(status.spin())
    try:
        async with aclosing(
            client.stream(
                plan.request, provider=question.provider, model=question.model, max_cost=question.max_cost
            )
        ) as events:
            async for event in events:
                assembler.feed(event)
                writer.feed(event)
        answer = assembler.answer()
        if plan.resolve:
            answer = await client.resolve_redirects(answer)
        if plan.verify and answer.error is None:
            status.show("Verifying the citations…")
            report = await client.averify(answer)
    except GroundwireError as error:
        assembler.feed(Failed(error))
        writer.feed(Failed(error))
        answer = assembler.answer()
    finally:
        spinning.cancel()
        with suppress(asyncio.CancelledError):
            await spinning
        status.clear()
        await client.aclose()
    answer = _finish(answer, report, plan, writer, console)
    write_footer(console, answer, question, time.monotonic() - began)
    code = _end(answer, question, console)
    return exit_codes.VERIFICATION_FAILED if code == exit_codes.OK and report and not report.ok else code


def _finish(
    answer: Answer, report: VerifyReport | None, plan: SearchPlan, writer: AnswerWriter, console: Console
) -> Answer:
    """Write the rest of the answer, and the report in the form of the output; returns the answer with the
    warnings that are still to be written."""
    if report is None:
        writer.finish(answer)
        return answer
    from groundwire.dialects.json import dump_json  # noqa: PLC0415  few searches are verified
    from groundwire.faces.cli.verification import write_report  # noqa: PLC0415
    from groundwire.verify.encode import VERIFICATION, encode_report, with_report  # noqa: PLC0415

    verified = with_report(answer, report)
    writer.finish(verified)
    if plan.output_format == "jsonl":
        line = dump_json({"version": 1, "type": VERIFICATION, VERIFICATION: encode_report(report)})
        console.write(escape_invisible_json(line) + "\n")
    elif not plan.output_format:
        console.write("\n")
        write_report(console, report, every=False)
        return answer  # the table says what fails
    return verified


def _end(answer: Answer, question: SearchQuestion, console: Console) -> int:
    if answer.error is not None:
        return report_error(answer.error, console)
    if answer.detail == NOTHING_FOUND:
        return exit_codes.NOTHING_FOUND  # the answer says so itself
    if answer.text.strip():
        return exit_codes.OK
    if answer.finish in ("filtered", "refused"):
        console.note("groundwire: there is no answer; rephrase the question, or choose another provider")
        return exit_codes.FAILURE
    console.note(
        f"groundwire: nothing was found for {question.query!r}; try other words or fewer restrictions"
    )
    return exit_codes.NOTHING_FOUND


def _writer(plan: SearchPlan, console: Console, status: Status) -> AnswerWriter:
    if plan.output_format == "jsonl":
        return EventLineWriter(console, status)
    if plan.output_format == "json":
        return CompleteWriter(console, status, lambda answer: output.as_json(answer, plan.question))
    if plan.output_format in BIBLIOGRAPHIES:
        form, now = plan.output_format.removesuffix("-list"), console.clock()
        return CompleteWriter(console, status, lambda answer: output.as_bibliography(answer, form, now))
    if not plan.output_format and console.moves:
        return TerminalWriter(console, status, complete=plan.is_complete)
    return CompleteWriter(console, status, _COMPLETE_FORMATS[plan.output_format])


def _format(arguments: Namespace) -> str:
    """`json`, `jsonl`, `markdown`, `raw`, or the form of a bibliography (`markdown` as `markdown-list`)."""
    chosen = [name for name in _FORMATS if getattr(arguments, name)]
    flags = [f"--{name}" for name in chosen] + (["--format"] if arguments.format else [])
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} cannot be used together")
    if arguments.format:
        return "markdown-list" if arguments.format == "markdown" else str(arguments.format)
    return chosen[0] if chosen else ""


def question_text(arguments: Namespace, console: Console) -> str:
    """The words of the command line, or standard input for `-`."""
    words: list[str] = arguments.query
    query = console.read() if words == ["-"] else " ".join(words)
    return query.strip()


def _write_error(
    error: GroundwireError, output_format: str, question: SearchQuestion, console: Console
) -> None:
    if output_format == "json":
        console.write(output.as_json(Answer(error=error), question) + "\n")
    elif output_format == "jsonl":
        console.write(output.as_line(Failed(error)) + "\n")
