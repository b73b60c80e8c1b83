"""The requests in progress on other gateways, through Redis.

Each gateway writes its list with its heartbeat, so what is shown of others is about a second old.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from groundwire.server.live_requests import LiveRequest
from groundwire.transport.redis import SEEN_SECONDS, LuaScript, RedisLink

_KEY = "groundwire:{live}"

_WRITE = LuaScript("""
redis.call('HSET', KEYS[1], ARGV[1], redis.call('TIME')[1] .. ' ' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], 60)
return {1}
""")
_READ = LuaScript("""
local now, found = redis.call('TIME')[1], {}
local all = redis.call('HGETALL', KEYS[1])
for place = 1, #all, 2 do
  local written, list = string.match(all[place + 1], '^(%d+) (.*)$')
  if now - written > tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], all[place])
  elseif all[place] ~= ARGV[1] then found[#found + 1] = list end
end
return found
""")


class SharedLiveRequests:
    """Tells other gateways what this one is doing, and what they are."""

    def __init__(self, link: RedisLink, own: Callable[[], Sequence[LiveRequest]]) -> None:
        self._link = link
        self._own = own
        self._had_any = False
        link.after_beat.append(self._write)

    async def others(self) -> list[LiveRequest]:
        """The requests of the other gateways; none if Redis cannot be used."""
        found = await self._link.run(_READ, (_KEY,), (self._link.id, round(SEEN_SECONDS)))
        return [
            LiveRequest(*row)
            for text in found or ()
            for row in cast("list[tuple[str, str, str, int, str, str]]", json.loads(cast("bytes", text)))
        ]

    async def _write(self) -> None:
        own = self._own()
        if own or self._had_any:
            await self._link.run(_WRITE, (_KEY,), (self._link.id, json.dumps(own)))
        self._had_any = bool(own)
