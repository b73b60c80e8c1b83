"""A request in any dialect, answered in the same: decode, ask, encode. The only path, for all of them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from time import time
from typing import Literal, TypeAlias, cast

from groundwire.dialects.base import CitationPolicy, Dialect, Reply, StreamEncoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError, GroundwireError, InvalidArguments, TurnedAway
from groundwire.faces.gateway.asgi import JSON, Headers, Inbound
from groundwire.faces.gateway.response_writer import Outgoing, Patience, unhurried
from groundwire.model import (
    Event,
    Failed,
    Finished,
    JsonObject,
    Request,
    Started,
    Usage,
    UsageSeen,
    Verbatim,
    Warned,
    Wire,
    assemble,
)
from groundwire.model.value import replace, value
from groundwire.providers.passthrough.writer import PassthroughWriter
from groundwire.providers.spec import LOOP_HEADER
from groundwire.routing.cache import CacheStatus
from groundwire.routing.continuation import add_usage

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
Ask: TypeAlias = Callable[[Request], Batches]

CITATIONS_HEADER = "x-groundwire-citations"
_POLICIES = ("exact", "live")
_LONGEST_HEADER = 2000
_TERMINAL = (Finished, Failed)


@value
class EndpointSpec:
    """What an endpoint knows of a request that its body does not say."""

    dialect: str
    model: str = ""
    stream: bool | None = None
    """None where the body says it."""
    array: bool = False
    """Gemini's stream without `alt=sse`: one JSON array."""


@value
class RequestContext:
    """One request as it was understood, and what its answer must be made with."""

    form: EndpointSpec
    language: Dialect
    request: Request
    reply: Reply


def parse_request(
    inbound: Inbound, form: EndpointSpec, body: bytes, policy: CitationPolicy, key: bytes
) -> RequestContext:
    """The request in a body. Raises what is wrong with it."""
    check_head(inbound)
    language = dialect(form.dialect)
    said = load_json(body, ClientWireError)
    if not isinstance(said, dict):
        raise ClientWireError("expected a JSON object")
    request = language.with_key(language, key).decode_request(as_object(said))
    request = replace(
        request,
        model=form.model or request.model,
        stream=request.stream if form.stream is None else form.stream,
        wire=Wire(form.dialect, as_object(said), body, tuple(inbound.headers.items())),
    )
    reply = Reply(
        id=os.urandom(16).hex(),
        model=request.model,
        created=int(time()),
        request=replace(request, wire=None),
        citations=_policy(inbound, policy),
        key=key,
    )
    return RequestContext(form, language, request, reply)


def check_head(inbound: Inbound) -> None:
    """Refuse what cannot be a request to us, before its body is looked at."""
    kind = inbound.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON and not kind.endswith("+json"):
        raise TurnedAway(status=415, message=f"the content type is {kind[:60]!r}; send {JSON}")
    if inbound.headers.get("content-encoding", "identity") != "identity":
        raise TurnedAway(status=415, message="compressed bodies are not read; send it plain")
    if LOOP_HEADER in inbound.headers:
        raise TurnedAway(
            status=508, message="this gateway was asked by a gateway: a base_url leads back to it"
        )


def _policy(inbound: Inbound, default: CitationPolicy) -> CitationPolicy:
    said = inbound.headers.get(CITATIONS_HEADER, default)
    if said not in _POLICIES:
        raise InvalidArguments(f"{CITATIONS_HEADER}: {said[:40]!r} is neither exact nor live")
    return cast("CitationPolicy", said)


