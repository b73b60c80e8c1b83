"""Resolving redirect addresses: one hop, the known service only, remembered for a while."""

from __future__ import annotations

import pytest

from groundwire.model import Answer, Citation, Evidence, SearchResult, Source, Span, Text
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from groundwire.testing.upstream import answer as scripted_answer
from groundwire.verify.redirects import KEPT_SECONDS, RedirectResolver
from tests.faces.gateway.raw import fetch, request_of
from tests.faces.gateway.serving import provider_at, serving
from tests.transport.canaries import FORBIDDEN_HOST, FakeResolver, page, small_web

pytestmark = pytest.mark.server

SERVICE = "redirect.example.com"
TARGET = "https://town.example.org/page"


def redirect(to: str) -> ScriptedResponse:
    return ScriptedResponse(302, {"location": to})


def answer(*urls: str) -> Answer:
    evidence = tuple(Evidence(Source(url, "T", "cited", domain="town.example.org"), "quoted") for url in urls)
    parts = (SearchResult("1", tuple(Source(url) for url in urls)), Text("Some text."))
    return Answer(parts, (Citation(Span(0, 10), evidence),))


async def test_the_target_replaces_the_address_everywhere_and_the_original_is_kept() -> None:
    names = FakeResolver(redirect_example_com=[["127.0.0.1"]])
    async with small_web(Script((redirect(TARGET),)), names) as web:
        resolver = RedirectResolver(web.fetcher, lambda: 0.0, hosts=frozenset({SERVICE}))
        url = web.url("/r/abc", SERVICE)
        found = await resolver.resolved(answer(url, "https://other.example.net/"))
        assert [source.url for source in found.sources] == [TARGET, "https://other.example.net/"]
        item = found.citations[0].evidence[0]
        assert (item.source.url, item.quote) == (TARGET, "quoted")
        assert item.source.extras["groundwire"] == {"redirect": url}
        assert found.text == "Some text."
        assert names.lookups == [SERVICE]  # neither the target nor the other source
        assert len(web.upstream.requests) == 1


async def test_targets_are_remembered_until_they_expire() -> None:
    now = [0.0]
    names = FakeResolver(redirect_example_com=[["127.0.0.1"]])
    async with small_web(Script((redirect(TARGET),)), names) as web:
        resolver = RedirectResolver(web.fetcher, lambda: now[0], hosts=frozenset({SERVICE}))
        asked = answer(web.url("/r/abc", SERVICE))
        for time, requests in ((0.0, 1), (KEPT_SECONDS - 1, 1), (KEPT_SECONDS + 1, 2)):
            now[0] = time
            assert (await resolver.resolved(asked)).sources[0].url == TARGET
            assert len(web.upstream.requests) == requests


@pytest.mark.parametrize(
    "response",
    [
        redirect("http://127.0.0.2:{port}/"),
        redirect("http://169.254.169.254/latest"),
        redirect("javascript:alert(1)"),
        redirect(""),
        ScriptedResponse(302),
        ScriptedResponse(404),
        page("<p>Hello</p>"),
    ],
)
async def test_what_is_no_redirect_to_a_public_page_stays(response: ScriptedResponse) -> None:
    names = FakeResolver(redirect_example_com=[["127.0.0.1"]])
    async with small_web(Script((response,)), names) as web:
        asked = answer(web.url("/r/abc", SERVICE))
        resolver = RedirectResolver(web.fetcher, lambda: 0.0, hosts=frozenset({SERVICE}))
        assert await resolver.resolved(asked) == asked


async def test_a_service_that_resolves_to_a_private_address_is_not_contacted() -> None:
    names = FakeResolver(redirect_example_com=[[FORBIDDEN_HOST]])
    async with small_web(page(), names) as web:
        asked = answer(web.url("/r/abc", SERVICE))
        resolver = RedirectResolver(web.fetcher, lambda: 0.0, hosts=frozenset({SERVICE}))
        assert await resolver.resolved(asked) == asked
        assert web.upstream.connections == 0


async def test_other_hosts_are_not_asked() -> None:
    names = FakeResolver()
    async with small_web(page(), names) as web:
        asked = answer(web.url("/r/abc", SERVICE), f"https://evil{SERVICE}/x")
        resolver = RedirectResolver(web.fetcher, lambda: 0.0)
        assert await resolver.resolved(asked) is asked
        assert names.lookups == []


@pytest.mark.parametrize("inbound", ["openai_chat", "gemini"])
async def test_streams_have_the_addresses_of_the_pages_too(inbound: str) -> None:
    names = FakeResolver(redirect_example_com=[["127.0.0.1"]])
    async with small_web(Script((redirect(TARGET),)), names) as web:
        url = web.url("/r/abc", SERVICE)
        cited = answer_events("The Nile is long.", Source(url, "town.example.org"), query="nile")
        async with (
            Upstream(scripted_answer("gemini", cited)) as upstream,
            serving({"mine": provider_at("gemini", upstream.url)}) as here,
        ):
            client = here.groundwire
            client.config = replace(client.config, resolve_redirects=True)
            client._redirects = RedirectResolver(web.fetcher, lambda: 0.0, hosts=frozenset({SERVICE}))
            for stream in (True, False):
                response = await fetch(here.url, request_of(inbound, "mine/m", stream=stream))
                assert (response.status, TARGET.encode() in response.body) == (200, True)
                assert url.encode() not in response.body.replace(b"\\/", b"/")
            client.config = replace(client.config, resolve_redirects=False)
            untouched = await fetch(here.url, request_of(inbound, "mine/m", stream=True))
            assert TARGET.encode() not in untouched.body
        assert len(web.upstream.requests) == 1, "the target is remembered"
