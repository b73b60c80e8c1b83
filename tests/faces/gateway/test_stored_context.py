"""A request that refers to text stored at one vendor reaches that vendor, or is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
import pytest

from groundwire.model import Json, JsonObject
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

STORED: dict[str, JsonObject] = {
    "previous_response_id": {"input": "And in Bern?", "previous_response_id": "resp_1"},
    "conversation": {"input": "And in Bern?", "conversation": "conv_1"},
    "conversation object": {"input": "And in Bern?", "conversation": {"id": "conv_1"}},
    "prompt": {"prompt": {"id": "pmpt_1", "variables": {"city": "Bern"}}},
    "item_reference": {
        "input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "And in Bern?"}]
    },
    "compaction": {
        "input": [
            {"type": "compaction", "encrypted_content": "gAAA"},
            {"role": "user", "content": "And in Bern?"},
        ]
    },
}
HARMLESS: dict[str, JsonObject] = {
    "nulls": {
        "input": "Rain?",
        "store": True,
        "previous_response_id": None,
        "conversation": None,
        "prompt": None,
    },
    "codex": {
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "019c",
        "client_metadata": {"x": "y"},
        "stream_options": {"include_obfuscation": False},
    },
    "reasoning": {"input": [{"type": "item_reference", "id": "rs_1"}, {"role": "user", "content": "Rain?"}]},
}
OTHERS = ("anthropic_messages", "openai_chat", "gemini", "gemini_interactions")


@asynccontextmanager
async def gateway_for(name: str) -> AsyncIterator[tuple[openai.AsyncOpenAI, Upstream]]:
    """The official client, a gateway, and a provider of this dialect."""
    script = Script(paths={"*": (answer(name, answer_events("It rains.", model="m")),)})
    async with Upstream(script) as upstream, serving({"other": provider_at(name, upstream.url)}) as here:
        client = openai.AsyncOpenAI(base_url=f"{here.url}/v1", api_key="any", max_retries=0, timeout=20)
        async with client:
            yield client, upstream


async def create(client: openai.AsyncOpenAI, body: JsonObject) -> openai.types.responses.Response:
    return await client.responses.create(model="other/m", extra_body=body)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("case", STORED)
async def test_a_reference_to_stored_context_is_rejected_for_another_vendor(name: str, case: str) -> None:
    async with gateway_for(name) as (client, upstream):
        with pytest.raises(openai.BadRequestError) as refused:
            await create(client, STORED[case])
        assert case.split(maxsplit=1)[0] in refused.value.message
        assert refused.value.type == "invalid_request_error"
        assert not upstream.requests


@pytest.mark.parametrize("case", STORED)
async def test_a_vendor_of_the_same_dialect_gets_the_reference_unchanged(case: str) -> None:
    async with gateway_for("openai_responses") as (client, upstream):
        assert (await create(client, STORED[case])).output_text == "It rains."
        [request] = upstream.requests
        sent: dict[str, Json] = json.loads(request.body)
        assert {name: sent.get(name) for name in STORED[case]} == STORED[case]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("case", HARMLESS)
async def test_a_request_without_a_reference_is_answered(name: str, case: str) -> None:
    async with gateway_for(name) as (client, upstream):
        response = await create(client, HARMLESS[case])
        assert response.output_text == "It rains."
        assert response.previous_response_id is None
        assert len(upstream.requests) == 1


async def test_the_embedded_engine_rejects_a_request_with_missing_context() -> None:
    async with serving({}) as here:
        client = openai.AsyncOpenAI(base_url=f"{here.url}/v1", api_key="any", max_retries=0, timeout=20)
        async with client:
            with pytest.raises(openai.BadRequestError, match="previous_response_id"):
                await client.responses.create(
                    model="local", input="And in Bern?", previous_response_id="resp_1"
                )


async def test_an_interaction_is_not_continued_at_another_vendor() -> None:
    async with gateway_for("openai_responses") as (client, upstream):
        body = {"model": "other/m", "input": "And in Bern?", "previous_interaction_id": "v1_a"}
        with pytest.raises(openai.BadRequestError, match="previous_interaction_id"):
            await client.post(
                str(client.base_url).replace("/v1/", "/v1beta/interactions"), cast_to=object, body=body
            )
        assert not upstream.requests
