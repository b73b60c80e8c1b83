"""`groundwire verify`: do the cited pages of a saved answer exist, and do they say what is claimed?"""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace

from groundwire.client_protocol import SearchClient
from groundwire.commands.config import open_client
from groundwire.dialects.extras import VERIFICATION
from groundwire.dialects.json import dump_json
from groundwire.errors import Refused
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.faces.cli.output import SearchQuestion, as_text, encode_answer
from groundwire.faces.cli.verification import write_report
from groundwire.files.text_file import read_text
from groundwire.model import Answer, Assembler, Failed, JsonObject
from groundwire.text.sanitise import escape_invisible_json
from groundwire.verify.correction import correction_request
from groundwire.verify.encode import encode_report, with_report
from groundwire.verify.facts import VerifyReport
from groundwire.verify.policy import VerifyPolicy
from groundwire.verify.saved import SavedAnswer, read_saved


def run_verify(arguments: Namespace, console: Console) -> int:
    """Verify a saved answer; the exit code tells whether a citation fails."""
    saved = read_saved(read_answer(arguments.answer, console))
    if arguments.fix and not saved.query:
        raise UsageError("--fix needs the question, which answers saved with --jsonl do not have")
    client = open_client(arguments, console)
    return asyncio.run(_run(client, saved, arguments, console))


def read_answer(name: str, console: Console) -> str:
    """The text of a saved answer: a file, or standard input for `-`."""
    if name == "-":
        return console.read()
    path = os.path.join(console.cwd, os.path.expanduser(name))
    text = read_text(path) if os.path.isfile(path) else None
    if text is None:
        raise UsageError(f"there is no file {name!r}")
    return text


def verify_policy(arguments: Namespace, client: SearchClient, console: Console) -> VerifyPolicy:
    """What the options of the command line allow to fetch."""
    settings = client.config.verify
    folder = os.path.join(console.cwd, os.path.expanduser(arguments.pages)) if arguments.pages else ""
    if folder and not os.path.isdir(folder):
        raise UsageError(f"there is no folder {arguments.pages!r}")
    return VerifyPolicy(
        offline=arguments.offline,
        follow=arguments.follow or settings.follow,
        seconds=settings.timeout,
        folder=folder,
    )


async def _run(client: SearchClient, saved: SavedAnswer, arguments: Namespace, console: Console) -> int:
    try:
        policy = verify_policy(arguments, client, console)
        if arguments.resolve:
            saved = saved._replace(answer=await client.resolve_redirects(saved.answer))
        report = await client.averify(saved.answer, policy=policy)
        fixed: tuple[Answer, VerifyReport] | None = None
        if arguments.fix and not report.ok:
            answer = await ask_again(client, saved, report)
            fixed = answer, await client.averify(answer, policy=policy)
    finally:
        await client.aclose()
    _write(saved, report, fixed, arguments, console)
    last = fixed[1] if fixed is not None else report
    return exit_codes.OK if last.ok else exit_codes.VERIFICATION_FAILED


async def ask_again(client: SearchClient, saved: SavedAnswer, report: VerifyReport) -> Answer:
    """Ask the provider of an answer once more, with the citations that failed."""
    request = correction_request(saved.query, saved.answer, report, client.config.search)
    provider = saved.provider if saved.provider in client.names else "auto"
    assembler = Assembler()
    async for event in client.stream(
        request, provider=provider, model=saved.model if provider != "auto" else ""
    ):
        if isinstance(event, Failed):
            raise event.error
        assembler.feed(event)
    answer = assembler.answer()
    if not answer.text.strip():
        raise Refused("the provider gave no other answer")
    return answer


def _write(
    saved: SavedAnswer,
    report: VerifyReport,
    fixed: tuple[Answer, VerifyReport] | None,
    arguments: Namespace,
    console: Console,
) -> None:
    if arguments.json:
        body: JsonObject = encode_report(report)
        if fixed is not None:
            question = SearchQuestion(saved.query, saved.provider, saved.model)
            answer = with_report(*fixed)
            body["fixed"] = {**encode_answer(answer, question), VERIFICATION: encode_report(fixed[1])}
        console.write(escape_invisible_json(dump_json(body)) + "\n")
        return
    write_report(console, report, every=arguments.all)
    if fixed is not None:
        console.note("Asked again with what failed. The new answer:", YELLOW)
        console.write(f"\n{as_text(fixed[0])}\n\n")
        write_report(console, fixed[1], every=arguments.all)
