"""The Copilot provider against a recording fake of its CLI."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    InvalidArguments,
    InvalidQuery,
    Overloaded,
    TimedOut,
    UnsupportedFeature,
    UpstreamWireError,
)
from groundwire.model import (
    Answer,
    Event,
    Failed,
    Message,
    Request,
    SearchOptions,
    SearchStarted,
    Text,
    assemble,
)
from groundwire.model.value import replace
from groundwire.providers.copilot.command import CopilotSettings, arguments
from groundwire.providers.copilot.provider import CopilotProvider
from groundwire.providers.spec import flatten
from tests.figures import Figures
from tests.providers.copilot.fake import (
    TOKEN,
    document,
    fake_cli,
    line,
    note,
    result_line,
    search_lines,
)
from tests.providers.copilot.hostile import queries

pytestmark = pytest.mark.server

MARK = "0123456789abcdef0123456789abcdef"
ONE, TWO = "https://one.example/a", "https://two.example/b"
TEXT = "So it is【3:0†source】, or not【3:1†source】."
GOOD = search_lines(document(TEXT, [note(8, 20, ONE, "One"), note(28, 40, TWO, "Two")])) + result_line()
FORK = """
child = os.fork()
if child == 0:
    time.sleep(60)
with open(RECORD + ".child", "w") as file:
    file.write(str(child))
