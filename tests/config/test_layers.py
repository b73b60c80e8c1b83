"""Environment variables of groundwire, and those of other programs, which are ignored."""

from __future__ import annotations

import pytest

from groundwire.config.schema import KNOWN_PROVIDERS, ProviderSettings
from tests.config.machine import Machine, origin


@pytest.mark.parametrize("name", KNOWN_PROVIDERS)
def test_every_provider_has_its_variables(machine: Machine, name: str) -> None:
    prefix = f"GROUNDWIRE_{name.upper()}"
    config = machine.load({f"{prefix}_BASE_URL": "https://a.example", f"{prefix}_MODEL": "m"})
    assert config.providers == {name: ProviderSettings(base_url="https://a.example", model="m")}
    assert origin(config, f"providers.{name}.base_url") == f"environment {prefix}_BASE_URL"
    assert config.warnings == ()


def test_base_url_variables_of_vendors_are_ignored(machine: Machine) -> None:
    vendors = ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE_GEMINI", "OPENROUTER", "GOOGLE", "CODEX")
    config = machine.load({f"{vendor}_BASE_URL": "http://127.0.0.1:8484" for vendor in vendors})
    assert config == machine.load()


def test_variables_of_copilot_do_not_change_the_configuration(machine: Machine) -> None:
    names = ("WEB_SEARCH_MODEL", "WEB_SEARCH_TIMEOUT", "COPILOT_PATH", "ENABLE_WEB_SEARCH")
    assert machine.load(dict.fromkeys(names, "60000")) == machine.load()


@pytest.mark.parametrize("value", ["false", "0", " OFF ", "no"])
def test_searches_of_claude_code_can_be_disabled(machine: Machine, value: str) -> None:
    config = machine.load({"ENABLE_WEB_SEARCH": value})
    assert config.gateway.search == "none"
    assert origin(config, "gateway.search") == "environment ENABLE_WEB_SEARCH"


def test_the_order_variable_is_a_comma_separated_list(machine: Machine) -> None:
    config = machine.load({"GROUNDWIRE_ORDER": " openai, gemini ,openai,, web "})
    assert config.order == ("openai", "gemini", "web")
    assert origin(config, "order") == "environment GROUNDWIRE_ORDER"


def test_the_data_directory_may_be_relative_or_at_home(machine: Machine) -> None:
    assert machine.load({"GROUNDWIRE_DATA_DIR": "data"}).data_dir == str(machine.project / "data")
    assert machine.load({"GROUNDWIRE_DATA_DIR": "~/data"}).data_dir == str(machine.home / "data")


WRONG = {
    "GROUNDWIRE_TIMEOUT=soon": "GROUNDWIRE_TIMEOUT: expected a positive number of seconds, found this text",
    "GROUNDWIRE_TIMEOUT=-1": "GROUNDWIRE_TIMEOUT: expected a positive number of seconds, found -1",
    "GROUNDWIRE_TIMEOUT=nan": "GROUNDWIRE_TIMEOUT: expected a positive number of seconds, found nan",
    "GROUNDWIRE_ORDER=,": "GROUNDWIRE_ORDER: expected a list of provider names, found a list",
    "GROUNDWIRE_ORDER=gemni": "GROUNDWIRE_ORDER: there is no provider 'gemni'; did you mean gemini?",
    "GROUNDWIRE_GEMINI_BASE_URL=http://a.example": "GROUNDWIRE_GEMINI_BASE_URL: http:// would send your key",
    "GROUNDWIRE_GEMINI_MODEL=a\x1bb": "GROUNDWIRE_GEMINI_MODEL: expected a text that is not blank",
}


@pytest.mark.parametrize("setting", WRONG)
def test_a_wrong_value_is_reported_with_its_variable(machine: Machine, setting: str) -> None:
    name, _, text = setting.partition("=")
    assert machine.load_error({name: text}).startswith(WRONG[setting])


def test_a_variable_of_an_unknown_provider_is_a_warning(machine: Machine) -> None:
    config = machine.load({"GROUNDWIRE_GEMNI_BASE_URL": "https://a.example", "GROUNDWIRE_QQQQ_MODEL": "m"})
    assert config.providers == {}
    misspelt, unknown = config.warnings
    assert misspelt == (
        "GROUNDWIRE_GEMNI_BASE_URL: there is no provider 'gemni'; the variable is ignored; "
        "did you mean GROUNDWIRE_GEMINI_BASE_URL?"
    )
    assert unknown == "GROUNDWIRE_QQQQ_MODEL: there is no provider 'qqqq'; the variable is ignored"


def test_the_password_of_redis_is_neither_shown_nor_repeated(machine: Machine) -> None:
    config = machine.load({"GROUNDWIRE_REDIS": "rediss://user:open-sesame@cache.example:6380/1"})
    assert config.redis == "rediss://user:open-sesame@cache.example:6380/1"
    (shown,) = [setting for setting in config.settings if setting.name == "redis"]
    assert "sesame" not in str(shown.value)
    assert "cache.example:6380/1" in str(shown.value)
    for unusable in ("redis://:open/sesame@host", "http://open-sesame", "redis://"):
        message = machine.load_error({"GROUNDWIRE_REDIS": unusable})
        assert message.startswith("GROUNDWIRE_REDIS: expected redis://HOST:PORT/DATABASE")
        assert "sesame" not in message
