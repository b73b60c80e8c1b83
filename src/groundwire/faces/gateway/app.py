"""The gateway as an ASGI application: one function of one `Groundwire`.

Order of things, for every request: is it meant for us (Host, Origin), is there such a route, may the caller
use it, is there room; then the endpoint. Whatever goes wrong is told in the shape of the dialect that was
spoken.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from groundwire.config.schema import Config, GatewaySettings
from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.faces.gateway.access import Access
from groundwire.faces.gateway.asgi import JSON, Inbound, Left, Receive, Scope, Send
from groundwire.faces.gateway.idempotency import HEADER as IDEMPOTENCY_KEY
from groundwire.faces.gateway.idempotency import Idempotency
from groundwire.faces.gateway.limits import check_request
from groundwire.faces.gateway.metrics import Metrics
from groundwire.faces.gateway.overload import Overload, overloaded
from groundwire.faces.gateway.response_writer import Patience, retry_after
from groundwire.faces.gateway.routes import Match, Routes
from groundwire.faces.gateway.shutdown import Running, closing
from groundwire.model import Event, Request, Usage
from groundwire.model.value import value
from groundwire.routing.cache import OnCacheStatus, ResponseCache

if TYPE_CHECKING:
    from groundwire.client import ProviderStatus
    from groundwire.faces.gateway.handler import ResponseInfo
    from groundwire.faces.gateway.usage import Booking

log = logging.getLogger("groundwire.gateway")

_ANY_DIALECT = "openai_chat"
"""Errors at paths of nobody's have this shape: most clients understand it."""
_PAGES = 256
"""Requests of the chat page, beyond `max_requests`: it can still say that the gateway is full."""
_UNREAD = frozenset({408, 413, 415})
"""After these the rest of the body must not be taken for a request."""


class Asker(Protocol):
    """What the gateway needs of a `Groundwire`."""

    @property
    def config(self) -> Config: ...

    def batches(
        self, request: Request, *, provider: str = ..., model: str = ...
    ) -> AsyncGenerator[Sequence[Event], None]: ...

    def usable(self) -> Mapping[str, bool]: ...

    def providers(self) -> list[ProviderStatus]: ...

    async def aclose(self) -> None: ...


@value
class Seen:
    """One request when it is over, for logs and metrics. Nothing of its content."""

    method: str
    path: str
    """As the route writes it."""
    status: int
    seconds: float
    request_id: str
    dialect: str
    provider: str
    outcome: str
    """`done`, `left`, `stalled`, or the code of the error."""
    key: str
    """The first signs of the fingerprint of the key."""


class Call:
    """One request while it is under way: what is learnt of it on the way."""

    __slots__ = (
        "dialect",
        "failed",
        "inbound",
        "key",
        "model",
        "outcome",
        "path",
        "provider",
        "request_id",
        "usage",
    )

    def __init__(self, inbound: Inbound) -> None:
        self.inbound = inbound
        self.request_id = os.urandom(16).hex()
        self.path = ""
        self.dialect = ""
        self.provider = ""
        self.model = ""
        self.usage: Usage | None = None
        """What it cost; None if nobody was asked."""
        self.outcome = "done"
        self.key = ""
        self.failed = False
        """Did the answer end with an error?"""

    def learn(self, told: ResponseInfo) -> None:
        """Note who answered, and what that cost. An answer that was there already cost nothing."""
        self.provider = told.provider
        self.failed = told.finish == "failed"
        if told.provider and (told.cache is None or told.cache.state == "miss"):
            self.model, self.usage = told.model, told.usage

    def seen(self, seconds: float) -> Seen:
        """What is told of it."""
        return Seen(
            self.inbound.method,
            self.path,
            self.inbound.status,
            seconds,
            self.request_id,
            self.dialect,
            self.provider,
            self.outcome,
            self.key[:8],
        )


