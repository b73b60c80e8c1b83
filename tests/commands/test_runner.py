"""The runner: every error becomes a sentence and an exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from groundwire.commands import main
from groundwire.commands.main import run
from groundwire.config.schema import Config
from tests.faces.fakes import Bench, FakeClient

KEY = "Zx9-canary-key-0123456789"


def broken(bench: Bench, message: str) -> Bench:
    def connect(config: Config, env: Mapping[str, str]) -> FakeClient:
        raise ZeroDivisionError(message)

    bench.console.connect = connect
    return bench


def test_an_unexpected_error_is_one_line_and_a_request_to_report_it() -> None:
    bench = broken(Bench(), "oh\x1b[2J no")
    assert bench.run("providers") == 1
    assert bench.stderr == (
        "groundwire: unexpected error: ZeroDivisionError: oh[2J no\n"
        "Please report it; GROUNDWIRE_DEBUG=1 shows where it happened.\n"
    )


def test_the_traceback_is_shown_on_request_and_without_secrets() -> None:
    bench = broken(Bench(env={"GROUNDWIRE_DEBUG": "1", "OPENAI_API_KEY": KEY}), f"key is {KEY}")
    assert bench.run("providers") == 1
    assert "Traceback" in bench.stderr
    assert "test_runner.py" in bench.stderr
    assert not any(KEY[at : at + 8] in bench.stderr for at in range(len(KEY) - 8))


def test_no_command_prints_help_and_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: groundwire COMMAND" in captured.err


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], ["search", "--help"], ["doctor", "-h"]])
def test_help_exits_with_zero(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: groundwire")
    assert captured.err == ""


def test_a_usage_error_is_one_sentence_and_a_pointer_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--country", "\x1bGermany", "q"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\nTry: groundwire search --help\n")
    assert "\x1b" not in captured.err


def test_a_usage_error_is_reported_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--json", "--max-uses", "0", "q"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["code"] == "INVALID_USAGE"
    assert error["message"] in captured.err


def test_an_interruption_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_run", interrupted)
    assert run(["search", "q"]) == 130
    assert capsys.readouterr().err == "groundwire: interrupted\n"
