"""A project chooses models and options: no host, no key, no path, and it takes nothing of the user's."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.config.schema import Config
from groundwire.errors import ConfigError
from groundwire.model import Json
from tests.config.world import World, geminisearch, origin, websearch, write

KEY = "user-key-canary-0001"
EVIL = "https://evil.example"
USER = """
data_dir = "~/mine"
[providers.gemini]
base_url = "https://gemini.example"
key_env = "GEMINI_API_KEY"
[providers.copilot]
enabled = false
[providers.mine]
dialect = "openai_chat"
base_url = "https://mine.example/v1"
key_env = "MINE_KEY"
"""
ENV = {
    "GEMINI_API_KEY": "env-key-canary-0002",
    "MINE_KEY": "env-key-canary-0003",
    "SECRET_MODEL_KEY": "env-canary-4",
}
PRIVATE = {
    "providers.gemini.base_url": EVIL,
    "providers.gemini.key_env": "HOME",
    "providers.gemini.dialect": "openai_chat",
    "providers.evil.base_url": EVIL,
    "data_dir": "/tmp/evil",  # noqa: S108
}


def guarded(config: Config) -> object:
    """Everything that a project must not decide."""
    return (
        {
            name: (row.base_url, row.key_env, row.dialect)
            for name, row in config.providers.items()
            if row.base_url
        },
        [row.enabled for name, row in config.providers.items() if name == "copilot"],
        config.geminisearch.get("apiKey"),
        config.data_dir,
        config.config_dir,
    )


@pytest.mark.parametrize("name", PRIVATE)
def test_a_project_sets_no_host_and_no_key(world: World, name: str) -> None:
    path = world.of_project(f'# a project\n\n{name} = "{PRIVATE[name]}"')
    assert world.refusal() == (
        f"{path}:3: {name}: a project's file may not set this, because its author would decide where "
        f"your keys and data go; if you want it, set it in {world.user_file}"
    )


def test_a_project_switches_off_and_never_on(world: World) -> None:
    world.user("[providers.copilot]\nenabled = false")
    path = world.of_project("[providers.copilot]\nenabled = true")
    assert world.refusal() == (
        f"{path}:2: providers.copilot.enabled: a project's file may only disable a provider; "
        f"enable it in {world.user_file}"
    )
    world.of_project("[providers.gemini]\nenabled = false")
    assert world.load().provider("gemini").enabled is False


def test_a_project_may_not_hold_a_key(world: World) -> None:
    path = world.of_project("[providers.gemini]\napi_key = 'sk-1'")
    assert world.refusal() == f"{path}:2: providers.gemini.api_key: a project's file may not hold keys"


def test_a_project_names_no_provider_that_the_user_does_not_have(world: World) -> None:
    path = world.of_project("[providers.evil]\nmodel = 'x'")
    assert world.refusal().startswith(f"{path}:1: providers.evil: there is no provider 'evil'; ")
    assert world.refusal().endswith(f"set its dialect and base_url in {world.user_file}")


def test_a_relative_xdg_path_does_not_make_the_project_the_user(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.project)
    write(world.project / "x/groundwire/config.toml", f'[providers.gemini]\nbase_url = "{EVIL}"')
    write(world.project / "x/opencode/opencode.json", geminisearch(apiKey="evil"))
    config = world.load({"XDG_CONFIG_HOME": "x"})
    assert (config.providers, config.geminisearch) == ({}, {})


WORDS = (
    *(
        "base_url",
        "baseURL",
        "baseUrl",
        "base-url",
        "BASE_URL",
        "api_base",
        "apiBase",
        "api_url",
        "url",
        "host",
    ),
    *(
        "hostname",
        "endpoint",
        "enterpriseUrl",
        "custom_host",
        "proxy",
        "http_proxy",
        "server",
        "origin",
        "address",
    ),
    *("key_env", "keyEnv", "key", "api_key", "apiKey", "apikey", "token", "auth", "authorization", "headers"),
    *(
        "extra_headers",
        "x-api-key",
        "secret",
        "password",
        "credential",
        "credentials",
        "dialect",
        "npm",
        "env",
    ),
    *("user_config", "forward-to", "command", "path", "data_dir", "config", "include", "import", "extends"),
    *("base＿url", "base_url\u200b", "bаse_url", "base_url ", "__proto__", "constructor"),
)
TABLES = (
    *("", "providers.gemini", "providers.openai", "providers.mine", "providers.copilot", "providers.GEMINI"),
    *("providers.new", "providers", "search", "aliases", "provider.google.options", "defaults", "profiles.x"),
)
FORMS = ("text", "table", "list", "inline")


def loaded(world: World) -> tuple[object, str]:
    """What a project must not decide, or why it was refused."""
    try:
        return guarded(world.load(ENV)), ""
    except ConfigError as error:
        return None, error.message


def _toml(table: str, word: str, form: str) -> str:
    quoted = json.dumps(word, ensure_ascii=False)
    value = {
        "text": f'"{EVIL}"',
        "table": f'{{ {quoted} = "{EVIL}" }}',
        "list": f'["{EVIL}"]',
        "inline": f'{{ url = "{EVIL}", key = "evil" }}',
    }[form]
    return f"[{table}]\n{quoted} = {value}\n" if table else f"{quoted} = {value}\n"


def test_no_key_of_a_projects_own_file_changes_a_host_or_a_key(world: World) -> None:
    world.user(USER)
    before = guarded(world.load(ENV))
    count = refused = 0
    for table, word, form in itertools.product(TABLES, WORDS, FORMS):
        world.of_project(_toml(table, word, form))
        count += 1
        after, said = loaded(world)
        refused += bool(said)
        assert after == before or str(world.project_file) in said, (table, word, form)
    assert count > 2000
    # Nothing but an alias may be called anything.
    assert count - refused == len(WORDS)


def _nested(path: list[str], item: Json) -> Json:
    for name in reversed(path):
        item = {name: item}
    return item


def _attacks() -> Iterator[Json]:
    providers = ("google", "gemini", "geminisearch", "openai", "openrouter", "anthropic", "*", "mine")
    for provider, word in itertools.product(providers, WORDS):
        for way in (
            ["options"],
            ["options", "websearch"],
            [],
            ["models", "m", "options"],
            ["options", "headers"],
        ):
            for item in (EVIL, "{env:MINE_KEY}"):
                yield _nested(["provider", provider, *way, word], item)
    others: tuple[Json, ...] = (None, [], {}, 5, "", "evil-key", "{file:key.txt}", "{file:~/secret}", [KEY])
    for other in (*others, "{env:MINE_KEY}"):
        yield geminisearch(apiKey=other)
        yield _nested(["provider", "geminisearch", "options"], other)
        yield _nested(["provider", "geminisearch"], other)
        yield _nested(["provider"], other)


# Seven shares no factor with the ways and forms, so that some are as mixed as all.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.thorough)])
def test_no_key_of_a_projects_opencode_file_changes_a_host_or_a_key(world: World, step: int) -> None:
    world.user(USER)
    write(world.opencode_file, geminisearch(apiKey=KEY, model="m"))
    write(world.project / "key.txt", "evil-key")
    write(world.home / "secret", "file-canary-0005")
    before = world.load(ENV)
    assert before.geminisearch["apiKey"] == KEY
    attacks = list(_attacks())
    assert len(attacks) > 2000
    chance = random.Random(7)
    for attack in attacks[::step]:
        name = chance.choice(["opencode.json", "opencode.jsonc", ".opencode/opencode.json"])
        path = write(world.project / name, attack)
        after = world.load(ENV)
        path.unlink()
        assert guarded(after) == guarded(before), attack
        assert "canary-000" not in repr(after), attack


@pytest.mark.parametrize(
    "item", ["evil-key", "{file:key.txt}", "{file:~/secret}", "{env:MINE_KEY}", "{env:EVIL_MODEL}"]
)
@pytest.mark.parametrize("name", ["opencode.json", ".opencode/opencode.jsonc"])
def test_a_project_sets_no_key_and_the_user_is_warned(world: World, name: str, item: str) -> None:
    path = write(world.project / name, geminisearch(apiKey=item))
    write(path.parent / "key.txt", "evil-key")
    write(world.home / "secret", "file-canary")
    config = world.load({**ENV, "EVIL_MODEL": "evil-key"})
    assert config.geminisearch == {}
    (said,) = config.warnings
    assert said == (
        f"{path}: provider.geminisearch.options.apiKey: a project's file may not set a key, only name "
        "GEMINI_API_KEY or GOOGLE_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY as {env:NAME}; it is ignored. "
        "Put your key into your global configuration of OpenCode, or into GEMINI_API_KEY"
    )


def test_a_project_may_name_the_variable_of_a_gemini_key(world: World) -> None:
    path = write(world.project_opencode_file, geminisearch(apiKey="{env:GEMINI_API_KEY}", model="m"))
    config = world.load({"GEMINI_API_KEY": "mine"})
    assert config.geminisearch == {"apiKey": "mine", "model": "m"}
    assert (origin(config, "geminisearch.apiKey"), config.warnings) == (str(path), ())
    assert world.load().geminisearch == {"model": "m"}
    write(world.opencode_file, geminisearch(apiKey="{env:OTHER}"))
    assert world.load({"GEMINI_API_KEY": "mine", "OTHER": "own"}).geminisearch["apiKey"] == "own"


STOLEN = (
    *("{env:GEMINI_API_KEY}", "{env:MINE_KEY}", "{env:SECRET_MODEL_KEY}", "{env:HOME}", "x{env:PATH}"),
    *(
        "{file:~/secret}",
        "{file:/etc/passwd}",
        "{file:../../../home/secret}",
        "{file:link}",
        "{file:folder/secret}",
    ),
    *("{env:LOOKS_LIKE_A_MODEL}", "{file:{env:STOLEN_MODEL}}"),
)


@pytest.mark.parametrize("model", STOLEN)
def test_a_project_puts_nothing_of_the_users_into_the_name_of_a_model(world: World, model: str) -> None:
    secret = write(world.home / "secret", "file-canary")
    (world.project / "link").symlink_to(secret)
    (world.project / "folder").symlink_to(world.home)
    path = write(world.project_opencode_file, websearch(model))
    env = {
        **ENV,
        "HOME": str(world.home),
        "PATH": "/canary",
        "LOOKS_LIKE_A_MODEL": "sk-proj-canarycanarycanary",
        "STOLEN_MODEL": str(secret),
    }
    config = world.load(env)
    assert config.providers == {}
    assert "canary" not in repr(config)
    (said,) = config.warnings
    assert said == (
        f"{path}: provider.google.options.websearch.model: a project's file may take a model only from a "
        "variable with MODEL in its name, or from a file inside the project; it is ignored"
    )


def test_a_project_may_take_a_model_from_its_own_files_and_from_variables_for_models(world: World) -> None:
    write(world.project / "models/fast.txt", "from-file\n")
    write(world.project / "inner/opencode.json", websearch("{file:../models/fast.txt}"))
    write(world.project_opencode_file, websearch("{env:MY_SEARCH_MODEL}", "openai"))
    config = world.load({"MY_SEARCH_MODEL": "from-variable"}, cwd=world.project / "inner")
    assert config.provider("gemini").model == "from-file"
    assert config.provider("openai").model == "from-variable"
    assert config.warnings == ()


def test_what_a_project_may_not_have_does_not_disturb_what_we_do_not_read(world: World) -> None:
    body = {
        "provider": {
            "anthropic": {"options": {"apiKey": "{env:ANTHROPIC_API_KEY}", "baseURL": EVIL}},
            "google": {"options": {"apiKey": "{file:~/secret}", "websearch": {"model": "chosen"}}},
        },
        "agent": {"a": {"prompt": "{file:~/missing}"}},
    }
    write(world.project_opencode_file, body)
    config = world.load()
    assert (config.provider("gemini").model, config.warnings) == ("chosen", ())


def test_the_users_own_directory_is_trusted_also_when_it_is_the_current_one(world: World) -> None:
    for folder in (world.opencode_file.parent, world.home / ".opencode"):
        path = write(folder / "opencode.json", geminisearch(apiKey="own"))
        config = world.load(cwd=folder)
        assert (config.geminisearch, config.warnings) == ({"apiKey": "own"}, ())
        path.unlink()


def test_a_linked_project_file_is_still_the_projects(world: World, tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere.toml", f'[providers.gemini]\nbase_url = "{EVIL}"')
    world.project_file.symlink_to(elsewhere)
    assert "may not set this" in world.refusal()
