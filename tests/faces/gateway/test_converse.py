"""Bedrock's client at the gateway: a key, errors as it raises them, and a stream that ends early."""

from __future__ import annotations

import asyncio
from typing import Any

import botocore.config
import botocore.exceptions
import pytest

from groundwire.errors import RateLimited
from groundwire.model import Event, Failed, Source, Started, TextDelta
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.sdk_readers import aws_session
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

PAGE = Source("https://a.example/", "A page")
QUESTION = [{"role": "user", "content": [{"text": "how long?"}]}]
BROKEN: list[Event] = [Started("i", "m"), TextDelta(0, "Half"), Failed(RateLimited("slow down"))]


def client(url: str, key: str) -> Any:
    """A client that sends a bearer token, which botocore otherwise does over TLS only."""
    made = aws_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="id",
        aws_secret_access_key="secret",  # noqa: S106
        config=botocore.config.Config(retries={"total_max_attempts": 1}, signature_version=botocore.UNSIGNED),
    )
    made.meta.events.register(
        "before-call.bedrock-runtime",
        lambda params, **_: params["headers"].update({"Authorization": f"Bearer {key}"}),
    )
    return made


async def test_a_key_of_the_gateway_opens_it_and_another_is_refused() -> None:
    async with (
        Upstream(answer("gemini", answer_events("Long.", PAGE))) as upstream,
        serving({"mine": provider_at("gemini", upstream.url)}) as here,
    ):
        key, _ = KeyFile(here.groundwire.config.data_dir).create("me", 0)
        good, bad = client(here.url, key), client(here.url, "wrong-key")
        found = await asyncio.to_thread(good.converse, modelId="mine/m:0", messages=QUESTION)
        with pytest.raises(botocore.exceptions.ClientError) as caught:
            await asyncio.to_thread(bad.converse, modelId="mine/m:0", messages=QUESTION)
        good.close()
        bad.close()
    assert found["output"]["message"]["content"][-1]["citationsContent"]["content"] == [{"text": "Long."}]
    assert caught.value.response["Error"]["Code"] == "UnrecognizedClientException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 401


async def test_an_error_inside_a_stream_is_raised_after_the_text() -> None:
    async with (
        Upstream(answer("anthropic_messages", BROKEN)) as upstream,
        serving({"mine": provider_at("anthropic_messages", upstream.url)}) as here,
    ):
        reader = client(here.url, "any")

        def read() -> tuple[str, str]:
            text = ""
            stream = reader.converse_stream(modelId="mine/m", messages=QUESTION)["stream"]
            try:
                for event in stream:
                    text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            except botocore.exceptions.EventStreamError as error:
                return text, error.response["Error"]["Code"]
            finally:
                stream.close()
            return text, ""

        read_text, code = await asyncio.to_thread(read)
        reader.close()
    assert (read_text, code) == ("Half", "throttlingException")
