"""Vendors that speak OpenAI's dialects: what each requires beyond the dialect, and helpful errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.credentials.secret import Credential, Secret
from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    MissingCredential,
    NotFound,
    Unreachable,
)
from groundwire.model import JsonObject, Request, SearchOptions, Source, Warned
from groundwire.model.value import replace
from groundwire.providers.catalog import CATALOG
from groundwire.providers.hosted import adjust_for_groq, adjust_for_perplexity, adjust_for_xai
from groundwire.providers.pricing import load_prices
from groundwire.providers.registry import load_registered
from groundwire.providers.spec import ProviderSpec
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.providers.harness import VENDORS, built_in, case_named, question, world

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", autouse=True)
def _prices() -> None:
    """Load the prices first: otherwise a thread still does when a request fails at once."""
    load_prices()


EVENTS = answer_events("Long.", Source("https://alpha.example/"), query="nile")
NOTHING = Request(())


def tool(**filters: object) -> JsonObject:
    return {"tools": [{"type": "web_search", "filters": filters}], "include": ["a"]}  # type: ignore[dict-item]


def test_xai_has_its_own_name_for_blocked_domains() -> None:
    adjusted = adjust_for_xai(tool(blocked_domains=["b.example"]), NOTHING)
    assert adjusted == tool(excluded_domains=["b.example"])


def test_perplexity_has_one_list_of_domains() -> None:
    blocked = adjust_for_perplexity(tool(blocked_domains=["b.example"]), NOTHING)
    assert blocked == tool(search_domain_filter=["-b.example"])
    allowed = adjust_for_perplexity(tool(allowed_domains=["a.example"]), NOTHING)
    assert allowed == tool(search_domain_filter=["a.example"])


def test_openai_s_list_of_sources_is_not_requested_from_others() -> None:
    body: JsonObject = {"include": ["web_search_call.action.sources", "reasoning.encrypted_content"]}
    for adjust in (adjust_for_xai, adjust_for_perplexity):
        assert adjust(body, NOTHING) == {"include": ["reasoning.encrypted_content"]}


@pytest.mark.parametrize("name", [vendor.name for vendor in VENDORS if vendor.searches])
async def test_a_plain_question_has_nothing_to_warn_about(name: str) -> None:
    case = case_named(name)
    async with world(case, answer(case.dialect, EVENTS)) as here:
        outcome = await here.ask(question())
    assert [event for event in outcome.events if isinstance(event, Warned)] == []


@pytest.mark.parametrize("body", [{"tools": [{"type": "web_search"}, {"type": "function"}]}, {"input": "q"}])
def test_a_body_without_anything_to_change_is_passed_on_unchanged(body: JsonObject) -> None:
    for adjust in (adjust_for_xai, adjust_for_perplexity):
        assert adjust(body, NOTHING) is body


def test_the_names_of_groq_s_systems_keep_their_prefix() -> None:
    assert adjust_for_groq({"model": "compound-mini"}, NOTHING) == {"model": "groq/compound-mini"}
    assert adjust_for_groq({"model": "openai/gpt-oss-120b"}, NOTHING) == {"model": "openai/gpt-oss-120b"}


async def test_a_question_without_search_turns_off_the_search_of_perplexity() -> None:
    async with world(case_named("perplexity"), answer("openai_chat", EVENTS)) as here:
        await here.ask(replace(question(), search=None))
        await here.ask(question())
        without, searching = (received.json for received in here.upstream.requests)
    assert isinstance(without, dict)
    assert isinstance(searching, dict)
    assert without["disable_search"] is True
    assert "disable_search" not in searching


async def test_groq_restricts_its_search_to_domains() -> None:
    async with world(case_named("groq"), answer("openai_chat", EVENTS)) as here:
        outcome = await here.ask(question(search=SearchOptions(("alpha.example",), ("b.example",))))
        (received,) = here.upstream.requests
    assert outcome.error is None
    assert isinstance(received.json, dict)
    assert received.json["search_settings"] == {
        "include_domains": ["alpha.example"],
        "exclude_domains": ["b.example"],
    }


# Errors: one sentence each that says what to do


def client(home: Path, env: dict[str, str] | None = None, **providers: ProviderSettings) -> Groundwire:
    config = Config(providers=providers, data_dir=str(home), config_dir=str(home))
    return Groundwire(config, env={"HOME": str(home), **(env or {})})


async def failed(groundwire: Groundwire, provider: str, model: str = "") -> GroundwireError:
    async with groundwire:
        with pytest.raises(GroundwireError) as caught:
            await groundwire.asearch("how long?", provider=provider, model=model)
    return caught.value


NEEDS_KEY = [case.name for case in VENDORS if not case.is_local and case.name != "openai_oauth"]


@pytest.mark.parametrize("name", NEEDS_KEY)
async def test_a_missing_key_is_named(name: str, tmp_path: Path) -> None:
    error = await failed(client(tmp_path), name, "m")
    assert isinstance(error, MissingCredential)
    assert error.code == built_in(name).missing
    assert built_in(name).advice in error.message


REGIONS = {"GOOGLE_CLOUD_PROJECT": "my-project", "AWS_REGION": "us-east-1"}


async def rejected(home: Path, name: str, response: ScriptedResponse, model: str = "m") -> GroundwireError:
    row = built_in(name)
    variable = next(lookup.name for lookup in row.lookups if lookup.kind == "environment")
    async with Upstream(response) as upstream:
        settings = ProviderSettings(base_url=upstream.url, model=model)
        return await failed(client(home, {**REGIONS, variable: "k" * 20}, **{name: settings}), name)


WRONG_KEY = json_response({"error": {"message": "Invalid key", "type": "authentication_error"}}, 401)
WRONG_MODEL = json_response(
    {"error": {"message": "The model does not exist", "code": "model_not_found"}}, 404
)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("zai", "https://open.bigmodel.cn/api/paas/v4"),
        ("moonshot", "https://api.moonshot.cn/v1"),
        ("azure", "compare it with AZURE_OPENAI_ENDPOINT"),
        ("vertex", "check that the API is enabled in the project"),
        ("vertex_claude", "check that the API is enabled in the project"),
        ("bedrock", "Check that the key is valid in us-east-1"),
    ],
)
async def test_a_key_of_another_region_is_explained(name: str, hint: str, tmp_path: Path) -> None:
    error = await rejected(tmp_path, name, WRONG_KEY)
    assert isinstance(error, AuthRejected)
    assert hint in error.message


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("vertex", {"GOOGLE_CLOUD_LOCATION": "europe-west4-a"}),
        ("vertex_claude", {"CLOUD_ML_REGION": "europe"}),
        ("bedrock", {"AWS_REGION": "us-east-1a"}),
    ],
)
async def test_a_wrong_region_is_named(name: str, region: dict[str, str], tmp_path: Path) -> None:
    keys = {"VERTEX_ACCESS_TOKEN": "k" * 20, "AWS_BEARER_TOKEN_BEDROCK": "k" * 20}
    error = await failed(client(tmp_path, {**REGIONS, **keys, **region}), name)
    assert isinstance(error, ConfigError)
    assert f"{next(iter(region.values()))!r}, which is not a region; write one like" in error.message


@pytest.mark.parametrize("name", [case.name for case in VENDORS if built_in(case.name).models_page])
async def test_an_unknown_model_is_answered_with_the_list_of_models(name: str, tmp_path: Path) -> None:
    error = await rejected(tmp_path, name, WRONG_MODEL, "grok-99")
    assert isinstance(error, NotFound)
    assert f"has no grok-99, choose one of {built_in(name).models_page}" in error.message


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://x.openai.azure.com/openai/deployments/gpt-5/chat/completions", "address of a deployment"),
        ("https://x.openai.azure.com/openai/v1?api-version=2025-01-01", "address of a deployment"),
        ("https://westeurope.api.cognitive.microsoft.com", "address of a region"),
        ("x.openai.azure.com", "does not begin with https://"),
    ],
)
async def test_an_address_of_azure_in_another_form_is_explained(
    address: str, words: str, tmp_path: Path
) -> None:
    env = {"AZURE_OPENAI_API_KEY": "k" * 20, "AZURE_OPENAI_ENDPOINT": address}
    error = await failed(client(tmp_path, env), "azure", "gpt-5")
    assert isinstance(error, ConfigError)
    assert words in error.message
    assert "https://NAME.openai.azure.com" in error.message


@pytest.mark.parametrize("base", ["", "/", "/openai", "/openai/", "/openai/v1", "/openai/v1/"])
def test_the_address_of_an_azure_resource_may_have_the_path_of_the_api(base: str) -> None:
    url = built_in("azure").url(f"https://x.openai.azure.com{base}", NOTHING)
    assert url == "https://x.openai.azure.com/openai/v1/responses"


async def test_azure_needs_an_address_and_a_deployment(tmp_path: Path) -> None:
    error = await failed(client(tmp_path, {"AZURE_OPENAI_API_KEY": "k" * 20}), "azure", "gpt-5")
    assert isinstance(error, MissingCredential)
    assert "Set AZURE_OPENAI_ENDPOINT" in error.message
    env = {"AZURE_OPENAI_API_KEY": "k" * 20, "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}
    groundwire = client(tmp_path, env)
    assert groundwire.usable()["azure"]
    error = await failed(groundwire, "azure")
    assert "azure has no default model" in error.message
    error = await failed(client(tmp_path, {}), "azure")
    assert "azure has no default model" in error.message
    assert "Set AZURE_OPENAI_ENDPOINT" in error.message


def test_azure_takes_a_key_or_a_token_of_entra_id() -> None:
    row = built_in("azure")
    assert row.headers(Credential(Secret("k"), "api", "environment AZURE_OPENAI_API_KEY")) == {"api-key": "k"}
    token = Credential(Secret("t"), "api", "environment AZURE_OPENAI_AD_TOKEN")
    assert row.headers(token) == {"authorization": "Bearer t"}


async def test_a_rejected_key_is_named_by_its_origin(tmp_path: Path) -> None:
    error = await rejected(tmp_path, "groq", WRONG_KEY)
    assert error.message == "Invalid key. The key comes from environment GROQ_API_KEY."


async def test_a_local_server_that_is_not_running_is_named(tmp_path: Path) -> None:
    async with Upstream(Script(port_state="closed")) as upstream:
        settings = ProviderSettings(base_url=f"{upstream.url}/v1", model="llama")
        error = await failed(client(tmp_path, {}, ollama=settings), "ollama")
    assert isinstance(error, Unreachable)
    assert error.message.startswith("Ollama is not running: cannot reach 127.0.0.1")
    assert error.message.endswith("Start Ollama, or set providers.ollama.base_url.")


async def test_the_variable_with_the_address_is_named(tmp_path: Path) -> None:
    error = await failed(client(tmp_path, {"SEARXNG_URL": "localhost:8888"}), "searxng")
    assert error.message.startswith("SEARXNG_URL or providers.searxng.base_url does not begin with https://")


ENGINES = [entry.name for entry in CATALOG if isinstance(load_registered(entry.name), ApiEngineSpec)]
WITH_KEY = [name for name in ENGINES if name != "searxng"]


def engine(name: str) -> ApiEngineSpec:
    row = load_registered(name)
    assert isinstance(row, ApiEngineSpec)
    return row


@pytest.mark.parametrize("name", WITH_KEY)
async def test_a_search_service_without_a_key_says_how_to_give_it_one(name: str, tmp_path: Path) -> None:
    row = engine(name)
    variable = next(lookup.name for lookup in row.lookups if lookup.kind == "environment")
    error = await failed(client(tmp_path, dict.fromkeys(row.variables, "id")), name)
    assert isinstance(error, MissingCredential)
    assert error.code == f"MISSING_{variable}" == row.missing
    assert f"Set {variable}" in error.message
    assert f"groundwire login {name}" in error.message


@pytest.mark.parametrize("name", WITH_KEY)
async def test_a_search_service_that_rejects_a_key_says_where_it_comes_from(
    name: str, tmp_path: Path
) -> None:
    row = engine(name)
    variable = next(lookup.name for lookup in row.lookups if lookup.kind == "environment")
    async with Upstream(json_response({"message": "no"}, 401)) as upstream:
        env = {**dict.fromkeys(row.variables, "id"), variable: "k" * 20}
        error = await failed(client(tmp_path, env, **{name: ProviderSettings(base_url=upstream.url)}), name)
    assert isinstance(error, AuthRejected)
    assert error.message.endswith(f". The key comes from environment {variable}.")


WITH_VARIABLE = [case.name for case in VENDORS if case.name != "openai_oauth"]


@pytest.mark.parametrize("name", [*WITH_VARIABLE, *ENGINES])
async def test_an_address_without_a_scheme_is_explained(name: str, tmp_path: Path) -> None:
    row: ProviderSpec | ApiEngineSpec = engine(name) if name in ENGINES else built_in(name)
    variables = [lookup.name for lookup in row.lookups if lookup.kind == "environment"]
    env = {**REGIONS, **dict.fromkeys(variables[:1], "k" * 20), "GOOGLE_PSE_ENGINE_ID": "id"}
    settings = ProviderSettings(base_url="api.acme.example/v1", model="m" if name not in ENGINES else "")
    error = await failed(client(tmp_path, env, **{name: settings}), name)
    assert isinstance(error, ConfigError)
    assert f"providers.{name}.base_url" in error.message
    assert "https://" in error.message


def test_every_vendor_is_in_the_catalog_once() -> None:
    names = [entry.name for entry in CATALOG]
    assert len(names) == len(set(names))
    assert {case.name for case in VENDORS} < set(names)
