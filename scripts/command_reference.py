"""Generate docs/commands.md: every command with its arguments, options and examples, from the parsers.

With `--check`, nothing is written; the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from groundwire.faces.cli.arguments import COMMANDS, CommandSpec

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
INTRODUCTION = """\
# Command reference

Every command with its arguments and options, as `groundwire COMMAND --help` prints them. \
[The command line](cli.md) explains how to use them, and lists the [exit codes](cli.md#exit-codes).
"""


def render() -> str:
    """Return the page as Markdown."""
    lines = [INTRODUCTION, "| command | |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {command.summary} |" for name, command in COMMANDS.items()]
    for name, command in COMMANDS.items():
        lines += ["", f"## {name}", "", *_command(name, command)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: CommandSpec) -> Iterator[str]:
    yield from command.description.splitlines()
    parser = command.parser(name)
    # argparse offers no public way to its groups.
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        shown = [action for action in shown if "--help" not in action.option_strings]
        if not shown:
            continue
        title = (group.title or "").capitalize().replace("Positional arguments", "Arguments")
        yield from ("", f"**{title}**" + (f": {group.description}" if group.description else ""), "")
        yield from ("| name | |", "|---|---|")
        yield from (f"| {_names(action)} | {_cell(action.help or '')} |" for action in shown)
    yield from ("", "```text", *command.examples, "```")


def _names(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices is not None and not metavar:
        metavar = "|".join(map(str, action.choices))
    names = [*action.option_strings] or [metavar or action.dest]
    if action.option_strings and action.nargs != 0:
        names[-1] += f" {metavar or action.dest.upper()}"
    return _cell(", ".join(f"`{name}`" for name in names))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    page = render()
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/command_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
