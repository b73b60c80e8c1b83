"""Project files may choose models and options, but not hosts, keys or paths, and cannot read secrets."""

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
from tests.config.machine import Machine, geminisearch, origin, websearch, write

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


def protected(config: Config) -> object:
    """Everything that a project must not change."""
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
def test_a_project_may_not_set_hosts_or_keys(machine: Machine, name: str) -> None:
    path = machine.write_project_file(f'# a project\n\n{name} = "{PRIVATE[name]}"')
    assert machine.load_error() == (
        f"{path}:3: {name}: a project's file may not set this, because its author would decide where "
        f"your keys and data go; if you want it, set it in {machine.user_file}"
    )


def test_a_project_may_disable_providers_but_not_enable_them(machine: Machine) -> None:
    machine.write_user_file("[providers.copilot]\nenabled = false")
    path = machine.write_project_file("[providers.copilot]\nenabled = true")
    assert machine.load_error() == (
        f"{path}:2: providers.copilot.enabled: a project's file may only disable a provider; "
        f"enable it in {machine.user_file}"
    )
    machine.write_project_file("[providers.gemini]\nenabled = false")
    assert machine.load().provider("gemini").enabled is False


def test_a_project_file_may_not_contain_a_key(machine: Machine) -> None:
    path = machine.write_project_file("[providers.gemini]\napi_key = 'sk-1'")
    assert machine.load_error() == f"{path}:2: providers.gemini.api_key: a project's file may not hold keys"


def test_a_project_may_not_define_providers(machine: Machine) -> None:
    path = machine.write_project_file("[providers.evil]\nmodel = 'x'")
    assert machine.load_error().startswith(f"{path}:1: providers.evil: there is no provider 'evil'; ")
    assert machine.load_error().endswith(f"set its dialect and base_url in {machine.user_file}")


def test_a_relative_xdg_path_does_not_make_a_project_file_a_user_file(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.project)
    write(machine.project / "x/groundwire/config.toml", f'[providers.gemini]\nbase_url = "{EVIL}"')
    write(machine.project / "x/opencode/opencode.json", geminisearch(apiKey="evil"))
    config = machine.load({"XDG_CONFIG_HOME": "x"})
    assert (config.providers, config.geminisearch) == ({}, {})


