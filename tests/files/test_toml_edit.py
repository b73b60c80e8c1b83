"""Edits of TOML change the table, and nothing else."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from groundwire.errors import ConfigError
from groundwire.files.toml_edit import put, remove
from groundwire.model import JsonObject

PATH = ("mcp_servers", "groundwire")
ENTRY: JsonObject = {"command": '/path with "quotes"/groundwire', "args": ["mcp"], "tool_timeout_sec": 180}
OTHER: JsonObject = {"url": "http://127.0.0.1:8484/mcp"}
FILE = "config.toml"

COMMENTED = '''\
# my settings
model = "gpt-5.1" # the good one
notes = """
[mcp_servers.groundwire]
"""
matrix = [
  [1, 2],
  [3],
]

[mcp_servers.other]  # of another program
command = "x"

# about projects
[projects."/home/me"]
trust_level = "trusted"
'''
TEXTS = {
    "empty": "",
    "blank": "\n",
    "no line end": 'model = "x"',
    "comments": COMMENTED,
    "windows lines": 'model = "x"\r\n\r\n[a]\r\nb = 1\r\n',
}


def expected(text: str, entry: JsonObject) -> dict[str, Any]:
    data = tomllib.loads(text)
    data.setdefault("mcp_servers", {})["groundwire"] = entry
    return data


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_table_is_added_at_the_end(text: str) -> None:
    edited = put(text, PATH, ENTRY, FILE)
    assert edited.startswith(text)
    assert tomllib.loads(edited) == expected(text, ENTRY)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_changing_a_table_equals_adding_the_new_one(text: str) -> None:
    assert put(put(text, PATH, ENTRY, FILE), PATH, OTHER, FILE) == put(text, PATH, OTHER, FILE)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_removing_a_table_restores_the_original_text(text: str) -> None:
    after = remove(put(text, PATH, ENTRY, FILE), PATH, FILE)
    assert tomllib.loads(after) == tomllib.loads(text)
    assert after.strip() == text.strip()


def test_a_table_in_the_middle_is_replaced_with_the_tables_in_it() -> None:
    text = (
        'a = 1\n\n[mcp_servers.groundwire] # old\ncommand = "y"\n\n[mcp_servers.groundwire.env]\nK = "v"\n\n'
        "# about b\n[b]\nc = 2\n"
    )
    edited = put(text, PATH, OTHER, FILE)
    assert edited == (
        'a = 1\n\n[mcp_servers.groundwire]\nurl = "http://127.0.0.1:8484/mcp"\n\n# about b\n[b]\nc = 2\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { groundwire = { command = "y" } }\n',
        'mcp_servers.groundwire.command = "y"\n',
        '[mcp_servers]\ngroundwire = { command = "y" }\n',
        '[mcp_servers.groundwire]\ncommand = "y"\n[b]\n[mcp_servers.groundwire.env]\nK = "v"\n',
    ],
)
def test_a_table_in_another_form_is_not_edited(text: str) -> None:
    with pytest.raises(ConfigError, match="by hand"):
        put(text, PATH, OTHER, FILE)


def test_an_inline_parent_is_not_edited() -> None:
    with pytest.raises(ConfigError, match="by hand"):
        put('mcp_servers = { other = { command = "y" } }\n', PATH, OTHER, FILE)


@pytest.mark.parametrize(
    ("text", "position"),
    [("a = \n", "config.toml:1:5"), ("a = 1\n[b\n", "config.toml:2:3"), ("a = 'x", "config.toml:1:")],
)
def test_a_broken_text_is_refused_with_its_position(text: str, position: str) -> None:
    with pytest.raises(ConfigError, match=position):
        put(text, PATH, ENTRY, FILE)
