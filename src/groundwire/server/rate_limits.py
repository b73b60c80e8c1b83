"""Rate limits of API keys: requests and tokens per minute, exact over all gateways that share a Redis.

A limit is a sliding window of sixty seconds: within any minute a key gets at most its limit. What was used is
counted per second, so a window is at most 61 numbers whatever the limit is, and what was used in a second
counts until 61 seconds after its beginning. (GCRA needs one number only, but a limit that allows bursts of
its own size admits nearly twice as much in a minute, and one without bursts refuses clients that send five
requests at once.) Tokens are reserved by an estimate before the answer, and settled by its usage afterwards.

There are three places for windows. Redis: one script decides for all gateways, by the clock of Redis. A
SQLite file: the workers of one machine without Redis. Memory: a single process, and every gateway while Redis
is lost; it then enforces its share, the limit divided by the number of gateways. When Redis is back, every
gateway adds what it admitted meanwhile; if Redis has lost its data, all that it admitted in the last minute.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from groundwire.errors import TurnedAway
from groundwire.model import Usage
from groundwire.model.access import KeyLimits
from groundwire.model.value import value
from groundwire.server.asgi import Headers

if TYPE_CHECKING:
    from groundwire.transport.redis import Argument, LuaScript, Reply

WINDOW_SECONDS = 60
_MAX_KEYS = 8192
"""Keys whose windows are in memory; the least recently used is dropped first."""
_LOCKED_SECONDS = 0.1
"""How long a worker waits for another that decides."""

Window: TypeAlias = dict[int, list[int]]
"""Requests and tokens by the second in which they were admitted."""


class Decision(NamedTuple):
    """Whether a request is admitted, and the state of the window after it."""

    admitted: bool
    requests: int
    tokens: int
    second: int
    """When the request was counted."""
    wait: float
    """Seconds until a request that was refused would be admitted."""
    reset_requests: float
    """Seconds until the whole limit is available again."""
    reset_tokens: float


def decide(window: Window, now: float, limits: KeyLimits, tokens: int) -> Decision:
    """Decide about a request that reserves so many tokens, and count it if it is admitted."""
    second = int(now)
    for old in [one for one in window if one < second - WINDOW_SECONDS]:
        del window[old]
    costs = (1, reserved_tokens(limits, tokens))
    wait = 0.0
    for kind, limit in enumerate((limits.requests_per_minute, limits.tokens_per_minute)):
        if limit is not None:
            wait = max(wait, _wait(window, kind, costs[kind], limit, now))
    if not wait:
        spent = window.setdefault(second, [0, 0])
        spent[0] += costs[0]
        spent[1] += costs[1]
    used = [sum(spent[kind] for spent in window.values()) for kind in (0, 1)]
    return Decision(not wait, used[0], used[1], second, wait, _reset(window, 0, now), _reset(window, 1, now))


def reserved_tokens(limits: KeyLimits, tokens: int) -> int:
    """The tokens to reserve: a request that is larger than the whole limit needs an empty window."""
    return 0 if limits.tokens_per_minute is None else min(tokens, limits.tokens_per_minute)


def _wait(window: Window, kind: int, cost: int, limit: int, now: float) -> float:
    excess = sum(spent[kind] for spent in window.values()) + cost - limit
    if excess <= 0:
        return 0.0
    for second in sorted(window):
        excess -= window[second][kind]
        if excess <= 0:
            return second + WINDOW_SECONDS + 1 - now
    return float(WINDOW_SECONDS)  # a limit of zero


def _reset(window: Window, kind: int, now: float) -> float:
    last = max((second for second, spent in window.items() if spent[kind]), default=None)
    return 0.0 if last is None else last + WINDOW_SECONDS + 1 - now


REDIS_CLOCK = "local time = redis.call('TIME')\n"
DECIDE_IN_REDIS = """
local second, now = tonumber(time[1]), time[1] + time[2] / 1000000
local limits, costs = {tonumber(ARGV[1]), tonumber(ARGV[2])}, {1, tonumber(ARGV[3])}
local window, used, last = {{}, {}}, {0, 0}, {nil, nil}
local fields = redis.call('HGETALL', KEYS[1])
for index = 1, #fields, 2 do
  local kind, at = tonumber(fields[index]:sub(1, 1)), tonumber(fields[index]:sub(3))
  local amount = tonumber(fields[index + 1])
  if at < second - 60 then redis.call('HDEL', KEYS[1], fields[index])
  elseif amount ~= 0 then
    table.insert(window[kind], {at, amount})
    used[kind] = used[kind] + amount
    if not last[kind] or at > last[kind] then last[kind] = at end
  end
