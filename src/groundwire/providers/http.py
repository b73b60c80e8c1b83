"""Asking a provider over HTTP: encode, send, decode, audit. The same path for every row.

Status decides between answer and error; the first bytes decide between a stream and a whole body, because
servers ignore `stream`, and name the wrong content type.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from time import time

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import as_object
from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import ConfigError, GroundwireError, UnsupportedFeature, UpstreamWireError
from groundwire.model import Event, Failed, Finished, JsonObject, Request, Started, UsageSeen, Warned
from groundwire.model.value import replace
from groundwire.providers.base import Row
from groundwire.providers.capabilities import RESTRICTIONS, Capabilities
from groundwire.providers.policy import Audit, Prepared, prepare
from groundwire.providers.refusals import refusal
from groundwire.transport.http import Call, Exchange, Http

LOOP_HEADER = "x-groundwire-hop"
"""Sent upstream and refused inbound: a gateway that reached itself would answer itself for ever."""

_LONGEST = 2000


class HttpProvider:
    """A row that is alive: with a model, a credential and connections."""

    def __init__(
        self,
        row: Row,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
        redactor: Redactor,
        clock: Callable[[], float] = time,
    ) -> None:
        self._row = row
        self._http = http
        self._credential = credential
        self._redactor = redactor
        self._clock = clock

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
        try:
            prepared = prepare(request, self.capabilities, self.name)
            call, warnings = await self._encode(language, prepared)
            for warning in (*prepared.warnings, *warnings):
                yield warning
            audit = Audit(prepared.audited) if prepared.audited else None
            async with self._http.open(call, self._row.deadlines) as exchange:
                if not 200 <= exchange.status < 300:
                    raise await refusal(self.name, language, exchange, self._clock())
                # A generator that is left must be closed by us: left to the loop, it would be a task.
                async with aclosing(_answer(language, exchange)) as events:
                    async for event in events:
                        for told in audit.check(event) if audit else (event,):
                            yield self._clean(told)
        except GroundwireError as error:
            raise self._cleaned(error) from None

    async def _encode(self, language: Dialect, prepared: Prepared) -> tuple[Call, tuple[Warned, ...]]:
        row, request = self._row, prepared.request
        asked = replace(
            request,
            model=request.model or row.model,
            stream=request.stream or row.always_streams,
            search=row.spelling(request.search) if request.search else None,
        )
        if row.needs_model and not asked.model:
            raise ConfigError(
                f"{self.name} has no default model; name one, or set providers.{self.name}.model"
            )
        body, unsaid = language.encode_request(asked)
        broken = RESTRICTIONS.intersection(unsaid)
        if broken:
            raise UnsupportedFeature(f"{self.name} cannot honour {', '.join(sorted(broken))}")
        adjusted: JsonObject = row.adjust(body, asked)
        lost = (*unsaid, *(name for name in body if name not in adjusted))
        warnings = tuple(Warned("not_carried", f"{self.name} has no {name}") for name in lost)
        headers = await self._headers(streamed=asked.stream)
        return Call("POST", row.url(row.base_url, asked), headers, dump_json(adjusted).encode()), warnings

    async def _headers(self, *, streamed: bool) -> Mapping[str, str]:
        credential = await self._credential()
        if credential is not None:
            self._redactor.add_credential(credential)
        # A compressed stream comes out when its compressor pleases.
        form = {"accept": "text/event-stream", "accept-encoding": "identity"}
        return _Unshown(
            {
                "content-type": "application/json",
                **(form if streamed else {"accept": "application/json"}),
                LOOP_HEADER: "1",
                **self._row.headers(credential),
            }
        )

    def _clean(self, event: Event) -> Event:
        match event:
            case Failed(error):
                return Failed(self._cleaned(error))
            case Warned(code, message):
                return Warned(code, self._redactor.redact_known(message))
            case Finished(detail=detail) if detail:
                return replace(event, detail=self._redactor.redact_known(detail))
        return event

    def _cleaned(self, error: GroundwireError) -> GroundwireError:
        """Providers echo keys: in messages, in codes, in ids."""
        for name, item in list(vars(error).items()):
            if isinstance(item, str):
                setattr(error, name, self._redactor.redact(item)[:_LONGEST])
        error.args = (error.message,)
        error.__cause__ = error.__context__ = None  # what the libraries said may repeat whole bodies
        return error


class _Unshown(dict[str, str]):
    """Headers with a key among them, for a call that some debugger may print."""

    def __repr__(self) -> str:
        return f"[{', '.join(self)}]"

    __str__ = __repr__


async def _answer(language: Dialect, exchange: Exchange) -> AsyncGenerator[Event, None]:
    """Events of a stream as its bytes arrive, or of a whole body."""
    head = await exchange.head()
    if not head:
        raise UpstreamWireError("the answer is empty")
    if head.startswith(b"<"):
        raise UpstreamWireError("a web page came in the place of an answer; check the base_url")
    if head.startswith(b"{"):
        body = as_object(load_json(await exchange.body(), UpstreamWireError))
        told = language.decode_response(body)
        if _is_blank(told):
            raise UpstreamWireError(f"there is no answer in it, only: {', '.join(body)[:100] or 'nothing'}")
        for event in told:
            yield event
        return
    async with aclosing(_streamed(language, exchange)) as events:
        async for event in events:
            yield event


def _is_blank(events: list[Event]) -> bool:
    """Is this an end without a reason, of an answer without a word? Then the document was something else."""
    return Finished("other") in events and all(
        isinstance(event, Started | Warned | UsageSeen | Finished) for event in events
    )


async def _streamed(language: Dialect, exchange: Exchange) -> AsyncGenerator[Event, None]:
    decoder = language.decoder()
    failure: GroundwireError | None = None
    try:
        async with aclosing(exchange.chunks()) as chunks:
            async for chunk in chunks:
                for event in decoder.feed(chunk):
                    yield event
                    if isinstance(event, Finished | Failed):
                        await exchange.settle()
                        return
    except GroundwireError as error:
        failure = error
    # What the decoder still holds was said before the end, whatever the end was.
    for event in decoder.close():
        yield Failed(failure) if failure is not None and isinstance(event, Failed) else event
