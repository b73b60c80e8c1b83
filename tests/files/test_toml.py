"""The lines of keys in TOML, however they are written."""

from __future__ import annotations

import tomllib

import pytest

from groundwire.files.toml import line_of

TEXT = '''\
# comment = "no"
top = 1
"quoted key" = 2
a.b.c = 3

[table]            # comment [no]
one = """
two = "not a key"
[not a table]
"""
three = [
  1, # four = 4
  { five = 5, "six" = [ { seven = 7 } ] },
]
eight = { nine = 9, ten.eleven = 11 }
text = 'it = 1' # more
date = 1979-05-27 07:32:00
float = 3.14

[ table . "sub.table" ]
last = "\\"x = 1"
"\\u0061bc" = 1
[[many]]
x = 1
[[many]]
y = ''\'\'
z = 1''\'\'
w = 1
'''

LINES = {
    ("top",): 2,
    ("quoted key",): 3,
    ("a", "b", "c"): 4,
    ("table",): 6,
    ("table", "one"): 7,
    ("table", "three"): 11,
    ("table", "three", "five"): 13,
    ("table", "three", "six"): 13,
    ("table", "three", "six", "seven"): 13,
    ("table", "eight"): 15,
    ("table", "eight", "nine"): 15,
    ("table", "eight", "ten", "eleven"): 15,
    ("table", "text"): 16,
    ("table", "date"): 17,
    ("table", "float"): 18,
    ("table", "sub.table"): 20,
    ("table", "sub.table", "last"): 21,
    ("table", "sub.table", "abc"): 22,
    ("many",): 23,
    ("many", "x"): 24,
    ("many", "w"): 28,
}


def test_the_example_is_toml() -> None:
    assert tomllib.loads(TEXT)["table"]["eight"]["ten"]["eleven"] == 11


@pytest.mark.parametrize("path", LINES, ids=".".join)
def test_the_line_of_a_key_is_found(path: tuple[str, ...]) -> None:
    assert line_of(TEXT, path) == LINES[path]


@pytest.mark.parametrize("path", LINES, ids=".".join)
def test_windows_line_ends_change_nothing(path: tuple[str, ...]) -> None:
    assert line_of(TEXT.replace("\n", "\r\n"), path) == LINES[path]


def test_a_missing_key_is_reported_at_its_table() -> None:
    assert line_of(TEXT, ("table", "missing")) == 6
    assert line_of(TEXT, ("nothing",)) == 1
