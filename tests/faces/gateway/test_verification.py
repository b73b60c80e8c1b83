"""Verified answers of the gateway: the report at the end of the answer, in every dialect."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.engine.read import read
from groundwire.model import Citation, Cited, Event, Evidence, Finished, Source, Span, Started, TextDelta
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS
from tests.faces.gateway.serving import RunningGateway, provider_at, serving
from tests.faces.gateway.test_without_model import SEARCH
from tests.transport.canaries import page, small_web

pytestmark = pytest.mark.server

HTML = "<title>Tower</title><p>The tower is 324 metres tall.</p>"
TEXT = "The tower is 330 metres tall."
ON = {"x-groundwire-verify": "1"}


def events(url: str) -> list[Event]:
    cited = Evidence(Source(url, "Tower"))
    return [Started("1", "m"), TextDelta(0, TEXT), Cited(Citation(Span(0, 29), (cited,))), Finished()]


def use_web(here: RunningGateway, fetcher: Any) -> None:
    """Let the gateway fetch from a small web, and read pages in this process."""
    factory = here.groundwire._engine_factory
    factory._fetcher = fetcher
    factory.read_document = lambda document, seconds: read(document)  # type: ignore[method-assign]


async def post(
    here: RunningGateway, dialect: str, *, stream: bool = False, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    path, body = SMALLEST_REQUESTS[dialect]
    named = {"model": "scripted/model-1"} if "model" in body else {}
    path = path.replace("auto", "scripted%2Fmodel-1")
    if stream:
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    more = {"stream": True} if stream and dialect != "gemini" else {}
    sent = {**body, **named, **more, **SEARCH[dialect]}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{here.url}{path}", json=sent, headers=headers) as reply,
    ):
        return reply.status, await reply.text()


def reports(text: str, *, stream: bool) -> list[dict[str, Any]]:
    """Every report in a response, wherever the dialect puts its extension."""
    documents = (
        [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        if stream
        else [json.loads(text)]
    )
    found: list[dict[str, Any]] = []
    waiting: list[Any] = list(documents)
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            extension = item.get("groundwire")
            if isinstance(extension, dict) and "verification" in extension:
                found.append(extension["verification"])
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", SMALLEST_REQUESTS)
async def test_the_report_is_in_the_extension_of_the_final_object(client: str, stream: bool) -> None:
    async with small_web(page(HTML)) as web:
        url = web.url("/tower")
        # The same dialect on both sides would pass the provider's bytes through.
        upstream_dialect = client if client != "gemini_interactions" else "gemini"
        async with (
            Upstream(answer(upstream_dialect, events(url))) as upstream,
            serving({"scripted": provider_at(upstream_dialect, upstream.url)}) as here,
        ):
            use_web(here, web.fetcher)
            status, text = await post(here, client, stream=stream, headers=ON)
            assert status == 200
            (report,) = reports(text, stream=stream)
            assert report["ok"] is False
            assert report["citations"][0]["claimed"]["verdict"] == "other_value"
            assert [request.target for request in web.upstream.requests] == ["/tower"]
            here.groundwire._engine_factory._fetcher = None


async def test_the_search_endpoint_has_the_report_too() -> None:
    async with small_web(page(HTML)) as web:
        async with (
            Upstream(answer("gemini", events(web.url("/tower")))) as upstream,
            serving({"scripted": provider_at("gemini", upstream.url)}) as here,
            aiohttp.ClientSession() as session,
        ):
            use_web(here, web.fetcher)
            sent = {"query": "how tall?", "provider": "scripted"}
            async with session.post(f"{here.url}/v1/search", json=sent, headers=ON) as reply:
                (report,) = reports(await reply.text(), stream=False)
            here.groundwire._engine_factory._fetcher = None
        assert report["ok"] is False


async def test_without_the_header_nothing_is_fetched_and_the_setting_can_change_that() -> None:
    async with small_web(page(HTML)) as web:
        made = answer("gemini", events(web.url("/tower")))
        for setting, header, count in (
            ("request", None, 0),
            ("always", None, 1),
            ("always", "0", 0),
            ("request", "true", 1),
        ):
            config = Config(gateway=GatewaySettings(verify=setting))  # type: ignore[arg-type]
            async with (
                Upstream(made) as upstream,
                serving({"scripted": provider_at("gemini", upstream.url)}, config=config) as here,
            ):
                use_web(here, web.fetcher)
                before = len(web.upstream.requests)
                headers = None if header is None else {"x-groundwire-verify": header}
                status, text = await post(here, "anthropic_messages", headers=headers)
                assert status == 200
                assert len(reports(text, stream=False)) == count
                assert len(web.upstream.requests) - before == count
                here.groundwire._engine_factory._fetcher = None


@pytest.mark.parametrize(("setting", "header"), [("off", "1"), ("request", "maybe")])
async def test_what_cannot_be_done_is_refused(setting: Any, header: str) -> None:
    config = Config(gateway=GatewaySettings(verify=setting))
    async with (
        Upstream(answer("gemini", events("https://a.example/"))) as upstream,
        serving({"scripted": provider_at("gemini", upstream.url)}, config=config) as here,
    ):
        status, text = await post(here, "openai_chat", headers={"x-groundwire-verify": header})
        assert status == 400
        assert "x-groundwire-verify" in text
        assert upstream.requests == []
