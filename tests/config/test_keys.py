"""The JSON schema and the documentation match the loader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.config.keys import all_keys, dotted, json_schema
from groundwire.config.layers import variable_name
from groundwire.config.schema import GatewaySettings, ProviderSettings
from groundwire.model import JsonObject, Location, SearchOptions
from groundwire.model.value import field_names

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[2]
KEYS = [dotted(path) for path, _ in all_keys()]


def at(*names: str) -> JsonObject:
    found = json_schema()
    for name in names:
        inner = found[name]
        assert isinstance(inner, dict)
        found = inner
    return found


def test_every_setting_of_a_provider_and_of_a_search_has_its_key() -> None:
    assert {key.removeprefix("providers.NAME.") for key in KEYS if key.startswith("providers.")} == set(
        field_names(ProviderSettings)
    )
    location = set(field_names(Location)) - {"latitude", "longitude"}
    options = set(field_names(SearchOptions)) - {"location", "extras"}
    assert {key.removeprefix("search.") for key in KEYS if key.startswith("search.")} == location | options
    gateway = {key.removeprefix("gateway.") for key in KEYS if key.startswith("gateway.")}
    assert gateway == set(field_names(GatewaySettings))


def test_the_schema_has_exactly_the_known_keys() -> None:
    assert at()["additionalProperties"] is False
    assert list(at("properties")) == [
        *(
            "order",
            "timeout",
            "max_answer_mb",
            "data_dir",
            "store",
            "redis",
            "compose",
            "build_index",
            "resolve_redirects",
            "search",
            "gateway",
            "verify",
            "aliases",
            "templates",
            "providers",
            "prices",
        )
    ]
    assert at("properties", "search")["additionalProperties"] is False
    row = at("properties", "providers", "additionalProperties")
    assert row["additionalProperties"] is False
    assert at("properties", "providers", "additionalProperties", "properties", "timeout") == {
        "description": "Seconds until an answer must be complete.",
        "type": "number",
        "exclusiveMinimum": 0,
    }
    assert at("properties", "search", "properties", "context_size")["enum"] == ["low", "medium", "high"]
    assert at("properties", "aliases", "additionalProperties")["type"] == "string"


def test_the_schema_describes_what_a_project_may_not_set() -> None:
    row = at("properties", "providers", "additionalProperties", "properties")
    refused = {name for name, item in row.items() if "Not in a project's file." in json.dumps(item)}
    assert refused == {"dialect", "base_url", "key_env"}


@pytest.mark.parametrize("name", KEYS)
def test_every_key_is_documented(name: str) -> None:
    last = name.rpartition(".")[2] if "aliases" not in name else "aliases"
    assert f"`{last}`" in (PROJECT / "docs" / "configuration.md").read_text("utf-8")


def test_the_example_of_the_documentation_can_be_loaded(tmp_path: Path) -> None:
    from groundwire.config.load import load

    page = (PROJECT / "docs" / "configuration.md").read_text("utf-8")
    for number, block in enumerate(page.split("```toml\n")[1:]):
        path = tmp_path / f"{number}.toml"
        path.write_text(block.partition("```")[0], "utf-8")
        assert load({"GROUNDWIRE_CONFIG": str(path)}, str(tmp_path), str(tmp_path)).settings


def test_variables_are_named_after_their_provider() -> None:
    assert variable_name("openai_chat", "base_url") == "GROUNDWIRE_OPENAI_CHAT_BASE_URL"
    assert variable_name("my-llm.v2", "model") == "GROUNDWIRE_MY_LLM_V2_MODEL"


def test_the_generated_schema_is_up_to_date() -> None:
    script = PROJECT / "scripts" / "config_schema.py"
    result = subprocess.run(  # noqa: S603
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
