"""In-process provider: an HTTP client whose requests are answered by the encoder of a dialect."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from groundwire.dialects.base import Dialect
from groundwire.dialects.json import dump_json
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    GroundwireError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    Unreachable,
    UpstreamWireError,
)
from groundwire.model import Answer
from tests.contracts.samples import REPLY, Order, answer_events, encode_stream

BASE = "http://groundwire.test"

ERRORS: dict[str, GroundwireError] = {
    "key refused": AuthRejected("bad key", status=401),
    "quota used up": QuotaExhausted("no credit left"),
    "too many requests": RateLimited("slow down", status=429, retry_after=2.0),
    "overloaded": Overloaded("try later", status=503),
    "refused": Refused("no", status=400),
    "no such model": NotFound("no model 🦆", status=404),
    "timed out": TimedOut("too slow"),
    "unreachable": Unreachable("no route"),
    "the caller's bytes": ClientWireError("expected a string, found a number", "$.messages[0].content"),
    "the provider's bytes": UpstreamWireError("malformed JSON"),
    "a bad request": RequestError("no query"),
}


class _Pieces(httpx2.SyncByteStream):
    """A body that arrives in small chunks."""

    def __init__(self, body: bytes, size: int) -> None:
        self._body = body
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), self._size):
            yield self._body[start : start + self._size]


def _client(status: int, content_type: str, body: bytes) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": content_type, "request-id": "req_1", "x-request-id": "req_1"}
        return httpx2.Response(status, headers=headers, stream=_Pieces(body, 61))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def whole(codec: Dialect, answer: Answer) -> httpx2.Client:
    """Answers with the whole answer."""
    body = dump_json(codec.encode_response(answer, REPLY)).encode()
    return _client(200, "application/json", body)


def streamed(codec: Dialect, answer: Answer, order: Order = "settled") -> httpx2.Client:
    """Answers with a stream."""
    content_type = codec.encoder(REPLY).content_type
    return _client(200, content_type, encode_stream(codec, answer_events(answer, order)))


def failing(codec: Dialect, error: GroundwireError) -> tuple[httpx2.Client, int]:
    """Answers with an error; returns its status too."""
    status, body = codec.encode_error(error, REPLY)
    return _client(status, "application/json", dump_json(body).encode()), status
