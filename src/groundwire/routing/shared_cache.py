"""The response cache that gateways share through Redis, and one upstream request for all of them.

An answer that is complete is stored under the key of the memory cache. Which gateway answers is decided by a
lease (`transport/shared_values.py`).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from typing import TypeAlias, cast

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import Event, Json
from groundwire.model.json import decode, encode
from groundwire.model.value import value
from groundwire.transport.redis import RedisLink
from groundwire.transport.shared_values import SharedValues, ValueLease, value_keys

StoredBatches: TypeAlias = tuple[tuple[Event, ...], ...]

_KIND, _LEASE_KIND = "answer", "lease"
_FORMAT = b"groundwire answer 1\n"
_MAX_RATIO = 8
"""The encoded form of an answer has at most this many times its estimated size."""
_LARGE = 64 * 1024
"""Bytes from which answers are encoded and decoded in a thread."""


@value
class StoredAnswer:
    """An answer of another gateway, and how many seconds ago it was complete."""

    batches: StoredBatches
    age: float
    waited: bool
    """Was it still being answered when it was asked for?"""


class SharedAnswers:
    """The answers in Redis. `namespace` names what besides the request decides an answer."""

    def __init__(self, link: RedisLink, seconds: float, limit: int, namespace: str) -> None:
        self.link = link
        self.seconds = seconds
        self.limit = limit
        self._namespace = namespace
        self._values = SharedValues(link, _KIND, _LEASE_KIND)

    def lease(self, key: bytes) -> AnswerLease:
        """The lease on the answer of a cache key; `AnswerLease.find` claims it."""
        return AnswerLease(self, self._values.lease(f"{self._namespace}:{key.hex()}"))


class AnswerLease:
    """The right to answer for all gateways."""

    def __init__(self, answers: SharedAnswers, lease: ValueLease) -> None:
        self._answers = answers
        self._lease = lease

    @property
    def is_held(self) -> bool:
        """Do other gateways wait for our answer?"""
        return self._lease.is_held

    async def find(self) -> StoredAnswer | None:
        """The answer of another gateway; None if the request must be sent from here."""
        found = await self._lease.find(self._decoded)
        if found is None:
            return None
        return StoredAnswer(found.value, max(0.0, self._answers.seconds - found.seconds_left), found.waited)

    def end(self, batches: StoredBatches, *, failed: bool) -> None:
        """Store an answer that is complete; otherwise give the lease back. With `failed`, the gateways that
        wait send their own requests; without it, one of them takes over."""

        async def encoded() -> bytes | None:
            data = await _encoded(batches)
            return data if len(data) <= self._answers.limit else None

        self._lease.end(encoded if batches else None, self._answers.seconds, failed=failed)

    async def _decoded(self, data: bytes) -> StoredBatches | None:
        large, limit = len(data) > _LARGE // 4, self._answers.limit
        return await asyncio.to_thread(decode_answer, data, limit) if large else decode_answer(data, limit)


def answer_keys(name: str) -> tuple[str, str]:
    """The keys of an answer and of its lease, in one slot of a cluster."""
    return value_keys(_KIND, _LEASE_KIND, name)


def encode_answer(batches: Sequence[Sequence[Event]]) -> bytes:
    """The stored form of an answer."""
    body: list[Json] = [[encode(event) for event in batch] for batch in batches]
    return _FORMAT + zlib.compress(dump_json(body).encode("utf-8", "surrogatepass"), 1)


def decode_answer(data: bytes, limit: int) -> StoredBatches | None:
    """The batches of a stored answer; None if it is damaged, too large or of another version."""
    if not data.startswith(_FORMAT):
        return None
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data[len(_FORMAT) :], limit * _MAX_RATIO)
        body = load_json(text, ClientWireError) if unpacking.eof else None
        if not isinstance(body, list):
            return None
        return tuple(
            tuple(cast("Event", decode(event)) for event in cast("list[Json]", batch)) for batch in body
        )
    except (zlib.error, ClientWireError, TypeError, ValueError):
        return None


async def _encoded(batches: StoredBatches) -> bytes:
    large = sum(len(batch) for batch in batches) > _LARGE // 100
    return await asyncio.to_thread(encode_answer, batches) if large else encode_answer(batches)
