"""A client that answers tool calls finishes, even if the provider reuses the same id in every answer."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from groundwire.model import JsonObject
from groundwire.testing.script import json_response
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

CALL: JsonObject = {"functionCall": {"name": "clock", "args": {"zone": "UTC"}}}
ANSWER: JsonObject = {
    "responseId": "always",
    "candidates": [{"content": {"role": "model", "parts": [CALL, CALL]}, "finishReason": "STOP"}],
}
TOOLS: Any = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]


async def test_equal_tool_calls_in_three_turns_have_six_ids() -> None:
    ids: list[str] = []

    async def main() -> Upstream:
        upstream = Upstream(json_response(ANSWER))
        history: list[Any] = [{"role": "user", "content": "What time is it?"}]
        async with (
            upstream,
            serving({"mine": provider_at("gemini", upstream.url)}) as here,
            openai.AsyncOpenAI(base_url=f"{here.url}/v1", api_key="-", max_retries=0) as client,
        ):
            for _ in range(3):
                answer = await client.chat.completions.create(model="mine/m", messages=history, tools=TOOLS)
                message = answer.choices[0].message
                called = [call.id for call in message.tool_calls or ()]
                history.append(message.model_dump(exclude_none=True))
                history += [{"role": "tool", "tool_call_id": one, "content": "noon"} for one in called]
                ids.extend(called)
        return upstream

    upstream = await main()
    assert len(set(ids)) == len(ids) == 6, ids
    assert b"functionResponse" in upstream.requests[-1].body
