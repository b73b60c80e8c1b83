"""Counters of wrong keys that gateways share through Redis.

A request is never delayed: a gateway counts in memory and refuses by what it knows. In the background it adds
its count to that of all gateways, and takes over the sum. So an address that tries one gateway after the
other gets one attempt more at each of them. At most one call to Redis is in progress, so that a flood of
wrong keys does not keep Redis from anything else. Without Redis, every gateway counts alone.
"""

from __future__ import annotations

from groundwire.server.auth import THROTTLE_SECONDS, KeyThrottle
from groundwire.transport.redis import LuaScript, RedisLink

_MAX_UNSENT = 1024
"""Counters that wait to be sent; further ones stay local."""

_ADD = LuaScript("""
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {count, redis.call('PTTL', KEYS[1])}
""")


class SharedThrottle:
    """Connects the counters of this gateway with those of the others."""

    def __init__(self, link: RedisLink, throttle: KeyThrottle) -> None:
        self._link = link
        self._throttle = throttle
        self._unsent: dict[str, int] = {}
        self._sending = False
        throttle.on_count = self._add

    def _add(self, name: str) -> None:
        if not self._link.is_up or (name not in self._unsent and len(self._unsent) >= _MAX_UNSENT):
            return
        self._unsent[name] = self._unsent.get(name, 0) + 1
        if not self._sending:
            self._sending = True
            self._link.spawn(self._send())

    async def _send(self) -> None:
        try:
            while self._unsent:
                name, count = self._unsent.popitem()
                arguments = (count, round(THROTTLE_SECONDS * 1000))
                reply = await self._link.run(_ADD, (throttle_key(name),), arguments)
                if reply is None:
                    self._unsent.clear()
                    return
                self._throttle.adopt(name, int(reply[0]), int(reply[1]) / 1000)
        finally:
            self._sending = False


def throttle_key(name: str) -> str:
    """The key of a counter in Redis."""
    return f"groundwire:wrong:{{{name}}}"
