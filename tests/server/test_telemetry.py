"""Traces and metrics, as a collector receives them: decoded with the protocol's own classes."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config, GatewaySettings, ProviderSettings
from groundwire.errors import ConfigError
from groundwire.model import Source, Usage
from groundwire.model.value import replace
from groundwire.server import telemetry
from groundwire.server.keys import KeyFile
from groundwire.server.telemetry import ENDPOINT_VARIABLE, open_telemetry, usage_attributes
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer
from tests.faces.gateway.serving import provider_at, running_server

pytestmark = pytest.mark.server

QUESTION = "Wie alt ist der Kölner Dom genau?"
TEXT = "Er wurde 1880 vollendet."
ANSWER = answer("openai_chat", answer_events(TEXT, Source("https://dom.example/private-page"), model="big-1"))
REFUSED = ScriptedResponse(503, body=b'{"error": {"message": "secret detail"}}')
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
HEADERS = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=secret-state"}
PROVIDER_KEY = "sk-provider-0123456789abcdef"


class ReceivedSpan(NamedTuple):
    """A span as the collector sees it."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    status: int
    attributes: dict[str, object]
    resource: dict[str, object]


class ReceivedPoint(NamedTuple):
    """A point of a histogram as the collector sees it."""

    metric: str
    unit: str
    number: int
    sum: float
    bounds: tuple[float, ...]
    attributes: dict[str, object]


SERVER, CLIENT = 2, 3
ERROR = 2


def values(pairs: Sequence[KeyValue]) -> dict[str, object]:
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(item: AnyValue) -> object:
    kind = item.WhichOneof("value")
    if kind == "array_value":
        return [plain(entry) for entry in item.array_value.values]
    return getattr(item, str(kind))


def spans(collector: Upstream) -> list[ReceivedSpan]:
    found = []
    for request in collector.requests:
        if request.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(request.body).resource_spans:
                for scope in resource.scope_spans:
                    found += [
                        ReceivedSpan(
                            *(span.name, span.kind, span.trace_id.hex(), span.span_id.hex()),
                            *(span.parent_span_id.hex(), span.status.code, values(span.attributes)),
                            values(resource.resource.attributes),
                        )
                        for span in scope.spans
                    ]
    return found


def points(collector: Upstream) -> list[ReceivedPoint]:
    found = []
    for request in collector.requests:
        if request.path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(request.body).resource_metrics:
                for scope in resource.scope_metrics:
                    found += [
                        ReceivedPoint(
                            *(metric.name, metric.unit, point.count, point.sum),
                            *(tuple(point.explicit_bounds), values(point.attributes)),
                        )
                        for metric in scope.metrics
                        for point in metric.histogram.data_points
                    ]
    return found


@asynccontextmanager
async def traced(
    folder: Path, providers: Mapping[str, ProviderSettings], settings: GatewaySettings
) -> AsyncIterator[str]:
    """A gateway with a store; at the end of the block everything is sent to the collector."""
    env = {"HOME": str(folder), "MINE_KEY": PROVIDER_KEY}
    config = Config(providers=providers, order=tuple(providers), data_dir=str(folder), gateway=settings)
    async with Groundwire(config, env=env) as groundwire:
        app = create_service(groundwire, env)
        async with running_server(app) as (url, _):
            yield url


async def ask(
    url: str, *, stream: bool = False, headers: Mapping[str, str] = HEADERS, model: str = "auto"
) -> int:
    body: dict[str, Any] = {
        "model": model,
        "stream": stream,
        "max_tokens": 99,
        "messages": [{"role": "user", "content": QUESTION}],
        "web_search_options": {},
    }
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as response,
    ):
        await response.read()
        return response.status


def mine(upstream: Upstream) -> ProviderSettings:
    return replace(provider_at("openai_chat", upstream.url), key_env="MINE_KEY")