class Gateway:
    """Answers requests. `secret` signs what we make in the place of encrypted content."""

    def __init__(
        self,
        groundwire: Asker,
        routes: Routes,
        access: Access,
        *,
        secret: bytes,
        patience: Patience | None = None,
        observers: tuple[Callable[[Seen], None], ...] = (),
    ) -> None:
        self.groundwire = groundwire
        self.routes = routes
        self.access = access
        self.secret = secret
        self.patience = patience or Patience()
        self.draining = False
        self.open = 0
        """Requests under way."""
        self.running = Running()
        self.overload = Overload()
        self.idempotency = Idempotency()
        self.cache = ResponseCache(groundwire.batches, groundwire.config.gateway.cache_seconds, monotonic)
        self.metrics = Metrics()
        self.at_close: list[Callable[[], Awaitable[None]]] = [groundwire.aclose]
        self.booking: Booking | None = None
        self.readiness: list[Callable[[], Awaitable[str]]] = []
        """Checks of what the gateway depends on: each answers with what is wrong, or with nothing."""
        self.observers = (self.metrics.observe, *observers)

    @property
    def settings(self) -> GatewaySettings:
        """What is configured."""
        return self.groundwire.config.gateway

    def batches(
        self, request: Request, *, provider: str, model: str, note: OnCacheStatus | None = None
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Ask within the limits, or tell what was told lately; ends with the gateway at the latest."""
        check_request(request)
        return self.running.follow(self.cache.batches(request, provider=provider, model=model, note=note))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One conversation, as ASGI has it."""
        if scope["type"] == "http":
            await self._http(Call(Inbound(scope, receive, send)))
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.draining = True
        for close in self.at_close:
            await close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, call: Call) -> None:
        began = monotonic()
        self.open += 1
        try:
            await self._answer(call, self._admitted(call))
        except Left:
            call.outcome = "left"
        finally:
            self.open -= 1
            line = call.inbound.line
            if line is not None and line.cut:
                call.outcome = "stalled" if line.stalled else "left"
            seconds = monotonic() - began
            seen = call.seen(seconds)
            for observe in self.observers:
                observe(seen)
            if self.booking is not None:
                self.booking.add(call, seconds)

    async def _answer(self, call: Call, work: Awaitable[None]) -> None:
        """The outermost edge: beyond it there are only responses."""
        try:
            await work
        except GroundwireError as error:
            call.outcome = error.code
            await self.refuse(call, error)
        except (asyncio.CancelledError, Left):
            raise
        except Exception:
            log.exception("request %s failed", call.request_id)
            call.outcome = "INTERNAL_ERROR"
            await self.refuse(call, GroundwireError(f"the gateway failed; see its log for {call.request_id}"))

    async def _admitted(self, call: Call) -> None:
        inbound = call.inbound
        call.dialect = spoken_by(inbound)
        self.access.check_address(inbound)
        self.access.note_https(inbound)
        inbound.shared = self.access.sharing(inbound)
        if allowed := self.access.preflight(inbound):
            inbound.shared = ()
            await inbound.respond(204, allowed, b"")
            return
        match = self.routes.find(inbound.method, inbound.path)
        call.path, call.dialect = match.route.path, match.route.dialect or call.dialect
        if match.instead:
            inbound.shared = (*inbound.shared, ("allow", match.instead))
            raise TurnedAway(
                status=405, message=f"{inbound.method} is not possible here; use {match.instead}"
            )
        if match.route.access == "key":
            if not match.route.always:
                self.check_room()
            call.key = self.access.check_key(inbound)
        elif match.route.access == "metrics":
            call.key = self.access.check_metrics_key(inbound)
        elif self.open > self.settings.max_requests + _PAGES and not match.route.always:
            raise overloaded()
        if match.route.dialect and IDEMPOTENCY_KEY in inbound.headers and inbound.method == "POST":
            await self._answer_once(call, match)
        else:
            await match.route.endpoint(self, call, match.names)

    async def _answer_once(self, call: Call, match: Match) -> None:
        """Answer a request that may be sent twice; what it costs belongs to the one that is handled."""

        async def handle(inbound: Inbound) -> bool:
            began = monotonic()
            own = Call(inbound)
            own.request_id, own.path, own.dialect, own.key = (
                *(call.request_id, call.path),
                *(call.dialect, call.key),
            )
            try:
                await self._answer(own, match.route.endpoint(self, own, match.names))
            finally:
                if self.booking is not None:
                    self.booking.add(own, monotonic() - began)
            call.provider, call.outcome = own.provider, own.outcome
            return inbound.status < 400 and own.outcome == "done" and not own.failed

        limit = self.settings.max_body_mb * 2**20
        if not await self.idempotency.answer(call.inbound, call.key, limit, handle):
            call.outcome = "left"

    def check_room(self) -> None:
        """Refuse a request while the gateway closes, or has too many."""
        if self.draining:
            raise closing()
        if self.open > self.settings.max_requests:
            raise overloaded()

    async def refuse(self, call: Call, error: GroundwireError) -> None:
        """Tell an error in the words of the dialect, if the response has not begun."""
        inbound = call.inbound
        if inbound.begun:
            return
        status, body = dialect(call.dialect or _ANY_DIALECT).encode_error(error, Reply(call.request_id))
        if isinstance(error, TurnedAway):
            status = error.status_hint
        head = [("content-type", JSON), ("x-request-id", call.request_id)]
        head += retry_after(error)
        if status in _UNREAD:
            head.append(("connection", "close"))
        await inbound.respond(status, tuple(head), dump_json(body).encode())


def spoken_by(inbound: Inbound) -> str:
    """The dialect of a client that asks at a path of several vendors', by its headers."""
    if "anthropic-version" in inbound.headers or "x-api-key" in inbound.headers:
        return "anthropic_messages"
    return "gemini" if "x-goog-api-key" in inbound.headers else ""