end
local wait = 0
for kind = 1, 2 do
  local excess = used[kind] + costs[kind] - limits[kind]
  if limits[kind] >= 0 and excess > 0 then
    table.sort(window[kind], function(one, other) return one[1] < other[1] end)
    local longest = 60
    for _, spent in ipairs(window[kind]) do
      excess = excess - spent[2]
      if excess <= 0 then longest = spent[1] + 61 - now break end
    end
    wait = math.max(wait, longest)
  end
end
if wait == 0 then
  for kind = 1, 2 do
    if costs[kind] > 0 then
      redis.call('HINCRBY', KEYS[1], kind .. ':' .. second, costs[kind])
      used[kind] = used[kind] + costs[kind]
      last[kind] = second
    end
  end
  redis.call('EXPIRE', KEYS[1], 62)
end
local function left(at) return at and math.ceil((at + 61 - now) * 1000) or 0 end
return {wait == 0 and 1 or 0, used[1], used[2], second, math.ceil(wait * 1000), left(last[1]), left(last[2])}
"""
SETTLE_IN_REDIS = """
if redis.call('EXISTS', KEYS[1]) == 0 then return {0} end
local amount = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) + ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', math.max(0, amount)))
return {1}
"""


ADD_IN_REDIS = """
for index = 1, #ARGV, 3 do
  local at = time[1] - ARGV[index]
  redis.call('HINCRBY', KEYS[1], '1:' .. at, ARGV[index + 1])
  redis.call('HINCRBY', KEYS[1], '2:' .. at, ARGV[index + 2])