async def collect(
    folder: Path, script: ScriptedResponse | Sequence[ScriptedResponse], **options: Any
) -> tuple[Upstream, Upstream]:
    """Send one request through a gateway; returns the collector and the provider."""
    settings: GatewaySettings = options.pop("settings", GatewaySettings())
    async with Upstream(ScriptedResponse()) as collector, Upstream(script) as upstream:
        settings = replace(settings, otlp_endpoint=collector.url)
        async with traced(folder, {"mine": mine(upstream)}, settings) as url:
            await ask(url, **options)
    return collector, upstream


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_is_a_span_of_the_clients_trace_with_a_span_for_its_attempt(
    tmp_path: Path, stream: bool
) -> None:
    collector, _ = await collect(tmp_path, ANSWER, stream=stream)
    found = {span.kind: span for span in spans(collector)}
    assert len(spans(collector)) == len(found) == 2
    server, client = found[SERVER], found[CLIENT]
    assert (server.name, server.trace, server.parent) == ("POST /v1/chat/completions", TRACE, PARENT)
    assert (client.name, client.trace, client.parent) == ("chat model-1", TRACE, server.id)
    assert client.attributes.pop("gen_ai.response.time_to_first_chunk") > 0  # type: ignore[operator]
    assert client.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mine",
        "gen_ai.request.model": "model-1",
        "gen_ai.request.stream": stream,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.response.model": "big-1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 34,
    }
    assert len(str(server.attributes.pop("groundwire.request_id"))) == 32
    assert server.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "groundwire.dialect": "openai_chat",
        "groundwire.outcome": "done",
        "gen_ai.provider.name": "mine",
        "gen_ai.response.model": "big-1",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 34,
    }
    assert server.resource["service.name"] == "groundwire"


async def test_names_are_those_of_the_semantic_conventions(tmp_path: Path) -> None:
    collector, _ = await collect(tmp_path, ANSWER, stream=True)
    known = {text for name, text in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    metrics = {text for name, text in vars(gen_ai_metrics).items() if name.startswith("GEN_AI_")}
    everything = Usage(*range(1, 9))
    used = {name for span in spans(collector) for name in span.attributes} | set(usage_attributes(everything))
    used |= {name for point in points(collector) for name in point.attributes}
    assert {name for name in used if name.startswith("gen_ai.")} <= known
    assert {point.metric for point in points(collector)} <= metrics
    operations = {item.value for item in gen_ai_attributes.GenAiOperationNameValues}
    assert {"chat", "generate_content", "retrieval"} <= operations
    assert "gcp.gemini" in {item.value for item in gen_ai_attributes.GenAiProviderNameValues}


async def test_each_attempt_of_a_failover_is_a_span_and_errors_have_codes_only(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse()) as collector,
        Upstream(ScriptedResponse(403, body=b'{"error": {"message": "secret detail"}}')) as first,
        Upstream(ANSWER) as second,
    ):
        settings = GatewaySettings(otlp_endpoint=collector.url)
        providers = {"one": mine(first), "two": mine(second)}
        async with traced(tmp_path, providers, settings) as url:
            assert await ask(url) == 200
    attempts = [span for span in spans(collector) if span.kind == CLIENT]
    outcomes = {
        span.attributes["gen_ai.provider.name"]: (span.status, span.attributes.get("error.type"))
        for span in attempts
    }
    assert outcomes["one"][0] == ERROR
    assert outcomes["one"][1]
    assert outcomes["two"] == (0, None)
    assert len({span.parent for span in attempts}) == 1
    failed = [point for point in points(collector) if "error.type" in point.attributes]
    assert [point.metric for point in failed] == ["gen_ai.client.operation.duration"]
    assert "gen_ai.request.model" not in failed[0].attributes


