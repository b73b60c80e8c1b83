"""Breakers that gateways share through Redis: they open and close together, and one gateway probes.

Requests only look at breakers in memory. A change is written to Redis in the background and published, so the
others know it at once; every heartbeat compares all breakers, so a message that was lost costs a second. A
gateway that needs a probe asks for the permission in the background: the request that found the breaker open
is not delayed, the next one is the probe. Without Redis, every gateway decides alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from time import monotonic

from groundwire.routing.health import Health
from groundwire.transport.redis import LuaScript, RedisLink, Reply, message

PROBE_SECONDS = 30.0
"""After this time a probe whose gateway reported nothing is given up: the time after which a call is slow."""
UNUSED_SECONDS = 2.0
"""A permission that no request has used until then is returned."""
_PUSH_PAUSE = 0.1
_TOPIC = "breaker"
_OPEN_KEY = "groundwire:{health}"
_KEPT_SECONDS = 3600

# A changed breaker ends the probe of its gateway.
_PUSH = LuaScript("""
if ARGV[2] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now - ARGV[2]))
  redis.call('EXPIRE', KEYS[1], ARGV[6])
end
if redis.call('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return {1}
""")
_READ = LuaScript("""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HGETALL', KEYS[1])
for index = 2, #found, 2 do found[index] = math.floor(now - found[index]) end
return found
""")
_CLAIM_PROBE = LuaScript("""
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end
if redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return {1} end
return {0}
""")
_RETURN_PROBE = LuaScript("""
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return {1}
""")


class SharedHealth:
    """Connects the breakers of this gateway with those of the others."""

    def __init__(self, link: RedisLink, health: Health) -> None:
        self._link = link
        self._health = health
        self._unsent: set[str] = set()
        self._sending = False
        self._shared: set[str] = set()
        """The providers whose breakers are open in Redis, as far as this gateway knows."""
        self._losses = link.losses
        self._turn = asyncio.Lock()
        """A comparison must not see Redis as it was before a change of this gateway."""
        self._permitted: dict[str, float] = {}
        """Until when this gateway may probe a provider."""
        self._claiming: set[str] = set()
        link.listen(_TOPIC, self._receive)
        link.after_beat.append(self.compare)
        health.share(self)

    def changed(self, provider: str) -> None:
        """Tell the others, in the background."""
        self._unsent.add(provider)
        if not self._sending and self._link.is_up:
            self._sending = True
            self._link.spawn(self._send())

    def may_probe(self, provider: str) -> bool:
        """Does this gateway have the permission? If not, it is asked for in the background."""
        if not self._link.is_up:
            return True
        until = self._permitted.get(provider)
        if until is not None and monotonic() < until:
            del self._permitted[provider]
            return True
        # One that was not used in time is returned by the next heartbeat; until then Redis grants no other.
        if until is None and provider not in self._claiming:
            self._claiming.add(provider)
            self._link.spawn(self._claim(provider))
        return False

    async def compare(self) -> None:
        """Adopt the breakers in Redis, and add those that it lost."""
        await self._return_unused()
        async with self._turn:
            reply = await self._link.run(_READ, (_OPEN_KEY,), ())
            if reply is not None:
                self._adopt(reply)

    def _adopt(self, reply: Reply) -> None:
        if self._losses != self._link.losses:  # a Redis that was restarted is empty
            self._losses = self._link.losses
            self._shared.clear()
        open_now = dict(_pairs(reply))
        for provider, seconds in open_now.items():
            if provider not in self._unsent:
                self._health.of(provider).open(seconds)
        for provider in self._shared - set(open_now) - self._unsent:
            self._health.of(provider).close()
        for provider, breaker in self._health.breakers.items():
            if breaker.is_open and provider not in open_now:
                self.changed(provider)
        self._shared = set(open_now)

    def _receive(self, text: str) -> None:
        provider, seconds = json.loads(text)
        if provider in self._unsent:
            return
        breaker = self._health.of(provider)
        if seconds is not None:
            self._shared.add(provider)
            breaker.open(seconds)
        else:
            self._shared.discard(provider)
            if breaker.is_open:
                breaker.close()

    async def _send(self) -> None:
        """Write the changed breakers; many changes in a row are one."""
        try:
            while self._unsent and self._link.is_up:
                async with self._turn:
                    await self._push(self._unsent.pop())
                await asyncio.sleep(_PUSH_PAUSE)
        finally:
            self._sending = False

    async def _push(self, provider: str) -> None:
        seconds = self._health.of(provider).open_seconds
        age = "" if seconds is None else round(seconds * 1000)
        news = message(_TOPIC, json.dumps([provider, seconds]))
        arguments = (provider, age, self._link.id, self._link.channel, news, _KEPT_SECONDS)
        if await self._link.run(_PUSH, breaker_keys(provider), arguments) is None:
            return  # the next comparison after the loss sends it again
        if seconds is None:
            self._shared.discard(provider)
        else:
            self._shared.add(provider)

    async def _claim(self, provider: str) -> None:
        try:
            arguments = (provider, self._link.id, round(PROBE_SECONDS * 1000))
            reply = await self._link.run(_CLAIM_PROBE, breaker_keys(provider), arguments)
            if reply is not None and reply[0]:
                self._permitted[provider] = monotonic() + UNUSED_SECONDS
        finally:
            self._claiming.discard(provider)

    async def _return_unused(self) -> None:
        now = monotonic()
        for provider in [name for name, until in self._permitted.items() if until <= now]:
            del self._permitted[provider]
            await self._link.run(_RETURN_PROBE, breaker_keys(provider), (self._link.id,))


def breaker_keys(provider: str) -> tuple[str, str]:
    """The key of all open breakers, and that of a provider's probe, in one slot of a cluster."""
    return _OPEN_KEY, f"groundwire:{{health}}:probe:{provider}"


def _pairs(reply: Reply) -> Iterator[tuple[str, float]]:
    for index in range(0, len(reply), 2):
        name, milliseconds = reply[index], reply[index + 1]
        if isinstance(name, bytes):
            yield name.decode(), int(milliseconds) / 1000
