"""Capabilities of the terminal: colours, cursor movements, links, width."""

from __future__ import annotations

import io

import pytest

from groundwire.faces.cli.console import Console, linked
from tests.faces.fakes import Terminal


def console(*, tty: bool, **env: str) -> Console:
    stream = Terminal() if tty else io.StringIO()
    return Console(stdin=io.StringIO(), stdout=stream, stderr=stream, env=env, cwd="/")


@pytest.mark.parametrize(
    ("tty", "env", "colored", "moves"),
    [
        (True, {"TERM": "xterm"}, True, True),
        (True, {"TERM": "dumb"}, False, False),
        (True, {}, False, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False, True),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (True, {"TERM": "xterm", "FORCE_COLOR": "0"}, False, True),
        (True, {"TERM": "xterm", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
        (False, {"TERM": "xterm"}, False, False),
        (False, {"TERM": "xterm", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colours_and_cursor_movements_depend_on_the_terminal(
    tty: bool, env: dict[str, str], colored: bool, moves: bool
) -> None:
    found = console(tty=tty, **env)
    assert (found.colored, found.notes_colored) == (colored, colored)
    assert (found.moves, found.notes_live) == (moves, moves)


@pytest.mark.parametrize(
    ("env", "linked"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm", "VTE_VERSION": "6800"}, True),
        ({"TERM": "xterm", "VTE_VERSION": "4200"}, False),
        ({"TERM": "xterm", "TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm", "WT_SESSION": "x"}, True),
        ({"TERM": "tmux", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, True),
        ({"TERM": "tmux", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({"TERM": "screen", "TMUX": "x", "VTE_VERSION": "6800"}, False),
        ({"TERM": "dumb", "VTE_VERSION": "6800"}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "xterm"}, False),
    ],
)
def test_links_are_written_only_for_terminals_that_support_them(env: dict[str, str], linked: bool) -> None:
    assert console(tty=True, **env).linked is linked


def test_a_pipe_gets_no_links() -> None:
    assert not console(tty=False, TERM="xterm-kitty").linked


@pytest.mark.parametrize(("env", "columns"), [({"COLUMNS": "120"}, 120), ({"COLUMNS": "wide"}, 80), ({}, 80)])
def test_the_width_is_read_from_the_terminal_or_a_default(env: dict[str, str], columns: int) -> None:
    assert console(tty=True, **env).size() == (columns, 24)


def test_the_target_of_a_link_is_ascii() -> None:
    assert (
        linked("x", "https://a.example/京\x1b")
        == "\x1b]8;;https://a.example/%E4%BA%AC%1B\x1b\\x\x1b]8;;\x1b\\"
    )


def test_printed_text_is_sanitised() -> None:
    found = console(tty=True, TERM="xterm")
    found.print("a\x1b[2Jb")
    found.note("c\x07d")
    assert isinstance(found.stdout, io.StringIO)
    assert found.stdout.getvalue() == "a[2Jb\ncd\n"