class ResponseInfo:
    """What is known of an answer while it is under way: who gives it, and what must be said of it."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.provider = ""
        self.model = ""
        self.usage = Usage()
        self.warnings: list[Warned] = []
        self.cache: CacheStatus | None = None
        self.finish: Literal["", "finished", "failed"] = ""

    def notice(self, events: Iterable[Event]) -> None:
        """Look at events as they pass."""
        for event in events:
            if isinstance(event, Started):
                self.provider = event.provider or self.provider
                self.model = event.model or self.model
            elif isinstance(event, Warned):
                self.warnings.append(event)
            elif isinstance(event, UsageSeen):
                self.usage = event.usage
            elif isinstance(event, _TERMINAL):
                self.finish = "failed" if isinstance(event, Failed) else "finished"

    def join(self, other: ResponseInfo) -> None:
        """Take over what is known of another answer to the same request."""
        self.provider, self.model = other.provider or self.provider, other.model or self.model
        self.warnings += other.warnings
        self.usage = add_usage(self.usage, other.usage)

    def found(self, found: CacheStatus) -> None:
        """Hear where the answer comes from."""
        self.cache = found

    def headers(self, content_type: str) -> Headers:
        """The head of the response, with all that is known by now."""
        head = [("content-type", content_type), ("x-request-id", self.request_id)]
        if self.provider:
            head.append(("x-groundwire-provider", self.provider))
        if self.warnings:
            head.append(("x-groundwire-warnings", shown(self.warnings)))
        if self.cache:
            head.append(("x-groundwire-cache", self.cache.state))
            if self.cache.state != "miss":
                head.append(("age", str(self.cache.age)))
        return tuple(head)


def shown(warnings: Iterable[Warned]) -> str:
    """Warnings as a header: a JSON list in ASCII, of as many as fit."""
    kept: list[JsonObject] = []
    size = 2
    for warning in warnings:
        entry: JsonObject = {"code": warning.code, "message": warning.message[:300]}
        size += len(json.dumps(entry)) + 2
        if size > _LONGEST_HEADER:
            break
        kept.append(entry)
    return json.dumps(kept)


async def answer_whole(
    inbound: Inbound, exchange: RequestContext, batches: Batches, told: ResponseInfo, patience: Patience
) -> None:
    """One JSON body, when the answer is complete. An answer that broke off is an error."""
    if exchange.form.dialect != "gemini":
        body = await _whole(exchange, batches, told)
    else:
        # Its clients give up after a minute without a head, and bear blanks before the body.
        with Outgoing(inbound, lambda: told.headers(JSON), lambda: b" ", unhurried(patience)):
            try:
                body = await _whole(exchange, batches, told)
            except GroundwireError as error:
                if not inbound.begun:
                    raise
                told.finish = "failed"
                body = dump_json(exchange.language.encode_error(error, exchange.reply).body).encode()
    if inbound.begun:
        await inbound.write(body, more=False)
    else:
        await inbound.respond(200, told.headers(JSON), body)


async def _whole(exchange: RequestContext, batches: Batches, told: ResponseInfo) -> bytes:
    said: list[Event] = []
    async with aclosing(batches):
        async for batch in batches:
            told.notice(batch)
            said += batch
            if isinstance(said[-1], Failed):
                raise said[-1].error
    if any(isinstance(event, Verbatim) for event in said):
        return b"".join(event.data for event in said if isinstance(event, Verbatim))
    return dump_json(exchange.language.encode_response(assemble(said), exchange.reply)).encode()


async def answer_streaming(
    inbound: Inbound, exchange: RequestContext, batches: Batches, told: ResponseInfo, patience: Patience
) -> None:
    """Bytes as the events come. Errors before the first byte are raised; later ones are told there."""
    encoder = _encoder(exchange)
    passing = PassthroughWriter(exchange.language, exchange.reply)
    kind = encoder.content_type
    head: Callable[[], Headers] = lambda: (*told.headers(kind), ("cache-control", "no-store"))  # noqa: E731
    with Outgoing(inbound, head, encoder.ping, patience) as outgoing:
        verbatim = False
        try:
            async with aclosing(_opened(batches, told)) as opened:
                async for batch in opened:
                    verbatim = verbatim or any(isinstance(event, Verbatim) for event in batch)
                    data = passing.feed(batch) if verbatim else b"".join(map(encoder.feed, batch))
                    if data:
                        await outgoing.write(data)
        except GroundwireError as error:
            told.finish = "failed"
            if not outgoing.begun:
                raise
            await outgoing.write(passing.fail(error) if verbatim else encoder.feed(Failed(error)))
        await outgoing.write(b"" if verbatim else encoder.close(), more=False)


async def _opened(batches: Batches, told: ResponseInfo) -> Batches:
    """The batches, noticed; warnings of before the start come behind it, because a start opens the answer."""
    waiting: list[Event] = []
    async with aclosing(batches):
        async for batch in batches:
            told.notice(batch)
            if isinstance(batch[0], Warned) and all(isinstance(event, Warned) for event in batch):
                waiting += batch
            elif waiting:
                yield sorted((*waiting, *batch), key=lambda event: not isinstance(event, Started))
                waiting = []
            else:
                yield batch
    if waiting:
        yield waiting


def _encoder(exchange: RequestContext) -> StreamEncoder:
    if not exchange.form.array:
        return exchange.language.encoder(exchange.reply)
    from groundwire.dialects.gemini.encoder import JsonArrayEncoder  # noqa: PLC0415  one form of one dialect

    return JsonArrayEncoder(exchange.reply)
