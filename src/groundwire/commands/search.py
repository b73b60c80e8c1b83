"""`groundwire search`: answers a question with citations."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from groundwire.client import search_request
from groundwire.client_protocol import Quota, SearchClient
from groundwire.commands.config import open_client
from groundwire.commands.runner import report_error
from groundwire.commands.templates import chosen_target, filled_prompt, template_of
from groundwire.errors import GroundwireError, RequestError
from groundwire.faces.cli import exit_codes, output
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.last_sources import save_sources
from groundwire.faces.cli.live import LiveRenderer, Status, describe
from groundwire.faces.cli.output import SearchQuestion, write_footer, write_sources
from groundwire.model import NOTHING_FOUND, Answer, Assembler, Event, Failed, Request, Source
from groundwire.model.value import replace, value
from groundwire.routing.resolve import AUTO
from groundwire.text.sanitise import escape_invisible_json
from groundwire.text.sources import number_answer

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


class AnswerWriter(Protocol):
    """Writes an answer in one of the output formats."""

    def feed(self, event: Event) -> None:
        """Take an event."""

    def finish(self, answer: Answer) -> Sequence[Source]:
        """Write the rest; returns the sources as they are numbered in the output."""


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

    def finish(self, answer: Answer) -> Sequence[Source]:
        """Print the answer."""
        self._status.clear()
        text = self._format(answer)
        if text.strip():
            self._console.write(text.rstrip("\n") + "\n")
        return number_answer(answer).sources


class EventLineWriter:
    """Writes every event as one line of JSON."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def feed(self, event: Event) -> None:
        """Print the event."""
        self._status.clear()
        self._console.write(output.as_line(event) + "\n")

    def finish(self, answer: Answer) -> Sequence[Source]:
        """Write nothing: every event is written already."""
        return number_answer(answer).sources


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

    def finish(self, answer: Answer) -> Sequence[Source]:
        """Write the rest, and the sources."""
        numberer = self._live.finish(answer)
        self._live.end(blank_line=bool(numberer.sources))
        write_sources(self._console, numberer, self._live.unplaced, answer)
        return numberer.sources


_COMPLETE_FORMATS: Mapping[str, Callable[[Answer], str]] = {
    "markdown": output.as_markdown,
    "raw": output.as_raw,
}


def run_search(arguments: Namespace, console: Console) -> int:
    """Send the question, and print the answer."""
    output_format = _format(arguments)
    question = SearchQuestion(
        question_text(arguments, console), arguments.provider or AUTO, arguments.model, arguments.max_cost
    )
    try:
        client = open_client(arguments, console)
        provider, model = chosen_target(arguments, client.config)
        query = filled_prompt(template_of(arguments, client.config), question.query)
        question = replace(question, query=query, provider=provider, model=model)
        request = search_request(question.query, client.config.search)
        check_provider(client, question.provider)
        request = replace(request, stream=not arguments.no_stream)
        plan = SearchPlan(question, request, output_format, arguments.verify)
        return asyncio.run(_run(client, plan, console))
    except GroundwireError as error:
        # No request was sent: the error is written in the output format as well.
        _write_error(error, output_format, question, console)
        return report_error(error, console)


def check_provider(client: SearchClient, name: str) -> None:
    """Raise `RequestError` for a provider that is not known."""
    if name not in (AUTO, *client.names):
        raise unknown_provider(client, name)


