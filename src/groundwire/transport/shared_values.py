"""Values that one gateway produces and all have, in Redis: a lease decides which gateway it is.

The first gateway that asks for a missing value holds a lease on it, which it renews while it produces the
value. Others wait. If the holder dies, its lease expires and another gateway takes over. If it fails, or if
the value cannot be stored, the others produce their own. Values expire by Redis' clock.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

from groundwire.transport.redis import LuaScript, RedisLink, message

LEASE_SECONDS = 3.0
RENEW_SECONDS = 1.0
POLL_SECONDS = 0.25
"""How often a gateway that waits looks again; usually a message wakes it before."""
_FAILED_SECONDS = 1.0

_OWN, _LEAD, _FOUND = 0, 1, 2

_CLAIM = LuaScript("""
if ARGV[3] == '' then
  local data = redis.call('GET', KEYS[1])
  if data then return {2, data, redis.call('PTTL', KEYS[1])} end
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

T = TypeVar("T")
Encode: TypeAlias = Callable[[], Awaitable[bytes | None]]


class FoundValue(NamedTuple, Generic[T]):
    """A value of another gateway."""

    value: T
    seconds_left: float
    """Until it expires."""
    waited: bool
    """Was it still being produced when it was asked for?"""


class SharedValues:
    """The values of one kind, such as `answer`."""

    def __init__(self, link: RedisLink, kind: str, lease_kind: str) -> None:
        self.link = link
        self.kind = kind
        self._lease_kind = lease_kind
        self._waiting: dict[str, asyncio.Event] = {}
        link.listen(kind, self._wake)

    def lease(self, name: str) -> ValueLease:
        """The lease on a value; `ValueLease.find` claims it."""
        return ValueLease(self, name, value_keys(self.kind, self._lease_kind, name))

    async def wait(self, name: str) -> None:
        """Wait until something happened to a value, or a moment."""
        changed = self._waiting.setdefault(name, asyncio.Event())
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await changed.wait()
        except TimeoutError:
            self._waiting.pop(name, None)

    def _wake(self, name: str) -> None:
        if changed := self._waiting.pop(name, None):
            changed.set()


class ValueLease:
    """The right to produce a value for all gateways."""

    def __init__(self, values: SharedValues, name: str, keys: tuple[str, str]) -> None:
        self._values = values
        self._link = values.link
        self._name = name
        self._keys = keys
        self._token = os.urandom(8).hex()
        self._claimed = False
        self._found = False
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        """Do other gateways wait for our value?"""
        return self._renewing is not None

    async def find(self, decode: Callable[[bytes], Awaitable[T | None]]) -> FoundValue[T] | None:
        """The value of another gateway; None if it must be produced here. `decode` returns None for a value
        that cannot be used."""
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
                found = await decode(cast("bytes", reply[1]))
                if found is not None:
                    self._found = True
                    return FoundValue(found, int(reply[2]) / 1000, waited)
                ignored = "1"
                continue
            waited = True
            await self._values.wait(self._name)

    def end(self, encode: Encode | None, seconds: float, *, failed: bool) -> None:
        """Store the value for so many seconds; without one, or if `encode` returns None, give the lease back.
        With `failed`, the gateways that wait produce their own; without it, one of them takes over."""
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        if self._found:
            return
        if encode is not None:
            self._link.spawn(self._store(encode, seconds))
        elif self._claimed:
            self._link.spawn(self._release(_FAILED_SECONDS if failed else 0.0))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._link.run(_RENEW, self._keys, (self._token, _ms(LEASE_SECONDS)))

    async def _store(self, encode: Encode, seconds: float) -> None:
        data = await encode()
        if data is None:
            await self._release(_FAILED_SECONDS)
            return
        arguments = (self._token, data, _ms(seconds), *self._message())
        await self._link.run(_STORE, self._keys, arguments)

    async def _release(self, failed: float) -> None:
        await self._link.run(_RELEASE, self._keys, (self._token, _ms(failed), *self._message()))

    def _message(self) -> tuple[str, str]:
        return self._link.channel, message(self._values.kind, self._name)


def value_keys(kind: str, lease_kind: str, name: str) -> tuple[str, str]:
    """The keys of a value and of its lease, in one slot of a cluster."""
    return f"groundwire:{kind}:{{{name}}}", f"groundwire:{lease_kind}:{{{name}}}"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
