"""Who wins: flags, environment, project, user, OpenCode, defaults; and every setting says who did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import pytest

from groundwire.config.schema import DEFAULT_ORDER, Config, ProviderSettings
from groundwire.model import Json, Location, SearchOptions
from tests.config.world import World, origin, websearch, write


class Told:
    """What the outside says in one test."""

    def __init__(self) -> None:
        self.env: dict[str, str] = {}
        self.flags: dict[str, Json] = {}


SAY_MODEL: Mapping[str, Callable[[World, Told, str], object]] = {
    "flags": lambda world, told, model: told.flags.update({"providers.gemini.model": model}),
    "environment": lambda world, told, model: told.env.update({"GROUNDWIRE_GEMINI_MODEL": model}),
    "project": lambda world, told, model: world.of_project(f'[providers.gemini]\nmodel = "{model}"'),
    "user": lambda world, told, model: world.user(f'[providers.gemini]\nmodel = "{model}"'),
    "opencode": lambda world, told, model: write(world.opencode_file, websearch(model)),
}
ORDER = ("flags", "environment", "project", "user", "opencode")


def origins(world: World) -> Mapping[str, str]:
    return {
        "flags": "command line",
        "environment": "environment GROUNDWIRE_GEMINI_MODEL",
        "project": str(world.project_file),
        "user": str(world.user_file),
        "opencode": str(world.opencode_file),
    }


@pytest.mark.parametrize(("winner", "loser"), list(combinations(ORDER, 2)))
def test_of_two_sources_the_one_nearer_to_the_user_wins(world: World, winner: str, loser: str) -> None:
    told = Told()
    for place in (loser, winner):
        SAY_MODEL[place](world, told, f"from-{place}")
    config = world.load(told.env, told.flags)
    assert config.provider("gemini").model == f"from-{winner}"
    assert origin(config, "providers.gemini.model") == origins(world)[winner]


@pytest.mark.parametrize("place", ORDER)
def test_every_source_alone_is_used(world: World, place: str) -> None:
    told = Told()
    SAY_MODEL[place](world, told, "alone")
    config = world.load(told.env, told.flags)
    assert config.provider("gemini").model == "alone"
    assert origin(config, "providers.gemini.model") == origins(world)[place]


def test_without_anything_there_are_the_defaults(world: World) -> None:
    config = world.load()
    assert config == Config(
        order=DEFAULT_ORDER,
        data_dir=str(world.home / ".local" / "share" / "groundwire"),
        config_dir=str(world.home / ".config" / "groundwire"),
        settings=config.settings,
    )
    assert [(setting.name, setting.origin) for setting in config.settings] == [
        ("data_dir", "default"),
        ("order", "default"),
    ]


@pytest.mark.parametrize(("winner", "loser"), list(combinations(ORDER[:4], 2)))
def test_timeout_and_order_follow_the_same_order(world: World, winner: str, loser: str) -> None:
    told = Told()
    for place, seconds, name in ((loser, 5, "openai"), (winner, 7, "gemini")):
        toml = f'timeout = {seconds}\norder = ["{name}"]'
        match place:
            case "flags":
                told.flags |= {"timeout": seconds, "order": [name]}
            case "environment":
                told.env |= {"GROUNDWIRE_TIMEOUT": str(seconds), "GROUNDWIRE_ORDER": name}
            case "project":
                world.of_project(toml)
            case _:
                world.user(toml)
    config = world.load(told.env, told.flags)
    assert (config.timeout, config.order) == (7, ("gemini",))


def test_sources_are_merged_key_by_key_and_lists_are_replaced(world: World) -> None:
    world.user(
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
    world.of_project(
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
    config = world.load()
    assert config.timeout == 30
    assert config.search == SearchOptions(
        allowed_domains=("c.example",), location=Location(country="DE", city="Kiel")
    )
    assert config.aliases == {"fast": "openai/mini", "deep": "openai/gpt"}
    assert config.provider("gemini") == ProviderSettings(base_url="https://gemini.example", model="project")


def test_every_key_of_a_file_arrives(world: World) -> None:
    world.user(
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
    config = world.load()
    assert config.order == ("mine", "gemini")
    assert (config.timeout, config.data_dir) == (1.5, str(world.home / "data"))
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
    assert len(names) == 3 + 13 + 8


def test_flags_may_be_tables_and_those_not_given_do_not_count(world: World) -> None:
    world.user("timeout = 5")
    config = world.load(
        flags={"timeout": None, "search": {"city": "Kiel"}, "search.country": "DE", "data_dir": "x"}
    )
    assert config.timeout == 5
    assert config.search.location == Location(country="DE", city="Kiel")
    assert config.data_dir == str(world.project / "x")
    assert origin(config, "search.city") == "command line"


def test_a_file_named_in_the_environment_replaces_the_users_own(world: World) -> None:
    world.user("timeout = 5")
    named = write(world.project / "other" / "mine.toml", 'timeout = 6\ndata_dir = "data"')
    config = world.load({"GROUNDWIRE_CONFIG": "other/mine.toml"})
    assert (config.timeout, origin(config, "timeout")) == (6, str(named))
    assert config.data_dir == str(world.project / "other" / "data")
    assert config.config_dir == str(world.home / ".config" / "groundwire")


def test_a_project_file_that_the_user_names_is_the_users_own(world: World) -> None:
    world.of_project('[providers.gemini]\nbase_url = "https://mine.example"')
    config = world.load({"GROUNDWIRE_CONFIG": "groundwire.toml"})
    assert config.provider("gemini").base_url == "https://mine.example"


def test_only_the_project_file_of_the_current_directory_counts(world: World) -> None:
    world.of_project("timeout = 5")
    inner = world.project / "inner"
    inner.mkdir()
    assert world.load(cwd=inner).timeout is None


def test_empty_variables_are_ignored(world: World) -> None:
    names = ("CONFIG", "TIMEOUT", "ORDER", "DATA_DIR", "GEMINI_MODEL", "GEMINI_BASE_URL", "NOBODY_MODEL")
    assert world.load({f"GROUNDWIRE_{name}": "" for name in names}) == world.load()


def test_a_key_written_where_a_name_belongs_is_not_shown(world: World) -> None:
    key = "AIzaSy" + "x" * 33
    world.user(f'[providers.gemini]\nmodel = "sk-proj-{"y" * 40}"\n[providers.openai]\nkey_env = "{key}"')
    shown = repr(world.load().settings)
    assert key not in shown
    assert "yyyyyyyy" not in shown