async def test_metrics_have_the_units_and_bounds_of_the_conventions(tmp_path: Path) -> None:
    collector, _ = await collect(tmp_path, ANSWER, stream=True)
    found = {(point.metric, point.attributes.get("gen_ai.token.type")): point for point in points(collector)}
    tokens = found["gen_ai.client.token.usage", "input"]
    assert (tokens.unit, tokens.sum, tokens.bounds[:3], tokens.bounds[-1]) == (
        "{token}",
        12,
        (1, 4, 16),
        67108864,
    )
    assert found["gen_ai.client.token.usage", "output"].sum == 34
    duration = found["gen_ai.client.operation.duration", None]
    assert (duration.unit, duration.number) == ("s", 1)
    assert duration.bounds == pytest.approx(
        (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
    )
    first = found["gen_ai.server.time_to_first_token", None]
    assert (first.unit, first.number) == ("s", 1)
    assert 0 < first.sum < duration.sum + 60
    assert first.attributes["gen_ai.response.model"] == "big-1"


async def test_nothing_of_the_content_and_no_key_is_sent(tmp_path: Path) -> None:
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    collector, _ = await collect(
        tmp_path,
        [REFUSED, ANSWER],
        stream=True,
        headers={**HEADERS, "authorization": f"Bearer {key}", "user-agent": "private-agent"},
    )
    sent = b"".join(request.body + str(request.headers).encode() for request in collector.requests)
    assert b"chat model-1" in sent
    for secret in (QUESTION, "Dom", TEXT, "1880", "dom.example", "private", key, PROVIDER_KEY, "secret"):
        assert secret.encode() not in sent
        assert secret[:12].encode() not in sent or len(secret) <= 12


@pytest.mark.parametrize("propagate", [True, False])
async def test_providers_learn_the_trace_only_if_that_is_configured(tmp_path: Path, propagate: bool) -> None:
    settings = GatewaySettings(propagate_trace=propagate)
    collector, upstream = await collect(tmp_path, ANSWER, settings=settings)
    (client,) = [span for span in spans(collector) if span.kind == CLIENT]
    (request,) = upstream.requests
    expected = f"00-{TRACE}-{client.id}-01" if propagate else None
    assert request.headers.get("traceparent") == expected
    assert "tracestate" not in request.headers


async def test_health_checks_are_not_traced_and_unknown_paths_are_not_named(tmp_path: Path) -> None:
    async with Upstream(ScriptedResponse()) as collector, Upstream(ANSWER) as upstream:
        settings = GatewaySettings(otlp_endpoint=collector.url)
        async with (
            traced(tmp_path, {"mine": mine(upstream)}, settings) as url,
            aiohttp.ClientSession() as client,
        ):
            for path in ("/healthz", "/readyz", "/metrics", "/private/path?key=secret"):
                async with client.get(url + path) as response:
                    await response.read()
    (span,) = spans(collector)
    assert span.attributes["http.response.status_code"] == 404
    assert not any("private" in str(item) for item in (span.name, *span.attributes.values()))


async def test_a_collector_that_does_not_answer_delays_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(telemetry, "_CLOSE_SECONDS", 0.05)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    async with Upstream(ScriptedResponse(delay=60)) as collector, Upstream(ANSWER) as upstream:
        settings = GatewaySettings(otlp_endpoint=collector.url)
        async with asyncio.timeout(20):
            async with traced(tmp_path, {"mine": mine(upstream)}, settings) as url:
                assert await ask(url) == 200
    for thread in threading.enumerate():
        if thread.name == "groundwire-telemetry":
            await asyncio.to_thread(thread.join, 20)


def test_without_a_collector_nothing_is_imported() -> None:
    code = (
        "import sys; import groundwire.commands.http_app;"
        "from groundwire.config.schema import GatewaySettings;"
        "from groundwire.server.telemetry import open_telemetry;"
        "assert open_telemetry(GatewaySettings(), {}) is None;"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)  # noqa: S603  fixed arguments


def test_the_sdk_can_be_switched_off() -> None:
    env = {ENDPOINT_VARIABLE: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}
    assert open_telemetry(GatewaySettings(), env) is None


def test_a_missing_extra_is_an_error_only_for_the_setting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"groundwire\[otel\]"):
        open_telemetry(GatewaySettings(otlp_endpoint="http://127.0.0.1:9"), {})
    assert open_telemetry(GatewaySettings(), {ENDPOINT_VARIABLE: "http://127.0.0.1:9"}) is None
    assert "groundwire[otel]" in caplog.text
