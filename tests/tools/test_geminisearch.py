"""`geminisearch` end to end on loopback: it has its own key and model, and uses no others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.model import JsonObject
from groundwire.model.value import replace
from groundwire.providers.models import default_model
from groundwire.tools import run_tool
from tests.faces.fakes import LATE
from tests.faces.loopback import BOUND, Loopback, loopback


@pytest.fixture
def provider() -> Iterator[Loopback]:
    with loopback() as script:
        script.events = LATE
        yield script


def call(config: Config, env: Mapping[str, str], name: str = "geminisearch") -> JsonObject:
    async def main() -> JsonObject:
        async with Groundwire(config, env=env) as groundwire:
            return await run_tool(groundwire, name, {"query": "how many?"})

    return asyncio.run(main())


def config(provider: Loopback, block: Mapping[str, str], model: str = "") -> Config:
    settings = {"gemini": ProviderSettings(base_url=provider.address, model=model)}
    return Config(providers=settings, geminisearch=block, config_dir="/nonexistent")


def key_and_path(provider: Loopback) -> tuple[str, str]:
    request = provider.requests[-1]
    return request["headers"]["x-goog-api-key"], request["path"]


def test_the_block_sets_key_and_model(provider: Loopback, tmp_path: Path) -> None:
    block = {"apiKey": "block-key-123456", "model": "gemini-2.5-pro"}
    result = call(config(provider, block), {"HOME": str(tmp_path), "GEMINI_API_KEY": "other-key-123456"})
    assert "error" not in result
    assert key_and_path(provider) == ("block-key-123456", "/v1beta/models/gemini-2.5-pro:generateContent")


@pytest.mark.parametrize("block", [{}, {"apiKey": "", "model": " "}, {"apiKey": "no key: blanks"}])
def test_an_incomplete_block_falls_back_to_the_variable_and_the_default(
    provider: Loopback, tmp_path: Path, block: dict[str, str]
) -> None:
    call(config(provider, block), {"HOME": str(tmp_path), "GEMINI_API_KEY": "variable-key-123"})
    assert key_and_path(provider) == (
        "variable-key-123",
        f"/v1beta/models/{default_model('gemini')}:generateContent",
    )


def test_settings_of_other_providers_are_not_used(provider: Loopback, tmp_path: Path) -> None:
    store = tmp_path / ".local/share/opencode"
    store.mkdir(parents=True)
    (store / "auth.json").write_text(json.dumps({"google": {"type": "api", "key": "opencode-key-1234"}}))
    (store / "auth.json").chmod(0o600)
    env = {"HOME": str(tmp_path), "GOOGLE_API_KEY": "google-key-123456"}
    result = call(config(provider, {}, model="gemini-3-pro"), env)
    assert result["error"] == {
        "message": "no credentials for Google Gemini. Set GEMINI_API_KEY, or "
        "provider.geminisearch.options.apiKey in OpenCode's configuration.",
        "type": "MISSING_GEMINI_API_KEY",
    }
    assert provider.requests == []
    call(config(provider, {}, model="gemini-3-pro"), {**env, "GEMINI_API_KEY": "variable-key-123"})
    assert key_and_path(provider) == (
        "variable-key-123",
        f"/v1beta/models/{default_model('gemini')}:generateContent",
    )
    call(config(provider, {}, model="gemini-3-pro"), env, "websearch_gemini")
    assert key_and_path(provider) == ("opencode-key-1234", "/v1beta/models/gemini-3-pro:generateContent")


def test_the_query_is_sent_as_one_user_message_with_google_search(provider: Loopback, tmp_path: Path) -> None:
    call(config(provider, {}), {"HOME": str(tmp_path), "GEMINI_API_KEY": "variable-key-123"})
    body = provider.requests[0]["body"]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "how many?"}]}]
    assert body["tools"] == [{"googleSearch": {}}]
    assert provider.requests[0]["headers"]["content-type"] == "application/json"


def test_a_failure_is_reported_without_the_key(provider: Loopback, tmp_path: Path) -> None:
    provider.status = 400
    provider.error_body = json.dumps(
        {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "key variable-key-123 is not valid"}}
    ).encode()
    result = call(config(provider, {}), {"HOME": str(tmp_path), "GEMINI_API_KEY": "variable-key-123"})
    assert "variable-key" not in json.dumps(result)
    assert isinstance(result["error"], dict)
    assert result["error"]["type"] == "GEMINI_WEB_SEARCH_FAILED"


async def test_the_provider_is_used_only_by_its_own_tool(provider: Loopback, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "GEMINI_API_KEY": "variable-key-123"}
    async with Groundwire(config(provider, {}), env=env) as groundwire:
        await run_tool(groundwire, "geminisearch", {"query": "x"})
        assert "geminisearch" not in groundwire.names
        assert "geminisearch" not in [status.name for status in groundwire.providers()]


@pytest.mark.parametrize("wanted", ["true", ""])
def test_the_raw_metadata_is_returned_on_request(provider: Loopback, tmp_path: Path, wanted: str) -> None:
    metadata = {
        "webSearchQueries": ["how many"],
        "groundingChunks": [{"web": {"uri": "https://a.example/", "title": "A", "custom": 1}}],
        "groundingSupports": [
            {
                "segment": {"endIndex": 4, "text": "Yes."},
                "groundingChunkIndices": [0],
                "confidenceScores": [0.5],
            }
        ],
    }
    candidate = {
        "content": {"role": "model", "parts": [{"text": "Yes."}]},
        "finishReason": "STOP",
        "groundingMetadata": metadata,
    }
    provider.raw = json.dumps({"candidates": [candidate]}).encode()
    block = {"apiKey": "block-key-123456", "groundingMetadata": wanted}
    result = call(config(provider, block), {"HOME": str(tmp_path)})
    assert result.get("groundingMetadata") == (metadata if wanted else None)


def test_the_configured_timeout_applies(provider: Loopback, tmp_path: Path) -> None:
    provider.stall_after(0)
    patient = config(provider, {"apiKey": "block-key-123456"})
    result = call(replace(patient, timeout=0.2), {"HOME": str(tmp_path)})
    assert provider.disconnected.wait(BOUND), "the request is cancelled"
    error = result["error"]
    assert isinstance(error, dict)
    assert error["type"] == "GEMINI_WEB_SEARCH_FAILED"
