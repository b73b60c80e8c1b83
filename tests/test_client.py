"""The Python API: search options, and programs with and without an event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent import futures
from contextlib import aclosing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from groundwire import Groundwire, Location, SearchOptions
from groundwire.client import search_request
from groundwire.client_protocol import SearchClient
from groundwire.commands.main import parse
from groundwire.config.load import load
from groundwire.config.options import checked_options
from groundwire.config.schema import Config, ConfiguredPrices, GatewaySettings, ProviderSettings
from groundwire.errors import CostLimit, InvalidArguments, InvalidQuery
from groundwire.faces.cli.arguments import UsageError
from groundwire.model import Source, TextDelta, Usage, UsageSeen
from groundwire.providers.spec import flatten
from groundwire.routing.cache import CacheStatus
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from groundwire.transport.threads import run_in_loop_thread
from tests.transport.bounded import run

pytestmark = pytest.mark.server

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")


def options(**values: Any) -> SearchOptions:
    return SearchOptions(**values)


@pytest.mark.parametrize(
    ("values", "normalised"),
    [
        ({}, {}),
        ({"allowed_domains": ["x"]}, {"allowed_domains": ("x",)}),
        ({"allowed_domains": "example.com"}, {"allowed_domains": ("example.com",)}),
        ({"blocked_domains": {"example.com"}}, {"blocked_domains": ("example.com",)}),
        (
            {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]},
            {"allowed_domains": ("a.example",), "blocked_domains": ("b.example",)},
        ),
        ({"since": "7d"}, {"since": "2026-11-09T12:00:00Z", "until": "2026-11-16T12:00:00Z"}),
        (
            {"since": date(2026, 1, 31), "until": "2026-02-01"},
            {"since": "2026-01-31T00:00:00Z", "until": "2026-02-01T23:59:59Z"},
        ),
        ({"location": Location("de", city="Köln")}, {"location": Location("DE", city="Köln")}),
        ({"context_size": "high", "live": False}, {"context_size": "high", "live": False}),
        ({"max_sources": 3, "max_uses": 1}, {"max_sources": 3, "max_uses": 1}),
    ],
)
def test_options_are_normalised(values: dict[str, Any], normalised: dict[str, Any]) -> None:
    found = checked_options(options(**values), NOW)
    assert found == options(**normalised)
    assert checked_options(found, NOW) == found


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_sources": -1}, "max_sources: expected a whole number from 1, found -1"),
        ({"max_sources": "three"}, "max_sources: expected a whole number from 1"),
        ({"max_uses": 0}, "max_uses: expected a whole number from 1, found 0"),
        ({"max_uses": True}, "max_uses: expected a whole number from 1, found true or false"),
        (
            {"context_size": "huge"},
            "context_size: expected one of low, medium, high, found this text: 'huge'",
        ),
        ({"since": "yesterday"}, "since: expected a time such as 7d .*: 'yesterday'"),
        ({"since": "2026-03-01", "until": "2026-02-01"}, "since: 2026-03-01T00:00:00Z is later than until"),
        (
            {"allowed_domains": ["https://example.com"]},
            "allowed_domains: write 'https://example.com' as a bare",
        ),
        ({"allowed_domains": 7}, "allowed_domains: expected a list of bare hosts"),
        ({"allowed_domains": [7]}, "allowed_domains: expected a list of bare hosts"),
        (
            {"allowed_domains": ["a.example"], "blocked_domains": "a.example"},
            "a.example: allowed and blocked at once",
        ),
        ({"location": Location("Germany")}, "country: expected a country as two letters.*: 'Germany'"),
        ({"location": "Berlin"}, "location: expected Location"),
        ({"live": "no"}, "live: expected true or false"),
        ({"language": 5}, "language: expected a text"),
    ],
)
def test_options_that_cannot_be_used_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments, match=message):
        checked_options(options(**values), NOW)


def test_options_must_be_options() -> None:
    with pytest.raises(InvalidArguments, match="options: expected SearchOptions, found dict"):
        checked_options({"since": "7d"}, NOW)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-sources", "-1"],
        ["--max-uses", "0"],
        ["--context", "huge"],
        ["--since", "yesterday"],
        ["--country", "Germany"],
        ["--allow", "https://example.com"],
    ],
)
def test_the_command_line_refuses_the_same(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(["search", "why?", *arguments])


async def test_the_client_checks_options_before_it_sends_a_request(tmp_path: Path) -> None:
    async with Upstream(answer("openai_chat", EVENTS)) as upstream, client(tmp_path, upstream) as here:
        with pytest.raises(InvalidArguments, match="max_sources"):
            await here.asearch("how long?", options=options(max_sources=-1))
        with pytest.raises(InvalidQuery):
            await here.asearch(None)  # type: ignore[arg-type]
        assert not upstream.requests
        found = await here.asearch("how long?", options=options(allowed_domains="alpha.example"))
        assert found.grounded


def client(home: Path, upstream: Upstream, cache_seconds: float = 0.0) -> Groundwire:
    house = ProviderSettings("openai_chat", f"{upstream.url}/v1", model="m")
    config = Config(
        providers={"house": house},
        order=("house",),
        data_dir=str(home),
        gateway=GatewaySettings(cache_seconds=cache_seconds),
    )
    return Groundwire(config, env={"HOME": str(home)})


def test_the_client_satisfies_the_client_protocol(tmp_path: Path) -> None:
    checked: SearchClient = Groundwire(Config(data_dir=str(tmp_path)), env={"HOME": str(tmp_path)})
    assert checked.resolve() == ("auto", "")
    assert checked.resolve("gemini") == ("gemini", "")
    assert {"web", "local"} <= checked.engines


def test_the_index_is_completed_in_the_background_only_if_that_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.engine.knowledge.background._MODULE", "platform")
    env = {"HOME": str(tmp_path)}
    assert Groundwire(Config(data_dir=str(tmp_path)), env=env).build_index() is None
    without_engine = Config(
        data_dir=str(tmp_path), build_index=True, providers={"local": ProviderSettings(enabled=False)}
    )
    assert Groundwire(without_engine, env=env).build_index() is None
    assert not (tmp_path / "index").exists()
    status = Groundwire(Config(data_dir=str(tmp_path), build_index=True), env=env).build_index()
    assert status is not None
    assert status.phase == "building"
    assert (tmp_path / "index" / "build.log").exists()


async def test_the_client_caches_searches_if_configured(tmp_path: Path) -> None:
    async def statuses(here: Groundwire, *, cached: bool) -> list[CacheStatus | None]:
        request = search_request("how long?", SearchOptions())
        found = []
        for _ in range(2):
            stream = here.batches(request, model="house", cached=cached)
            assert stream.target == ("house", "")
            async with aclosing(stream) as batches:
                texts = [event async for event in flatten(batches) if isinstance(event, TextDelta)]
            assert texts
            found.append(stream.cache_status)
        return found

    async with Upstream(answer("openai_chat", EVENTS)) as upstream:
        here = client(tmp_path, upstream, cache_seconds=60)
        async with here:
            assert await statuses(here, cached=False) == [None, None]
            assert len(upstream.requests) == 2
            assert await statuses(here, cached=True) == [CacheStatus("miss"), CacheStatus("hit")]
            assert len(upstream.requests) == 3


def test_search_works_inside_a_running_event_loop_and_does_not_touch_its_connections(tmp_path: Path) -> None:
    async def main() -> None:
        async with Upstream(answer("openai_chat", EVENTS)) as upstream, client(tmp_path, upstream) as here:
            assert (await here.asearch("how long?")).text == "The Nile is 6650 km long."
            # As a notebook does: a plain call, in a cell that a running loop executes. The upstream lives in
            # this loop, so the call is made in a thread whose own loop runs.
            found = await asyncio.to_thread(lambda: asyncio.run(cell(here)))
            assert found == "The Nile is 6650 km long."
            assert (await here.asearch("how long?")).text == "The Nile is 6650 km long."

    async def cell(here: Groundwire) -> str:
        return here.search("how long?").text

    run(main())


async def test_the_search_function_works_inside_a_running_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def cell() -> str:
        with pytest.raises(InvalidQuery):
            Groundwire(load({}, str(tmp_path), str(tmp_path)), env={"HOME": str(tmp_path)}).search(" ")
        return "raised as usual"

    assert await cell() == "raised as usual"


def test_an_interrupt_cancels_the_call_in_the_other_thread() -> None:
    began, ended = threading.Event(), threading.Event()

    async def forever() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    class Stopped(BaseException):
        pass

    def interrupted(self: object, timeout: float | None = None) -> None:
        assert began.wait(10)
        raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(futures.Future, "result", interrupted)
        with pytest.raises(Stopped):
            run_in_loop_thread(forever)
    assert ended.wait(10)


async def test_the_default_target_tries_only_the_given_providers_and_the_cache_keeps_them_apart(
    tmp_path: Path,
) -> None:
    first, second = (answer("openai_chat", answer_events(text)) for text in ("First.", "Second."))

    async with Upstream(first) as one, Upstream(second) as two:
        providers = {
            name: ProviderSettings(dialect="openai_chat", base_url=url, model="m", search="native")
            for name, url in (("one", one.url), ("two", two.url))
        }
        config = Config(
            providers=providers,
            order=("unknown", "one", "two"),
            gateway=GatewaySettings(cache_seconds=60),
            data_dir=str(tmp_path),
        )
        async with Groundwire(config, env={"HOME": str(tmp_path)}) as groundwire:

            async def text(*among: str) -> str:
                request = search_request("q?", SearchOptions())
                events = flatten(groundwire.batches(request, cached=True, among=among))
                return "".join([event.text async for event in events if isinstance(event, TextDelta)])

            assert await text("unknown", "two") == "Second."
            assert await text() == "First."
            assert await text("two") == "Second."
            assert await text("one", "two") == "First."
            assert len(two.requests) == 2


# Costs


def priced(upstream: Upstream, prices: ConfiguredPrices | None = None) -> Config:
    return Config(
        providers={"mine": ProviderSettings("openai_chat", f"{upstream.url}/v1", model="m")},
        order=("mine",),
        prices={"mine": prices} if prices else {},
    )


async def test_a_search_that_could_cost_too_much_is_not_sent(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    async with (
        Upstream(answer("openai_chat", EVENTS)) as upstream,
        Groundwire(priced(upstream, ConfiguredPrices(1.0, 10.0, search=5.0)), env=env) as groundwire,
    ):
        with pytest.raises(CostLimit, match=r"up to \$1\.\d{4}, more than the limit of \$0\.5"):
            await groundwire.asearch("how long is the Nile?", max_cost=0.5)
        assert not upstream.requests
        found = await groundwire.asearch("how long is the Nile?", max_cost=Decimal(2))
        assert found.text
        assert len(upstream.requests) == 1


async def test_a_limit_needs_a_known_price(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_chat", EVENTS)) as upstream,
        Groundwire(priced(upstream), env={"HOME": str(tmp_path)}) as groundwire,
    ):
        with pytest.raises(CostLimit, match="the price of mine is not known"):
            await groundwire.asearch("how long is the Nile?", max_cost=10)
        assert not upstream.requests
        assert (await groundwire.asearch("how long is the Nile?")).usage.cost is None


async def test_the_cost_is_in_the_usage_of_the_answer(tmp_path: Path) -> None:
    events = [*EVENTS[:-1], UsageSeen(Usage(1000, 100)), EVENTS[-1]]
    async with (
        Upstream(answer("openai_chat", events)) as upstream,
        Groundwire(priced(upstream, ConfiguredPrices(1.0, 10.0)), env={"HOME": str(tmp_path)}) as groundwire,
    ):
        found = await groundwire.asearch("how long is the Nile?")
        assert found.usage.cost == 0.002


@pytest.mark.parametrize(("env", "loads"), [({}, False), ({"GEMINI_API_KEY": "k"}, True)])
def test_the_price_list_is_loaded_at_start_only_for_a_vendor_that_can_be_used(
    env: dict[str, str], loads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[bool] = []
    monkeypatch.setattr("groundwire.client.load_prices", lambda: loaded.append(True))
    Groundwire(Config(data_dir=str(tmp_path)), env={"HOME": str(tmp_path), **env}).prepare()
    assert bool(loaded) is loads
