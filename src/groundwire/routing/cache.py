"""Response cache with request coalescing.

The cache stores events, not bytes, so a question that arrives in two dialects is sent upstream once. Only
searches are cached, and only those that nothing but the request decides: no client functions or results of
them, and no earlier response that the provider has stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol, TypeAlias, cast

from groundwire.dialects.json import dump_json
from groundwire.model import Event, Json, JsonObject, Request, ToolCall, ToolResult
from groundwire.model.json import encode
from groundwire.model.value import replace, value
from groundwire.routing.coalescing import Batches, SharedStream

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
        key = cache_key(request, provider, model)
        entry = self._fresh(key)
        if entry is not None:
            note(CacheStatus("hit", int(self._clock() - entry.at)))
            for stored in entry.batches:
                yield stored
            return
        stream = self._in_flight.get(key)
        note(CacheStatus("miss" if stream is None else "shared"))
        if stream is None:
            # Passthrough bytes would only serve clients of the provider's dialect.
            source = self._send(replace(request, wire=None), provider=provider, model=model)
            stream = SharedStream(source, self._limits.answer, lambda stream: self._store(key, stream))
            self._in_flight[key] = stream
        async with aclosing(stream.follow()) as following:
            async for batch in following:
                yield batch

    def _fresh(self, key: bytes) -> _CacheEntry | None:
        entry = self._entries.get(key)
        if entry is not None and self._clock() - entry.at >= self._seconds:
            self._drop(key)
            return None
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def _store(self, key: bytes, stream: SharedStream) -> None:
        """Stop coalescing onto a stream; if its response is complete, cache it."""
        del self._in_flight[key]
        complete = stream.complete
        if not complete:
            return
        self._entries[key] = _CacheEntry(complete, stream.size, self._clock())
        self.size += stream.size
        while len(self._entries) > self._limits.entries or self.size > self._limits.total:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: bytes) -> None:
        self.size -= self._entries.pop(key).size


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


def cache_key(request: Request, provider: str, model: str) -> bytes:
    """Digest of what determines the answer: target and content, not the wire format or streaming."""
    body = encode(replace(request, wire=None, model="", stream=False))
    search = cast("JsonObject", body["search"])
    search["extras"] = _normalised_extras(search.get("extras", {}), _TOOL_FORM_KEYS)
    body["extras"] = _normalised_extras(body.get("extras", {}), _OUTPUT_KEYS)
    _renumber(cast("list[JsonObject]", body["messages"]))
    return sha256(dump_json([provider, model, body]).encode("utf-8", "surrogatepass")).digest()


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
