"""Redis or Valkey, single or cluster: scripts with a short time limit, messages, and what happens without it.

Nothing here is the only copy of anything, so a Redis that does not respond costs a request at most one short
wait. The first call that fails marks Redis as lost; from then on calls return None at once, and only the
heartbeat, once a second, tries again. The heartbeat also tells how many gateways there are.

All keys of one script have the same hash tag (`{…}`), so that a cluster keeps them in one slot. Scripts use
Redis' own clock. The URL, which may hold a password, is in no message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from hashlib import sha1
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias, cast

from groundwire.errors import ConfigError
from groundwire.model.value import value

try:
    from redis import Redis as BlockingRedis
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster
    from redis.asyncio.connection import ConnectionPool, parse_url
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import (
        AuthenticationError,
        AuthorizationError,
        NoScriptError,
        RedisClusterException,
        RedisError,
        ResponseError,
    )
    from redis.exceptions import TimeoutError as RedisTimeout
    from redis.retry import Retry as BlockingRetry
except ImportError:
    raise ConfigError("Redis needs a client library: pip install 'groundwire[redis]'") from None

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

Reply: TypeAlias = Sequence[int | bytes]
Argument: TypeAlias = str | int | bytes
OnMessage: TypeAlias = Callable[[str], None]

log = logging.getLogger("groundwire.redis")

_ERRORS = (RedisError, RedisClusterException, OSError, EOFError)
"""What the library raises if Redis cannot be used."""
CALL_SECONDS = 0.2
"""How long a request waits for Redis."""
BEAT_SECONDS = 1.0
SEEN_SECONDS = 5.0
"""A gateway whose last heartbeat is older than this is gone."""
_CONNECTIONS = 16
"""Calls at the same time; others wait, within their time limit."""
_SLICES = 16
"""The time limit of a call is counted in slices, and a late event loop uses up one at a time, however late it
is: a busy gateway must not take Redis for lost."""
_WARNING_SECONDS = 60.0
"""Between two warnings, if Redis is lost again and again."""
_COMMAND_SECONDS = 1.0
"""Time limit of connecting, and of calls without an event loop."""
_GATEWAYS_KEY = "groundwire:{gateways}"
_EPOCH_KEY = "groundwire:{gateways}:epoch"
"""Set by the first gateway: if it changes, Redis has lost its data."""


@value
class LuaScript:
    """A Lua script that runs as one step and returns a list."""

    source: str

    @property
    def digest(self) -> str:
        """The name by which Redis knows the script."""
        return sha1(self.source.encode(), usedforsecurity=False).hexdigest()


_BEAT = LuaScript("""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('EXPIRE', KEYS[1], 60)
redis.call('SET', KEYS[2], ARGV[1] .. time[1] .. '.' .. time[2], 'NX')
redis.call('EXPIRE', KEYS[2], 86400)
return {redis.call('ZCARD', KEYS[1]), redis.call('GET', KEYS[2])}
""")
_LEAVE = LuaScript("return {redis.call('ZREM', KEYS[1], ARGV[1])}")


class RedisLink:
    """The connection of one gateway. Call `start` in the event loop that uses it, and `aclose` at the end."""

    def __init__(
        self, url: str, *, call_seconds: float = CALL_SECONDS, beat_seconds: float = BEAT_SECONDS
    ) -> None:
        self._url = url
        self._options = _parsed(url)
        self._call_seconds = call_seconds
        self._beat_seconds = beat_seconds
        self._client: Redis | RedisCluster | None = None
        self._connecting = asyncio.Lock()
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._digests: dict[LuaScript, str] = {}
        self._listeners: dict[str, OnMessage] = {}
        self._tasks: set[asyncio.Task[object] | asyncio.Task[Reply]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._warned_at = -_WARNING_SECONDS
        self._has_warned = False
        self._is_closing = False
        self.id = os.urandom(8).hex()
        """Identifies this gateway in heartbeats, leases and messages."""
        self.is_up = False
        self.problem = "Redis has not been contacted yet"
        """Why Redis cannot be used; empty if it can."""
        self.losses = 0
        """How often Redis was lost."""
        self.gateways = 1
        """How many gateways shared this Redis when it last responded, this one included."""
        self._epoch: int | bytes = b""
        self.on_recovery: list[Callable[[bool], Awaitable[None]]] = []
        """Called when Redis responds again, with whether it has lost its data."""
        self.after_beat: list[Callable[[], Awaitable[None]]] = []
        """Called after every heartbeat that was answered."""

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return _address(self._options)

    @property
    def channel(self) -> str:
        """The channel of messages. Databases share channels, so its name has the number of the database."""
        return channel_of(self._options)

    async def start(self) -> None:
        """Connect, and keep the connection; returns after the first attempt."""
        await self._beat()
        self._beating = asyncio.create_task(self._beat_periodically())

    async def aclose(self) -> None:
        """Leave the other gateways, and close all connections."""
        self._is_closing = True
        for task in (self._beating, self._listening):
            await _cancelled(task)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._call_seconds)
            for one in late:
                await _cancelled(one)
        await self.run(_LEAVE, (_GATEWAYS_KEY,), (self.id,))
        self.is_up, self.problem = False, "the gateway is closing"
        if self._client is not None:
            await self._client.aclose()

    async def run(
        self, script: LuaScript, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Reply | None:
        """Run a script; None if Redis cannot be used now."""
        return await self._run(script, keys, arguments) if self.is_up else None

    def listen(self, topic: str, callback: OnMessage) -> None:
        """Call a function for every message of a topic, also for those of this gateway."""
        self._listeners[topic] = callback

    def spawn(self, work: Coroutine[object, object, object]) -> None:
        """Run something in the background; it is ended by `aclose`."""
        if self._is_closing:
            work.close()
            return
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[object] | asyncio.Task[Reply]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, _ERRORS):
            log.error("a call to Redis failed", exc_info=error)

    async def _run(
        self, script: LuaScript, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> Reply | None:
        call = asyncio.create_task(self._eval(script, keys, arguments))
        try:
            if not await self._in_time(call):
                self._lose(f"no response within {self._call_seconds:g} s")
                return None
            return call.result()
        except _ERRORS as error:
            self._lose(_reason(error))
            return None
        finally:
            call.cancel()  # without waiting for the end of its connection
            self._tasks.add(call)
            call.add_done_callback(self._forget)

    async def _in_time(self, call: asyncio.Task[Reply]) -> bool:
        for _ in range(_SLICES):
            done, _ = await asyncio.wait({call}, timeout=self._call_seconds / _SLICES)
            if done:
                return True
        return False

    async def _eval(self, script: LuaScript, keys: Sequence[str], arguments: Sequence[Argument]) -> Reply:
        digest = self._digests.get(script) or self._digests.setdefault(script, script.digest)
        async with self._free:
            client = await self._connected()
            try:
                reply = await _command(client, "EVALSHA", digest, len(keys), *keys, *arguments)
            except NoScriptError:
                reply = await _command(client, "EVAL", script.source, len(keys), *keys, *arguments)
        return cast("Reply", reply)

    async def _connected(self) -> Redis | RedisCluster:
        """The client; the first call finds out whether the server is part of a cluster."""
        if self._client is not None:
            return self._client
        async with self._connecting:
            if self._client is None:
                self._client = await self._connect()
        return self._client

    async def _connect(self) -> Redis | RedisCluster:
        # Replies have no time limit of the library: `_in_time` is kinder to a busy event loop.
        single = Redis.from_url(
            self._url,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=_COMMAND_SECONDS,
        )
        is_single = False
        try:
            is_single = not await _is_cluster(single)
        finally:
            if not is_single:
                await single.aclose()
        if is_single:
            return single
        # One more attempt: after a failover the first one only finds out which node to ask.
        return RedisCluster.from_url(
            self._url,
            retry=Retry(NoBackoff(), 1),
            socket_timeout=None,
            socket_connect_timeout=_COMMAND_SECONDS,
        )

    def _lose(self, reason: str) -> None:
        was_up, self.is_up = self.is_up, False
        self.losses += was_up
        is_new = was_up or self.problem != reason
        self.problem = reason
        if is_new and monotonic() - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = monotonic()
            self._has_warned = True
            log.warning(
                "Redis at %s cannot be used: %s; limits, cache and breakers are local until it can",
                self.address,
                reason,
            )

    def _find(self) -> None:
        """Redis responds again."""
        if self._has_warned:
            log.warning("Redis at %s can be used again", self.address)
            self._has_warned = False
        self.is_up, self.problem = True, ""
        # A connection that waits for messages does not notice that it was lost.
        if self._listening is not None:
            self._listening.cancel()
        self._listening = asyncio.create_task(self._receive())

    async def _drop_idle(self) -> None:
        """Close idle connections: those from before a restart would fail one by one, and each would count as
        a loss. The client of a cluster repeats a call by itself."""
        if isinstance(self._client, Redis):
            with suppress(*_ERRORS):
                await self._client.connection_pool.disconnect(inuse_connections=False)

    async def _beat_periodically(self) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            await self._beat()

    async def _beat(self) -> None:
        window = max(SEEN_SECONDS, 3 * self._beat_seconds)
        reply = await self._run(_BEAT, (_GATEWAYS_KEY, _EPOCH_KEY), (self.id, str(window)))
        if reply is None:
            return
        self.gateways = max(1, int(reply[0]))
        is_known, has_lost = bool(self._epoch), self._epoch not in (b"", reply[1])
        self._epoch = reply[1]
        if not self.is_up:
            await self._drop_idle()
        if not self.is_up or has_lost:
            self._find()
            for recover in self.on_recovery if is_known or self.losses else ():
                await recover(has_lost)
        for follow in self.after_beat:
            await follow()

    async def _receive(self) -> None:
        """Deliver messages; after a lost connection, subscribe again."""
        while True:
            with suppress(*_ERRORS):
                client = await self._connected()
                async with client.pubsub(ignore_subscribe_messages=True) as subscription:
                    await subscription.subscribe(self.channel)
                    await self._deliver(subscription)
            await asyncio.sleep(self._beat_seconds)

    async def _deliver(self, subscription: PubSub) -> None:
        async for received in subscription.listen():
            with suppress(ValueError, TypeError):  # not one of ours
                topic, text = json.loads(received["data"])
                if callback := self._listeners.get(topic):
                    callback(text)


async def _command(client: Redis | RedisCluster, *words: Argument) -> object:
    return await cast("Awaitable[object]", client.execute_command(*words))


async def _is_cluster(client: Redis) -> bool:
    try:
        info = await _command(client, "INFO", "cluster")
    except ResponseError:
        return False  # a user who may not ask
    return isinstance(info, dict) and bool(info.get("cluster_enabled"))


async def _cancelled(task: asyncio.Task[object] | asyncio.Task[Reply] | asyncio.Task[None] | None) -> None:
    """Cancel a task and wait for its end."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task is not None and not task.cancelled():
        task.exception()


