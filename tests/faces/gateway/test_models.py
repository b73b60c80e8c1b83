"""Model lists and token counts, as the vendors' own clients read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from groundwire.config.schema import Config
from groundwire.faces.gateway.count_tokens import estimate
from groundwire.model import Request
from tests.faces.gateway.asgi_client import LOCAL, FixedBackend, app_in, post_json, send_request
from tests.faces.gateway.serving import provider_at, serving
from tests.faces.gateway.vendors import vendors

pytestmark = pytest.mark.server

ALIASED = Config(aliases={"quick": "mine/model-1"})
NAMES = {"auto", "quick", "mine/model-1"}


async def _listed(url: str) -> dict[str, set[str]]:
    found = {}
    for version in ("v1", "v1beta"):
        async with vendors(url, version=version) as clients:
            found["anthropic"] = {model.id async for model in clients.anthropic.models.list()}
            found["openai"] = {model.id async for model in clients.openai.models.list()}
            models = await clients.google.aio.models.list()
            found[version] = {(model.name or "").removeprefix("models/") async for model in models}
    return found


async def test_every_vendors_client_lists_the_models() -> None:
    async def ask() -> dict[str, set[str]]:
        providers = {"mine": provider_at("gemini", "http://127.0.0.1:1")}
        async with serving(providers, config=ALIASED) as here:
            return await _listed(here.url)

    for name, listed in (await ask()).items():
        assert listed >= NAMES, name


async def test_every_vendors_client_shows_one_model_by_any_valid_name() -> None:
    async def ask() -> list[str | None]:
        providers = {"mine": provider_at("gemini", "http://127.0.0.1:1")}
        async with serving(providers, config=ALIASED) as here, vendors(here.url) as clients:
            claude, gpt, google = clients.anthropic, clients.openai, clients.google
            with pytest.raises(openai.NotFoundError, match="mine"):
                await gpt.models.retrieve("unknown")
            with pytest.raises(anthropic.NotFoundError, match="mine"):
                await claude.models.retrieve("unknown")
            return [
                (await claude.models.retrieve("quick")).id,
                (await claude.models.retrieve("claude-sonnet-4-5")).id,
                (await gpt.models.retrieve("mine/model-1")).id,
                (await gpt.models.retrieve("mine/model-2:free")).id,
                (await google.aio.models.get(model="quick")).name,
            ]

    expected = ["quick", "claude-sonnet-4-5", "mine/model-1", "mine/model-2:free", "models/quick"]
    assert await ask() == expected


async def test_providers_that_cannot_be_used_are_not_listed(tmp_path: Path) -> None:
    body = (await send_request(app_in(tmp_path), "GET", "/v1/models", LOCAL)).json
    assert [item["id"] for item in body["data"]] == ["auto", "gemini/gemini-1"]


async def test_clients_count_tokens_and_get_a_warning_that_it_is_an_estimate() -> None:
    async def ask() -> tuple[int, int | None, str]:
        mine = provider_at("openai_chat", "http://127.0.0.1:1")
        async with serving({"mine": mine}) as here, vendors(here.url) as clients:
            raw = await clients.anthropic.messages.with_raw_response.count_tokens(
                model="auto", messages=[{"role": "user", "content": "How many tokens are these?"}]
            )
            counted = await clients.google.aio.models.count_tokens(
                model="auto", contents="How many tokens are these?"
            )
            return (
                (await raw.parse()).input_tokens,
                counted.total_tokens,
                raw.headers["x-groundwire-warnings"],
            )

    one, other, warning = await ask()
    assert one == other
    assert 5 < one < 20
    assert json.loads(warning)[0]["code"] == "estimated"


def test_the_count_of_a_provider_with_a_counting_endpoint_is_used(tmp_path: Path) -> None:
    class CountingBackend(FixedBackend):
        async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None:
            assert request.wire is not None
            self.requests.append(request)
            return 4321 if provider == "gemini" else None

    gateway = app_in(tmp_path)
    gateway.groundwire = CountingBackend(gateway.groundwire.config)
    body = {"contents": [{"parts": [{"text": "x"}]}]}
    answer = post_json(gateway, "/v1beta/models/gemini-1:countTokens", body)
    assert (answer.json, answer.headers["x-groundwire-provider"]) == ({"totalTokens": 4321}, "gemini")
    assert "x-groundwire-warnings" not in answer.headers
    request = {"model": "auto", "messages": []}
    answer = post_json(gateway, "/v1/messages/count_tokens", request)
    assert answer.json["input_tokens"] >= 1
    assert "estimated" in answer.headers["x-groundwire-warnings"]


def test_counting_for_an_unknown_model_is_refused(tmp_path: Path) -> None:
    request = {"model": "unknown", "messages": []}
    assert post_json(app_in(tmp_path), "/v1/messages/count_tokens", request).status == 404
    assert post_json(app_in(tmp_path), "/v1/messages/count_tokens", b"[]").status == 400


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 20, 150, 260),  # 10 tokens each
        ("日本語のテキストを数える。" * 20, 180, 320),
        ("Über die Größe von Wörtern läßt sich streiten. " * 20, 200, 360),
        ("", 1, 10),
    ],
)
def test_a_token_estimate_is_close_for_several_scripts(text: str, least: int, most: int) -> None:
    messages: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
    contents: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    assert least <= estimate(messages) <= most
    assert estimate(messages) == estimate(contents) == estimate({"generateContentRequest": contents})


def test_a_token_estimate_counts_images_by_number_and_tools_by_their_text() -> None:
    picture: dict[str, Any] = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 10**6},
    }
    seen = estimate({"messages": [{"role": "user", "content": [picture]}]})
    assert 500 < seen < 5000
    bare = estimate({"messages": [{"role": "user", "content": "x"}]})
    tools: list[Any] = [{"name": "search", "description": "word " * 100, "input_schema": {"type": "object"}}]
    assert estimate({"messages": [{"role": "user", "content": "x"}], "tools": tools}) > bare + 100