KEYS = (
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


def load_outcome(machine: Machine) -> tuple[object, str]:
    """What a project must not change, or the message of the refusal."""
    try:
        return protected(machine.load(ENV)), ""
    except ConfigError as error:
        return None, error.message


def _toml(table: str, key: str, form: str) -> str:
    quoted = json.dumps(key, ensure_ascii=False)
    value = {
        "text": f'"{EVIL}"',
        "table": f'{{ {quoted} = "{EVIL}" }}',
        "list": f'["{EVIL}"]',
        "inline": f'{{ url = "{EVIL}", key = "evil" }}',
    }[form]
    return f"[{table}]\n{quoted} = {value}\n" if table else f"{quoted} = {value}\n"


def test_no_key_of_a_projects_own_file_changes_a_host_or_a_key(machine: Machine) -> None:
    machine.write_user_file(USER)
    before = protected(machine.load(ENV))
    count = refused = 0
    for table, key, form in itertools.product(TABLES, KEYS, FORMS):
        machine.write_project_file(_toml(table, key, form))
        count += 1
        after, error = load_outcome(machine)
        refused += bool(error)
        assert after == before or str(machine.project_file) in error, (table, key, form)
    assert count > 2000
    # Only aliases accept arbitrary names.
    assert count - refused == len(KEYS)


def _nested(path: list[str], item: Json) -> Json:
    for name in reversed(path):
        item = {name: item}
    return item


def _attacks() -> Iterator[Json]:
    providers = ("google", "gemini", "geminisearch", "openai", "openrouter", "anthropic", "*", "mine")
    for provider, key in itertools.product(providers, KEYS):
        for path in (
            ["options"],
            ["options", "websearch"],
            [],
            ["models", "m", "options"],
            ["options", "headers"],
        ):
            for item in (EVIL, "{env:MINE_KEY}"):
                yield _nested(["provider", provider, *path, key], item)
    others: tuple[Json, ...] = (None, [], {}, 5, "", "evil-key", "{file:key.txt}", "{file:~/secret}", [KEY])
    for other in (*others, "{env:MINE_KEY}"):
        yield geminisearch(apiKey=other)
        yield _nested(["provider", "geminisearch", "options"], other)
        yield _nested(["provider", "geminisearch"], other)
        yield _nested(["provider"], other)


# Seven has no common factor with the numbers of paths and values, so every combination is sampled.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.thorough)])
def test_no_key_of_a_projects_opencode_file_changes_a_host_or_a_key(machine: Machine, step: int) -> None:
    machine.write_user_file(USER)
    write(machine.opencode_file, geminisearch(apiKey=KEY, model="m"))
    write(machine.project / "key.txt", "evil-key")
    write(machine.home / "secret", "file-canary-0005")
    before = machine.load(ENV)
    assert before.geminisearch["apiKey"] == KEY
    attacks = list(_attacks())
    assert len(attacks) > 2000
    rng = random.Random(7)
    for attack in attacks[::step]:
        name = rng.choice(["opencode.json", "opencode.jsonc", ".opencode/opencode.json"])
        path = write(machine.project / name, attack)
        after = machine.load(ENV)
        path.unlink()
        assert protected(after) == protected(before), attack
        assert "canary-000" not in repr(after), attack


@pytest.mark.parametrize(
    "item", ["evil-key", "{file:key.txt}", "{file:~/secret}", "{env:MINE_KEY}", "{env:EVIL_MODEL}"]
)
@pytest.mark.parametrize("name", ["opencode.json", ".opencode/opencode.jsonc"])
def test_a_key_in_a_project_file_is_ignored_with_a_warning(machine: Machine, name: str, item: str) -> None:
    path = write(machine.project / name, geminisearch(apiKey=item))
    write(path.parent / "key.txt", "evil-key")
    write(machine.home / "secret", "file-canary")
    config = machine.load({**ENV, "EVIL_MODEL": "evil-key"})
    assert config.geminisearch == {}
    (warning,) = config.warnings
    assert warning == (
        f"{path}: provider.geminisearch.options.apiKey: a project's file may not set a key, only name "
        "GEMINI_API_KEY or GOOGLE_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY as {env:NAME}; it is ignored. "
        "Put your key into your global configuration of OpenCode, or into GEMINI_API_KEY"
    )


def test_a_project_may_name_the_variable_of_a_gemini_key(machine: Machine) -> None:
    path = write(machine.project_opencode_file, geminisearch(apiKey="{env:GEMINI_API_KEY}", model="m"))
    config = machine.load({"GEMINI_API_KEY": "mine"})
    assert config.geminisearch == {"apiKey": "mine", "model": "m"}
    assert (origin(config, "geminisearch.apiKey"), config.warnings) == (str(path), ())
    assert machine.load().geminisearch == {"model": "m"}
    write(machine.opencode_file, geminisearch(apiKey="{env:OTHER}"))
    assert machine.load({"GEMINI_API_KEY": "mine", "OTHER": "own"}).geminisearch["apiKey"] == "own"


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
def test_a_project_cannot_read_secrets_through_a_model_name(machine: Machine, model: str) -> None:
    secret = write(machine.home / "secret", "file-canary")
    (machine.project / "link").symlink_to(secret)
    (machine.project / "folder").symlink_to(machine.home)
    path = write(machine.project_opencode_file, websearch(model))
    env = {
        **ENV,
        "HOME": str(machine.home),
        "PATH": "/canary",
        "LOOKS_LIKE_A_MODEL": "sk-proj-canarycanarycanary",
        "STOLEN_MODEL": str(secret),
    }
    config = machine.load(env)
    assert config.providers == {}
    assert "canary" not in repr(config)
    (warning,) = config.warnings
    assert warning == (
        f"{path}: provider.google.options.websearch.model: a project's file may take a model only from a "
        "variable with MODEL in its name, or from a file inside the project; it is ignored"
    )


def test_a_project_may_take_a_model_from_its_own_files_and_from_variables_for_models(
    machine: Machine,
) -> None:
    write(machine.project / "models/fast.txt", "from-file\n")
    write(machine.project / "inner/opencode.json", websearch("{file:../models/fast.txt}"))
    write(machine.project_opencode_file, websearch("{env:MY_SEARCH_MODEL}", "openai"))
    config = machine.load({"MY_SEARCH_MODEL": "from-variable"}, cwd=machine.project / "inner")
    assert config.provider("gemini").model == "from-file"
    assert config.provider("openai").model == "from-variable"
    assert config.warnings == ()


def test_forbidden_values_in_unused_settings_cause_no_warning(machine: Machine) -> None:
    body = {
        "provider": {
            "anthropic": {"options": {"apiKey": "{env:ANTHROPIC_API_KEY}", "baseURL": EVIL}},
            "google": {"options": {"apiKey": "{file:~/secret}", "websearch": {"model": "chosen"}}},
        },
        "agent": {"a": {"prompt": "{file:~/missing}"}},
    }
    write(machine.project_opencode_file, body)
    config = machine.load()
    assert (config.provider("gemini").model, config.warnings) == ("chosen", ())


def test_the_users_own_directory_is_trusted_as_the_current_directory(machine: Machine) -> None:
    for folder in (machine.opencode_file.parent, machine.home / ".opencode"):
        path = write(folder / "opencode.json", geminisearch(apiKey="own"))
        config = machine.load(cwd=folder)
        assert (config.geminisearch, config.warnings) == ({"apiKey": "own"}, ())
        path.unlink()


def test_a_symlinked_project_file_has_the_limits_of_a_project_file(machine: Machine, tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere.toml", f'[providers.gemini]\nbase_url = "{EVIL}"')
    machine.project_file.symlink_to(elsewhere)
    assert "may not set this" in machine.load_error()
