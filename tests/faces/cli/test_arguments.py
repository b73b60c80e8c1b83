"""Arguments of the command line, and errors for invalid ones."""

from __future__ import annotations

import pytest

from groundwire.commands.main import parse
from groundwire.faces.cli.arguments import COMMANDS, OVERVIEW, UsageError, spread_domains

FLAGS = {
    "search": (
        *(
            "--provider",
            "--model",
            "--json",
            "--jsonl",
            "--markdown",
            "--no-stream",
            "--raw",
            "--allow",
            "--block",
        ),
        *(
            "--country",
            "--city",
            "--region",
            "--timezone",
            "--language",
            "--since",
            "--max-sources",
            "--max-uses",
        ),
        *("--no-live", "--context"),
    ),
    "tools": ("--format", "--lang"),
    "doctor": ("--live",),
    "config": ("--origin",),
}


@pytest.mark.parametrize(
    ("command", "flag"), [(name, flag) for name, flags in FLAGS.items() for flag in flags]
)
def test_every_documented_flag_exists(command: str, flag: str) -> None:
    assert flag in COMMANDS[command].parser(command).format_help()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_examples(command: str) -> None:
    text = COMMANDS[command].parser(command).format_help()
    assert "examples:\n  " in text
    assert all(example in text for example in COMMANDS[command].examples)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("command", COMMANDS)
def test_the_overview_names_every_command(command: str) -> None:
    assert f"\n  {command} " in OVERVIEW


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["what", "is", "this?"], "what is this?"),
        (["what is", "this?"], "what is this?"),
        (["what", "--provider", "gemini", "is", "this?"], "what is this?"),
        (["--provider", "gemini", "what"], "what"),
        (["--json", "--", "-5", "degrees"], "-5 degrees"),
        (["-"], "-"),
        (["--allow", "python.org", "what", "is", "new?"], "what is new?"),
        (
            ["--allow", "python.org", "peps.python.org", "what is new in python.org?"],
            "what is new in python.org?",
        ),
        (["what", "--allow", "a.com", "b.com"], "what"),
        (["--allow", "localhost", "what"], "what"),
    ],
)
def test_words_of_a_query_are_joined_wherever_flags_are(words: list[str], query: str) -> None:
    assert " ".join(parse(["search", *words]).query) == query


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["q", "--allow", "a.com", "b.com"], ["a.com", "b.com"]),
        (["q", "--allow", "a.com", "--allow", "b.com/docs"], ["a.com", "b.com/docs"]),
        (["q", "--allow", "a.com,b.com"], ["a.com", "b.com"]),
        (["q", "--allow=a.com"], ["a.com"]),
        (["--allow", "localhost", "q"], ["localhost"]),
        (["--allow", "a.com", "is a.com good?"], ["a.com"]),
        (["q"], None),
    ],
)
def test_domains_may_be_separated_or_repeated(words: list[str], allowed: list[str] | None) -> None:
    assert parse(["search", *words]).allow == allowed


def test_two_lists_of_domains_stay_apart() -> None:
    arguments = parse(["search", "--allow", "a.com", "--block", "b.com", "c.com", "the question"])
    assert (arguments.allow, arguments.block, arguments.query) == (
        ["a.com"],
        ["b.com", "c.com"],
        ["the question"],
    )


def test_arguments_after_two_dashes_are_not_split() -> None:
    assert spread_domains(["--", "--allow", "a.com", "b.com"]) == ["--", "--allow", "a.com", "b.com"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["serch", "q"], "'serch' is not a command; did you mean search?"),
        (["frobnicate"], "there are search, find, chat"),
        (["search"], "missing argument QUERY"),
        (["search", "--frob", "q"], "--frob"),
        (["search", "--prov", "gemini", "q"], "--prov"),
        (["search", "--country", "Germany", "q"], "two letters, such as DE"),
        (["search", "--since", "never", "q"], "7d"),
        (["search", "--since", "2026-13-01", "q"], "7d"),
        (["search", "--max-uses", "0", "q"], "whole number from 1"),
        (["search", "--max-cost", "-1", "q"], "an amount in USD"),
        (["search", "--max-cost", "much", "q"], "an amount in USD"),
        (["search", "--max-cost", "nan", "q"], "an amount in USD"),
        (["search", "--max-sources", "many", "q"], "whole number from 1"),
        (["search", "--context", "huge", "q"], "choose from"),
        (["search", "--allow", "https://python.org", "q"], "expected a bare host such as example.com"),
        (["search", "--block", "a b", "q"], "expected a bare host such as example.com"),
        (["search", "q", "--allow"], "expected one argument"),
        (["tools", "--format", "xml"], "choose from"),
        (["tools", "--lang", "fr"], "choose from"),
        (["completion", "tcsh"], "choose from"),
        (["config", "edit"], "choose from"),
    ],
)
def test_invalid_arguments_are_rejected_with_a_reason(words: list[str], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert reason in caught.value.message
    assert "\n" not in caught.value.message
