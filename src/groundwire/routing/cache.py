"""Response cache with request coalescing.

The cache stores events, not bytes, so a question that arrives in two dialects is sent upstream once. Only
searches are cached, and only those that nothing but the request decides: no client functions or results of
them, and no earlier response that the provider has stored. With Redis, `shared` is a second level behind the
memory of this process: gateways share answers and requests in flight.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, cast

from groundwire.dialects.json import dump_json
from groundwire.model import Event, Json, JsonObject, Request, ToolCall, ToolResult
from groundwire.model.json import encode
from groundwire.model.value import replace, value
from groundwire.routing.coalescing import Batches, SharedStream

if TYPE_CHECKING:
    from groundwire.routing.shared_cache import AnswerLease, SharedAnswers

CACHE_OWNER: ContextVar[str] = ContextVar("cache_owner", default="")
"""Whose answers the request in progress may share: those of one owner, or of all if it is empty. A hit would
reveal that another owner has sent the same question, so owners do not share."""

CacheState: TypeAlias = Literal["hit", "miss", "shared"]
"""hit: from the cache; miss: sent upstream for this request; shared: joins an identical request in flight."""

_TOOL_FORM_KEYS = frozenset({"type", "form"})
"""Extras that only name the search tool of a dialect."""
_OUTPUT_KEYS = frozenset({"stream_options"})
"""Extras that only affect how the response is encoded."""
_IDS = ("id", "call_id")


class OpenStream(Protocol):
    """Sends a request to a target."""

    def __call__(self, request: Request, *, provider: str, model: str) -> Batches: ...


@value
class CacheStatus:
    """Where a response came from, and how many seconds ago it was complete."""

    state: CacheState
    age: int = 0


OnCacheStatus: TypeAlias = Callable[[CacheStatus], None]


@value
class CacheLimits:
    """Size limits: number of entries, bytes of all entries, bytes of one."""

    entries: int = 1000
    total: int = 64 * 2**20
    answer: int = 4 * 2**20


class _CacheEntry(NamedTuple):
    batches: tuple[tuple[Event, ...], ...]
    size: int
    at: float


class _Flight:
    """What is known about a request in flight besides its stream."""

    __slots__ = ("age", "lease")

    def __init__(self, lease: AnswerLease | None) -> None:
        self.lease = lease
        self.age = 0.0
        """Seconds since another gateway completed the answer."""


class ResponseCache:
    """LRU cache of responses with a time to live of `seconds`. With zero seconds every request is sent."""

    def __init__(
        self, send: OpenStream, seconds: float, clock: Callable[[], float], limits: CacheLimits | None = None
    ) -> None:
        self._send = send
        self._seconds = seconds
        self._clock = clock
        self._limits = limits or CacheLimits()
        self._entries: OrderedDict[bytes, _CacheEntry] = OrderedDict()
        self._in_flight: dict[bytes, SharedStream] = {}
        self.size = 0
        """Estimated bytes of all entries."""
        self.shared: SharedAnswers | None = None
        """The answers that gateways share."""

    @property
    def seconds(self) -> float:
        """The time to live."""
        return self._seconds

    @property
    def limits(self) -> CacheLimits:
        """The size limits."""
        return self._limits

    def __len__(self) -> int:
        return len(self._entries)

    def batches(
        self, request: Request, *, provider: str, model: str, note: OnCacheStatus | None = None
    ) -> Batches:
        """The answer; `note` receives the cache status before the first event."""
        if self._seconds <= 0 or not is_cacheable(request):
            return self._send(request, provider=provider, model=model)
        return self._shared(request, provider, model, note or _ignore)

    async def _shared(self, request: Request, provider: str, model: str, note: OnCacheStatus) -> Batches:
        key = cache_key(request, provider, model, CACHE_OWNER.get())
        entry = self._fresh(key)
        if entry is not None:
            note(CacheStatus("hit", int(self._clock() - entry.at)))
            for stored in entry.batches:
                yield stored
            return
        stream = self._in_flight.get(key)
        if stream is not None:
            note(CacheStatus("shared"))
        else:
            # Passthrough bytes would only serve clients of the provider's dialect.
            source = self._send(replace(request, wire=None), provider=provider, model=model)
            stream = self._in_flight[key] = self._open(key, source, note)
        async with aclosing(stream.follow()) as following:
            async for batch in following:
                yield batch

    def _open(self, key: bytes, source: Batches, note: OnCacheStatus) -> SharedStream:
        """A request in flight, which others can join."""
        flight = _Flight(self.shared.lease(key) if self.shared is not None else None)
        stream = SharedStream(
            source if flight.lease is None else _from_gateways(flight, flight.lease, source, note),
            self._limits.answer,
            lambda stream: self._store(key, stream, flight),
        )
        if flight.lease is None:
            note(CacheStatus("miss"))
        else:
            lease = flight.lease
            stream.is_awaited = lambda: lease.is_held
        return stream

    def _fresh(self, key: bytes) -> _CacheEntry | None:
        entry = self._entries.get(key)
        if entry is not None and self._clock() - entry.at >= self._seconds:
            self._drop(key)
            return None
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def _store(self, key: bytes, stream: SharedStream, flight: _Flight) -> None:
        """Stop coalescing onto a stream; if its response is complete, cache it."""
        del self._in_flight[key]
        complete = stream.complete
        if flight.lease is not None:
            flight.lease.end(complete, failed=not stream.is_abandoned)
        if not complete:
            return
        self._entries[key] = _CacheEntry(complete, stream.size, self._clock() - flight.age)
        self.size += stream.size
        while len(self._entries) > self._limits.entries or self.size > self._limits.total:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: bytes) -> None:
        self.size -= self._entries.pop(key).size


async def _from_gateways(
    flight: _Flight, lease: AnswerLease, source: Batches, note: OnCacheStatus
) -> Batches:
    """The answer of another gateway if there is one, else of the provider."""
    async with aclosing(source):
        found = await lease.find()
        if found is None:
            note(CacheStatus("miss"))
            async for batch in source:
                yield batch
            return
    flight.age = found.age
    note(CacheStatus("shared" if found.waited else "hit", int(found.age)))
    for stored in found.batches:
        yield stored


def is_cacheable(request: Request) -> bool:
    """Is this a search whose answer depends on the request alone?"""
    return (
        request.search is not None
        and not request.tools
        and not request.previous_id
        and request.stored is None
        and not any(
            isinstance(part, ToolCall | ToolResult) for message in request.messages for part in message.parts
        )
    )


def cache_key(request: Request, provider: str, model: str, owner: str = "") -> bytes:
    """Digest of the owner and of what determines the answer: target and content, not the wire format or
    streaming."""
    body = encode(replace(request, wire=None, model="", stream=False))
    search = cast("JsonObject", body["search"])
    search["extras"] = _normalised_extras(search.get("extras", {}), _TOOL_FORM_KEYS)
    body["extras"] = _normalised_extras(body.get("extras", {}), _OUTPUT_KEYS)
    _renumber(cast("list[JsonObject]", body["messages"]))
    return sha256(dump_json([owner, provider, model, body]).encode("utf-8", "surrogatepass")).digest()


def _normalised_extras(extras: Json, ignored: frozenset[str]) -> Json:
    """Extras in a fixed order, without the keys that do not affect the answer and without empty dialects."""
    kept = {
        dialect: {name: item[name] for name in sorted(item) if name not in ignored}
        for dialect, item in sorted(cast("dict[str, JsonObject]", extras).items())
    }
    return {dialect: item for dialect, item in kept.items() if item}


def _renumber(messages: list[JsonObject]) -> None:
    """Replace random ids by running numbers, so that equal conversations are equal."""
    numbers: dict[str, str] = {}
    for message in messages:
        for part in cast("list[JsonObject]", message["parts"]):
            for name in _IDS:
                if isinstance(item_id := part.get(name), str):
                    part[name] = numbers.setdefault(item_id, str(len(numbers)))


def _ignore(_: CacheStatus) -> None:
    pass