end
redis.call('EXPIRE', KEYS[1], 62)
return {1}
"""


class Windows(Protocol):
    """Where the windows of this machine are."""

    def decide(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Decision:
        """Decide about a request, and count it."""
        ...

    def add(self, key: str, second: int, requests: int, tokens: int) -> None:
        """Count something that was used in a second."""
        ...


class MemoryWindows:
    """The windows of one process."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def __len__(self) -> int:
        return len(self._windows)

    def decide(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Decision:
        """Decide about a request, and count it."""
        return decide(self._window(key), now, limits, tokens)

    def add(self, key: str, second: int, requests: int, tokens: int) -> None:
        """Count something that was used in a second."""
        _add(self._window(key), second, requests, tokens)

    def take(self) -> dict[str, Window]:
        """All windows, which are empty afterwards."""
        taken, self._windows = dict(self._windows), OrderedDict()
        return taken

    def copy(self) -> dict[str, Window]:
        """All windows, as they are now."""
        return {key: {at: list(spent) for at, spent in one.items()} for key, one in self._windows.items()}

    def _window(self, key: str) -> Window:
        window = self._windows.setdefault(key, {})
        self._windows.move_to_end(key)
        if len(self._windows) > _MAX_KEYS:
            self._windows.popitem(last=False)
        return window


def _add(window: Window, second: int, requests: int, tokens: int) -> None:
    for old in [one for one in window if one < second - WINDOW_SECONDS]:
        del window[old]
    spent = window.setdefault(second, [0, 0])
    spent[0] += requests
    spent[1] = max(0, spent[1] + tokens)


class SqliteWindows:
    """The windows of the workers of one machine: a file that does not outlive them."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, timeout=_LOCKED_SECONDS, isolation_level=None)
        # After a crash of the machine the windows are worth nothing, so nothing waits for the disk.
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA journal_mode = PERSIST")  # half the cost of deleting the journal
        self._database.execute("CREATE TABLE IF NOT EXISTS windows (key TEXT PRIMARY KEY, spent TEXT)")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def decide(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Decision:
        """Decide about a request, and count it. Raises `sqlite3.Error`."""
        with self._window(key) as window:
            return decide(window, now, limits, tokens)

    def add(self, key: str, second: int, requests: int, tokens: int) -> None:
        """Count something that was used in a second. Raises `sqlite3.Error`."""
        with self._window(key) as window:
            _add(window, second, requests, tokens)

    @contextmanager
    def _window(self, key: str) -> Iterator[Window]:
        with closing(self._database.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                row = cursor.execute("SELECT spent FROM windows WHERE key = ?", (key,)).fetchone()
                window: Window = {int(at): spent for at, spent in json.loads(row[0]).items()} if row else {}
                yield window
                cursor.execute("INSERT OR REPLACE INTO windows VALUES (?, ?)", (key, json.dumps(window)))
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise


class LimitLink(Protocol):
    """What is needed of the connection to Redis."""

    gateways: int
    on_recovery: list[Callable[[bool], Awaitable[None]]]

    async def run(
        self, script: LuaScript, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Reply | None:
        """Run a script; None without Redis."""
        ...

    def spawn(self, work: Coroutine[object, object, object]) -> None:
        """Run something in the background."""
        ...


@value
class RateReservation:
    """The tokens that a request has reserved, and where they are counted."""

    key: str
    tokens: int
    second: int
    """By the clock of this machine."""
    shared_second: int | None = None
    """By the clock of Redis; None if Redis was not asked."""


class Admission(NamedTuple):
    """A decision, what it has reserved, and the limits that were enforced: those of the key or a share."""

    decision: Decision
    reservation: RateReservation
    limits: KeyLimits


class RateLimiter:
    """Decides about the requests of keys that have limits."""

    def __init__(
        self,
        link: LimitLink | None = None,
        windows: Windows | None = None,
        *,
        processes: int = 1,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._link = link
        self._windows = windows
        """Windows of several processes, if there is no Redis."""
        self._processes = processes
        self._memory = MemoryWindows()
        """What this process has admitted."""
        self._unreported = MemoryWindows()
        """What it has admitted while Redis was lost."""
        self._clock = clock
        self._scripts: tuple[LuaScript, LuaScript, LuaScript] | None = None
        if link is not None:
            link.on_recovery.append(self._report)

    async def admit(self, key: str, limits: KeyLimits, tokens: int) -> Admission:
        """Decide about a request of a key, by the limits of all gateways."""
        now = self._clock()
        decision = await self._decide_in_redis(key, limits, reserved_tokens(limits, tokens))
        if decision is None:
            return self._admit_here(key, now, limits, tokens)
        reserved = reserved_tokens(limits, tokens)
        if decision.admitted:
            # If Redis is lost, this gateway knows what it has admitted.
            self._memory.add(key, int(now), 1, reserved)
        return Admission(decision, RateReservation(key, reserved, int(now), decision.second), limits)

    def settle(self, reservation: RateReservation, usage: Usage | None) -> None:
        """Replace the reserved tokens by those of the usage; None if no provider was called."""
        used = used_tokens(usage)
        difference = 0 if used is None else used - reservation.tokens
        if not difference:
            return
        if reservation.shared_second is not None and self._link is not None:
            field = f"2:{reservation.shared_second}"
            keys = (limit_key(reservation.key),)
            self._link.spawn(self._link.run(self._redis_scripts()[1], keys, (field, difference)))
            self._memory.add(reservation.key, reservation.second, 0, difference)
        else:
            self._add_here(reservation.key, reservation.second, difference)

    async def _decide_in_redis(self, key: str, limits: KeyLimits, tokens: int) -> Decision | None:
        if self._link is None:
            return None
        arguments = (_number(limits.requests_per_minute), _number(limits.tokens_per_minute), tokens)
        reply = await self._link.run(self._redis_scripts()[0], (limit_key(key),), arguments)
        if reply is None:
            return None
        admitted, requests, spent, second, wait, reset_requests, reset_tokens = map(int, reply)
        return Decision(
            bool(admitted), requests, spent, second, wait / 1000, reset_requests / 1000, reset_tokens / 1000
        )

    def _admit_here(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Admission:
        decision = self._decide_in_file(key, now, limits, tokens)
        if decision is None:
            gateways = self._link.gateways if self._link is not None else 1
            limits = share(limits, max(gateways, self._processes))
            decision = self._memory.decide(key, now, limits, tokens)
            if self._link is not None and decision.admitted:
                self._unreported.add(key, decision.second, 1, reserved_tokens(limits, tokens))
        return Admission(
            decision, RateReservation(key, reserved_tokens(limits, tokens), decision.second), limits
        )

    async def _report(self, has_lost: bool) -> None:  # noqa: FBT001  a callback
        """Add to Redis what it does not know."""
        unreported, now = self._unreported.take(), self._clock()
        for key, window in (self._memory.copy() if has_lost else unreported).items():
            arguments = [
                number
                for second, spent in window.items()
                if second >= now - WINDOW_SECONDS and any(spent)
                for number in (int(now) - second, *spent)
            ]
            if arguments and self._link is not None:
                await self._link.run(self._redis_scripts()[2], (limit_key(key),), arguments)

    def _decide_in_file(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Decision | None:
        if self._windows is None:
            return None
        try:
            return self._windows.decide(key, now, limits, tokens)
        except sqlite3.Error:  # a full disk, or another worker that hangs
            return None

    def _add_here(self, key: str, second: int, tokens: int) -> None:
        windows = self._windows or self._memory
        try:
            windows.add(key, second, 0, tokens)
            if self._link is not None:
                self._unreported.add(key, second, 0, tokens)
        except sqlite3.Error:  # the reservation stays, which is stricter
            return

    def _redis_scripts(self) -> tuple[LuaScript, LuaScript, LuaScript]:
        if self._scripts is None:
            # Imported on demand: the library of Redis is optional, and takes half a second.
            from groundwire.transport.redis import LuaScript  # noqa: PLC0415

            self._scripts = (
                LuaScript(REDIS_CLOCK + DECIDE_IN_REDIS),
                LuaScript(SETTLE_IN_REDIS),
                LuaScript(REDIS_CLOCK + ADD_IN_REDIS),
            )
        return self._scripts


def limit_key(key: str) -> str:
    """The key of a window in Redis: one for each API key, so that every decision is in one slot."""
    return f"groundwire:limit:{{{key}}}"


def share(limits: KeyLimits, gateways: int) -> KeyLimits:
    """The part of the limits that one of several gateways enforces alone; at least one request."""
    return KeyLimits(_part(limits.requests_per_minute, gateways), _part(limits.tokens_per_minute, gateways))


def _part(limit: int | None, gateways: int) -> int | None:
    return limit if not limit else max(1, limit // gateways)


def _number(limit: int | None) -> int:
    return -1 if limit is None else limit


def used_tokens(usage: Usage | None) -> int | None:
    """The tokens of an answer; None if they are not known."""
    if usage is None:
        return 0
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def limit_headers(limits: KeyLimits, decision: Decision) -> Headers:
    """`x-ratelimit-*`, as the API of OpenAI has them."""
    rows = (
        ("requests", limits.requests_per_minute, decision.requests, decision.reset_requests),
        ("tokens", limits.tokens_per_minute, decision.tokens, decision.reset_tokens),
    )
    return tuple(
        (f"x-ratelimit-{field}-{name}", text)
        for name, limit, used, reset in rows
        if limit is not None
        for field, text in (
            ("limit", str(limit)),
            ("remaining", str(max(0, limit - used))),
            ("reset", f"{ceil(reset)}s"),
        )
    )


def limit_error(limits: KeyLimits, decision: Decision) -> TurnedAway:
    """The error of a request that was refused."""
    allowed = (
        (limits.requests_per_minute, "requests per minute"),
        (limits.tokens_per_minute, "tokens per minute"),
    )
    named = " and ".join(f"{limit} {name}" for limit, name in allowed if limit is not None)
    error = TurnedAway(
        status=429,
        message=f"the API key has reached its rate limit ({named}); "
        f"send the request again in {ceil(decision.wait)} s",
        code="RATE_LIMITED",
        retry_after=ceil(decision.wait),
    )
    error.retryable = True
    return error
