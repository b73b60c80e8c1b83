"""Console: streams, environment, current directory and clock of a command, and what its terminal supports.

A command depends on nothing else of its surroundings; `Console.connect` also makes its `Groundwire`. Support
for colours, hyperlinks and cursor movements is decided here, from the environment.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from groundwire.faces.cli.arguments import UsageError
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.sanitise import sanitise

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient
    from groundwire.config.schema import Config

_PLAIN = ("", "dumb", "unknown")
_LINKING_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "zed", "WarpTerminal"})
_LINKING_TERMINALS = lazy_pattern(r"xterm-(?:kitty|ghostty)|alacritty.*|foot.*|wezterm|contour.*|rio")
_LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID")
_FIRST_LINKING_VTE = 5000
_FIRST_LINKING_TMUX = (3, 4)


class Console:
    """The environment of a command."""

    def __init__(
        self,
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.stdin = stdin or sys.stdin
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.cwd = cwd or _current_directory()
        self.clock = clock
        self.connect: Callable[[Config, Mapping[str, str]], SearchClient] = _connect
        self.browse: Callable[[str], bool] = _browse
        """Opens an address in a browser; False if there is none."""

    @property
    def home(self) -> str:
        """The user's home directory."""
        return self.env.get("HOME") or os.path.expanduser("~")

    @property
    def moves(self) -> bool:
        """Can printed lines be overwritten?"""
        return self.stdout.isatty() and self.env.get("TERM", "") not in _PLAIN

    @property
    def colored(self) -> bool:
        """Is standard output to be styled?"""
        return _is_colored(self.stdout, self.env)

    @property
    def notes_colored(self) -> bool:
        """Is standard error to be styled?"""
        return _is_colored(self.stderr, self.env)

    @property
    def notes_live(self) -> bool:
        """Can a line on standard error be overwritten?"""
        return self.stderr.isatty() and self.env.get("TERM", "") not in _PLAIN

    @property
    def linked(self) -> bool:
        """Does the terminal support hyperlinks (OSC 8)?"""
        forced = self.env.get("FORCE_HYPERLINK", "")
        if forced:
            return forced != "0"
        return self.moves and _knows_links(self.env)

    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal."""
        try:
            columns, lines = os.get_terminal_size(self.stdout.fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        return _number(self.env.get("COLUMNS", "")) or columns or 80, lines or 24

    def read(self) -> str:
        """The text on standard input; `UsageError` where it is not text."""
        return _checked_text(self.stdin.read)

    def read_line(self, prompt: str) -> str | None:
        """The next line of standard input without its end; None after the last one. A terminal shows the
        prompt; `UsageError` where the input is not text."""
        if self.stdin is sys.stdin and self.stdin.isatty() and self.stdout.isatty():
            return _edited_line(prompt)
        if self.stdin.isatty():
            self.write_note(prompt)
        line = _checked_text(self.stdin.readline)
        return line.rstrip("\n") if line else None

    def print(self, text: str = "") -> None:
        """Print a line of data, sanitised."""
        self.stdout.write(sanitise(text) + "\n")
        self.stdout.flush()

    def write(self, text: str) -> None:
        """Write data that is sanitised already, with control sequences."""
        self.stdout.write(text)
        self.stdout.flush()

    def note(self, text: str, style: str = "") -> None:
        """Print a line for the user on standard error, sanitised."""
        text = sanitise(text)
        if self.stderr.isatty():
            text = "\n".join(wrap_words(text, self.size()[0]))
        self.write_note((styled(text, style) if style and self.notes_colored else text) + "\n")

    def write_note(self, text: str) -> None:
        """Write text that is sanitised already to standard error."""
        self.stdout.flush()
        self.stderr.write(text)
        self.stderr.flush()


def wrap_words(text: str, columns: int) -> list[str]:
    """Lines that are broken between words; a longer word, such as an address, stays whole."""
    lines: list[str] = []
    for line in text.split("\n"):
        rest = line
        while len(rest) > columns:
            end = rest.rfind(" ", 1, columns + 1)
            if not rest[: max(end, 0)].strip():
                end = rest.find(" ", columns)
            if end < 0:
                break
            lines.append(rest[:end])
            rest = rest[end + 1 :]
        lines.append(rest)
    return lines


def _checked_text(read: Callable[[], str]) -> str:
    try:
        text = read()
    except UnicodeDecodeError:
        text = "\0"
    # With a C locale Python lets other bytes through as lone surrogates.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError("standard input is not UTF-8 text; pipe in text, not a binary file")
    return text


def _edited_line(prompt: str) -> str | None:
    """A line that the user can edit, if Python has readline: importing it is enough for `input`."""
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415  only conversations have a prompt
    try:
        return _checked_text(lambda: input(prompt))
    except EOFError:
        return None


BOLD, DIM, RED, YELLOW, CYAN = "1", "2", "31", "33", "36"


def styled(text: str, style: str) -> str:
    """The text with the control sequences of a style."""
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


def linked(text: str, url: str) -> str:
    """The text as a hyperlink (OSC 8, which allows only ASCII)."""
    target = "".join(char if "!" <= char <= "~" else _percent_encoded(char) for char in url)
    return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\"


def _percent_encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _is_colored(stream: TextIO, env: Mapping[str, str]) -> bool:
    # https://no-color.org: present and not empty, whatever its value.
    if env.get("NO_COLOR"):
        return False
    forced = env.get("FORCE_COLOR", "")
    if forced:
        return forced not in ("0", "false")
    return stream.isatty() and env.get("TERM", "") not in _PLAIN


def _knows_links(env: Mapping[str, str]) -> bool:
    """Hyperlink support cannot be queried; these terminals are known to have it."""
    program = env.get("TERM_PROGRAM", "")
    if program == "tmux" or env.get("TMUX"):
        version = tuple(int(digits) for digits in re.findall(r"\d+", env.get("TERM_PROGRAM_VERSION", ""))[:2])
        return version >= _FIRST_LINKING_TMUX
    return (
        program in _LINKING_PROGRAMS
        or _LINKING_TERMINALS.fullmatch(env.get("TERM", "")) is not None
        or any(env.get(name) for name in _LINKING_VARIABLES)
        or _number(env.get("VTE_VERSION", "")) >= _FIRST_LINKING_VTE
    )


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory was removed
        return os.path.expanduser("~")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _browse(url: str) -> bool:
    import webbrowser  # noqa: PLC0415  imports subprocess, and few open a page

    return webbrowser.open(url)


def _connect(config: Config, env: Mapping[str, str]) -> SearchClient:
    from groundwire.client import Groundwire  # noqa: PLC0415  imports the HTTP client

    return Groundwire(config, env=env)