def message(topic: str, text: str = "") -> str:
    """A message as it is published."""
    return json.dumps([topic, text])


def channel_of(options: dict[str, object]) -> str:
    """The channel of the database that a parsed URL names."""
    return f"groundwire:events:{options.get('db', 0)}"


def announce(url: str, topic: str) -> bool:
    """Publish a message without an event loop; False if Redis cannot be used. Blocks."""
    try:
        with _blocking(url) as client:
            client.publish(channel_of(_parsed(url)), message(topic))
    except _ERRORS:
        return False
    return True


def probe(url: str) -> tuple[bool, str]:
    """Can Redis be used? With what it is, or why not. Blocks."""
    try:
        with _blocking(url) as client:
            info = cast("dict[str, object]", client.info("server"))
    except _ERRORS as error:
        return False, f"{_address(_parsed(url))}: {_reason(error)}"
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version") or info.get("redis_version")
    return True, f"{name} {version} at {_address(_parsed(url))}, {info.get('redis_mode', 'standalone')}"


def _blocking(url: str) -> BlockingRedis:
    _parsed(url)
    return BlockingRedis.from_url(
        url,
        socket_timeout=_COMMAND_SECONDS,
        socket_connect_timeout=_COMMAND_SECONDS,
        retry=BlockingRetry(NoBackoff(), 0),
    )


def _parsed(url: str) -> dict[str, object]:
    try:
        # Refuses unknown options; does not connect.
        ConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]
        return dict(parse_url(url))
    except (ValueError, TypeError):
        # Its own message would repeat a part of the URL, perhaps the password.
        raise ConfigError(
            "the address of Redis is not valid; use redis://[USER:PASSWORD@]HOST:PORT/DATABASE, and "
            "percent-encode special characters of the password"
        ) from None


def _address(options: dict[str, object]) -> str:
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"


def _reason(error: Exception) -> str:
    """What went wrong, without anything that the server or the library quotes."""
    if isinstance(error, AuthenticationError | AuthorizationError):
        return "it refused the user or the password"
    if isinstance(error, RedisTimeout | TimeoutError):
        return "no response in time"
    if isinstance(error, ResponseError):
        code = str(error).partition(" ")[0]
        return f"it responded with the error {code}" if code.isupper() else "it responded with an error"
    if isinstance(error, RedisClusterException):
        return "the cluster is not complete, or the URL names a database other than 0"
    return "no connection"
