"""Providers by name: built in, installed, configured."""

from __future__ import annotations

import pytest

from groundwire.dialects.registry import DIALECTS
from groundwire.errors import ConfigError
from groundwire.model import SearchOptions
from groundwire.providers import registry
from groundwire.providers.registry import adjusted, describe, find_spec
from groundwire.providers.spec import ProviderSpec, path
from tests.providers.harness import PROVIDER_CASES, VENDORS, ProviderCase, built_in, question

pytestmark = pytest.mark.server


@pytest.mark.parametrize("case", VENDORS, ids=str)
def test_a_built_in_spec_has_all_that_a_user_needs(case: ProviderCase) -> None:
    row = built_in(case.name)
    assert isinstance(row, ProviderSpec)
    assert row.name == case.name
    assert row.dialect in DIALECTS
    assert row.base_url.startswith("http://127.0.0.1:" if case.is_local else "https://") or row.base_url_env
    assert not row.base_url.endswith("/")
    assert bool(row.model) == (not case.model)
    assert row.advice.endswith(".")
    if not case.is_local:
        assert row.lookups
        assert row.missing.startswith("MISSING_")


def test_an_unknown_name_has_no_spec() -> None:
    assert find_spec("unknown") is None


def test_a_configured_provider_needs_a_known_dialect_and_a_base_url() -> None:
    with pytest.raises(ConfigError, match="give it a dialect and a base_url"):
        describe("mine", "", "", "")
    with pytest.raises(ConfigError, match="'klingon' is not one of"):
        describe("mine", "klingon", "http://h", "")
    with pytest.raises(ConfigError, match=r"providers\.mine\.base_url is missing"):
        describe("mine", "openai_chat", "", "")


def test_a_configured_provider_looks_up_its_key_in_key_env() -> None:
    row = describe("mine", "openai_chat", "http://h", "MY_KEY")
    assert [(lookup.kind, lookup.name) for lookup in row.lookups] == [
        ("environment", "MY_KEY"),
        ("own", "mine"),
    ]
    assert row.missing == "MISSING_MINE_API_KEY"
    assert "MY_KEY" in row.advice
    keyless = describe("mine", "openai_chat", "http://h", "")
    assert (keyless.lookups, keyless.missing) == ((), "")


def test_settings_override_the_spec() -> None:
    row = find_spec("openai")
    assert row is not None
    assert adjusted(row) == row
    changed = adjusted(row, base_url="http://h/v1", model="m")
    assert (changed.base_url, changed.model) == ("http://h/v1", "m")
    assert changed.capabilities == row.capabilities
    assert adjusted(row, search="none").capabilities.search == "none"
    assert adjusted(row, search="native").capabilities.search == "native"


@pytest.mark.parametrize(
    ("name", "form", "extras"),
    [
        ("openrouter", "plugin", {"openai_responses": {"type": "plugin"}}),
        ("openai", "web_search_preview", {"openai_responses": {"type": "web_search_preview"}}),
        ("openai_chat", "perplexity", {"openai_chat": {"form": "perplexity"}}),
    ],
)
def test_the_search_form_can_be_chosen(name: str, form: str, extras: object) -> None:
    row = find_spec(name)
    assert row is not None
    assert adjusted(row, search_form=form).spelling(SearchOptions()) == SearchOptions(extras=extras)  # type: ignore[arg-type]


def test_an_unknown_search_form_is_refused_with_the_known_ones() -> None:
    for name, message in (("openai", "openrouter:web_search"), ("anthropic", "not used with")):
        row = find_spec(name)
        assert row is not None
        with pytest.raises(ConfigError, match=message):
            adjusted(row, search_form="carrier pigeon")


def test_openrouters_own_forms_are_kept_and_others_become_its_server_tool() -> None:
    row = find_spec("openrouter")
    assert row is not None
    for kind, expected in (
        ("plugin", "plugin"),
        ("openrouter:web_search", "openrouter:web_search"),
        ("web_search_preview", "openrouter:web_search"),
    ):
        options = SearchOptions(extras={"openai_responses": {"type": kind}, "gemini": {"a": 1}})
        spelled = row.spelling(options).extras
        assert spelled["openai_responses"]["type"] == expected
        assert spelled["gemini"] == {"a": 1}


INSTALLED = ProviderSpec("acme", "Acme", "openai_chat", "https://acme.example", path("/chat"), "acme-1")


class _EntryPoint:
    def __init__(self, found: object) -> None:
        self._found = found

    def load(self) -> object:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    installed: dict[str, object] = {}

    def entry_points() -> dict[str, _EntryPoint]:
        return {name: _EntryPoint(found) for name, found in installed.items()}

    monkeypatch.setattr(registry, "installed_providers", entry_points)
    return installed


def test_a_spec_of_an_installed_package_is_found_by_name(install: dict[str, object]) -> None:
    install["acme"] = INSTALLED
    assert find_spec("acme") is INSTALLED
    assert INSTALLED.url(INSTALLED.base_url, question()) == "https://acme.example/chat"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (ImportError("no module named acme"), "cannot be loaded: no module named acme"),
        (AttributeError("ROW"), "cannot be loaded"),
        ("a string", "is a str; it must be a ProviderSpec"),
    ],
)
def test_an_installed_package_that_is_broken_is_named(
    install: dict[str, object], found: object, message: str
) -> None:
    install["acme"] = found
    with pytest.raises(ConfigError, match=message):
        find_spec("acme")


def test_no_spec_shows_a_key_in_its_url() -> None:
    for case in PROVIDER_CASES:
        row = case.row("http://h")
        assert "key" not in row.url(row.base_url, question(stream=True))
