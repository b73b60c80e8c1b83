"""Command-line arguments as settings."""

from __future__ import annotations

from groundwire.commands import config
from groundwire.commands.main import parse
from groundwire.config.keys import SEARCH

OTHER_ARGUMENTS = {
    *("json", "jsonl", "markdown", "raw", "format", "no_stream", "verify"),
    *("query", "provider", "model", "max_cost", "template"),
}


def test_every_search_option_of_the_command_line_becomes_a_setting() -> None:
    arguments = {*vars(parse(["search", "x"])), "until"}  # `until` is now, where `since` is given
    assert arguments - OTHER_ARGUMENTS == set(config._SETTINGS)
    assert {f"search.{name}" for name in SEARCH.members} == set(config._SETTINGS.values()) - {
        *("data_dir", "resolve_redirects"),
    }
