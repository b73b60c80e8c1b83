"""Responses to requests with an `Idempotency-Key`, which gateways share through Redis.

The gateway that holds the lease handles the request; the others wait, and send its response. A complete
response is kept for as long as in memory, also if every gateway is restarted meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from functools import partial
from hashlib import sha256
from typing import cast

from groundwire.server.idempotency import MAX_RESPONSE_BYTES, StoredResponse
from groundwire.transport.redis import RedisLink
from groundwire.transport.shared_values import FoundValue, SharedValues, ValueLease

_FORMAT = b"groundwire response 1\n"
_LARGE = 64 * 1024
"""Bytes from which responses are encoded and decoded in a thread."""


class SharedResponses:
    """The responses in Redis, by caller and idempotency key."""

    def __init__(self, link: RedisLink) -> None:
        self._values = SharedValues(link, "response", "response-lease")

    def lease(self, caller: str, key: str) -> ResponseLease:
        """The lease on the response to a request; `ResponseLease.find` claims it."""
        name = sha256(f"{caller}\n{key}".encode()).hexdigest()
        return ResponseLease(self._values.lease(name))


class ResponseLease:
    """The right to handle a request for all gateways."""

    def __init__(self, lease: ValueLease) -> None:
        self._lease = lease

    async def find(self) -> FoundValue[StoredResponse] | None:
        """The response of another gateway; None if the request must be handled here."""
        return await self._lease.find(_decoded)

    def end(self, response: StoredResponse | None, seconds: float) -> None:
        """Keep a response for so many seconds; without one, another gateway that waits takes over."""
        encode = partial(_encoded, response) if response is not None else None
        self._lease.end(encode, seconds, failed=False)


def encode_response(response: StoredResponse) -> bytes:
    """The stored form of a response."""
    head = json.dumps([response.digest.hex(), response.status, list(map(list, response.headers))])
    return _FORMAT + zlib.compress(head.encode() + b"\n" + response.body, 1)


def decode_response(data: bytes) -> StoredResponse | None:
    """A stored response; None if it is damaged, too large or of another version."""
    if not data.startswith(_FORMAT):
        return None
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data[len(_FORMAT) :], MAX_RESPONSE_BYTES + _LARGE)
        head, _, body = text.partition(b"\n")
        digest, status, headers = cast("tuple[str, int, list[tuple[str, str]]]", json.loads(head))
        pairs = tuple((str(name), str(text)) for name, text in headers)
        return StoredResponse(bytes.fromhex(digest), int(status), pairs, body) if unpacking.eof else None
    except (zlib.error, ValueError, TypeError):
        return None


async def _encoded(response: StoredResponse) -> bytes:
    if len(response.body) > _LARGE:
        return await asyncio.to_thread(encode_response, response)
    return encode_response(response)


async def _decoded(data: bytes) -> StoredResponse | None:
    if len(data) > _LARGE // 4:
        return await asyncio.to_thread(decode_response, data)
    return decode_response(data)
