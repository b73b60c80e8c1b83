"""Asking a provider over HTTP: encode, send, decode, audit. The same path for every row.

Status decides between answer and error; the first bytes decide between a stream and a whole body, because
servers ignore `stream`, and name the wrong content type.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from time import time
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from groundwire.credentials.redact import Redactor, UnshownHeaders
from groundwire.credentials.secret import Credential
from groundwire.dialects.base import Dialect
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import ConfigError, GroundwireError, UnsupportedFeature, UpstreamError
from groundwire.model import (
    Event,
    Failed,
    Finished,
    JsonObject,
    Request,
    ToolCall,
    ToolCallDelta,
    Verbatim,
    Warned,
    Wire,
)
from groundwire.model.value import replace
from groundwire.providers.passthrough.rules import can_forward, forwarded_headers
from groundwire.providers.policy import RESTRICTIONS, Audit, Capabilities, prepare, refuse_foreign_context
from groundwire.providers.response_reader import VerbatimForm, error_from_response, read_response
from groundwire.providers.spec import Batches, ProviderSpec
from groundwire.transport.http import Call, Http

if TYPE_CHECKING:
    from groundwire.transport.response import Response


class ToolCallIds:
    """Those that a conversation has used, and what stands in for them."""

    __slots__ = ("_used",)

    def __init__(self, request: Request) -> None:
        parts = (part for message in request.messages for part in message.parts)
        self._used = {part.id for part in parts if isinstance(part, ToolCall) and part.id}

    def __bool__(self) -> bool:
        return bool(self._used)

    def fresh(self, event: Event) -> Event:
        """The same event, with an id that is not used yet."""
        if not isinstance(event, ToolCallDelta) or event.id not in self._used:
            return event
        number = 2
        while f"{event.id}_{number}" in self._used:
            number += 1
        return replace(event, id=f"{event.id}_{number}")


Renew: TypeAlias = Callable[[Credential], Awaitable[Credential]]

LOOP_HEADER = "x-groundwire-hop"
"""Sent upstream and refused inbound: a gateway that reached itself would answer itself for ever."""

_BINDING = RESTRICTIONS | {"previous_id"}
"""What a body must say: a request is refused rather than sent without it."""

_SPOKEN = frozenset({Failed, Warned, Finished, Verbatim})
"""Events in which a provider may repeat what was said to it."""


class HttpProvider:
    """A row that is alive: with a model, a credential and connections."""

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
        """`renew` gives another session in the place of one that was refused."""
        self._row = row
        self._http = http
        self._credential = credential
        self._redactor = redactor
        self._clock = clock
        self._renew = renew

    @property
    def name(self) -> str:
        return self._row.name

    @property
    def model(self) -> str:
        return self._row.model

    @property
    def capabilities(self) -> Capabilities:
        return self._row.capabilities

    async def batches(self, request: Request) -> Batches:
        """The answer, as it comes."""
        language = dialect(self._row.dialect)
        try:
            refuse_foreign_context(request, self.name, self._row.dialect)
            prepared = prepare(request, self.capabilities, self.name)
            asked = self._asked(prepared.request)
            forwarded = asked.wire is not None and can_forward(request, asked, prepared)
            language = language.answering(language, asked)
            body, warnings = self._forwarded(asked) if forwarded else self._encode(language, asked)
            credential = await self._credential()
            if said := (*prepared.warnings, *warnings):
                yield said
            audit = Audit(prepared.audited) if prepared.audited else None
            ids = ToolCallIds(asked) or None
            async with self._opened(asked, body, credential) as exchange:
                if not 200 <= exchange.status < 300:
                    raise self._advised(
                        await error_from_response(self.name, language, exchange, self._clock()), credential
                    )
                form: VerbatimForm = ("stream" if asked.stream else "body") if forwarded else ""
                # A generator that is left must be closed by us: left to the loop, it would be a task.
                async with aclosing(await read_response(language, exchange, verbatim=form)) as batches:
                    async for batch in batches:
                        told = [done for event in batch for done in audit.check(event)] if audit else batch
                        told = [ids.fresh(event) for event in told] if ids else told
                        yield [self._clean(event) if type(event) in _SPOKEN else event for event in told]
        except GroundwireError as error:
            raise self._redactor.cleaned(error) from None

    def _asked(self, request: Request) -> Request:
        """The request with all that the row decides."""
        row = self._row
        asked = replace(
            request,
            model=request.model or row.model,
            stream=request.stream or row.always_streams,
            search=row.spelling(request.search) if request.search else None,
            wire=request.wire if request.wire and request.wire.dialect == row.dialect else None,
        )
        if row.needs_model and not asked.model:
            raise ConfigError(
                f"{self.name} has no default model; name one, or set providers.{self.name}.model"
            )
        return asked

    def _forwarded(self, asked: Request) -> tuple[bytes, tuple[Warned, ...]]:
        """The client's own body, to a provider of the same dialect."""
        wire = cast("Wire", asked.wire)
        said = wire.body
        if said.get("model", asked.model) != asked.model:
            said = {**said, "model": asked.model}
        body = self._row.adjust(said, asked)
        return (wire.data if body is wire.body else dump_json(body).encode()), ()

    def _encode(self, language: Dialect, asked: Request) -> tuple[bytes, tuple[Warned, ...]]:
        body, unsaid = language.encode_request(asked)
        broken = _BINDING.intersection(unsaid)
        if broken:
            raise UnsupportedFeature(f"{self.name} cannot honour {', '.join(sorted(broken))}")
        adjusted: JsonObject = self._row.adjust(body, asked)
        lost = (*unsaid, *(name for name in body if name not in adjusted))
        warnings = tuple(Warned("not_carried", f"{self.name} has no {name}") for name in lost)
        return dump_json(adjusted).encode(), warnings

    def _opened(
        self, asked: Request, body: bytes, credential: Credential | None
    ) -> AbstractAsyncContextManager[Response]:
        """Send it."""
        headers = self._headers(credential, asked)
        call = Call("POST", self._row.url(self._row.base_url, asked), headers, body)
        if self._renew is None or not _is_session(credential):
            return self._http.open(call, self._row.deadlines)
        return self._renewing(call, self._renew, asked, credential)

    @asynccontextmanager
    async def _renewing(
        self, call: Call, renew: Renew, asked: Request, credential: Credential
    ) -> AsyncIterator[Response]:
        """A session that is refused is renewed and the request repeated, once."""
        deadlines = self._row.deadlines
        async with self._http.open(call, deadlines) as exchange:
            if exchange.status != 401:
                yield exchange
                return
        headers = self._headers(await renew(credential), asked)
        async with self._http.open(replace(call, headers=headers), deadlines) as exchange:
            yield exchange

    def _headers(self, credential: Credential | None, asked: Request) -> Mapping[str, str]:
        if credential is not None:
            self._redactor.add_credential(credential)
        # A compressed stream comes out when its compressor pleases.
        form = {"accept": "text/event-stream", "accept-encoding": "identity"}
        return UnshownHeaders(
            {
                "content-type": "application/json",
                **(form if asked.stream else {"accept": "application/json"}),
                LOOP_HEADER: "1",
                **self._row.headers(credential),
                **forwarded_headers(asked.wire, self._row.forwards),
            }
        )

    def _advised(self, error: UpstreamError, credential: Credential | None) -> UpstreamError:
        """A session that is refused although it is fresh is mended by its user alone."""
        if error.status == 401 and _is_session(credential) and self._row.advice:
            error.message = f"{error.message}; the session of {credential.origin} is over. {self._row.advice}"
        return error

    def _clean(self, event: Event) -> Event:
        match event:
            case Verbatim(data):
                clean = self._redactor.redact_bytes(data)
                return event if clean is data else Verbatim(clean)
            case Failed(error):
                return Failed(self._redactor.cleaned(error))
            case Warned(code, message):
                return Warned(code, self._redactor.redact_known(message))
            case Finished(detail=detail) if detail:
                return replace(event, detail=self._redactor.redact_known(detail))
        return event


def _is_session(credential: Credential | None) -> TypeGuard[Credential]:
    return credential is not None and credential.kind == "oauth"
