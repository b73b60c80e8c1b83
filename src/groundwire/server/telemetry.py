"""Traces and metrics for an OpenTelemetry collector (extra `otel`), sent over OTLP with HTTP.

A request is a server span, each attempt at a provider a client span below it. Attributes and metrics follow
the semantic conventions for generative AI. Neither holds content: no text, no query, no error message, no
path as the client sent it, no key.

An event of a stream costs nothing: spans begin and end with requests and attempts. Without a collector the
packages are not imported, and a request pays for two comparisons with None.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from groundwire import __version__
from groundwire.config.schema import GatewaySettings
from groundwire.errors import ConfigError
from groundwire.model import Request, Usage
from groundwire.providers.spec import Provider
from groundwire.routing.observe import AttemptResult, ReportEnd
from groundwire.server.asgi import HttpExchange
from groundwire.transport.http import TRACE_PARENT
from groundwire.transport.threads import run_in_thread

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

    from groundwire.server.app import AccessRecord, RequestContext

log = logging.getLogger("groundwire.gateway")

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_INSTALL = "pip install 'groundwire[otel]'"
_UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE_SECONDS = 5.0
"""A collector that does not respond must not delay the end of the process."""
_LONGEST_MODEL = 128
"""A client chooses the name of a model."""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105  a name
ERROR_TYPE = "error.type"
_PROVIDER_NAMES: Mapping[str, str] = {
    "gemini": "gcp.gemini",
    "openai_chat": "openai",
    "openai_oauth": "openai",
}
"""The conventions' names of providers that have another name here."""
_USAGE: Mapping[str, str] = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "searches": "groundwire.usage.searches",
}
# The bounds of buckets are those that the conventions recommend.
_TOKEN_BOUNDS = tuple(4.0**power for power in range(14))
_DURATION_BOUNDS = tuple(0.01 * 2**power for power in range(14))
_FIRST_TOKEN_BOUNDS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1),
    *(0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
)


def open_telemetry(settings: GatewaySettings, env: Mapping[str, str]) -> Telemetry | None:
    """Traces and metrics, if a collector is configured; None otherwise."""
    endpoint = settings.otlp_endpoint or env.get(ENDPOINT_VARIABLE, "")
    if not endpoint or env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        return Telemetry(endpoint.rstrip("/"), env, propagate=settings.propagate_trace)
    except ImportError:
        if settings.otlp_endpoint:
            raise ConfigError(f"gateway.otlp_endpoint needs OpenTelemetry: {_INSTALL}") from None
        # The variable may have been set for other programs.
        log.warning("%s is set, but OpenTelemetry is not installed: %s", ENDPOINT_VARIABLE, _INSTALL)
        return None


