"""No field of a request chooses the upstream address, key or proxy: two thousand attempts."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS
from tests.faces.gateway.serving import provider_at, serving
from tests.figures import Figures

pytestmark = pytest.mark.server

COUNT = 2000
KEY = "upstream-key-0123456789"
ATTACKER_KEY = "theirs-0123456789"

NAMES = (
    *(
        "api_base",
        "base_url",
        "baseURL",
        "api_url",
        "url",
        "endpoint",
        "host",
        "custom_host",
        "target",
        "server",
    ),
    *("upstream", "provider", "providers", "proxy", "proxies", "http_proxy", "https_proxy", "azure_endpoint"),
    *("user_config", "config", "litellm_params", "model_list", "router_settings", "fallbacks", "context"),
    *(
        "extra_headers",
        "headers",
        "default_headers",
        "extra_body",
        "extra_query",
        "http_options",
        "httpOptions",
    ),
    *(
        "organization",
        "aws_bedrock_runtime_endpoint",
        "vertex_location",
        "api_key",
        "apiKey",
        "key_env",
        "key",
    ),
    *(
        "credentials",
        "credential_file",
        "vertex_credentials",
        "ssl_verify",
        "cert",
        "file",
        "path",
        "callback",
    ),
    *("webhook", "forward_to", "redirect", "metadata", "data_dir", "request_log", "image_url", "file_url"),
)
HEADERS = (
    *("x-base-url", "x-api-base", "x-custom-host", "x-forwarded-host", "x-forwarded-server", "forwarded"),
    *(
        "x-portkey-custom-host",
        "x-portkey-config",
        "helicone-target-url",
        "x-target-url",
        "x-upstream",
        "via",
    ),
    *("x-original-url", "x-rewrite-url", "proxy", "proxy-connection", "x-proxy", "x-real-host", "referer"),
    *("x-litellm-api-base", "x-stainless-helper", "x-goog-user-project", "openai-organization", "cookie"),
    *("x-groundwire-base-url", "x-groundwire-provider", "x-groundwire-upstream", "forward-authorization"),
)


def _spelled(name: str, chance: random.Random) -> str:
    """A name as an attacker might write it to get past a list of names."""
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in name)
    return chance.choice(
        [
            *(name, name.upper(), name.title(), name.replace("_", "-"), name.replace("_", ""), f"{name}[]"),
            *(f" {name}", f"{name}\u200b", wide, name.replace("a", "а"), f"__{name}__", f"$.{name}"),
        ]
    )


def _wrapped(name: str, content: Any, chance: random.Random) -> dict[str, Any]:
    """The field, possibly nested in another."""
    form = chance.randrange(6)
    if form == 0:
        return {name: content}
    if form == 1:
        return {name: [content, {name: content}]}
    if form == 2:
        return {"metadata": {name: content}}
    if form == 3:
        return {"extra_body": {"litellm_params": {name: content}}}
    if form == 4:
        return {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}, name: content}]}
    return {name: json.dumps({name: content})}


def _attempts(canary: str) -> Iterator[tuple[str, dict[str, str], dict[str, Any]]]:
    """A path with its query, headers, and a body."""
    chance = random.Random(20)
    dialects = itertools.cycle(SMALLEST_REQUESTS.items())
    host = canary.removeprefix("http://")
    values: tuple[Any, ...] = (
        *(canary, f"{canary}/v1", host, f"//{host}", f"user:pw@{host}", [canary], {"url": canary}),
        *({"base_url": canary, "api_key": ATTACKER_KEY}, f"http://{host}#@api.openai.com", "/etc/passwd"),
    )
    while True:
        _, (path, body) = next(dialects)
        name, content = _spelled(chance.choice(NAMES), chance), chance.choice(values)
        where = chance.randrange(5)
        headers, query, more = {"authorization": f"Bearer {ATTACKER_KEY}"}, "", {}
        if where in (0, 1):
            more = _wrapped(name, content, chance)
        elif where == 2:
            query = (
                f"?{name.encode('ascii', 'ignore').decode()}={canary}&base_url={canary}&key={ATTACKER_KEY}"
            )
        elif where == 3:
            headers[chance.choice(HEADERS)] = chance.choice([canary, host, f"host={host}"])
            headers["x-api-key"] = ATTACKER_KEY
        else:
            more = {
                "model": chance.choice([canary, f"{canary}/model-1", f"mine/{canary}", f"mine/../../{host}"])
            }
        yield path + query.replace(" ", "%20"), headers, {**body, **more}


async def test_two_thousand_attempts_reach_only_the_provider(figures: Figures) -> None:
    async def run() -> tuple[int, Upstream, list[int]]:
        async with (
            Upstream(answer("openai_chat", answer_events("Yes."))) as upstream,
            Upstream(answer("openai_chat", answer_events("Caught."))) as canary,
            serving(
                {"mine": replace(provider_at("openai_chat", upstream.url), key_env="MINE_KEY")},
                env={"MINE_KEY": KEY, "HTTP_PROXY": ""},
            ) as here,
            aiohttp.ClientSession() as client,
        ):
            statuses: list[int] = []
            attempts = iter(list(itertools.islice(_attempts(canary.url), COUNT)))

            async def work() -> None:
                for path, headers, body in attempts:
                    async with client.post(here.url + path, headers=headers, json=body) as response:
                        text = await response.text()
                        assert KEY not in text
                        assert KEY not in str(response.headers)
                        statuses.append(response.status)

            await asyncio.gather(*(work() for _ in range(8)))
            return canary.connections, upstream, statuses

    caught, upstream, statuses = await run()
    figures.add("S2", "attempts to choose another host, key or header", len(statuses))
    figures.add("S2", "connections to the attacker's server", caught)
    assert caught == 0
    assert len(statuses) == COUNT
    assert statuses.count(200) > COUNT / 2
    assert all(status < 500 for status in statuses)
    for received in upstream.requests:
        assert received.path == "/v1/chat/completions"
        assert received.headers["authorization"] == f"Bearer {KEY}"
        assert received.headers["host"] == upstream.url.removeprefix("http://")
        assert ATTACKER_KEY not in str(received.headers)
