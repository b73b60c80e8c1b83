"""Background mode of OpenAI's own API: started, resumed after a lost connection, cancelled."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import openai
import pytest

from groundwire.config.schema import ProviderSettings
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.errors import Interrupted
from groundwire.model import Request, Source, TextDelta
from groundwire.model.value import replace
from groundwire.providers.background import BackgroundProvider
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Http
from tests.faces.gateway.serving import serving
from tests.providers.harness import KEY, ProviderOutcome, ask, built_in, credential, question

pytestmark = pytest.mark.server

TEXT = "The Nile is 6650 km long. " * 40
ANSWER = answer(
    "openai_responses", answer_events(TEXT, Source("https://a.example/nile", "Nile"), query="nile")
)
QUESTION = replace(question(), background=True)


def after(number: int) -> ScriptedResponse:
    """The events after a sequence number, as the vendor resumes a stream."""
    assert ANSWER.stream is not None
    events = [event for event in ANSWER.stream.split(b"\n\n") if event]
    kept = [
        event for event in events if json.loads(event.partition(b"data: ")[2])["sequence_number"] > number
    ]
    return replace(
        ANSWER, stream=None, body=b"\n\n".join(kept) + b"\n\n", headers={"content-type": "text/event-stream"}
    )


async def waited(_: float) -> None:
    """No time passes in tests."""


def provider(upstream: Upstream, http: Http, name: str = "openai", base: str = "/v1") -> BackgroundProvider:
    async def key() -> Credential | None:
        return credential()

    row = replace(built_in(name), base_url=upstream.url + base, model="deployment")
    made = BackgroundProvider(row, http, key, Redactor())
    made.wait = waited
    return made


async def outcome_of(
    script: Script, request: Request = QUESTION
) -> tuple[ProviderOutcome, list[tuple[str, str]]]:
    """The answer, and the method and target of each request."""
    async with Upstream(script) as upstream, Http({}) as http:
        outcome = await ask(provider(upstream, http), request)
        return outcome, [(sent.method, sent.target) for sent in upstream.requests]


def response_id() -> str:
    assert ANSWER.stream is not None
    first = ANSWER.stream.split(b"\n\n")[0].partition(b"data: ")[2]
    return str(json.loads(first)["response"]["id"])


async def test_a_request_without_the_mark_is_sent_as_usual() -> None:
    async with Upstream(ANSWER) as upstream, Http({}) as http:
        outcome = await ask(provider(upstream, http), question())
        assert "background" not in json.loads(upstream.requests[0].body)
    assert outcome.answer.text == TEXT


@pytest.mark.parametrize(("name", "base", "path"), [("openai", "/v1", "/v1"), ("azure", "", "/openai/v1")])
async def test_the_vendor_runs_a_marked_request_in_the_background(name: str, base: str, path: str) -> None:
    async with Upstream(ANSWER) as upstream, Http({}) as http:
        outcome = await ask(provider(upstream, http, name, base), QUESTION)
        (sent,) = upstream.requests
    body = json.loads(sent.body)
    assert (sent.path, body["background"], body["stream"]) == (f"{path}/responses", True, True)
    assert outcome.answer.text == TEXT
    assert [item.evidence[0].source.url for item in outcome.answer.citations] == ["https://a.example/nile"]


@pytest.mark.parametrize("cut_at", [1900, 2600, 5000, 9200])
async def test_a_broken_stream_is_resumed_after_the_last_event(cut_at: int) -> None:
    whole = await outcome_of(Script((ANSWER,)))
    assert ANSWER.stream is not None
    complete = ANSWER.stream[:cut_at].rpartition(b"\n\n")[0]
    last = json.loads(complete.rpartition(b"data: ")[2])["sequence_number"] if complete else -1
    script = Script(
        paths={
            "/v1/responses": (replace(ANSWER, cut_at=cut_at),),
            f"/v1/responses/{response_id()}": (
                json_response({}, 503),
                replace(after(last), cut_at=0),
                after(last),
            ),
        }
    )
    outcome, requests = await outcome_of(script)
    assert outcome.answer == whole[0].answer
    target = f"/v1/responses/{response_id()}?stream=true&starting_after={last}"
    assert requests == [("POST", "/v1/responses"), *[("GET", target)] * 3]


async def test_a_stream_that_cannot_be_resumed_is_interrupted() -> None:
    script = Script(
        paths={"/v1/responses": (replace(ANSWER, cut_at=2600),), "/v1/responses/*": (json_response({}, 404),)}
    )
    outcome, requests = await outcome_of(script)
    assert isinstance(outcome.error, Interrupted)
    assert [method for method, _ in requests] == ["POST", "GET", "POST"]
    assert requests[-1][1] == f"/v1/responses/{response_id()}/cancel"


async def test_an_error_is_reported_as_usual() -> None:
    refused = json_response({"error": {"message": "no such model", "code": "model_not_found"}}, 404)
    outcome, requests = await outcome_of(Script((refused,)))
    assert outcome.raised is not None
    assert "no such model" in outcome.raised.message
    assert len(requests) == 1


async def test_leaving_the_answer_cancels_it_at_the_vendor() -> None:
    stalled = replace(ANSWER, stall_at=4700)
    cancelled = Script(
        paths={"/v1/responses": (stalled,), "*/cancel": (json_response({"status": "cancelled"}),)}
    )
    async with Upstream(cancelled) as upstream, Http({}) as http:

        async def read() -> None:
            async with aclosing(provider(upstream, http).batches(QUESTION)) as batches:
                async for batch in batches:
                    begun.set() if any(isinstance(event, TextDelta) for event in batch) else None

        begun = asyncio.Event()
        task = asyncio.create_task(read())
        async with asyncio.timeout(20):
            await begun.wait()
            task.cancel()
            await asyncio.wait({task})
        assert [(sent.method, sent.path) for sent in upstream.requests][1:] == [
            ("POST", f"/v1/responses/{response_id()}/cancel")
        ]


async def test_a_background_response_of_the_gateway_survives_a_lost_connection_to_openai() -> None:
    script = Script(
        paths={
            "/v1/responses": (replace(ANSWER, cut_at=2600),),
            f"/v1/responses/{response_id()}": (after(-1),),
        }
    )
    async with (
        Upstream(script) as upstream,
        serving(
            {"openai": ProviderSettings(base_url=f"{upstream.url}/v1")}, env={"OPENAI_API_KEY": KEY}
        ) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        created = await client.responses.create(
            model="openai/gpt-5.5", input="q?", tools=[{"type": "web_search"}], background=True
        )
        async with asyncio.timeout(20):
            while (response := await client.responses.retrieve(created.id)).status in (
                "queued",
                "in_progress",
            ):
                await asyncio.sleep(0.05)
        assert (response.status, response.output_text) == ("completed", TEXT)
        assert json.loads(upstream.requests[0].body)["background"] is True