class Telemetry:
    """Spans and metrics of one process. Raises `ImportError` if the extra is not installed."""

    def __init__(self, endpoint: str, env: Mapping[str, str], *, propagate: bool = False) -> None:
        # Imported here: the extra may be missing, and it takes a third of a second.
        from opentelemetry import context, trace  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self._context = context
        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()
        self._propagate = propagate
        self._began = context.create_key("groundwire began")
        resource = _resource()
        self._tracers = _tracer_provider(_signal_url(endpoint, env, "traces"), resource)
        self._meters = _meter_provider(_signal_url(endpoint, env, "metrics"), resource)
        self._tracer = self._tracers.get_tracer("groundwire", __version__)
        meter = self._meters.get_meter("groundwire", __version__)
        self._tokens = _histogram(meter, "gen_ai.client.token.usage", "{token}", _TOKEN_BOUNDS)
        self._durations = _histogram(meter, "gen_ai.client.operation.duration", "s", _DURATION_BOUNDS)
        self._first_tokens = _histogram(meter, "gen_ai.server.time_to_first_token", "s", _FIRST_TOKEN_BOUNDS)

    def begin_request(self, exchange: HttpExchange) -> RequestTrace | None:
        """Begin the span of a request, in the trace that its client names; None for health checks."""
        if exchange.path in _UNTRACED:
            return None
        given = {"traceparent": exchange.headers.get("traceparent", "")}
        span = self._tracer.start_span(
            exchange.method, self._propagator.extract(given), self._trace.SpanKind.SERVER
        )
        current = self._trace.set_span_in_context(span)
        token = self._context.attach(self._context.set_value(self._began, monotonic(), current))
        return RequestTrace(self, span, token)

    def detach(self, token: Token[Context]) -> None:
        """Leave the span of a request."""
        self._context.detach(token)

    def begin_attempt(self, provider: Provider, request: Request) -> ReportEnd:
        """Begin the span of an attempt; the function that is returned ends it."""
        began, asked = monotonic(), self._context.get_value(self._began)
        common = _attempt_attributes(provider)
        model = (request.model or provider.model)[:_LONGEST_MODEL]
        span = self._tracer.start_span(
            f"{common[OPERATION]} {model}".rstrip(),
            kind=self._trace.SpanKind.CLIENT,
            attributes={**common, **_request_attributes(request, model)},
        )
        if self._propagate:
            TRACE_PARENT.set(_trace_parent(span))

        def end(result: AttemptResult) -> None:
            TRACE_PARENT.set("")
            self._end_attempt(span, result)
            self._measure(result, monotonic() - began, common, model)
            if request.stream and result.first_event is not None and isinstance(asked, float):
                seconds = began + result.first_event - asked
                self._first_tokens.record(seconds, _known_models(common, model, result))

        return end

    def _end_attempt(self, span: Span, result: AttemptResult) -> None:
        if span.is_recording():
            span.set_attributes(usage_attributes(result.usage))
            if result.model:
                span.set_attribute(RESPONSE_MODEL, result.model[:_LONGEST_MODEL])
            if result.finish:
                span.set_attribute("gen_ai.response.finish_reasons", (result.finish,))
            if result.first_event is not None:
                span.set_attribute("gen_ai.response.time_to_first_chunk", result.first_event)
            if result.error:
                self.mark_failed(span, result.error)
        span.end()

    def _measure(self, result: AttemptResult, seconds: float, common: Mapping[str, str], model: str) -> None:
        if result.error:
            # Without the model: a client can name any, and each name would be a time series.
            self._durations.record(seconds, {**common, ERROR_TYPE: result.error})
            return
        attributes = _known_models(common, model, result)
        self._durations.record(seconds, attributes)
        for kind, count in (("input", result.usage.input_tokens), ("output", result.usage.output_tokens)):
            if count is not None:
                self._tokens.record(count, {**attributes, TOKEN_TYPE: kind})

    def mark_failed(self, span: Span, code: str) -> None:
        """Record an error by its code; its message may quote content."""
        span.set_attribute(ERROR_TYPE, code)
        span.set_status(self._trace.StatusCode.ERROR)

    async def aclose(self) -> None:
        """Send what has not been sent, within a time limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await run_in_thread(self._shutdown, "groundwire-telemetry")

    def _shutdown(self) -> None:
        self._tracers.shutdown()
        self._meters.shutdown()


class RequestTrace:
    """The span of one request."""

    __slots__ = ("_span", "_telemetry", "_token")

    def __init__(self, telemetry: Telemetry, span: Span, token: Token[Context]) -> None:
        self._telemetry = telemetry
        self._span = span
        self._token = token

    def end(self, context: RequestContext, record: AccessRecord) -> None:
        """End the span, with what the access log records and the usage."""
        self._telemetry.detach(self._token)
        span = self._span
        if span.is_recording():
            span.update_name(f"{record.method} {record.path}".rstrip())
            span.set_attributes(_record_attributes(record))
            if context.usage is not None:
                span.set_attributes(usage_attributes(context.usage))
            if context.model:
                span.set_attribute(RESPONSE_MODEL, context.model[:_LONGEST_MODEL])
            if record.status >= 500 or context.failed:
                code = record.outcome if record.outcome != "done" else "answer_failed"
                self._telemetry.mark_failed(span, code)
        span.end()


def usage_attributes(usage: Usage) -> dict[str, int]:
    """The counts that the provider has reported, under their names in the conventions."""
    counts = ((name, getattr(usage, field)) for field, name in _USAGE.items())
    return {name: count for name, count in counts if count is not None}


def _attempt_attributes(provider: Provider) -> dict[str, str]:
    name = _PROVIDER_NAMES.get(provider.name, provider.name)
    if provider.capabilities.kind == "engine":
        return {OPERATION: "retrieval", PROVIDER: name}
    return {OPERATION: "generate_content" if name == "gcp.gemini" else "chat", PROVIDER: name}


def _request_attributes(request: Request, model: str) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {"gen_ai.request.stream": request.stream}
    if model:
        attributes[REQUEST_MODEL] = model
    if request.limits.max_output_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = request.limits.max_output_tokens
    return attributes


def _known_models(common: Mapping[str, str], model: str, result: AttemptResult) -> dict[str, str]:
    """The attributes of a measurement, with models that exist: the provider has answered."""
    names = ((REQUEST_MODEL, model), (RESPONSE_MODEL, result.model[:_LONGEST_MODEL]))
    return {**common, **{name: text for name, text in names if text}}


def _record_attributes(record: AccessRecord) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        "http.request.method": record.method,
        "http.response.status_code": record.status,
        "groundwire.request_id": record.request_id,
        "groundwire.outcome": record.outcome,
    }
    optional = {
        "http.route": record.path,
        "groundwire.dialect": record.dialect,
        "groundwire.key": record.key,
        PROVIDER: _PROVIDER_NAMES.get(record.provider, record.provider),
    }
    return {**attributes, **{name: text for name, text in optional.items() if text}}


def _trace_parent(span: Span) -> str:
    """The header `traceparent` of W3C Trace Context."""
    where = span.get_span_context()
    return f"00-{where.trace_id:032x}-{where.span_id:016x}-{where.trace_flags:02x}"


def _signal_url(endpoint: str, env: Mapping[str, str], signal: str) -> str:
    """Where a signal is sent: its own variable, or the path below the endpoint that the protocol defines."""
    return env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "") or f"{endpoint}/v1/{signal}"


def _resource() -> Resource:
    """What describes this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415  see `Telemetry`

    own = Resource.create(
        {
            "service.name": "groundwire",
            "service.version": __version__,
            "service.instance.id": str(uuid4()),  # metrics of workers must not overwrite each other
            "process.pid": os.getpid(),
        }
    )
    return own.merge(OTELResourceDetector().detect())


def _tracer_provider(url: str, resource: Resource) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url)))
    return provider


def _meter_provider(url: str, resource: Resource) -> MeterProvider:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(url))
    return MeterProvider((reader,), resource=resource, shutdown_on_exit=False)


def _histogram(meter: Meter, name: str, unit: str, bounds: tuple[float, ...]) -> Histogram:
    return meter.create_histogram(name, unit=unit, explicit_bucket_boundaries_advisory=bounds)
