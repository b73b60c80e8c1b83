"""`groundwire completion`: scripts for shells, written from the parsers themselves."""

from __future__ import annotations

import argparse
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping

from groundwire.config.load import load
from groundwire.config.schema import KNOWN_PROVIDERS
from groundwire.errors import GroundwireError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import COMMANDS
from groundwire.faces.cli.console import Console
from groundwire.model.value import value
from groundwire.tools.registry import TOOLS

_VALUES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("search", "--provider"): ("auto", *KNOWN_PROVIDERS),
    ("find", "--provider"): ("auto", *KNOWN_PROVIDERS),
    ("chat", "--provider"): ("auto", *KNOWN_PROVIDERS),
    ("history", "query"): ("show",),
    ("tool", "name"): tuple(TOOLS),
    ("login", "provider"): tuple(
        name for name in KNOWN_PROVIDERS if name not in ("openai_oauth", "copilot", "searxng", "web", "local")
    ),
}
"""Names that the parsers do not list, because they depend on the configuration."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_FILES = frozenset({"what", "answer", "--data-dir", "--pages"})


@value
class CompletionWord:
    """An option, or a positional argument."""

    name: str
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    many: bool = False
    """May it be repeated? Only the last positional argument can."""
    files: bool = False
    """Does it complete file names?"""


def run_completion(arguments: Namespace, console: Console) -> int:
    """Print the script. It knows the templates that are configured now."""
    console.write(_SCRIPTS[arguments.shell](_template_names(console)))
    return exit_codes.OK


def _template_names(console: Console) -> tuple[str, ...]:
    """Those that need no quotes in a shell. A mistake in the configuration must not break the shell."""
    try:
        config = load(console.env, console.home, console.cwd)
    except GroundwireError:
        return ()
    return tuple(name for name in config.templates if _PLAIN_NAME.fullmatch(name))


def words_of(command: str, templates: tuple[str, ...] = ()) -> Iterator[CompletionWord]:
    """Options, in every spelling, and arguments of a command."""
    # argparse has no public API for its arguments; `_actions` is as old as the module.
    for action in COMMANDS[command].parser(command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        for name in action.option_strings or (action.dest,):
            values = _VALUES.get((command, name)) or tuple(map(str, action.choices or ()))
            yield CompletionWord(
                name,
                action.help or "",
                takes_value=bool(action.option_strings) and action.nargs != 0,
                values=templates if action.dest == "template" else values,
                many=action.nargs in ("*", "+"),
                files=name in _FILES,
            )


def bash(templates: tuple[str, ...] = ()) -> str:
    """For bash."""
    cases = []
    for command in COMMANDS:
        words = list(words_of(command, templates))
        cases += [
            f"    {command}:{word.name}) words={_single(' '.join(word.values))} ;;"
            for word in words
            if word.takes_value and word.name.startswith("-")
        ]
        plain = [value for word in words if not word.name.startswith("-") for value in word.values]
        flags = [word.name for word in words if word.name.startswith("-")]
        cases.append(f"    {command}:*) words={_single(' '.join([*plain, *flags]))} ;;")
    return "\n".join(
        [
            "_groundwire() {",
            "  local words command current previous",
            "  current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
            "  command=${COMP_WORDS[1]}",
            "  if ((COMP_CWORD == 1)); then",
            f"    words={_single(' '.join([*COMMANDS, '--help', '--version']))}",
            "  else case $command:$previous in",
            *cases,
            "  esac; fi",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _groundwire groundwire",
            "",
        ]
    )


def zsh(templates: tuple[str, ...] = ()) -> str:
    """For zsh."""
    lines = ["#compdef groundwire", "_groundwire() {", "  local -a commands"]
    entries = " ".join(_single(f"{name}:{command.summary}") for name, command in COMMANDS.items())
    lines += [
        f"  commands=({entries})",
        "  if ((CURRENT == 2)); then _describe command commands; return; fi",
        "  case $words[2] in",
    ]
    for command in COMMANDS:
        specs = " ".join(_single(spec) for spec in _zsh_specs(command, templates))
        lines.append(f"    {command}) shift words; ((CURRENT--)); _arguments {specs} ;;")
    return "\n".join([*lines, "  esac", "}", "compdef _groundwire groundwire", ""])


def fish(templates: tuple[str, ...] = ()) -> str:
    """For fish."""
    lines = ["complete -c groundwire -f"]
    for name, command in COMMANDS.items():
        lines.append(
            f"complete -c groundwire -n __fish_use_subcommand -a {name} -d {_single(command.summary)}"
        )
        for word in words_of(name, templates):
            line = f"complete -c groundwire -n {_single(f'__fish_seen_subcommand_from {name}')}"
            if word.name.startswith("-"):
                takes = " -rF" if word.files else " -x"
                kind = "-l" if word.name.startswith("--") else "-s"
                line += f" {kind} {word.name.lstrip('-')}" + (takes if word.takes_value else "")
            elif not word.values and not word.files:
                continue
            elif word.files:
                line += " -F"
            values = f" -a {_single(' '.join(word.values))}" if word.values else ""
            lines.append(f"{line}{values} -d {_single(word.help)}")
    return "\n".join([*lines, ""])


def _zsh_specs(command: str, templates: tuple[str, ...]) -> Iterator[str]:
    """Specifications for `_arguments`: positional arguments by number, and one that takes the rest."""
    position = 0
    for word in words_of(command, templates):
        about = word.help.replace("[", "(").replace("]", ")").replace(":", "")
        values = "_files" if word.files else f"({' '.join(word.values)})" if word.values else ""
        if word.name.startswith("-"):
            yield f"{word.name}[{about}]" + (f":value:{values}" if word.takes_value else "")
        else:
            position += 1
            yield f"{'*' if word.many else position}:{word.name}:{values}"


def _single(text: str) -> str:
    """A word for any of the shells, in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: Mapping[str, Callable[[tuple[str, ...]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
