"""Request handler for all dialects: parse the request, write the response, streamed or in one piece."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from time import time
from typing import TypeAlias, cast

from groundwire.client_protocol import PassthroughWriter
from groundwire.dialects.base import CitationPolicy, Dialect, Reply, StreamEncoder
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError, GroundwireError, InvalidArguments
from groundwire.model import Event, Failed, JsonObject, Request, Started, Verbatim, Warned, Wire, assemble
from groundwire.model.batch import FastPath, OpeningBatch
from groundwire.model.value import replace, value
from groundwire.server.asgi import JSON, Headers, HttpExchange
from groundwire.server.response_writer import (
    ResponseInfo,
    ResponseTimeouts,
    StreamingResponse,
    buffered_timeouts,
)

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
Transform: TypeAlias = Callable[[Sequence[Event]], Sequence[Event]]

CITATIONS_HEADER = "x-groundwire-citations"
LARGE_BODY = 128 * 1024
"""Bytes from which a body is decoded in a thread: below, the thread costs more than it saves."""
_CITATION_POLICIES = ("exact", "live")


@value
class EndpointSpec:
    """What the endpoint determines about a request: dialect, and for Gemini the model and the response
    form."""

    dialect: str
    model: str = ""
    stream: bool | None = None
    """None where the body decides."""
    array: bool = False
    """Gemini's stream without `alt=sse`: one JSON array."""


@value
class ParsedRequest:
    """A decoded request, and what its response is encoded with."""

    endpoint: EndpointSpec
    dialect: Dialect
    request: Request
    reply: Reply
    transforms: tuple[Transform, ...] = ()
    """Change the events of the answer for the client, in this order."""

    def transformed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """A batch after all transforms."""
        for transform in self.transforms:
            batch = transform(batch)
        return batch


async def read_json_object(exchange: HttpExchange, limit: int) -> tuple[bytes, JsonObject]:
    """The body of a request, as bytes and parsed; raises `ClientWireError` if it is not a JSON object."""
    exchange.check_json_headers()
    data = await exchange.read_json(limit)
    return data, _json_object(data)


async def read_request(
    exchange: HttpExchange, endpoint: EndpointSpec, limit: int, *, policy: CitationPolicy, key: bytes
) -> ParsedRequest:
    """Read and parse the body; a large one in a thread, so that the event loop keeps serving."""
    body = await exchange.read_json(limit)
    if len(body) < LARGE_BODY:
        return parse_request(exchange, endpoint, body, policy, key)
    return await asyncio.get_running_loop().run_in_executor(
        _decoding_thread(), parse_request, exchange, endpoint, body, policy, key
    )


@cache
def _decoding_thread() -> ThreadPoolExecutor:
    # One thread: decoding holds the interpreter lock.
    return ThreadPoolExecutor(1, "groundwire-decoding")


def parse_request(
    exchange: HttpExchange, endpoint: EndpointSpec, body: bytes, policy: CitationPolicy, key: bytes
) -> ParsedRequest:
    """Decode a body in its dialect. Raises `ClientWireError` or another 4xx error."""
    exchange.check_json_headers()
    document = _json_object(body)
    request = _request_decoder(endpoint.dialect, key)(document)
    if endpoint.model or endpoint.stream is not None:
        request = replace(
            request,
            model=endpoint.model or request.model,
            stream=request.stream if endpoint.stream is None else endpoint.stream,
        )
    reply = Reply(
        id=os.urandom(16).hex(),
        model=request.model,
        created=int(time()),
        request=request,
        citations=_citation_policy(exchange, policy),
        key=key,
    )
    wire = Wire(endpoint.dialect, document, body, tuple(exchange.headers.items()))
    return ParsedRequest(endpoint, dialect(endpoint.dialect), replace(request, wire=wire), reply)


@lru_cache(maxsize=32)
def _request_decoder(name: str, key: bytes) -> Callable[[JsonObject], Request]:
    language = dialect(name)
    return language.with_key(language, key).decode_request


def _json_object(body: bytes) -> JsonObject:
    document = load_json(body, ClientWireError)
    if not isinstance(document, dict):
        raise ClientWireError("expected a JSON object")
    return document


def _citation_policy(exchange: HttpExchange, default: CitationPolicy) -> CitationPolicy:
    policy = exchange.headers.get(CITATIONS_HEADER, default)
    if policy not in _CITATION_POLICIES:
        raise InvalidArguments(f"{CITATIONS_HEADER}: {policy[:40]!r} is neither exact nor live")
    return cast("CitationPolicy", policy)


async def send_response(
    exchange: HttpExchange,
    parsed: ParsedRequest,
    batches: Batches,
    info: ResponseInfo,
    timeouts: ResponseTimeouts,
) -> None:
    """Send one JSON body when the answer is complete. An answer that broke off is raised as its error."""
    if parsed.endpoint.dialect != "gemini":
        body = await _collect_body(parsed, batches, info)
    else:
        # Gemini's clients give up after a minute without a head, and accept blanks before the body.
        with StreamingResponse(
            exchange, lambda: info.headers(JSON), lambda: b" ", buffered_timeouts(timeouts)
        ):
            try:
                body = await _collect_body(parsed, batches, info)
            except GroundwireError as error:
                if not exchange.response_started:
                    raise
                info.finish = "failed"
                body = dump_json(parsed.dialect.encode_error(error, parsed.reply).body).encode()
    if exchange.response_started:
        await exchange.write(body, more=False)
    else:
        await exchange.respond(200, info.headers(JSON), body)


