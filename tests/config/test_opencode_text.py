"""`{env:}` and `{file:}` in OpenCode's files: the rules, the pitfalls, and the positions of errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.opencode_text import substitute
from groundwire.errors import ConfigError
from groundwire.files.jsonc import Malformed
from tests.config.machine import Machine, geminisearch, websearch, write
from tests.growth import LINEAR, growth

ENV = {"NAME": "value", "EMPTY": "", "QUOTED": 'a"b', "FILE": "{file:a}", "PART": "a", "LINES": "x\ny"}
FILES = {"a": ' content "A"\n', "value": "of value"}


def content(path: str) -> str:
    if path not in FILES:
        raise ConfigError(f"no {path}")
    return FILES[path]


def substituted(text: str) -> str:
    return substitute(text, lambda name: ENV.get(name, ""), content).text


CASES = {
    "nothing": "nothing",
    "{env:NAME}": "value",
    "a{env:NAME}b{env:NAME}c": "avaluebvaluec",
    "{env:EMPTY}|{env:UNSET}": "|",
    "{env:QUOTED}": 'a"b',
    "// {env:NAME}": "// value",
    "{env:}": "{env:}",
    "{ENV:NAME}": "{ENV:NAME}",
    "{env:NAME": "{env:NAME",
    "{env: NAME}": "",
    "{file:a}": 'content \\"A\\"',
    "{env:FILE}": 'content \\"A\\"',
    "{file:{env:PART}}": 'content \\"A\\"',
    "{file:{env:NAME}}": "of value",
    "// {file:missing}": "// {file:missing}",
    " \t// {file:missing} {file:missing}": " \t// {file:missing} {file:missing}",
    "x\n// {file:missing}\n{file:a}": 'x\n// {file:missing}\ncontent \\"A\\"',
    "/* {file:a} */": '/* content \\"A\\" */',
    "x // {file:a}": 'x // content \\"A\\"',
    "{file:}": "{file:}",
}


@pytest.mark.parametrize("text", CASES)
def test_tokens_are_replaced_as_in_opencode(text: str) -> None:
    assert substituted(text) == CASES[text]


def test_an_unresolved_token_is_unchanged() -> None:
    assert substitute("{env:A} {file:b}", lambda _: None, lambda _: None).text == "{env:A} {file:b}"


def test_a_missing_file_is_reported_at_the_position_of_its_token() -> None:
    with pytest.raises(Malformed) as caught:
        substituted('{"a": "{env:NAME}",\n "b": "{env:LINES} {file:missing}"}')
    assert caught.value.message == "line 2, column 20: no missing"


@given(
    st.lists(st.sampled_from(["abc", "\n", " ", "{env:NAME}", "{env:LINES}", "{env:EMPTY}", "{file:a}", "é"]))
)
def test_every_offset_maps_back_to_its_origin(parts: list[str]) -> None:
    raw = "".join(parts)
    result = substitute(raw, lambda name: ENV.get(name, ""), content)
    expected: list[int] = []
    at = 0
    for part in parts:
        made = substituted(part)
        expected += [at] * len(made) if part.startswith("{") else range(at, at + len(part))
        at += len(part)
    assert len(expected) == len(result.text)
    assert [result.origin(offset) for offset in range(len(result.text))] == expected
    assert result.origin(len(result.text)) == len(raw)


@pytest.mark.parametrize(
    "unit", ["{env:", "{env:}", "{env:A", "{file:", "{file:a}", "{env:NAME}", "// {file:a}", "\n{file:a}"]
)
def test_substitution_takes_linear_time(unit: str) -> None:
    def insert(size: int) -> None:
        substitute(unit * (size // len(unit)), lambda name: "x", lambda name: "y")

    assert growth(insert, 20_000) < LINEAR


def test_unbounded_expansion_is_refused() -> None:
    with pytest.raises(Malformed, match="the inserted text is too large"):
        substitute("{env:BIG}" * 1000, lambda _: "x" * 10_000, lambda _: None)
    with pytest.raises(Malformed, match="line 1, column 1: the inserted text is too large"):
        substitute("{env:A}", lambda _: "{file:a}" * 1000, lambda _: "x" * 10_000)


# in files


def test_files_of_the_user_may_insert_variables_and_files(machine: Machine) -> None:
    write(machine.opencode_file.parent / "model.txt", " from-file \n")
    write(machine.home / "key.txt", "key-from-home\n")
    write(machine.opencode_file, websearch("{file:model.txt}"))
    write(
        machine.home / ".opencode/opencode.json", geminisearch(apiKey="{file:~/key.txt}", model="{env:ANY}")
    )
    config = machine.load({"ANY": "from-variable"})
    assert config.provider("gemini").model == "from-file"
    assert config.geminisearch == {"apiKey": "key-from-home", "model": "from-variable"}
    assert config.warnings == ()


def test_relative_paths_are_resolved_from_the_configuration_file(machine: Machine) -> None:
    absolute = write(machine.home / "a.txt", "absolute")
    write(machine.opencode_file, websearch(f"{{file:{absolute}}}"))
    assert machine.load().provider("gemini").model == "absolute"
    write(machine.opencode_file, websearch("{file:../../a.txt}"))
    assert machine.load().provider("gemini").model == "absolute"
    inline = {"OPENCODE_CONFIG_CONTENT": json.dumps(websearch("{file:here.txt}"))}
    write(machine.project / "here.txt", "beside")
    assert machine.load(inline).provider("gemini").model == "beside"


def test_an_unset_variable_in_a_model_name_selects_the_default_model(machine: Machine) -> None:
    write(machine.opencode_file, websearch("{env:UNSET}"))
    config = machine.load()
    assert config.providers == {}
    assert "is not the name of a model" in config.warnings[0]


def test_a_quote_in_a_variable_breaks_the_file_at_its_token(machine: Machine) -> None:
    path = write(machine.opencode_file, '{\n  "x": "{env:SHORT}", "y": "{env:QUOTED}"\n}')
    config = machine.load({"QUOTED": 'a"b', "SHORT": ""})
    assert config.warnings == (
        f'{path}:2:29: "," or "}}" is expected here (in OpenCode\'s configuration; the file is ignored)',
    )


def test_a_backslash_in_a_variable_is_read_as_an_escape(machine: Machine) -> None:
    path = write(machine.opencode_file, websearch("{env:PATH_LIKE}"))
    assert machine.load({"PATH_LIKE": r"C:\quick"}).warnings[0].startswith(f"{path}:1:")
    assert machine.load({"PATH_LIKE": r"a\u002db"}).provider("gemini").model == "a-b"


def test_a_line_end_in_a_variable_ends_a_comment(machine: Machine) -> None:
    path = write(machine.opencode_file, "// {env:LINES}\n{}")
    assert machine.load({"LINES": "one\ntwo"}).warnings[0].startswith(f"{path}:1:4: a value is expected here")


def test_a_quote_in_a_file_is_escaped(machine: Machine) -> None:
    write(machine.opencode_file.parent / "m", 'say "x"\\')
    write(machine.opencode_file, websearch("{file:m}"))
    assert machine.load().provider("gemini").model == 'say "x"\\'


def test_a_secret_in_a_broken_file_is_not_shown(machine: Machine) -> None:
    write(machine.opencode_file, '{"apiKey": "{env:SECRET}" oops "{file:~/secret}"}')
    write(machine.home / "secret", "file-canary")
    (warning,) = machine.load({"SECRET": "env-canary"}).warnings
    assert "canary" not in warning


def test_a_login_of_opencode_defines_a_variable(machine: Machine) -> None:
    record = {"https://corp.example": {"type": "wellknown", "key": "CORP_TOKEN", "token": "corp-token"}}
    write(machine.home / ".local/share/opencode/auth.json", record)
    write(machine.opencode_file, geminisearch(apiKey="{env:CORP_TOKEN}"))
    assert machine.load().geminisearch == {"apiKey": "corp-token"}


@pytest.mark.parametrize("path", ["", "/", ".", "a\\u0000b", "loop"])
def test_an_unreadable_insertion_causes_one_warning(machine: Machine, path: str) -> None:
    loop = machine.opencode_file.parent / "loop"
    loop.parent.mkdir(parents=True)
    loop.symlink_to(loop)
    write(machine.opencode_file, f'{{"x": "{{file:{path or chr(0)}}}"}}')
    assert len(machine.load().warnings) == 1


def test_a_pipe_does_not_block(machine: Machine, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    write(machine.opencode_file, websearch(f"{{file:{tmp_path / 'pipe'}}}"))
    assert "is not a file" in machine.load().warnings[0]
