"""The response cache that gateways share through Redis, and one upstream request for all of them.

An answer that is complete is stored under the key of the memory cache; it expires by Redis' clock. The first
gateway that asks for a missing answer holds a lease on it, which it renews while it answers. Others wait for
the answer. If the holder dies, its lease expires and another gateway takes over. If its answer fails or
cannot be stored, the others send their own requests.
"""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import Sequence
from typing import TypeAlias, cast

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import Event, Json
from groundwire.model.json import decode, encode
from groundwire.model.value import value
from groundwire.transport.redis import LuaScript, RedisLink, message

StoredBatches: TypeAlias = tuple[tuple[Event, ...], ...]

LEASE_SECONDS = 3.0
RENEW_SECONDS = 1.0
POLL_SECONDS = 0.25
"""How often a gateway that waits looks again; usually a message wakes it before."""
_FAILED_SECONDS = 1.0
_TOPIC = "answer"
_FORMAT = b"groundwire answer 1\n"
_MAX_RATIO = 8
"""The encoded form of an answer has at most this many times its estimated size."""
_LARGE = 64 * 1024
"""Bytes from which answers are encoded and decoded in a thread."""

_OWN, _LEAD, _FOUND = 0, 1, 2

_CLAIM = LuaScript("""
if ARGV[3] == '' then
  local answer = redis.call('GET', KEYS[1])
  if answer then return {2, answer, redis.call('PTTL', KEYS[1])} end
end
local holder = redis.call('GET', KEYS[2])
if holder == 'failed' then return {0} end
if holder and holder ~= ARGV[1] then return {3} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {1}
""")
_RENEW = LuaScript("""
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {0} end
return {redis.call('PEXPIRE', KEYS[2], ARGV[2])}
""")
_STORE = LuaScript("""
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return {1}
""")
_RELEASE = LuaScript("""
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {0} end
if ARGV[2] == '0' then redis.call('DEL', KEYS[2]) else redis.call('SET', KEYS[2], 'failed', 'PX', ARGV[2]) end
redis.call('PUBLISH', ARGV[3], ARGV[4])
return {1}
""")


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
        self._waiting: dict[str, asyncio.Event] = {}
        link.listen(_TOPIC, self._wake)

    def lease(self, key: bytes) -> AnswerLease:
        """The lease on the answer of a cache key; `AnswerLease.find` claims it."""
        return AnswerLease(self, f"{self._namespace}:{key.hex()}")

    async def wait(self, name: str) -> None:
        """Wait until something happened to an answer, or a moment."""
        changed = self._waiting.setdefault(name, asyncio.Event())
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await changed.wait()
        except TimeoutError:
            self._waiting.pop(name, None)

    def _wake(self, name: str) -> None:
        if changed := self._waiting.pop(name, None):
            changed.set()


class AnswerLease:
    """The right to answer for all gateways."""

    def __init__(self, answers: SharedAnswers, name: str) -> None:
        self._answers = answers
        self._link = answers.link
        self._name = name
        self._keys = answer_keys(name)
        self._token = os.urandom(8).hex()
        self._claimed = False
        self._found = False
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        """Do other gateways wait for our answer?"""
        return self._renewing is not None

    async def find(self) -> StoredAnswer | None:
        """The answer of another gateway; None if the request must be sent from here."""
        waited, ignored = False, ""
        while True:
            self._claimed = True
            reply = await self._link.run(_CLAIM, self._keys, (self._token, _ms(LEASE_SECONDS), ignored))
            if reply is None or reply[0] == _OWN:
                return None
            if reply[0] == _LEAD:
                self._renewing = asyncio.create_task(self._renew())
                return None
            if reply[0] == _FOUND:
                batches = await _decoded(cast("bytes", reply[1]), self._answers.limit)
                if batches is not None:
                    self._found = True
                    age = self._answers.seconds - int(reply[2]) / 1000
                    return StoredAnswer(batches, max(0.0, age), waited)
                ignored = "1"
                continue
            waited = True
            await self._answers.wait(self._name)

    def end(self, batches: StoredBatches, *, failed: bool) -> None:
        """Store an answer that is complete; otherwise give the lease back. With `failed`, the gateways that
        wait send their own requests; without it, one of them takes over."""
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        if self._found:
            return
        if batches:
            self._link.spawn(self._store(batches))
        elif self._claimed:
            self._link.spawn(self._release(_FAILED_SECONDS if failed else 0.0))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._link.run(_RENEW, self._keys, (self._token, _ms(LEASE_SECONDS)))

    async def _store(self, batches: StoredBatches) -> None:
        data = await _encoded(batches)
        if len(data) > self._answers.limit:
            await self._release(_FAILED_SECONDS)
            return
        arguments = (self._token, data, _ms(self._answers.seconds), *self._message())
        await self._link.run(_STORE, self._keys, arguments)

    async def _release(self, failed: float) -> None:
        await self._link.run(_RELEASE, self._keys, (self._token, _ms(failed), *self._message()))

    def _message(self) -> tuple[str, str]:
        return self._link.channel, message(_TOPIC, self._name)


def answer_keys(name: str) -> tuple[str, str]:
    """The keys of an answer and of its lease, in one slot of a cluster."""
    return f"groundwire:answer:{{{name}}}", f"groundwire:lease:{{{name}}}"


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


async def _decoded(data: bytes, limit: int) -> StoredBatches | None:
    large = len(data) > _LARGE // 4
    return await asyncio.to_thread(decode_answer, data, limit) if large else decode_answer(data, limit)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
