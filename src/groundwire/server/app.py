"""The HTTP application (ASGI) that serves the routes of the gateway, the web page and MCP.

For every request, in this order: check Host and Origin, find the route, check the key, check the capacity,
call the endpoint. Errors are written in the dialect of the route.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from copy import copy
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from groundwire.config.schema import GatewaySettings
from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.model import Event, Request, Usage
from groundwire.model.access import KeyScope, tenant_id
from groundwire.model.value import value
from groundwire.routing.cache import CACHE_OWNER
from groundwire.server.asgi import JSON, ClientDisconnected, HttpExchange, Receive, Scope, Send
from groundwire.server.auth import AccessControl, check_rights
from groundwire.server.background_tasks import BackgroundTasks
from groundwire.server.budgets import set_spender
from groundwire.server.idempotency import HEADER as IDEMPOTENCY_KEY
from groundwire.server.idempotency import IdempotencyCache
from groundwire.server.key_manager import KeyActor, KeyManager, actor_for
from groundwire.server.limits import check_request
from groundwire.server.live_requests import LiveRequest
from groundwire.server.metrics import Metrics
from groundwire.server.overload import LoadShedder, overloaded_error
from groundwire.server.rate_limits import RateLimiter, RateReservation, limit_error, limit_headers
from groundwire.server.response_spool import FileSpool, ResponseSpool
from groundwire.server.response_writer import ResponseInfo, ResponseTimeouts, retry_after_header
from groundwire.server.restricted_client import RestrictedClient, restricts_client
from groundwire.server.routes import EncodeError, RouteMatch, RouteTable, is_counted
from groundwire.server.shutdown import ActiveStreams, closing_error
from groundwire.server.token_estimate import estimate_tokens

if TYPE_CHECKING:
    from groundwire.client_protocol import ResolvedTarget, SearchClient
    from groundwire.server.usage import UsageRecorder

log = logging.getLogger("groundwire.gateway")

_DEFAULT_DIALECT = "openai_chat"
"""Dialect of errors where neither the route nor the headers name one: most clients understand it."""
_PUBLIC_REQUESTS = 256
"""Requests to public routes beyond `max_requests`: the web page can still say that the server is full."""
_BODY_UNREAD = frozenset({408, 413, 415})
"""After these statuses the connection is closed: the rest of the body must not be parsed as a request."""


@value
class AccessRecord:
    """One completed request, for the access log and metrics. It holds nothing of its content."""

    method: str
    path: str
    """The path of the route, with its parameters as names."""
    status: int
    seconds: float
    request_id: str
    dialect: str
    provider: str
    outcome: str
    """`done`, `left` (the client disconnected), `stalled`, or an error code."""
    key: str
    """The first characters of the fingerprint of the API key."""


class EndedLogins(Protocol):
    """Logins of the web page that were ended before they expired."""

    def __contains__(self, login: str) -> bool:
        """Has this login been ended?"""
        ...

    def add(self, login: str, expires: int) -> None:
        """End a login. Blocks."""
        ...


class RequestSpan(Protocol):
    """The trace of one request."""

    def end(self, context: RequestContext, record: AccessRecord) -> None:
        """The request is complete."""
        ...


class NotFoundPage(Protocol):
    """Writes the page for an address that does not exist."""

    async def __call__(self, app: HttpApp, context: RequestContext, status: int) -> None: ...


class RequestTracer(Protocol):
    """Traces requests."""

    def begin_request(self, exchange: HttpExchange) -> RequestSpan | None:
        """A request begins; None if it is not traced. Called in the task of the request."""
        ...


class RequestContext:
    """A request in progress: the HTTP exchange, and what is recorded about it."""

    __slots__ = (
        *("dialect", "encode_error", "exchange", "failed", "key", "model", "outcome", "path", "provider"),
        *("began", "cache_hit", "owner", "request_id", "requested_model", "reservation", "usage"),
    )

    def __init__(self, exchange: HttpExchange) -> None:
        self.exchange = exchange
        self.request_id = os.urandom(16).hex()
        self.path = ""
        self.dialect = ""
        self.encode_error: EncodeError | None = None
        """Writes errors, if the API of the route is not a dialect."""
        self.provider = ""
        self.model = ""
        self.usage: Usage | None = None
        """Usage to record; None if no provider was called."""
        self.reservation: RateReservation | None = None
        """What was reserved of the rate limits of the key."""
        self.outcome = "done"
        self.began = monotonic()
        self.requested_model = ""
        """The model name that the client sent."""
        self.key = ""
        """The fingerprint of the API key."""
        self.owner = ""
        """The owner of what the key stores."""
        self.failed = False
        """Did the answer end with an error?"""
        self.cache_hit = False
        """Did the answer come from the response cache?"""

    def record_response(self, info: ResponseInfo) -> None:
        """Record provider, model and usage of the response. Cached answers have no usage."""
        self.provider = info.provider
        self.failed = info.finish == "failed"
        if not info.provider:
            return
        self.model = info.model
        if info.cache is None or info.cache.state == "miss":
            self.usage = info.usage
        else:
            self.cache_hit = True

    def detached(self, exchange: HttpExchange | None = None) -> RequestContext:
        """The context of work for this request that may outlive it. It takes over what was reserved."""
        own = RequestContext(exchange or self.exchange)
        own.request_id, own.path, own.dialect = self.request_id, self.path, self.dialect
        own.key, own.owner, own.requested_model = self.key, self.owner, self.requested_model
        own.reservation, self.reservation = self.reservation, None
        return own

    def access_record(self, seconds: float) -> AccessRecord:
        """The record for the access log."""
        return AccessRecord(
            self.exchange.method,
            self.path,
            self.exchange.status,
            seconds,
            self.request_id,
            self.dialect,
            self.provider,
            self.outcome,
            self.key[:8],
        )


class HttpApp:
    """ASGI application for one `Groundwire`. `secret` signs content that replaces encrypted blocks."""

    def __init__(
        self,
        groundwire: SearchClient,
        routes: RouteTable,
        access: AccessControl,
        *,
        secret: bytes,
        timeouts: ResponseTimeouts | None = None,
        observers: tuple[Callable[[AccessRecord], None], ...] = (),
    ) -> None:
        self.groundwire = groundwire
        self.settings: GatewaySettings = groundwire.config.gateway
        """The section `gateway` of the configuration."""
        self.routes = routes
        self.access = access
        self.secret = secret
        self.timeouts = timeouts or ResponseTimeouts()
        self.leaving = False
        """Readiness fails and responses close their connections, but requests are served: the load balancer
        needs time to notice."""
        self.draining = False
        """New requests are refused."""
        self.open_requests = 0
        self.live_requests: set[RequestContext] = set()
        self.other_live_requests: Callable[[], Awaitable[Sequence[LiveRequest]]] | None = None
        """Those of other gateways, if they are known."""
        self.active_streams = ActiveStreams()
        self.load_shedder = LoadShedder()
        self.idempotency = IdempotencyCache()
        self.background = BackgroundTasks()
        self.followers: Counter[str] = Counter()
        """How many streams of background responses are open, by owner."""
        self.responses: ResponseSpool = FileSpool(Path(groundwire.config.data_dir) / "background")
        self.metrics = Metrics()
        self.rate_limiter = RateLimiter()
        self.on_start: list[Callable[[], Awaitable[None]]] = []
        """Called before the first request, in the event loop of the server."""
        self.on_close: list[Callable[[], Awaitable[None]]] = [self.background.aclose, groundwire.aclose]
        self.usage_recorder: UsageRecorder | None = None
        self.key_manager: KeyManager | None = None
        self.ended_logins: EndedLogins | None = None
        """Those of a shared store; otherwise the page keeps them in the data directory."""
        self.readiness_checks: list[Callable[[], Awaitable[str]]] = []
        """Checks of dependencies. Each returns a problem, or an empty text."""
        self.degradations: list[Callable[[], str]] = []
        """What does not work although the application is ready. Each returns a sentence, or an empty text."""
        self.observers = (self.metrics.observe, *observers)
        self.tracer: RequestTracer | None = None
        self.not_found_page: NotFoundPage | None = None
        """Shown to browsers at addresses that do not exist; other clients get an error in their dialect."""

    @property
    def max_body_bytes(self) -> int:
        """The largest request body that is read."""
        return self.settings.max_body_mb * 2**20

    def batches(
        self, request: Request, target: ResolvedTarget, *, info: ResponseInfo | None = None
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The events of an answer, from the cache or a provider; fails when the application closes."""
        check_request(request)
        stream = self.groundwire.batches(request, target=target, cached=True)
        if info is not None:
            stream.cache.callback = info.set_cache_status
        return self.active_streams.track(stream)

    def restricted_to(self, scope: KeyScope) -> HttpApp:
        """This application as a key with this scope may use it."""
        if not restricts_client(scope):
            return self
        restricted = copy(self)
        restricted.groundwire = RestrictedClient(self.groundwire, scope)
        return restricted

    def actor(self, key: str) -> KeyActor:
        """Who manages keys with the key of this fingerprint."""
        return actor_for(self.access.record(key), self.access.rights(key))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry point."""
        if scope["type"] == "http":
            await self._handle_http(RequestContext(HttpExchange(scope, receive, send)))
        elif scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def start(self) -> None:
        """Connect what the application uses in the background."""
        for start in self.on_start:
            await start()

    async def aclose(self) -> None:
        """Refuse further requests, and close what the application uses."""
        self.draining = True
        for close in self.on_close:
            await close()

    async def _handle_http(self, context: RequestContext) -> None:
        began = context.began
        self.open_requests += 1
        self.live_requests.add(context)
        span = self.tracer.begin_request(context.exchange) if self.tracer is not None else None
        try:
            await self._with_error_response(context, self._dispatch(context))
        except ClientDisconnected:
            context.outcome = "left"
        finally:
            self.open_requests -= 1
            self.live_requests.discard(context)
            connection = context.exchange.connection
            if connection is not None and connection.disconnected:
                context.outcome = "stalled" if connection.stalled else "left"
            seconds = monotonic() - began
            record = context.access_record(seconds)
            for observe in self.observers:
                observe(record)
            self.record_usage(context, seconds)
            if span is not None:
                span.end(context, record)

    def record_usage(self, context: RequestContext, seconds: float) -> None:
        """Settle what a request has reserved, and record its usage."""
        if context.reservation is not None:
            self.rate_limiter.settle(context.reservation, context.usage)
        if context.usage is not None:
            self.metrics.count_cost(context.provider, context.model, context.usage.cost)
        if self.usage_recorder is not None:
            self.usage_recorder.add(context, seconds)

    def charge(self, key: str) -> None:
        """Let the budget of a key pay for the request in progress, if it has one, and let the request share
        only the cached answers that its owner may know of."""
        set_spender(key, self.access.scope(key).limits)
        CACHE_OWNER.set(self.access.owner(key) if key and self.settings.cache_scope == "owner" else "")

    async def _with_error_response(self, context: RequestContext, work: Awaitable[None]) -> None:
        """Await `work`, and turn every exception into an error response."""
        try:
            await work
        except GroundwireError as error:
            context.outcome = error.code
            await self.send_error(context, error)
        except (asyncio.CancelledError, ClientDisconnected):
            raise
        except Exception:
            log.exception("request %s failed", context.request_id)
            context.outcome = "INTERNAL_ERROR"
            await self.send_error(
                context,
                GroundwireError(f"internal error; the gateway's log has details for {context.request_id}"),
            )

    async def _dispatch(self, context: RequestContext) -> None:
        """Check the request and call the endpoint of its route."""
        exchange = context.exchange
        context.dialect = dialect_from_headers(exchange)
        self.access.check_address(exchange)
        self.access.apply_forwarded_scheme(exchange)
        exchange.extra_headers = self.access.cors_headers(exchange)
        if preflight := self.access.preflight_headers(exchange):
            exchange.extra_headers = ()
            await exchange.respond(204, preflight, b"")
            return
        match = self.routes.find(exchange.method, exchange.path)
        context.path, context.dialect = match.route.path, match.route.dialect or context.dialect
        context.encode_error = match.route.encode_error
        if match.allowed_methods:
            exchange.extra_headers = (*exchange.extra_headers, ("allow", match.allowed_methods))
            raise TurnedAway(
                status=405, message=f"{exchange.method} is not allowed here; use {match.allowed_methods}"
            )
        self._authorize(context, match)
        if is_counted(match.route, exchange.method):
            # Other bodies are searches, which may be forms.
            limit = self.max_body_bytes if match.route.dialect or match.route.group == "chat" else 0
            context.reservation = await self.check_rate(context, limit)
        app = self.restricted_to(self.access.rights(context.key).scope) if context.key else self
        if match.route.dialect and IDEMPOTENCY_KEY in exchange.headers and exchange.method == "POST":
            await app._respond_once(context, match)
        else:
            await match.route.endpoint(app, context, match.params)

    def _authorize(self, context: RequestContext, match: RouteMatch) -> None:
        """Check the capacity and the API key that the route requires."""
        route = match.route
        if route.access == "key":
            if not route.always:
                self.check_capacity()
            key = context.key = self.access.check_key(context.exchange)
            rights = self.access.rights(key)
            context.owner = tenant_id(key, rights)
            check_rights(rights, route.group, route.role)
            self.charge(key)
        elif route.access == "metrics":
            context.key = self.access.check_metrics_key(context.exchange)
        elif self.open_requests > self.settings.max_requests + _PUBLIC_REQUESTS and not route.always:
            raise overloaded_error()

    async def check_rate(self, context: RequestContext, body_limit: int) -> RateReservation | None:
        """Count a request against the limits of its key; raises 429. Tokens are estimated from its JSON body,
        unless `body_limit` is zero."""
        limits = self.access.scope(context.key).limits
        if limits.requests_per_minute is None and limits.tokens_per_minute is None:
            return None
        exchange = context.exchange
        tokens = 0
        if limits.tokens_per_minute is not None and body_limit:
            tokens = await estimate_tokens(await exchange.peek_json(body_limit))
        admission = await self.rate_limiter.admit(context.key, limits, tokens)
        exchange.extra_headers += limit_headers(admission.limits, admission.decision)
        if not admission.decision.admitted:
            raise limit_error(admission.limits, admission.decision)
        return admission.reservation

    async def _respond_once(self, context: RequestContext, match: RouteMatch) -> None:
        """Handle a request with an idempotency key; usage belongs to the request that is really handled."""

        async def handle(exchange: HttpExchange) -> bool:
            began = monotonic()
            own = context.detached(exchange)
            try:
                await self._with_error_response(own, match.route.endpoint(self, own, match.params))
            finally:
                self.record_usage(own, monotonic() - began)
            context.provider, context.outcome = own.provider, own.outcome
            return exchange.status < 400 and own.outcome == "done" and not own.failed

        if not await self.idempotency.respond(context.exchange, context.key, self.max_body_bytes, handle):
            context.outcome = "left"

    def check_capacity(self) -> None:
        """Refuse a request while the application closes, or has too many open requests."""
        if self.draining:
            raise closing_error()
        if self.open_requests > self.settings.max_requests:
            raise overloaded_error()

    async def send_error(self, context: RequestContext, error: GroundwireError) -> None:
        """Send an error in the dialect of the request, if the response has not started."""
        exchange = context.exchange
        if exchange.response_started:
            return
        if self.not_found_page is not None and _is_page_missing(context, error):
            await self.not_found_page(self, context, error.status_hint)
            return
        if context.encode_error is not None:
            status, body = context.encode_error(error, exchange)
        else:
            name = context.dialect or _DEFAULT_DIALECT
            status, body = dialect(name).encode_error(error, Reply(context.request_id))
        if isinstance(error, TurnedAway):
            status = error.status_hint
        headers = [("content-type", JSON), ("x-request-id", context.request_id)]
        headers += retry_after_header(error)
        if status in _BODY_UNREAD:
            headers.append(("connection", "close"))
        await exchange.respond(status, tuple(headers), dump_json(body).encode())


def _is_page_missing(context: RequestContext, error: GroundwireError) -> bool:
    """Did a browser open an address that does not exist, or that only takes forms?"""
    exchange = context.exchange
    wants_page = exchange.method == "GET" and "text/html" in exchange.headers.get("accept", "")
    is_unknown = error.code == "NOT_FOUND" and not context.path
    return wants_page and (is_unknown or error.status_hint == 405)


def dialect_from_headers(exchange: HttpExchange) -> str:
    """The dialect of a client at a path that several vendors share, from its headers."""
    if "anthropic-version" in exchange.headers or "x-api-key" in exchange.headers:
        return "anthropic_messages"
    return "gemini" if "x-goog-api-key" in exchange.headers else ""
