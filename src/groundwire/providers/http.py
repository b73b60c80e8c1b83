"""Asking a provider over HTTP: encode, send, decode, audit. The same path for every row."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.dialects.base import Dialect
from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError, UnsupportedFeature, UpstreamWireError
from groundwire.model import Event, Failed, JsonObject, Request, Warned
from groundwire.model.value import replace
from groundwire.providers.base import Row
from groundwire.providers.capabilities import RESTRICTIONS, Capabilities
from groundwire.providers.policy import Audit, Prepared, prepare
from groundwire.transport.http import Call, Exchange, Http

LOOP_HEADER = "x-groundwire-hop"
"""Sent upstream and refused inbound: a gateway that reached itself would answer itself for ever."""


class HttpProvider:
    """A row that is alive: with a model, a credential and connections."""

    def __init__(
        self,
        row: Row,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
        redactor: Redactor,
    ) -> None:
        self._row = row
        self._http = http
        self._credential = credential
        self._redactor = redactor

    @property
    def name(self) -> str:
        return self._row.name

    @property
    def model(self) -> str:
        return self._row.model

    @property
    def capabilities(self) -> Capabilities:
        return self._row.capabilities

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """The answer, as it comes."""
        language = dialect(self._row.dialect)
        prepared = prepare(request, self.capabilities, self.name)
        call, warnings, asked = await self._encode(language, prepared)
        for warning in (*prepared.warnings, *warnings):
            yield warning
        audit = Audit(prepared.audited) if prepared.audited else None
        try:
            async with self._http.open(call, self._row.deadlines) as exchange:
                await self._refuse_errors(language, exchange)
                async for event in _answer(language, exchange, streamed=asked.stream):
                    for told in audit.check(event) if audit else (event,):
                        yield self._clean(told)
        except GroundwireError as error:
            raise self._cleaned(error) from None

    async def _encode(
        self, language: Dialect, prepared: Prepared
    ) -> tuple[Call, tuple[Warned, ...], Request]:
        request = prepared.request
        asked = replace(
            request,
            model=request.model or self._row.model,
            stream=request.stream or self._row.always_streams,
        )
        body, unsaid = language.encode_request(asked)
        broken = RESTRICTIONS.intersection(unsaid)
        if broken:
            raise UnsupportedFeature(f"{self.name} cannot honour {', '.join(sorted(broken))}")
        credential = await self._credential()
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if asked.stream else "application/json",
            LOOP_HEADER: "1",
            **self._row.headers(credential),
        }
        url = self._row.url(self._row.base_url, asked)
        adjusted: JsonObject = self._row.adjust(body, asked)
        warnings = tuple(Warned("not_carried", f"{self.name} has no {name}") for name in unsaid)
        return Call("POST", url, headers, dump_json(adjusted).encode()), warnings, asked

    async def _refuse_errors(self, language: Dialect, exchange: Exchange) -> None:
        if not 200 <= exchange.status < 300:
            raise language.decode_error(exchange.status, await exchange.body(), exchange.headers)

    def _clean(self, event: Event) -> Event:
        return Failed(self._cleaned(event.error)) if isinstance(event, Failed) else event

    def _cleaned(self, error: GroundwireError) -> GroundwireError:
        """Providers echo keys in their messages."""
        error.message = self._redactor.redact(error.message)
        error.args = (error.message,)
        return error


async def _answer(language: Dialect, exchange: Exchange, *, streamed: bool) -> AsyncGenerator[Event, None]:
    """Events of a stream as its bytes arrive, or of a whole body. What the headers say decides."""
    if streamed and "json" not in exchange.headers.get("content-type", ""):
        decoder = language.decoder()
        try:
            async for chunk in exchange.chunks():
                for event in decoder.feed(chunk):
                    yield event
        except GroundwireError as error:
            yield Failed(error)
            return
        for event in decoder.close():
            yield event
        return
    body = load_json(await exchange.body(), UpstreamWireError)
    for event in language.decode_response(body if isinstance(body, dict) else {}):
        yield event
