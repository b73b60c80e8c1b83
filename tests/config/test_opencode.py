"""OpenCode's configuration: precedence of its files, what is read, and that errors are only warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.opencode import ParsedConfig, resolve
from groundwire.config.schema import ProviderSettings
from groundwire.credentials.secret import PLACEHOLDER
from groundwire.model import Json
from tests.config.machine import Machine, geminisearch, origin, websearch, write

HERE = "inner/deep"

FILES: Mapping[str, Callable[[Machine], Path]] = {
    "global config.json": lambda machine: machine.home / ".config/opencode/config.json",
    "global opencode.json": lambda machine: machine.home / ".config/opencode/opencode.json",
    "global opencode.jsonc": lambda machine: machine.home / ".config/opencode/opencode.jsonc",
    "OPENCODE_CONFIG": lambda machine: machine.home / "named.json",
    "root json": lambda machine: machine.project / "opencode.json",
    "root jsonc": lambda machine: machine.project / "opencode.jsonc",
    "between json": lambda machine: machine.project / "inner/opencode.json",
    "here json": lambda machine: machine.project / HERE / "opencode.json",
    "here jsonc": lambda machine: machine.project / HERE / "opencode.jsonc",
    "here .opencode json": lambda machine: machine.project / HERE / ".opencode/opencode.json",
    "here .opencode jsonc": lambda machine: machine.project / HERE / ".opencode/opencode.jsonc",
    "root .opencode": lambda machine: machine.project / ".opencode/opencode.json",
    "home .opencode": lambda machine: machine.home / ".opencode/opencode.json",
    "OPENCODE_CONFIG_DIR json": lambda machine: machine.home / "directory/opencode.json",
    "OPENCODE_CONFIG_DIR jsonc": lambda machine: machine.home / "directory/opencode.jsonc",
    "OPENCODE_CONFIG_CONTENT": lambda machine: Path("environment OPENCODE_CONFIG_CONTENT"),
    "managed json": lambda machine: machine.managed / "opencode.json",
    "managed jsonc": lambda machine: machine.managed / "opencode.jsonc",
}
PROJECT = ("root", "between", "here")


def write_config(machine: Machine, env: dict[str, str], source: str, content: Json) -> str:
    """Write a configuration to one of the sources; return the name of the source."""
    path = FILES[source](machine)
    if source == "OPENCODE_CONFIG_CONTENT":
        env[source] = json.dumps(content)
        return str(path)
    env |= {"OPENCODE_CONFIG": str(path)} if source == "OPENCODE_CONFIG" else {}
    env |= {"OPENCODE_CONFIG_DIR": str(path.parent)} if source.startswith("OPENCODE_CONFIG_DIR") else {}
    return str(write(path, content))


@pytest.mark.parametrize(("loser", "winner"), list(combinations(FILES, 2)))
def test_the_later_of_two_files_wins(machine: Machine, loser: str, winner: str) -> None:
    env: dict[str, str] = {}
    here = machine.project / HERE
    here.mkdir(parents=True)
    expected = write_config(machine, env, winner, websearch("winner"))
    write_config(machine, env, loser, websearch("loser"))
    config = machine.load(env, cwd=here)
    assert config.provider("gemini") == ProviderSettings(model="winner")
    assert origin(config, "providers.gemini.model") == expected
    assert config.warnings == ()


@pytest.mark.parametrize("switch", ["1", "true", "TRUE"])
def test_project_files_can_be_disabled(machine: Machine, switch: str) -> None:
    env = {"OPENCODE_DISABLE_PROJECT_CONFIG": switch}
    here = machine.project / HERE
    here.mkdir(parents=True)
    for source in FILES:
        if source.startswith(PROJECT):
            write_config(machine, env, source, websearch("project"))
    write_config(machine, env, "global config.json", websearch("global"))
    assert machine.load(env, cwd=here).provider("gemini").model == "global"
    assert (
        machine.load(env | {"OPENCODE_DISABLE_PROJECT_CONFIG": "0"}, cwd=here).provider("gemini").model
        == "project"
    )


def test_files_above_the_worktree_are_ignored(machine: Machine) -> None:
    write(machine.project.parent / "opencode.json", websearch("outside"))
    assert machine.load().providers == {}


def test_a_worktree_may_be_marked_by_a_file(machine: Machine) -> None:
    here = machine.project / "module"
    write(here / ".git", "gitdir: ../.git/modules/module")
    write(machine.project / "opencode.json", websearch("outside"))
    assert machine.load(cwd=here).providers == {}


def test_files_in_all_parent_directories_are_read_without_a_worktree(machine: Machine) -> None:
    (machine.project / ".git").rmdir()
    write(machine.project.parent / "opencode.json", websearch("above"))
    assert machine.load().provider("gemini").model == "above"


def test_the_global_directory_can_be_moved(machine: Machine) -> None:
    write(machine.home / "moved/opencode/opencode.json", websearch("moved"))
    assert machine.load({"XDG_CONFIG_HOME": str(machine.home / "moved")}).provider("gemini").model == "moved"


def test_the_search_models_of_opencode_are_mapped_to_our_providers(machine: Machine) -> None:
    providers = {
        name: {"options": {"websearch": {"model": f"{name}-model"}}}
        for name in ("google", "openai", "openrouter", "anthropic", "gemini", "copilot")
    }
    write(machine.opencode_file, {"$schema": "https://opencode.ai/config.json", "provider": providers})
    config = machine.load()
    assert {name: settings.model for name, settings in config.providers.items()} == {
        "gemini": "google-model",
        "openai": "openai-model",
        "openai_oauth": "openai-model",
        "openrouter": "openrouter-model",
        "anthropic": "anthropic-model",
    }


def test_other_settings_of_opencode_are_ignored(machine: Machine) -> None:
    options = {
        "apiKey": "sk-1",
        "baseURL": "https://elsewhere.example",
        "timeout": 5,
        "websearch": {
            "baseURL": "https://elsewhere.example",
            "apiKey": "sk-1",
            "base_url": "https://x.example",
        },
    }
    write(machine.opencode_file, {"model": "x/y", "provider": {"google": {"options": options}}})
    assert machine.load() == machine.load()
    assert machine.load().providers == {}
    assert machine.load().warnings == ()


INVALID: Mapping[str, tuple[Json, str]] = {
    "number": (websearch(5), "provider.google.options.websearch.model is not the name of a model"),
    "list": (websearch(["x"]), "provider.google.options.websearch.model is not the name of a model"),
    "empty": (websearch(""), "provider.google.options.websearch.model is not the name of a model"),
    "blank": (websearch(" \t"), "provider.google.options.websearch.model is not the name of a model"),
    "control": (websearch("a\u001bb"), "provider.google.options.websearch.model is not the name of a model"),
    "websearch": (
        {"provider": {"google": {"options": {"websearch": "x"}}}},
        "provider.google.options.websearch is not an object; it is ignored",
    ),
    "options": (
        {"provider": {"google": {"options": []}}},
        "provider.google.options is not an object; it is ignored",
    ),
    "google": ({"provider": {"google": True}}, "provider.google is not an object; it is ignored"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_block_is_a_warning_and_the_default_is_used(machine: Machine, case: str) -> None:
    content, expected = INVALID[case]
    path = write(machine.opencode_file, content)
    config = machine.load()
    assert config.providers == {}
    (warning,) = config.warnings
    assert warning.startswith(f"{path}: {expected}")


def test_an_invalid_block_hides_what_it_replaced(machine: Machine) -> None:
    write(machine.opencode_file, websearch("global"))
    write(machine.project_opencode_file, websearch(7))
    config = machine.load()
    assert config.providers == {}
    assert config.warnings[0].startswith(str(machine.project_opencode_file))


@pytest.mark.parametrize(
    "content", [{}, {"provider": None}, {"provider": {"google": {}}}, websearch(None), ""]
)
def test_a_missing_block_selects_the_default_without_a_warning(machine: Machine, content: Json) -> None:
    write(machine.opencode_file, content)
    config = machine.load()
    assert (config.providers, config.warnings) == ({}, ())


BROKEN = {
    '{\n  "provider": {\n    x\n': ':3:5: a name in double quotes, or "}", is expected here',
    "[]": ":1:1: an object is expected here",
    " ": ":1:2: the text ends where a value is expected",
    '{"a": "{file:nothing.txt}"}': (
        ":1:8: {folder}/nothing.txt, which should be inserted here, does not exist"
    ),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_a_warning_with_line_and_column(machine: Machine, text: str) -> None:
    write(machine.project_opencode_file, websearch("still-read"))
    path = write(machine.opencode_file, text)
    config = machine.load()
    problem = BROKEN[text].replace("{folder}", str(path.parent))
    assert config.warnings == (f"{path}{problem} (in OpenCode's configuration; the file is ignored)",)
    assert config.provider("gemini").model == "still-read"


def test_a_file_that_cannot_be_read_is_a_warning(machine: Machine) -> None:
    machine.opencode_file.mkdir(parents=True)
    (machine.home / ".opencode").mkdir()
    (machine.home / ".opencode/opencode.json").write_bytes(b"{\n\xff}")
    assert [text.partition(";")[0] for text in machine.load().warnings] == [
        f"{machine.opencode_file} is not a file",
        f"{machine.home}/.opencode/opencode.json:2: this is not UTF-8",
    ]


def test_a_named_file_that_is_missing_is_a_warning(machine: Machine) -> None:
    config = machine.load({"OPENCODE_CONFIG": "gone.json"})
    assert config.warnings == (f"OPENCODE_CONFIG names {machine.project}/gone.json, which does not exist",)


def test_comments_and_trailing_commas_are_read(machine: Machine) -> None:
    text = """
    {
      // "provider": {},
      "provider": { /* all of them */
        "google": { "options": { "websearch": { "model": "gemini-2.5-flash", }, }, },
      },
    }
    """
    write(machine.opencode_file, text)
    assert machine.load().provider("gemini").model == "gemini-2.5-flash"


def test_the_geminisearch_block_is_read_and_its_key_is_not_shown(machine: Machine) -> None:
    key = "AIza-canary-key"
    write(
        machine.opencode_file, geminisearch(apiKey=key, model="gemini-2.5-pro", baseURL="https://x.example")
    )
    config = machine.load()
    assert config.geminisearch == {"apiKey": key, "model": "gemini-2.5-pro"}
    assert origin(config, "geminisearch.apiKey") == str(machine.opencode_file)
    assert {setting.name: setting.value for setting in config.settings if "geminisearch" in setting.name} == {
        "geminisearch.apiKey": PLACEHOLDER,
        "geminisearch.model": "gemini-2.5-pro",
    }
    assert "canary" not in f"{config!r} {config.geminisearch} {config.settings}"


@pytest.mark.parametrize("key", [5, "a b", "kéy", "a\nb", ["x"]])
def test_a_key_that_cannot_be_sent_is_ignored(machine: Machine, key: Json) -> None:
    path = write(machine.opencode_file, geminisearch(apiKey=key))
    config = machine.load()
    assert config.geminisearch == {}
    assert config.warnings == (f"{path}: provider.geminisearch.options.apiKey is not a key; it is ignored",)


@pytest.mark.parametrize(("value", "read"), [(True, "true"), (False, ""), ("yes", None)])
def test_a_block_may_request_the_raw_metadata(machine: Machine, value: Json, read: str | None) -> None:
    options: Json = {"groundingMetadata": value}
    write(machine.project / "opencode.json", {"provider": {"geminisearch": {"options": options}}})
    config = machine.load()
    assert config.geminisearch.get("groundingMetadata") == read
    assert bool(config.warnings) == (read is None)


def test_a_key_from_an_unset_variable_is_missing(machine: Machine) -> None:
    write(machine.opencode_file, geminisearch(apiKey="{env:GEMINI_API_KEY}", model="m"))
    config = machine.load()
    assert (config.geminisearch, config.warnings) == ({"model": "m"}, ())


NAMES = st.sampled_from(["provider", "google", "options", "x"])
LEAVES: st.SearchStrategy[Json] = st.none() | st.text(max_size=2) | st.lists(st.just(1), max_size=1)
BODIES = st.dictionaries(
    NAMES, st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
)


def merged(below: Json, above: Json) -> Json:
    """Deep merge in which the later value wins and lists are replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {name: merged(below.get(name), item) for name, item in above.items()}


@given(st.lists(BODIES, max_size=4), st.lists(NAMES, min_size=1, max_size=3))
def test_resolving_a_path_equals_merging_the_files(bodies: list[dict[str, Json]], path: list[str]) -> None:
    whole: Json = {}
    for body in bodies:
        whole = merged(whole, body)
    expected: Json = whole
    for name in path:
        expected = expected.get(name) if isinstance(expected, dict) else None
    found = resolve((ParsedConfig("", body, project=False) for body in bodies), tuple(path))
    at_the_end = found is not None and found.path == tuple(path)
    if not isinstance(expected, dict):
        assert (found.value if found and at_the_end else None) == expected
