"""Runs Qwen Code, Cline, Kilo and Continue: ask the question, and return what they print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.clients.connect import connect
from tests.clients.opencode import QUIET as QUIET_OPENCODE
from tests.clients.packages import CLINE, CONTINUE, KILO, QWEN, ClientPackage
from tests.clients.pages import QUESTION
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import RunningGateway

_QUIET_KILO = {name.replace("OPENCODE", "KILO"): value for name, value in QUIET_OPENCODE.items()}


class Program(NamedTuple):
    """A program that is configured by `groundwire connect` alone."""

    name: str
    package: ClientPackage
    ask: Callable[[Path, str], ClientRun]
    """Asks the question, with a model of the gateway."""
    use_gateway: Callable[[RunningGateway, Path], None]
    """Makes it use the models of the gateway."""


def _connect(client: str) -> Callable[[RunningGateway, Path], None]:
    return lambda gateway, home: connect(client, gateway, home, "--gateway", "--url", gateway.url)


def _log_in(gateway: RunningGateway, home: Path) -> None:
    """Cline has a command for that."""
    words = ["auth", "openai-compatible", "-k", "groundwire", "-m", "local", "-b", f"{gateway.url}/v1"]
    run = run_client(CLINE, words, home, {"NO_COLOR": "1"})
    assert run.code == 0, run


def _qwen(home: Path, model: str) -> ClientRun:
    settings = home / ".qwen" / "settings.json"
    known = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    quiet = {"usageStatisticsEnabled": False, "telemetry": {"enabled": False}, "disableAutoUpdate": True}
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({**known, "privacy": quiet, "general": quiet}), "utf-8")
    words = ["--auth-type", "openai", "-m", model, "-y", "-o", "text", QUESTION]
    return run_client(QWEN, words, home, {"OPENAI_API_KEY": "groundwire", "NO_COLOR": "1"})


def _cline(home: Path, model: str) -> ClientRun:
    words = ["-P", "openai-compatible", "-m", model, "--json", QUESTION]
    return run_client(CLINE, words, home, {"CLINE_TELEMETRY_DISABLED": "1", "NO_COLOR": "1"})


def _kilo(home: Path, model: str) -> ClientRun:
    words = ["run", "--auto", "-m", f"groundwire/{model}", *QUESTION.split()]
    return run_client(KILO, words, home, {**QUIET_OPENCODE, **_QUIET_KILO})


def ask_continue(home: Path, config: Path) -> ClientRun:
    """Ask Continue's program; it reads only this file."""
    words = ["--config", str(config), "--auto", "-p", QUESTION]
    return run_client(CONTINUE, words, home, {"CONTINUE_TELEMETRY_ENABLED": "0", "NO_COLOR": "1"})


PROGRAMS = (
    Program("qwen-code", QWEN, _qwen, _connect("qwen-code")),
    Program("cline", CLINE, _cline, _log_in),
    Program("kilo", KILO, _kilo, _connect("kilo")),
)