async def _collect_body(parsed: ParsedRequest, batches: Batches, info: ResponseInfo) -> bytes:
    events: list[Event] = []
    try:
        async for batch in batches:
            changed = parsed.transformed(batch) if parsed.transforms else batch
            info.observe_events(changed)
            events += changed
            if events and isinstance(events[-1], Failed):
                raise events[-1].error
    finally:
        await batches.aclose()
    if Verbatim in map(type, events):
        return b"".join([event.data for event in events if type(event) is Verbatim])
    return dump_json(parsed.dialect.encode_response(assemble(events), parsed.reply)).encode()


async def send_stream(
    exchange: HttpExchange,
    parsed: ParsedRequest,
    batches: Batches,
    info: ResponseInfo,
    timeouts: ResponseTimeouts,
) -> None:
    """Send bytes as events arrive. Errors before the first byte are raised; later ones are part of the
    stream."""
    encoder = _stream_encoder(parsed)

    def headers() -> Headers:
        return (
            *info.headers(encoder.content_type),
            ("cache-control", "no-store"),
            *encoder.extra_headers,
        )

    with StreamingResponse(exchange, headers, encoder.ping, timeouts) as response:
        stream = _ResponseStream(parsed, encoder, info, response)
        try:
            try:
                async for batch in batches:
                    if data := stream.feed(batch):
                        await response.write(data)
                    if isinstance(batch, OpeningBatch) and response.can_write_now:
                        stream.connect(batch.fast_path)
            finally:
                await batches.aclose()
            if data := stream.held():
                await response.write(data)
        except GroundwireError as error:
            info.finish = "failed"
            if not response.started:
                raise
            await response.write(stream.fail(error))
        await response.write(stream.close(), more=False)


class _ResponseStream:
    """Turns the batches of an answer into the bytes of its stream, and takes content from the fast path."""

    __slots__ = ("_early", "_encoder", "_info", "_parsed", "_passthrough", "_response", "_verbatim")

    def __init__(
        self, parsed: ParsedRequest, encoder: StreamEncoder, info: ResponseInfo, response: StreamingResponse
    ) -> None:
        self._parsed = parsed
        self._encoder = encoder
        self._info = info
        self._response = response
        self._passthrough = PassthroughWriter(parsed.dialect, parsed.reply)
        self._early = EarlyWarnings()
        self._verbatim = False

    def feed(self, received: Sequence[Event]) -> bytes:
        """The bytes of a batch."""
        batch = self._parsed.transformed(received) if self._parsed.transforms else received
        self._info.observe_events(batch)
        batch = self._early.feed(batch)
        self._verbatim = self._verbatim or Verbatim in map(type, batch)
        if self._verbatim:
            return self._passthrough.feed(batch)
        return self._encoder.feed_all(batch)

    def connect(self, path: FastPath) -> None:
        """Take content from the fast path, once the answer has begun."""
        if self._verbatim:
            numbered = self._passthrough.is_numbered
            path.write_bytes = self._write_numbered if numbered else self._response.write_now
        else:
            path.write_events = self._write_events

    def _write_numbered(self, data: bytes) -> bool:
        if not self._response.write_now(data):
            return False
        self._passthrough.sent(data)
        return True

    def _write_events(self, events: Sequence[Event]) -> bool:
        if not self._response.can_write_now:  # asked first: an encoder cannot take an event back
            return False
        if data := self._encoder.feed_all(self._parsed.transformed(events)):
            self._response.write_now(data)
        return True

    def held(self) -> bytes:
        """Warnings that waited for the beginning of an answer that did not begin."""
        return self._encoder.feed_all(self._early.held)

    def fail(self, error: GroundwireError) -> bytes:
        """The bytes that end the stream with an error."""
        return self._passthrough.fail(error) if self._verbatim else self._encoder.feed(Failed(error))

    def close(self) -> bytes:
        """The last bytes."""
        return b"" if self._verbatim else self._encoder.close()


class EarlyWarnings:
    """Moves warnings that arrive before `Started` after it, because `Started` opens the response."""

    __slots__ = ("_opened", "held")

    def __init__(self) -> None:
        self.held: list[Event] = []
        self._opened = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The events that can be sent now."""
        if self._opened:
            return batch
        if all(isinstance(event, Warned) for event in batch):
            self.held += batch
            return ()
        self._opened = True
        if not self.held:
            return batch
        ordered = sorted((*self.held, *batch), key=lambda event: not isinstance(event, Started))
        self.held = []
        return ordered


def _stream_encoder(parsed: ParsedRequest) -> StreamEncoder:
    if not parsed.endpoint.array:
        return parsed.dialect.encoder(parsed.reply)
    # Imported on demand: only one form of one dialect needs it.
    from groundwire.dialects.gemini.encoder import JsonArrayEncoder  # noqa: PLC0415

    return JsonArrayEncoder(parsed.reply)
