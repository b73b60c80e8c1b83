"""A provider without search, and a search engine for the tool loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from tempfile import TemporaryDirectory
from time import monotonic

from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.engine.pages import EngineResult, Page, Passage
from groundwire.model import (
    Event,
    Finished,
    Request,
    SearchOptions,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.providers.http import HttpProvider
from groundwire.providers.policy import engine_capabilities
from groundwire.providers.registry import describe
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import Plan, ResolvedTarget
from groundwire.routing.tool_loop.provider import ToolLoopProvider
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer
from groundwire.transport.http import Http
from tests.faces.gateway.serving import BASES, running_server
from tests.stub_client import StubClient

PAGE = Passage("https://snow.example/may", "Snow", "Snow fell on 3 May 2031. It was wet.", 0)
QUERY = "snow in May"
TEXT = "It did not rain. Snow ☃ fell on 3 May 2031."
CLAIM = "Snow ☃ fell on 3 May 2031"
SEARCHES: list[Event] = [
    Started("1", "model-1"),
    ToolCallDelta(0, "call_1", "web_search", f'{{"query": "{QUERY}"}}'),
    UsageSeen(Usage(input_tokens=10, output_tokens=1)),
    Finished("tool_calls"),
]
ANSWERS: list[Event] = [
    Started("2", "model-1"),
    *(TextDelta(0, word) for word in ("It did not rain. Snow ☃ fell", " on 3 May 2031 [", "1].")),
    UsageSeen(Usage(input_tokens=20, output_tokens=5)),
    Finished("stop"),
]


class OnePageEngine:
    """A search engine with one page that records its calls."""

    name = "fake"
    honours = frozenset({"allowed_domains", "blocked_domains", "live"})

    def __init__(self) -> None:
        self.calls: list[tuple[str, SearchOptions]] = []

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        assert limit > 0
        self.calls.append((query, options))
        return EngineResult((PAGE,), (query,))

    async def page(self, url: str, *, live: bool = True) -> Page:
        """The page, for a model that opens it."""
        assert live
        return Page(url, PAGE.title, PAGE.text)


class RouterClient(StubClient):
    """The client of a gateway, made of a router and its providers."""

    def __init__(self, providers: Mapping[str, Provider], config: Config) -> None:
        super().__init__(config)
        self._names = tuple(providers)
        self._router = Router(providers, health=Health(monotonic), sleep=asyncio.sleep, random=lambda: 0.5)

    async def answer(self, request: Request, *, provider: str, model: str) -> Batches:
        chosen = self._names[:1] if provider == "auto" else (provider,)
        plan = Plan(tuple(ResolvedTarget(name, model) for name in chosen))
        async with aclosing(self._router.batches(request, plan)) as batches:
            async for batch in batches:
                yield batch

    def usable(self) -> Mapping[str, bool]:
        return dict.fromkeys(self._names, True)


@asynccontextmanager
async def tool_loop_gateway(
    dialect: str, script: Sequence[ScriptedResponse], engine: OnePageEngine
) -> AsyncIterator[tuple[str, Upstream]]:
    """A gateway with a scripted model of one dialect that cannot search; its URL, and the upstream."""
    http = Http({})

    async def credential() -> Credential | None:
        return None

    async with Upstream(script) as upstream:
        row = replace(describe("m", dialect, upstream.url + BASES.get(dialect, ""), ""), model="model-1")
        provider = ToolLoopProvider(
            HttpProvider(row, http, credential, Redactor()),
            lambda: engine,
            engine_capabilities(engine.honours),
            open_page=engine.page,
        )
        async with running_app(RouterClient({"m": provider}, Config())) as url:
            yield url, upstream
        await http.aclose()


@asynccontextmanager
async def running_app(client: RouterClient) -> AsyncIterator[str]:
    """Serve a gateway for a client; yields its URL."""
    with TemporaryDirectory() as folder:
        client.config = replace(client.config, data_dir=folder)
        async with running_server(create_app(client, {"HOME": folder})) as (url, _):
            yield url


def search_then_answer(dialect: str) -> list[ScriptedResponse]:
    """A model that searches once, and then answers."""
    return [answer(dialect, SEARCHES), answer(dialect, ANSWERS)]
