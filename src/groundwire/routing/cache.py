"""The same question has the same answer: while it is being given, and for a while after.

Events are kept, not bytes, so a question asked in two dialects is asked once. Only searches are kept, and
only those that nothing but the question decides: no functions of the client's, no results of them, no
earlier answer that its provider keeps.
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
"""hit: told again; miss: asked for this request; shared: asked for another one that is still under way."""

_SPELLING = frozenset({"type", "form"})
"""How a client calls the search tool of its dialect: nothing that is asked for."""
_TELLING = frozenset({"stream_options"})
"""How the answer is to be told: its encoder's business."""
_IDS = ("id", "call_id")


class OpenStream(Protocol):
    """Asks a target."""

    def __call__(self, request: Request, *, provider: str, model: str) -> Batches: ...


@value
class CacheStatus:
    """How a question was answered, and how many seconds ago the answer was complete."""

    state: CacheState
    age: int = 0


OnCacheStatus: TypeAlias = Callable[[CacheStatus], None]


@value
class CacheLimits:
    """How much is kept: answers, their bytes in all, and the bytes of one."""

    entries: int = 1000
    total: int = 64 * 2**20
    answer: int = 4 * 2**20


class _Kept(NamedTuple):
    batches: tuple[tuple[Event, ...], ...]
    size: int
    at: float


class ResponseCache:
    """Answers of the last seconds, those used least recently dropped first. Without seconds it only asks."""

    def __init__(
        self, ask: OpenStream, seconds: float, clock: Callable[[], float], bounds: CacheLimits | None = None
    ) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._bounds = bounds or CacheLimits()
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._flights: dict[bytes, SharedStream] = {}
        self.size = 0
        """Bytes of all that is kept, by estimate."""

    def __len__(self) -> int:
        return len(self._kept)

    def batches(
        self, request: Request, *, provider: str, model: str, note: OnCacheStatus | None = None
    ) -> Batches:
        """The answer; `note` hears where it comes from, before its first event."""
        if self._seconds <= 0 or not is_cacheable(request):
            return self._ask(request, provider=provider, model=model)
        return self._shared(request, provider, model, note or _unheard)

    async def _shared(self, request: Request, provider: str, model: str, note: OnCacheStatus) -> Batches:
        key = cache_key(request, provider, model)
        kept = self._fresh(key)
        if kept is not None:
            note(CacheStatus("hit", int(self._clock() - kept.at)))
            for told in kept.batches:
                yield told
            return
        flight = self._flights.get(key)
        note(CacheStatus("miss" if flight is None else "shared"))
        if flight is None:
            # The provider's own bytes would do for clients of its dialect only.
            source = self._ask(replace(request, wire=None), provider=provider, model=model)
            flight = SharedStream(source, self._bounds.answer, lambda flight: self._land(key, flight))
            self._flights[key] = flight
        async with aclosing(flight.follow()) as following:
            async for batch in following:
                yield batch

    def _fresh(self, key: bytes) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept.at >= self._seconds:
            self._drop(key)
            return None
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def _land(self, key: bytes, flight: SharedStream) -> None:
        """Nobody can join a flight any more; if its answer is whole, it is kept."""
        del self._flights[key]
        whole = flight.whole
        if not whole:
            return
        self._kept[key] = _Kept(whole, flight.size, self._clock())
        self.size += flight.size
        while len(self._kept) > self._bounds.entries or self.size > self._bounds.total:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: bytes) -> None:
        self.size -= self._kept.pop(key).size


def is_cacheable(request: Request) -> bool:
    """Is this a search that is decided by its words alone?"""
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
    """What makes two questions the same: all that is asked, and whom; not how it is spelled or told."""
    body = encode(replace(request, wire=None, model="", stream=False))
    search = cast("JsonObject", body["search"])
    search["extras"] = _meant(search.get("extras", {}), _SPELLING)
    body["extras"] = _meant(body.get("extras", {}), _TELLING)
    _renumber(cast("list[JsonObject]", body["messages"]))
    return sha256(dump_json([provider, model, body]).encode("utf-8", "surrogatepass")).digest()


def _meant(extras: Json, form: frozenset[str]) -> Json:
    """What only one dialect says, in the order of names; a dialect that says nothing is not there."""
    said = {
        dialect: {name: item[name] for name in sorted(item) if name not in form}
        for dialect, item in sorted(cast("dict[str, JsonObject]", extras).items())
    }
    return {dialect: item for dialect, item in said.items() if item}


def _renumber(messages: list[JsonObject]) -> None:
    """Ids are chance: each becomes its number, so that what belongs together still does."""
    numbers: dict[str, str] = {}
    for message in messages:
        for part in cast("list[JsonObject]", message["parts"]):
            for name in _IDS:
                if isinstance(said := part.get(name), str):
                    part[name] = numbers.setdefault(said, str(len(numbers)))


def _unheard(_: CacheStatus) -> None:
    pass
