"""Precedence: flags, environment, project, user, OpenCode, defaults; each setting has its origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import pytest

from groundwire.config.schema import DEFAULT_ORDER, Config, ProviderSettings
from groundwire.model import Json, Location, SearchOptions
from tests.config.machine import Machine, origin, websearch, write


class Inputs:
    """Environment variables and flags of one test."""

    def __init__(self) -> None:
        self.env: dict[str, str] = {}
        self.flags: dict[str, Json] = {}


SET_MODEL: Mapping[str, Callable[[Machine, Inputs, str], object]] = {
    "flags": lambda machine, inputs, model: inputs.flags.update({"providers.gemini.model": model}),
    "environment": lambda machine, inputs, model: inputs.env.update({"GROUNDWIRE_GEMINI_MODEL": model}),
    "project": lambda machine, inputs, model: machine.write_project_file(
        f'[providers.gemini]\nmodel = "{model}"'
    ),
    "user": lambda machine, inputs, model: machine.write_user_file(f'[providers.gemini]\nmodel = "{model}"'),
    "opencode": lambda machine, inputs, model: write(machine.opencode_file, websearch(model)),
}
ORDER = ("flags", "environment", "project", "user", "opencode")


def origins(machine: Machine) -> Mapping[str, str]:
    return {
        "flags": "command line",
        "environment": "environment GROUNDWIRE_GEMINI_MODEL",
        "project": str(machine.project_file),
        "user": str(machine.user_file),
        "opencode": str(machine.opencode_file),
    }


@pytest.mark.parametrize(("winner", "loser"), list(combinations(ORDER, 2)))
def test_the_source_with_higher_precedence_wins(machine: Machine, winner: str, loser: str) -> None:
    inputs = Inputs()
    for source in (loser, winner):
        SET_MODEL[source](machine, inputs, f"from-{source}")
    config = machine.load(inputs.env, inputs.flags)
    assert config.provider("gemini").model == f"from-{winner}"
    assert origin(config, "providers.gemini.model") == origins(machine)[winner]


@pytest.mark.parametrize("source", ORDER)
def test_every_source_alone_is_used(machine: Machine, source: str) -> None:
    inputs = Inputs()
    SET_MODEL[source](machine, inputs, "alone")
    config = machine.load(inputs.env, inputs.flags)
    assert config.provider("gemini").model == "alone"
    assert origin(config, "providers.gemini.model") == origins(machine)[source]


def test_defaults_are_used_without_any_source(machine: Machine) -> None:
    config = machine.load()
    assert config == Config(
        order=DEFAULT_ORDER,
        data_dir=str(machine.home / ".local" / "share" / "groundwire"),
        config_dir=str(machine.home / ".config" / "groundwire"),
        build_index=True,
        settings=config.settings,
    )
    assert [(setting.name, setting.origin) for setting in config.settings] == [
        ("build_index", "default"),
        ("data_dir", "default"),
        ("order", "default"),
    ]


@pytest.mark.parametrize(("winner", "loser"), list(combinations(ORDER[:4], 2)))
def test_timeout_and_order_follow_the_same_order(machine: Machine, winner: str, loser: str) -> None:
    inputs = Inputs()
    for source, seconds, name in ((loser, 5, "openai"), (winner, 7, "gemini")):
        toml = f'timeout = {seconds}\norder = ["{name}"]'
        match source:
            case "flags":
                inputs.flags |= {"timeout": seconds, "order": [name]}
            case "environment":
                inputs.env |= {"GROUNDWIRE_TIMEOUT": str(seconds), "GROUNDWIRE_ORDER": name}
            case "project":
                machine.write_project_file(toml)
            case _:
                machine.write_user_file(toml)
    config = machine.load(inputs.env, inputs.flags)
    assert (config.timeout, config.order) == (7, ("gemini",))


def test_sources_are_merged_key_by_key_and_lists_are_replaced(machine: Machine) -> None:
    machine.write_user_file(
        """
        timeout = 30
        [search]
        allowed_domains = ["a.example", "b.example"]
        country = "DE"
        [aliases]
        fast = "gemini/flash"
        deep = "openai/gpt"
        [providers.gemini]
        base_url = "https://gemini.example"
        model = "user"
        """
    )
    machine.write_project_file(
        """
        [search]
        allowed_domains = ["c.example"]
        city = "Kiel"
        [aliases]
        fast = "openai/mini"
        [providers.gemini]
        model = "project"
        """
    )
    config = machine.load()
    assert config.timeout == 30
    assert config.search == SearchOptions(
        allowed_domains=("c.example",), location=Location(country="DE", city="Kiel")
    )
    assert config.aliases == {"fast": "openai/mini", "deep": "openai/gpt"}
    assert config.provider("gemini") == ProviderSettings(base_url="https://gemini.example", model="project")


def test_every_key_of_a_file_arrives(machine: Machine) -> None:
    machine.write_user_file(
        """
        order = ["mine", "gemini"]
        timeout = 1.5
        data_dir = "~/data"
        [search]
        allowed_domains = ["example.com", "example.org/docs"]
        blocked_domains = ["example.net"]
        country = "de"
        region = "Hamburg"
        city = "Hamburg"
        timezone = "Europe/Berlin"
        language = "de"
        since = "7d"
        until = 2026-09-20
        max_uses = 3
        max_sources = 8
        context_size = "high"
        live = false
        [providers.mine]
        dialect = "openai_chat"
        base_url = "http://127.0.0.1:11434/v1"
        key_env = "MINE_KEY"
        model = "llama"
        search = "engine:web"
        search_form = "plugin"
        timeout = 9
        enabled = true
        """
    )
    config = machine.load()
    assert config.order == ("mine", "gemini")
    assert (config.timeout, config.data_dir) == (1.5, str(machine.home / "data"))
    assert config.search == SearchOptions(
        allowed_domains=("example.com", "example.org/docs"),
        blocked_domains=("example.net",),
        location=Location("DE", "Hamburg", "Hamburg", "Europe/Berlin"),
        language="de",
        since="2026-09-14T14:13:20Z",
        until="2026-09-20T23:59:59Z",
        max_uses=3,
        max_sources=8,
        context_size="high",
        live=False,
    )
    assert config.provider("mine") == ProviderSettings(
        "openai_chat", "http://127.0.0.1:11434/v1", "MINE_KEY", "llama", "engine:web", "plugin", 9, True
    )
    names = [setting.name for setting in config.settings]
    assert names == sorted(names)
    assert len(names) == 3 + 13 + 8 + 1


@pytest.mark.parametrize(
    ("env", "text", "built"),
    [
        ({}, "", True),
        ({"CI": "true"}, "", False),
        ({"CI": "true"}, "build_index = true", True),
        ({"GROUNDWIRE_BUILD_INDEX": "0"}, "build_index = true", False),
        ({"GROUNDWIRE_BUILD_INDEX": "true"}, "build_index = false", True),
    ],
)
def test_the_index_is_built_unless_that_is_switched_off(
    machine: Machine, env: dict[str, str], text: str, built: bool
) -> None:
    machine.write_user_file(text)
    assert machine.load(env).build_index is built


def test_flags_may_be_tables_and_none_values_are_ignored(machine: Machine) -> None:
    machine.write_user_file("timeout = 5")
    config = machine.load(
        flags={"timeout": None, "search": {"city": "Kiel"}, "search.country": "DE", "data_dir": "x"}
    )
    assert config.timeout == 5
    assert config.search.location == Location(country="DE", city="Kiel")
    assert config.data_dir == str(machine.project / "x")
    assert origin(config, "search.city") == "command line"


def test_a_file_named_in_the_environment_replaces_the_users_own(machine: Machine) -> None:
    machine.write_user_file("timeout = 5")
    named = write(machine.project / "other" / "mine.toml", 'timeout = 6\ndata_dir = "data"')
    config = machine.load({"GROUNDWIRE_CONFIG": "other/mine.toml"})
    assert (config.timeout, origin(config, "timeout")) == (6, str(named))
    assert config.data_dir == str(machine.project / "other" / "data")
    assert config.config_dir == str(machine.home / ".config" / "groundwire")


def test_a_project_file_named_by_the_user_is_trusted(machine: Machine) -> None:
    machine.write_project_file('[providers.gemini]\nbase_url = "https://mine.example"')
    config = machine.load({"GROUNDWIRE_CONFIG": "groundwire.toml"})
    assert config.provider("gemini").base_url == "https://mine.example"


def test_only_the_project_file_of_the_current_directory_is_read(machine: Machine) -> None:
    machine.write_project_file("timeout = 5")
    inner = machine.project / "inner"
    inner.mkdir()
    assert machine.load(cwd=inner).timeout is None


def test_empty_variables_are_ignored(machine: Machine) -> None:
    names = ("CONFIG", "TIMEOUT", "ORDER", "DATA_DIR", "GEMINI_MODEL", "GEMINI_BASE_URL", "NOBODY_MODEL")
    assert machine.load({f"GROUNDWIRE_{name}": "" for name in names}) == machine.load()


def test_a_key_in_a_field_for_a_name_is_not_shown(machine: Machine) -> None:
    key = "AIzaSy" + "x" * 33
    machine.write_user_file(
        f'[providers.gemini]\nmodel = "sk-proj-{"y" * 40}"\n[providers.openai]\nkey_env = "{key}"'
    )
    shown = repr(machine.load().settings)
    assert key not in shown
    assert "yyyyyyyy" not in shown
