"""Completion scripts in real shells."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from shutil import which

import pytest

from groundwire.commands.completion import bash, fish, words_of, zsh
from groundwire.faces.cli.arguments import COMMANDS, INDEX_ACTIONS

pytestmark = pytest.mark.server

LINES = [
    ("groundwire ind", {"index"}),
    ("groundwire index ", set(INDEX_ACTIONS)),
    ("groundwire index re", {"remove", "refresh"}),
    ("groundwire keys ", {"create", "list", "change", "revoke", "import", "log"}),
    ("groundwire tool websearch_g", {"websearch_gemini"}),
    ("groundwire completion ", {"bash", "zsh", "fish"}),
    ("groundwire login bra", {"brave"}),
    ("groundwire search --context ", {"low", "medium", "high"}),
    ("groundwire search --provider gem", {"gemini"}),
    ("groundwire connect claude-", {"claude-code", "claude-desktop"}),
]
"""Typed command lines, and the completions that are offered."""
ERROR = r"comparguments|_arguments:|doubled|bad pattern|parse error"


def in_bash(line: str, folder: Path) -> set[str]:
    words = line.split(" ")
    script = f"""{bash()}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
        _groundwire; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return offered(["bash", "--norc", "-c", script], folder)


def in_fish(line: str, folder: Path) -> set[str]:
    (folder / "groundwire.fish").write_text(fish())
    script = f"source {folder}/groundwire.fish; complete --do-complete '{line}'"
    return {word.split("\t")[0] for word in offered(["fish", "--no-config", "-c", script], folder)}


def offered(command: list[str], folder: Path) -> set[str]:
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    result = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True, timeout=60, env=env, cwd=folder
    )
    assert not result.stderr
    return set(result.stdout.split("\n")) - {""}


def in_zsh(line: str, folder: Path) -> str:
    """The output of zsh on a real terminal when a tab is typed."""
    (folder / "completion.zsh").write_text(zsh())
    (folder / ".zshrc").write_text(
        "autoload -Uz compinit; compinit -u; unset zle_bracketed_paste; LISTMAX=1000\n"
        f"source {folder}/completion.zsh\n"
        'buffer() { print -r -- "[$BUFFER] DONE" }; zle -N buffer; bindkey "^G" buffer; PS1="READY> "\n'
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
    env = {"HOME": str(folder), "ZDOTDIR": str(folder), "PATH": os.environ["PATH"], "TERM": "xterm"}
    with subprocess.Popen(  # noqa: S603
        [which("zsh") or "zsh", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=folder,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            until(ours, "READY> ")
            os.write(ours, f"{line}\t\t\x07".encode())
            return until(ours, "DONE")
        finally:
            process.kill()
            os.close(ours)


def until(terminal: int, pattern: str) -> str:
    """Read the terminal until a pattern appears; fail after a timeout."""
    shown, ends = "", time.monotonic() + 60
    while not re.search(pattern, shown):
        ready, _, _ = select.select([terminal], [], [], max(0.0, ends - time.monotonic()))
        assert ready, shown
        shown += os.read(terminal, 4096).decode("utf-8", "replace")
    return shown


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_bash_offers_matching_completions(line: str, expected: set[str], tmp_path: Path) -> None:
    found = in_bash(line, tmp_path)
    assert {word for word in found if not word.startswith("-")} == expected


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_fish_offers_matching_completions(line: str, expected: set[str], tmp_path: Path) -> None:
    assert expected <= in_fish(line, tmp_path)


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_zsh_offers_matching_completions_without_an_error(
    line: str, expected: set[str], tmp_path: Path
) -> None:
    shown = in_zsh(line, tmp_path)
    assert not re.search(ERROR, shown), shown
    assert all(word in shown for word in expected), shown


@pytest.mark.parametrize("command", COMMANDS)
def test_at_most_one_argument_takes_the_rest_and_it_is_the_last(command: str) -> None:
    places = [word.many for word in words_of(command) if not word.name.startswith("-")]
    assert places.count(True) <= 1
    assert not any(places[:-1])


def test_zsh_loads_the_script_for_every_command(tmp_path: Path) -> None:
    for command in COMMANDS:
        shown = in_zsh(f"groundwire {command} ", tmp_path)
        assert not re.search(ERROR, shown), shown
