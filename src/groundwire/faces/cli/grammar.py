"""What a command line is made of: commands, and what their arguments must look like.

The kinds of the configuration check arguments; they are imported when there is something to check.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable

_DOMAIN_FLAGS = ("--allow", "--block")
_DOMAIN = re.compile(r"[^\s.,/]+(?:\.[^\s.,/]+)+(?:/\S*)?")


class UsageError(Exception):
    """The command line cannot be understood."""

    def __init__(self, message: str, prog: str = "groundwire") -> None:
        super().__init__(message)
        self.message = message
        self.prog = prog


class Parser(argparse.ArgumentParser):
    """A parser that raises where its parent would print and exit."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Refuse the command line."""
        raise UsageError(message, self.prog)


class Command:
    """A command; `groundwire.faces.cli.commands.NAME` runs it."""

    def __init__(
        self, summary: str, define: Callable[[Parser], None], description: str, *examples: str
    ) -> None:
        self.summary = summary
        self.define = define
        self.description = description
        self.examples = examples

    def parser(self, name: str) -> Parser:
        """The parser of its arguments."""
        parser = Parser(
            prog=f"groundwire {name}",
            description=self.description,
            epilog="\n".join(["examples:", *(f"  {example}" for example in self.examples)]),
            formatter_class=_formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.define(parser)
        parser.add_argument("-h", "--help", action="help", help="show this text and end")
        return parser


def spread_domains(words: list[str]) -> list[str]:
    """`--allow a.com b.com` as `--allow=a.com --allow=b.com`, so that no list swallows the question.

    The first word after the flag is a domain whatever it looks like; those behind it only if they do.
    """
    spread: list[str] = []
    flag = ""
    for place, word in enumerate(words):
        if word == "--":
            return [*spread, *words[place:]]
        if word in _DOMAIN_FLAGS:
            flag = word
            spread.append(word)
        elif flag and spread[-1] == flag:
            spread[-1] = f"{flag}={word}"
        elif flag and _DOMAIN.fullmatch(word):
            spread.append(f"{flag}={word}")
        else:
            flag = ""
            spread.append(word)
    return spread


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Without a width, argparse imports a module that costs more than all the rest of a help text.
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = 100
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=min(columns, 100) - 2)


_EXPECTED = {"DOMAINS": "expected a bare host such as example.com"}


def checked(kind: str) -> Callable[[str], str]:
    """A text that the configuration would take for a setting of this kind."""

    def check(text: str) -> str:
        from groundwire.config import kinds  # noqa: PLC0415  only where there is something to check
        from groundwire.errors import ConfigError  # noqa: PLC0415

        try:
            getattr(kinds, kind).check([text] if kind == "DOMAINS" else text, kinds.Context("", "", 0.0))
        except ConfigError as error:
            expected = _EXPECTED.get(kind) or error.message.partition(", found")[0]
            raise argparse.ArgumentTypeError(f"{text!r}: {expected}") from None
        return text

    return check


def domains(text: str) -> list[str]:
    """Bare hosts, divided by commas."""
    check = checked("DOMAINS")
    return [check(domain) for domain in text.split(",")]


def count(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1")
    return int(text)


def address(text: str) -> str:
    """An address of the web without query and fragment."""
    from groundwire.text.urls import safe_url  # noqa: PLC0415  only where there is something to check

    safe = safe_url(text)
    if not safe or "?" in safe or "#" in safe:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an address such as https://docs.example.com/")
    return safe


def language(text: str) -> str:
    """The two letters of a language."""
    if len(text) != 2 or not text.isascii() or not text.isalpha():
        raise argparse.ArgumentTypeError(f"{text!r}: expected two letters, such as de")
    return text.lower()


def port(text: str) -> int:
    """The number of a port."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number up to 65535")
    return int(text)
