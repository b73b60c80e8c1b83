"""`groundwire login`: keys are stored for their owner alone, used, removed, and never shown."""

from __future__ import annotations

import io
import os
import pty
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from groundwire.commands.main import parse
from groundwire.commands.runner import run_command
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import Console
from tests.credentials.builders import write_private

pytestmark = pytest.mark.server

KEY = "sk-very-secret-0123456789"
EVERY = ("anthropic", "openai", "gemini", "openrouter", "openai_chat", "brave", "tavily", "exa")


def stored(home: Path) -> dict[str, str]:
    providers = tomllib.loads(file_in(home).read_text())["providers"]
    return {name: row["key"] for name, row in providers.items()}


def file_in(home: Path) -> Path:
    return home / ".config" / "groundwire" / "credentials.toml"


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def login(home: Path, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    console = Console(
        stdin=io.StringIO(stdin),
        stdout=out,
        stderr=err,
        env={"HOME": str(home), **(env or {})},
        cwd=str(home),
    )
    return Ended(run_command("login", parse(["login", *words]), console), out.getvalue(), err.getvalue())


@pytest.mark.parametrize("name", EVERY)
def test_a_piped_key_is_stored_for_its_owner_alone_and_found(name: str, tmp_path: Path) -> None:
    ended = login(tmp_path, name, stdin=KEY + "\n")
    assert ended.code == exit_codes.OK
    assert stored(tmp_path) == {name: KEY}
    assert stat.S_IMODE(file_in(tmp_path).stat().st_mode) == 0o600
    assert KEY not in ended.out + ended.err
    listed = login(tmp_path)
    assert next(line for line in listed.out.splitlines() if line.startswith(f"{name} ")).endswith(
        "credentials file"
    )
    assert KEY not in listed.out + listed.err


def test_a_key_is_replaced_and_removed_and_everything_else_stays(tmp_path: Path) -> None:
    write_private(
        file_in(tmp_path),
        '# mine\n[providers.gemini]\nkey = "g-1"\n\n[providers.brave]  # paid\nkey = "b-1"\n',
    )
    assert "Replaced" in login(tmp_path, "gemini", stdin="g-2").err
    assert stored(tmp_path) == {"gemini": "g-2", "brave": "b-1"}
    assert {"# mine", "[providers.brave]  # paid"} <= set(file_in(tmp_path).read_text().splitlines())
    assert login(tmp_path, "gemini", "--remove").code == exit_codes.OK
    assert stored(tmp_path) == {"brave": "b-1"}
    assert login(tmp_path, "gemini", "--remove").code == exit_codes.NOTHING_FOUND


def test_a_file_with_an_unusual_layout_is_rewritten(tmp_path: Path) -> None:
    write_private(file_in(tmp_path), 'providers = {gemini = {key = "g-1"}, exa = {key = "a\\"b"}}\n')
    assert login(tmp_path, "gemini", stdin="g-2").code == exit_codes.OK
    assert stored(tmp_path) == {"gemini": "g-2", "exa": 'a"b'}


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["gemini", KEY], "", "do not write a key on the command line"),
        (["gemini"], "", "no key was given"),
        (["gemini"], f"{KEY} and more", "cannot be a key"),
        (["gemini"], f"{KEY}\n{KEY}\n", "cannot be a key"),
        (["gemini"], f"{KEY}\x00", "not UTF-8 text"),
        (["bing"], KEY, "unknown provider 'bing'; these take a key: anthropic"),
        (["openai_oauth"], KEY, "openai_oauth takes no key. Log in with `opencode auth login`"),
        (["local"], KEY, "local takes no key"),
    ],
)
def test_an_invalid_key_or_provider_is_refused_and_nothing_is_stored(
    words: list[str], stdin: str, message: str, tmp_path: Path
) -> None:
    ended = login(tmp_path, *words, stdin=stdin)
    assert ended.code == exit_codes.USAGE
    assert message in ended.err
    assert KEY not in ended.out + ended.err
    assert not file_in(tmp_path).exists()


def test_a_file_that_others_can_read_is_not_written(tmp_path: Path) -> None:
    write_private(file_in(tmp_path), '[providers.gemini]\nkey = "g-1"\n')
    file_in(tmp_path).chmod(0o644)
    ended = login(tmp_path, "brave", stdin=KEY)
    assert ended.code == exit_codes.CONFIGURATION
    assert "chmod 600" in ended.err


def test_login_reports_a_source_with_higher_precedence(tmp_path: Path) -> None:
    ended = login(tmp_path, "anthropic", stdin=KEY, env={"ANTHROPIC_API_KEY": "sk-env-000000"})
    assert ended.code == exit_codes.OK
    assert "not used yet: environment ANTHROPIC_API_KEY comes first" in ended.err


def test_login_stores_a_key_for_a_configured_provider_with_key_env(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "groundwire" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[providers."my.house"]\ndialect = "openai_chat"\nbase_url = "http://127.0.0.1:1/v1"\n'
        'model = "m"\nkey_env = "HOUSE_KEY"\n'
    )
    assert login(tmp_path, "my.house", stdin=KEY).code == exit_codes.OK
    assert stored(tmp_path) == {"my.house": KEY}


def test_on_a_terminal_the_key_is_asked_for_without_echo(tmp_path: Path) -> None:
    """On a real terminal, typed characters are not echoed."""
    ours, theirs = pty.openpty()
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm"}
    command = [sys.executable, "-m", "groundwire", "login", "gemini"]
    with subprocess.Popen(  # noqa: S603  our own program
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Key of gemini: " not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, KEY.encode() + b"\n")
        while True:
            try:
                piece = os.read(ours, 1024)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert process.wait(timeout=30) == 0
    os.close(ours)
    assert KEY.encode() not in shown
    assert stored(tmp_path) == {"gemini": KEY}