def unknown_provider(client: SearchClient, name: str) -> RequestError:
    """The error for a provider that is not known, with the name that is probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415  imported only for an error

    near = get_close_matches(name, client.names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return RequestError(f"unknown provider {name!r}; {hint}`groundwire providers --all` lists all of them")


async def _run(client: SearchClient, plan: SearchPlan, console: Console) -> int:
    began = time.monotonic()
    status = Status(console, time.monotonic)
    question = plan.question
    writer = _writer(client, plan, console, status)
    status.show(asking(question.provider))
    client.watch_index(lambda done: status.show(f"Reading {done.what} ({done.done} of {done.total})"))
    async with status.spinning(), closing_client(client):
        answer, report = await _receive(client, plan, writer, status)
    answer, sources = _finish(answer, report, plan, writer, console)
    write_footer(console, answer, question, time.monotonic() - began)
    if answer.error is None or sources:
        save_sources(client.config.data_dir, sources)
    code = report_end(answer, question, console)
    return exit_codes.VERIFICATION_FAILED if code == exit_codes.OK and report and not report.ok else code


def asking(provider: str) -> str:
    """The status until the first event."""
    return "Asking…" if provider == AUTO else f"Asking {provider}…"


@asynccontextmanager
async def closing_client(client: SearchClient) -> AsyncGenerator[None, None]:
    """Close the client after the block."""
    try:
        yield
    finally:
        await client.aclose()


async def _receive(
    client: SearchClient, plan: SearchPlan, writer: AnswerWriter, status: Status
) -> tuple[Answer, VerifyReport | None]:
    """Receive the answer, and verify it if that is wanted; an error becomes part of it."""
    question = plan.question
    assembler = Assembler()
    events = client.stream(
        plan.request, provider=question.provider, model=question.model, max_cost=question.max_cost
    )
    try:
        async with aclosing(events):
            async for event in events:
                assembler.feed(event)
                writer.feed(event)
        answer = assembler.answer()
        if not plan.verify or answer.error is not None:
            return answer, None
        status.show("Verifying the citations…")
        return answer, await client.averify(answer)
    except GroundwireError as error:
        assembler.feed(Failed(error))
        writer.feed(Failed(error))
        return assembler.answer(), None


def _finish(
    answer: Answer, report: VerifyReport | None, plan: SearchPlan, writer: AnswerWriter, console: Console
) -> tuple[Answer, Sequence[Source]]:
    """Write the rest of the answer, and the report in the form of the output; returns the answer with the
    warnings that are still to be written, and its numbered sources."""
    if report is None:
        return answer, writer.finish(answer)
    from groundwire.dialects.json import dump_json  # noqa: PLC0415  few searches are verified
    from groundwire.faces.cli.verification import write_report  # noqa: PLC0415
    from groundwire.verify.encode import VERIFICATION, encode_report, with_report  # noqa: PLC0415

    verified = with_report(answer, report)
    sources = writer.finish(verified)
    if plan.output_format == "jsonl":
        line = dump_json({"version": 1, "type": VERIFICATION, VERIFICATION: encode_report(report)})
        console.write(escape_invisible_json(line) + "\n")
    elif not plan.output_format:
        console.write("\n")
        write_report(console, report, every=False)
        return answer, sources  # the table says what fails
    return verified, sources


def report_end(answer: Answer, question: SearchQuestion, console: Console) -> int:
    """Report why there is no answer, if there is none; returns the exit code."""
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


def _quotas(client: SearchClient, answer: Answer, question: SearchQuestion) -> Sequence[Quota]:
    health = client.health().get(output.answered_by(answer, question)[0])
    return health.quotas if health is not None else ()


def _writer(client: SearchClient, plan: SearchPlan, console: Console, status: Status) -> AnswerWriter:
    if plan.output_format == "jsonl":
        return EventLineWriter(console, status)
    if plan.output_format == "json":
        question = plan.question
        return CompleteWriter(
            console,
            status,
            lambda answer: output.as_json(answer, question, _quotas(client, answer, question)),
        )
    if plan.output_format in BIBLIOGRAPHIES:
        form, now = plan.output_format.removesuffix("-list"), console.clock()
        return CompleteWriter(console, status, lambda answer: output.as_bibliography(answer, form, now))
    if not plan.output_format:
        return answer_writer(console, status, complete=not plan.request.stream)
    return CompleteWriter(console, status, _COMPLETE_FORMATS[plan.output_format])


def answer_writer(console: Console, status: Status, *, complete: bool = False) -> AnswerWriter:
    """The writer for people: to a terminal while the answer arrives, to a pipe when it is complete."""
    if console.moves:
        return TerminalWriter(console, status, complete=complete)
    return CompleteWriter(console, status, output.as_text)


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
