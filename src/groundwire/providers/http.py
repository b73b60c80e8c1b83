"""HTTP provider: encode the request, send it, decode the response, audit the sources.

The status decides between answer and error; the first bytes decide between a stream and a whole body, because
some servers ignore `stream` or send the wrong content type.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import time
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from groundwire.credentials.redact import Redactor, UnshownHeaders
from groundwire.credentials.secret import Credential
from groundwire.dialects.base import Dialect
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    NotFound,
    Unreachable,
    UnsupportedFeature,
    UpstreamError,
)
from groundwire.model import (
    Event,
    Failed,
    Finished,
    JsonObject,
    Request,
    ToolCall,
    ToolCallDelta,
    Warned,
    Wire,
)
from groundwire.model.batch import FastPath, OpeningBatch
from groundwire.model.value import replace
from groundwire.providers.passthrough.rules import can_forward, forwarded_headers
from groundwire.providers.policy import RESTRICTIONS, Audit, prepare, refuse_foreign_context
from groundwire.providers.quota import QuotaBoard
from groundwire.providers.response_reader import VerbatimForm, error_from_response, read_response
from groundwire.providers.spec import Batches, ProviderSpec
from groundwire.transport.http import LOOP_HEADER, TRACE_PARENT, Http, HttpRequest

if TYPE_CHECKING:
    from groundwire.transport.response import Response


class ToolCallIds:
    """Tool call ids of a conversation: makes new ones unique.

    The id links a result to its call, and clients loop if an old one is used again. Gemini sends no call ids,
    so they are derived from the response id, which some servers never change; others number the calls of
    every response from zero.
    """

    __slots__ = ("_request", "_used")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._used: set[str] | None = None
        """Collected with the first call of the answer: most answers have none."""

    def unique(self, event: Event) -> Event:
        """The event with an id that is unused in the conversation."""
        if not isinstance(event, ToolCallDelta):
            return event
        if self._used is None:
            parts = (part for message in self._request.messages for part in message.parts)
            self._used = {part.id for part in parts if isinstance(part, ToolCall) and part.id}
        if event.id not in self._used:
            return event
        number = 2
        while f"{event.id}_{number}" in self._used:
            number += 1
        return replace(event, id=f"{event.id}_{number}")


Renew: TypeAlias = Callable[[Credential], Awaitable[Credential]]

_BINDING = RESTRICTIONS | {"previous_id"}
"""Fields that the body must carry: otherwise the request is refused."""

_MAY_ECHO = frozenset({Failed, Warned, Finished})
"""Events in which a provider may echo parts of the request, credentials included. Verbatim bytes, too, but
those are redacted where they are read."""


class HttpProvider:
    """Sends requests to the provider that a `ProviderSpec` describes."""

    def __init__(
        self,
        row: ProviderSpec,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
        redactor: Redactor,
        clock: Callable[[], float] = time,
        *,
        renew: Renew | None = None,
    ) -> None:
        """`renew` returns a new session for one that the provider has refused."""
        self.name = row.name
        self.model = row.model
        self.capabilities = row.capabilities
        self._row = row
        self._http = http
        self._credential = credential
        self._redactor = redactor
        self._clock = clock
        self._renew = renew
        self.quotas: QuotaBoard | None = None
        """Where the rate limits of responses are recorded."""

    async def batches(self, request: Request) -> Batches:
        """The answer, as its bytes arrive."""
        language = dialect(self._row.dialect)
        try:
            refuse_foreign_context(request, self.name, self._row.dialect)
            prepared = prepare(request, self.capabilities, self.name)
            sent = self._completed(prepared.request)
            wire = sent.wire if can_forward(request, sent, prepared) else None
            language = language.for_request(language, sent)
            body, warnings = self._encode(language, sent) if wire is None else self._forwarded(wire, sent)
            credential = await self._credential()
            if all_warnings := (*prepared.warnings, *warnings):
                yield all_warnings
            audit = Audit(prepared.audited) if prepared.audited else None
            ids = ToolCallIds(sent)
            async with self._send(sent, body, credential) as exchange:
                if self.quotas is not None:
                    self.quotas.record(self.name, exchange.headers)
                if not 200 <= exchange.status < 300:
                    error = await error_from_response(self.name, language, exchange, self._clock())
                    raise self._with_advice(error, credential, sent.model)
                form: VerbatimForm = "" if wire is None else "stream" if sent.stream else "body"
                fast_path = FastPath()
                reading = await read_response(
                    language,
                    exchange,
                    verbatim=form,
                    redact=self._redactor.redact_bytes,
                    fast_path=fast_path,
                )
                if isinstance(reading, list):
                    yield OpeningBatch(self._checked(reading, audit, ids), fast_path)
                    return
                try:
                    async for batch in reading:
                        yield OpeningBatch(self._checked(batch, audit, ids), fast_path)
                finally:
                    # Otherwise the event loop would close the generator, in a task of its own.
                    await reading.aclose()
        except GroundwireError as error:
            if isinstance(error, Unreachable) and self._row.is_local:
                error.message = f"{self._row.title} is not running: {error.message}. {self._row.advice}"
            raise self._redactor.cleaned(error) from None

    def _checked(self, batch: Sequence[Event], audit: Audit | None, ids: ToolCallIds) -> Iterable[Event]:
        """The events whose sources are allowed, with unique ids and without secrets."""
        if audit:
            batch = [kept for event in batch for kept in audit.check(event)]
        kinds = set(map(type, batch))
        if ToolCallDelta in kinds:
            batch = [ids.unique(event) for event in batch]
        if _MAY_ECHO.isdisjoint(kinds):
            return batch
        return [self._redacted(event) if type(event) in _MAY_ECHO else event for event in batch]

    def _completed(self, request: Request) -> Request:
        """The request with the defaults and the search form of the `ProviderSpec`."""
        row = self._row
        model = request.model or row.model
        stream = request.stream or row.always_streams
        search = row.spelling(request.search) if request.search else None
        wire = request.wire if request.wire and self._can_pass(request.wire) else None
        is_complete = model == request.model and stream == request.stream
        if is_complete and search is request.search and wire is request.wire:
            completed = request
        else:
            completed = replace(request, model=model, stream=stream, search=search, wire=wire)
        if row.needs_model and not completed.model:
            how = f" {row.advice}" if not row.base_url else ""
            raise ConfigError(
                f"{self.name} has no default model; name one, or set providers.{self.name}.model.{how}"
            )
        return completed

    def _can_pass(self, wire: Wire) -> bool:
        return wire.dialect == self._row.dialect and self._row.passes_through

    def _forwarded(self, wire: Wire, sent: Request) -> tuple[bytes, tuple[Warned, ...]]:
        """The client's own body, for a provider of the same dialect."""
        body = wire.body
        if body.get("model", sent.model) != sent.model:
            body = {**body, "model": sent.model}
        body = self._row.adjust(body, sent)
        return (wire.data if body is wire.body else dump_json(body).encode()), ()

    def _encode(self, language: Dialect, sent: Request) -> tuple[bytes, tuple[Warned, ...]]:
        body, dropped = language.encode_request(sent)
        broken = _BINDING.intersection(dropped)
        if broken:
            raise UnsupportedFeature(f"{self.name} cannot honour {', '.join(sorted(broken))}")
        adjusted: JsonObject = self._row.adjust(body, sent)
        gone = (*dropped, *(name for name in body if name not in adjusted))
        lost = (name for name in gone if name not in self._row.carried)
        warnings = tuple(Warned("not_carried", f"{self.name} has no {name}") for name in lost)
        return dump_json(adjusted).encode(), warnings

    def _send(
        self, sent: Request, body: bytes, credential: Credential | None
    ) -> AbstractAsyncContextManager[Response]:
        """Send the request."""
        headers = self._headers(credential, sent)
        url = self._row.url(self._row.base_url, sent)
        if not url.startswith(("https://", "http://")):
            raise ConfigError(f"providers.{self.name}.base_url does not begin with https:// or http://.")
        call = HttpRequest("POST", url, headers, body)
        if self._row.sign is not None:
            call = replace(call, headers=UnshownHeaders({**headers, **self._row.sign(call)}))
        if self._renew is None or not _is_session(credential):
            return self._http.open(call, self._row.deadlines)
        return self._send_with_renewal(call, self._renew, sent, credential)

    @asynccontextmanager
    async def _send_with_renewal(
        self, call: HttpRequest, renew: Renew, sent: Request, credential: Credential
    ) -> AsyncIterator[Response]:
        """Send the request; if the session is refused, renew it and send the request once more."""
        deadlines = self._row.deadlines
        async with self._http.open(call, deadlines) as exchange:
            if exchange.status != 401:
                yield exchange
                return
        headers = self._headers(await renew(credential), sent)
        async with self._http.open(replace(call, headers=headers), deadlines) as exchange:
            yield exchange

    def _headers(self, credential: Credential | None, sent: Request) -> Mapping[str, str]:
        if credential is not None:
            self._redactor.add_credential(credential)
        # A compressed stream is delayed by the buffer of the compressor.
        form = {"accept": "text/event-stream", "accept-encoding": "identity"}
        return UnshownHeaders(
            {
                "content-type": "application/json",
                **(form if sent.stream else {"accept": "application/json"}),
                LOOP_HEADER: "1",
                **({"traceparent": trace} if (trace := TRACE_PARENT.get()) else {}),
                **self._row.headers(credential),
                **forwarded_headers(sent.wire, self._row.forwards),
            }
        )

    def _with_advice(self, error: UpstreamError, credential: Credential | None, model: str) -> UpstreamError:
        """Add what to do: about a renewed session that is refused again, a rejected key, an unknown model."""
        row, message = self._row, error.message.rstrip(". ")
        if error.status == 401 and _is_session(credential) and row.advice:
            error.message = f"{error.message}; the session of {credential.origin} is over. {row.advice}"
        elif isinstance(error, AuthRejected):
            where = credential.origin if credential is not None and credential.origin != row.title else ""
            hints = (f"The key comes from {where}" if where else "", row.key_hint)
            error.message = ". ".join(filter(None, (message, *hints))) + ("." if any(hints) else "")
        elif isinstance(error, NotFound) and row.models_page:
            error.message = f"{message}. If {row.title} has no {model}, choose one of {row.models_page}."
        return error

    def _redacted(self, event: Event) -> Event:
        match event:
            case Failed(error):
                return Failed(self._redactor.cleaned(error))
            case Warned(code, message):
                return Warned(code, self._redactor.redact_known(message))
            case Finished(detail=detail) if detail:
                return replace(event, detail=self._redactor.redact_known(detail))
        return event


def _is_session(credential: Credential | None) -> TypeGuard[Credential]:
    return credential is not None and credential.kind == "oauth"