"""
SLEEP = "time.sleep(60)"
PROMPT = 20.0
"""Seconds: less than a sleep that is waited for, and more than a busy machine needs."""


def question(query: str = "q", **options: object) -> Request:
    return Request((Message("user", (Text(query),)),), search=SearchOptions(**options))  # type: ignore[arg-type]


def provider(settings: CopilotSettings, concurrent: int = 2) -> CopilotProvider:
    return CopilotProvider(settings, Redactor(), delimiter=lambda: MARK, concurrent=concurrent)


async def events_of(copilot: CopilotProvider, request: Request) -> list[Event]:
    async with aclosing(flatten(copilot.batches(request))) as events:
        return [event async for event in events]


def answer(copilot: CopilotProvider, request: Request) -> Answer:
    return assemble(asyncio.run(events_of(copilot, request)))


def is_dead(pid: int, seconds: float = 2.0) -> bool:
    def gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return wait_until(gone, seconds)


def wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not is_so():
        time.sleep(0.01)
    return is_so()


def test_a_search_is_requested_and_its_answer_is_cited(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    copilot = provider(cli.settings({"OPENAI_API_KEY": "sk-secret-secret"}))
    answered = answer(copilot, question("grüße\n$(id)"))
    assert answered.text == TEXT
    assert [item.span and TEXT[slice(*item.span)] for item in answered.citations] == [
        "【3:0†source】",
        "【3:1†source】",
    ]
    assert [page.url for page in answered.sources] == [ONE, TWO]
    (call,) = cli.calls()
    assert call["argv"] == list(arguments("gpt-4.1"))
    assert f"\n<query-{MARK}>\ngrüße\n$(id)\n</query-{MARK}>\n".encode() in call["stdin"]
    home = call["env"]["HOME"]
    assert call["env"] == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "COPILOT_GITHUB_TOKEN": TOKEN,
        "HOME": home,
        "COPILOT_HOME": f"{home}/.copilot",
    }
    assert (call["found"], call["home"]) == ([], [])
    assert call["cwd"] not in (os.getcwd(), home)
    assert not Path(home).exists()


def test_the_provider_has_name_model_and_capabilities(tmp_path: Path) -> None:
    copilot = provider(fake_cli(tmp_path).settings({"WEB_SEARCH_MODEL": "gpt-5-mini"}))
    assert (copilot.name, copilot.model, copilot.problem()) == ("copilot", "gpt-5-mini", "")
    assert copilot.capabilities.support("allowed_domains") == "emulated"
    assert copilot.capabilities.support("live") == "refused"
    assert copilot.capabilities.support("max_uses") == "ignored"


def test_the_model_of_the_request_takes_precedence_over_the_default(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    answer(provider(cli.settings()), replace(question(), model="gpt-5"))
    assert cli.calls()[0]["argv"][-2:] == ["--model", "gpt-5"]


def test_of_the_cli_configuration_only_the_login_is_copied(tmp_path: Path) -> None:
    cli = fake_cli(
        tmp_path,
        ("run", "print(json.dumps(open(os.environ['COPILOT_HOME'] + '/config.json').read()))"),
    )
    login = tmp_path / "user" / ".copilot"
    login.mkdir(parents=True)
    (login / "config.json").write_text(
        json.dumps({"loggedInUsers": [{"login": "me"}], "copilot_tokens": {"a": "b"}, "hooks": {"x": "evil"}})
    )
    (login / "mcp-config.json").write_text('{"mcpServers": {"evil": {"command": "evil"}}}')
    settings = cli.settings({"COPILOT_GITHUB_TOKEN": ""})
    answered = answer(provider(settings), question())
    assert "evil" not in answered.text
    assert "copilot_tokens" in answered.text
    assert cli.calls()[0]["home"] == [".copilot/config.json"]


def test_fifty_hostile_queries_reach_the_cli_byte_for_byte_and_none_is_executed(tmp_path: Path) -> None:
    run_hostile(tmp_path, 50)


@pytest.mark.thorough
def test_five_thousand_hostile_queries_reach_the_cli_byte_for_byte_and_none_is_executed(
    tmp_path: Path, figures: Figures
) -> None:
    run_hostile(tmp_path, 5000)
    figures.add("S9", "hostile queries, all byte for byte and none executed", 5000)


def run_hostile(folder: Path, count: int) -> None:
    cli = fake_cli(folder, ("out", GOOD))
    canary = folder / "executed"
    copilot = provider(cli.settings())
    sent = list(queries(f"touch {canary}", count, MARK))

    async def main() -> None:
        for at in range(0, count, 2):
            await asyncio.gather(*(events_of(copilot, question(query)) for query in sent[at : at + 2]))

    asyncio.run(main())
    calls = cli.calls()
    flags = list(arguments("gpt-4.1"))
    assert len(calls) == count
    assert all(call["argv"] == flags for call in calls)
    opening, closing = f"\n<query-{MARK}>\n".encode(), f"\n</query-{MARK}>\n".encode()
    arrived = sorted(call["stdin"].split(opening)[1].split(closing)[0] for call in calls)
    expected = (query.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for query in sent)
    assert arrived == sorted(query.encode() for query in expected)
    assert not canary.exists()


@pytest.mark.parametrize("query", ["a\0b", "x" * 300_000])
def test_nul_bytes_and_oversized_queries_are_refused_before_anything_starts(
    tmp_path: Path, query: str
) -> None:
    cli = fake_cli(tmp_path)
    with pytest.raises(InvalidArguments):
        answer(provider(cli.settings()), question(query))
    assert cli.calls() == []


def test_a_blank_query_and_a_strange_model_are_refused_before_anything_starts(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path)
    with pytest.raises(InvalidQuery):
        answer(provider(cli.settings()), question(" "))
    with pytest.raises(InvalidArguments):
        answer(provider(cli.settings()), replace(question(), model="--allow-all"))
    assert cli.calls() == []


def test_a_disabled_provider_starts_nothing(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path)
    copilot = provider(cli.settings({"ENABLE_WEB_SEARCH": "false"}))
    with pytest.raises(ConfigError, match="ENABLE_WEB_SEARCH"):
        answer(copilot, question())
    assert "ENABLE_WEB_SEARCH" in copilot.problem()
    assert cli.calls() == []


def test_a_cli_that_is_not_installed_is_named(tmp_path: Path) -> None:
    settings = replace(fake_cli(tmp_path).settings(), path="copilot-that-is-not-there")
    with pytest.raises(ConfigError, match="npm install -g @github/copilot"):
        answer(provider(settings), question())


def test_domain_lists_are_emulated_and_the_answer_is_audited(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    answered = answer(provider(cli.settings()), question(allowed_domains=("one.example",)))
    assert [page.url for page in answered.sources] == [ONE]
    assert [warning.code for warning in answered.warnings] == ["option_emulated", "source_removed"]
    assert b"site:one.example" in cli.calls()[0]["stdin"]


def test_a_search_that_must_not_be_live_is_refused_and_hints_are_reported(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    with pytest.raises(UnsupportedFeature):
        answer(provider(cli.settings()), question(live=False))
    answered = answer(provider(cli.settings()), question(max_uses=3))
    assert [warning.code for warning in answered.warnings] == ["option_ignored"]


def test_options_that_a_search_tool_cannot_use_are_reported(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    messages = (Message("user", (Text("before"),)), Message("user", (Text("now"),)))
    answered = answer(provider(cli.settings()), Request(messages))
    assert [warning.code for warning in answered.warnings] == ["not_carried", "not_carried"]
    assert b"before" not in cli.calls()[0]["stdin"]


def test_the_cli_is_not_waited_for_once_its_tool_has_answered(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", search_lines(document("x", None))), ("run", SLEEP))
    began = time.monotonic()
    assert answer(provider(cli.settings()), question()).finish == "stop"
    assert time.monotonic() - began < PROMPT
    assert is_dead(cli.calls()[0]["pid"])


def test_an_answer_without_searches_is_reported_as_not_grounded(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", search_lines(document("Invented.", None, None))))
    answered = answer(provider(cli.settings()), question())
    assert (answered.text, answered.grounded) == ("Invented.", False)
    assert [warning.code for warning in answered.warnings] == ["not_grounded"]


def test_an_older_cli_is_run_again_for_bare_text(tmp_path: Path) -> None:
    summary = {"query": "q", "summary": "s", "sources": [{"title": "One", "url": ONE}]}
    refuse = (
        "if '--output-format' in sys.argv:\n"
        "    sys.exit(\"error: unknown option '--output-format'\")\n"
        f"print({json.dumps(summary)!r})"
    )
    cli = fake_cli(tmp_path, ("run", refuse))
    copilot = provider(cli.settings())
    for _ in range(2):
        assert [page.url for page in answer(copilot, question()).sources] == [ONE]
    flags = [call["argv"] for call in cli.calls()]
    assert flags == [list(arguments("gpt-4.1")), *[list(arguments("gpt-4.1", plain_output=True))] * 2]


def test_a_cli_without_a_login_fails_with_advice(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("err", "Error: No authentication information found.\n"), ("exit", 1))
    with pytest.raises(AuthRejected, match="COPILOT_GITHUB_TOKEN"):
        answer(provider(cli.settings()), question())


def test_a_token_that_the_cli_echoes_is_redacted(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("err", f"odd: {TOKEN} in the way\n"), ("exit", 1))
    with pytest.raises(GroundwireError) as caught:
        answer(provider(cli.settings()), question())
    assert TOKEN[10:20] not in caught.value.message
    assert "odd" in caught.value.message


def test_endless_output_is_stopped(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("run", "while True: sys.stdout.write('x' * 65536)"))
    with pytest.raises(UpstreamWireError, match="larger than"):
        answer(provider(cli.settings()), question())
    assert is_dead(cli.calls()[0]["pid"])


def test_a_timeout_kills_the_whole_process_group(tmp_path: Path) -> None:
    cli = fake_cli(
        tmp_path, ("run", "import signal; signal.signal(15, signal.SIG_IGN)"), ("run", FORK), ("run", SLEEP)
    )
    copilot = provider(cli.settings({"WEB_SEARCH_TIMEOUT": "2000"}))
    began = time.monotonic()
    with pytest.raises(TimedOut, match="WEB_SEARCH_TIMEOUT"):
        answer(copilot, question())
    assert time.monotonic() - began < PROMPT
    assert is_dead(cli.calls()[0]["pid"])
    assert is_dead(int(Path(f"{cli.record}.child").read_text()))


async def test_a_failure_after_the_search_began_is_an_event(tmp_path: Path) -> None:
    start = search_lines("").splitlines(keepends=True)[0]
    cli = fake_cli(tmp_path, ("out", start), ("run", SLEEP))
    events = await events_of(provider(cli.settings({"WEB_SEARCH_TIMEOUT": "3000"})), question())
    assert isinstance(events[0], SearchStarted)
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, TimedOut)


async def test_cancelling_the_caller_kills_the_whole_process_group(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("run", FORK), ("run", SLEEP))
    child = Path(f"{cli.record}.child")

    async def main() -> float:
        task = asyncio.create_task(events_of(provider(cli.settings()), question()))
        async with asyncio.timeout(PROMPT):
            while not (child.exists() and child.read_text()):
                await asyncio.sleep(0.01)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        return began

    began = await main()
    assert is_dead(cli.calls()[0]["pid"])
    assert is_dead(int(child.read_text()))
    assert time.monotonic() - began < PROMPT
    assert not Path(cli.calls()[0]["cwd"]).exists()


async def test_closing_the_events_early_kills_the_cli(tmp_path: Path) -> None:
    start = search_lines("").splitlines(keepends=True)[0]
    cli = fake_cli(tmp_path, ("out", start), ("run", SLEEP))

    async def main() -> None:
        async with aclosing(flatten(provider(cli.settings()).batches(question()))) as events:
            async for _ in events:
                break

    await main()
    assert is_dead(cli.calls()[0]["pid"])
    assert not Path(cli.calls()[0]["cwd"]).exists()


async def test_no_more_searches_run_at_once_than_allowed(tmp_path: Path) -> None:
    work = (
        "name = RECORD + '.' + str(os.getpid())\nopen(name, 'w').close()\n"
        "import glob; most = len(glob.glob(RECORD + '.*')); time.sleep(0.1); os.unlink(name)\n"
        "with open(RECORD[:-5] + 'most', 'a') as file: file.write(f'{most} ')"
    )
    cli = fake_cli(tmp_path, ("run", work), ("out", GOOD))
    copilot = provider(cli.settings(), concurrent=2)

    async def main() -> None:
        await asyncio.gather(*(events_of(copilot, question()) for _ in range(6)))

    await main()
    counted = (tmp_path / "calls.most").read_text().split()
    assert len(counted) == 6
    assert max(map(int, counted)) <= 2


def test_waiting_too_long_for_a_slot_is_an_error(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("run", SLEEP))
    copilot = provider(cli.settings({"WEB_SEARCH_TIMEOUT": "600"}), concurrent=1)

    async def main() -> list[object]:
        return list(
            await asyncio.gather(*(events_of(copilot, question()) for _ in range(2)), return_exceptions=True)
        )

    kinds = {type(outcome) for outcome in asyncio.run(main())}
    assert kinds <= {TimedOut, Overloaded}
    assert TimedOut in kinds


async def test_the_same_provider_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", GOOD))
    copilot = provider(cli.settings(), concurrent=1)

    async def main() -> None:
        await asyncio.gather(*(events_of(copilot, question()) for _ in range(3)))

    for _ in range(2):
        await main()
    assert len(cli.calls()) == 6


def test_a_message_alone_is_an_answer_too(tmp_path: Path) -> None:
    cli = fake_cli(tmp_path, ("out", line("assistant.message", content="Words.") + result_line()))
    assert answer(provider(cli.settings()), question()).text == "Words."
