"""Searches of other providers as blocks: one `server_tool_use` and its result for each query.

A search of Anthropic's has one query, and every search has its result. Others search for several things at
once, list pages without telling a query, or only cite. What we write in their place is told apart by its id:

    srvtoolu_gw_ID         a search with one query
    srvtoolu_gw2of3_ID     the second query of a search with three
    srvtoolu_gw0of0_ID     a pair for pages of which no search was reported
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count, pairwise
from typing import NamedTuple, TypeVar

from groundwire.dialects.anthropic_messages.parts import (
    OUR_SEARCH_ID,
    SEARCH_ID,
    Listed,
    ResultBlock,
    encode_fetch_result,
    encode_id,
    encode_search_call,
    encode_search_error,
    encode_search_result,
    verbatim_block,
)
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.model import (
    Citation,
    Event,
    JsonObject,
    Part,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
)
from groundwire.model.value import replace

_Item = TypeVar("_Item")


class _Place(NamedTuple):
    """Which query of which search a block of ours is about."""

    number: int
    total: int
    search: str


def _place_of(block_id: str) -> _Place | None:
    match = OUR_SEARCH_ID.fullmatch(block_id)
    if match is None:
        return None
    number, total, rest = match.groups()
    return _Place(int(number or 1), int(total or 1), f"{SEARCH_ID}gw_{rest}")


def _ids_of(search: str, total: int) -> list[str]:
    """The ids of the pairs of one search; Anthropic's own are kept."""
    plain = encode_id(search)
    if total == 1:
        return [plain if plain.startswith(SEARCH_ID) else f"{SEARCH_ID}gw_{plain}"]
    rest = plain.removeprefix(f"{SEARCH_ID}gw_")
    return [f"{SEARCH_ID}gw{number}of{total}_{rest}" for number in range(1, total + 1)] or [
        f"{SEARCH_ID}gw0of0_{rest}"
    ]


class SearchWriter:
    """Writes searches and their results, and lists every cited page in some result.

    The last result is held until something else is written, so that it can list pages that are cited and
    that the provider did not name among those it found.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._calls: dict[str, SearchCall] = {}
        self._held: SearchResult | None = None
        self._cited: dict[str, tuple[Source, list[str]]] = {}
        self._listed: set[str] = set()
        self._used: set[str] = set()
        self._written = 0
        self._cited_apart = False

    @property
    def searches(self) -> int:
        """How many searches of ours have been written that did not fail. A pair for cited pages is one only
        where no other was reported."""
        return self._written or int(self._cited_apart)

    def cite(self, citations: Iterable[Citation]) -> None:
        """Note the pages of citations. Those of Anthropic's own citations are listed by its own results."""
        for citation in citations:
            for item in citation.evidence:
                url = item.source.url
                if url and NAME not in item.extras:
                    _, quotes = self._cited.setdefault(url, (item.source, []))
                    if citation.span is None:
                        quotes.append(item.quote)

    def call(self, call: SearchCall) -> list[JsonObject]:
        """The blocks that are due when a search is called."""
        due = self.flush()
        self._calls[call.id] = call
        verbatim = verbatim_block(call)
        if verbatim is not None:
            return [*due, verbatim]
        ids = _ids_of(call.id, _pairs(call))
        self._used.update(ids)
        queries = call.queries or ("",)
        return [*due, *(encode_search_call(call, *pair) for pair in zip(queries, ids, strict=True))]

    def result(self, result: SearchResult) -> list[JsonObject]:
        """The blocks that are due when a search returns."""
        due = self.flush()
        verbatim = verbatim_block(result)
        if verbatim is not None:
            self._listed.update(source.url for source in result.sources)
            return [*due, verbatim]
        self._held = result
        return due

    def flush(self) -> list[JsonObject]:
        """The result that was held."""
        result, self._held = self._held, None
        return [] if result is None else self._encode(result)

    def rest(self) -> list[JsonObject]:
        """The result that was held, and a pair for cited pages that no result lists."""
        due = self.flush()
        if pages := self._unlisted():
            self._cited_apart = True
            due += self._write(SearchResult("cited"), pages)
        return due

    def can_list(self, part: Part) -> bool:
        """Is this a result of ours that can take further pages? Its call must have been written."""
        if not isinstance(part, SearchResult) or part.error or verbatim_block(part) is not None:
            return False
        call = self._calls.get(part.call_id)
        return call is None or call.kind == "search"

    def know(self, parts: Iterable[Part]) -> None:
        """Note the calls of an answer that is there as a whole."""
        self._calls.update((part.id, part) for part in parts if isinstance(part, SearchCall))

    def _encode(self, result: SearchResult) -> list[JsonObject]:
        call = self._calls.get(result.call_id)
        if call is not None and call.kind != "search":
            self._listed.update((call.url, *(source.url for source in result.sources)))
            [block_id] = _ids_of(call.id, 1)
            return [encode_fetch_result(result, call, block_id)]
        pages = [] if result.error else [*self._found(result), *self._unlisted()]
        if not result.error:
            self._written += 1 if call is None else _pairs(call)
        return self._write(result, pages)

    def _write(self, result: SearchResult, pages: Sequence[Listed]) -> list[JsonObject]:
        """A result block for each query; where no call was reported, also the call that must come before."""
        call = self._calls.get(result.call_id)
        blocks: list[JsonObject] = []
        if call is None:
            ids = [self._unused(*_ids_of(result.call_id, 0))]
            blocks = [encode_search_call(SearchCall("", caller=result.caller), "", ids[0])]
        else:
            ids = _ids_of(call.id, _pairs(call))
        if result.error:
            return [*blocks, *(encode_search_error(result, block_id) for block_id in ids)]
        for block_id, share in zip(ids, _dealt(pages, len(ids)), strict=True):
            blocks.append(encode_search_result(result, share, block_id, self._key))
        return blocks

    def _found(self, result: SearchResult) -> list[Listed]:
        """The pages with an address: a link is what a result is for."""
        pages = []
        for source in result.sources:
            if source.url:
                _, quotes = self._cited.pop(source.url, (source, []))
                pages.append(Listed(source, quotes=tuple(quotes)))
                self._listed.add(source.url)
        return pages

    def _unlisted(self) -> list[Listed]:
        """The cited pages that are not listed yet, or not as pages that the answer as a whole rests on."""
        pages = [
            Listed(source, found=False, quotes=tuple(quotes))
            for url, (source, quotes) in self._cited.items()
            if quotes or url not in self._listed
        ]
        self._listed.update(self._cited)
        self._cited.clear()
        return pages

    def _unused(self, block_id: str) -> str:
        number = next(n for n in count() if f"{block_id}_{n}" not in self._used)
        unused = block_id if block_id not in self._used else f"{block_id}_{number}"
        self._used.add(unused)
        return unused


def _pairs(call: SearchCall) -> int:
    return max(1, len(call.queries))


def _dealt(items: Sequence[_Item], shares: int) -> list[tuple[_Item, ...]]:
    """The items in so many shares. Providers list the pages of all queries together: in shares, no query
    looks as if it had found nothing, and no page is listed for each."""
    edges = [len(items) * number // shares for number in range(shares + 1)]
    return [tuple(items[start : max(end, start + 1)]) for start, end in pairwise(edges)]


class SearchReader:
    """Tells searches; what was written as one pair for each query is one search again."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._call: tuple[int, SearchCall] | None = None
        self._result: tuple[int, SearchResult] | None = None
        self._unanswered: list[str] = []

    def start(self, part: int, block_id: str) -> None:
        """A search begins."""
        place = _place_of(block_id)
        if place is None or place.number == 1:
            self._emit(SearchStarted(part, place.search if place else block_id))

    def call(self, part: int, call: SearchCall) -> None:
        """A search is known in full."""
        place = _place_of(call.id)
        if place is None:
            self.flush()
            self._call = (part, call)
            self._tell_call()
        elif place.total:
            if self._call is None or self._call[1].id != place.search:
                self.flush()
                self._call = (part, replace(call, id=place.search))
            else:
                part, known = self._call
                self._call = (part, replace(known, queries=known.queries + call.queries))
            if place.number >= place.total:
                self._tell_call()

    def result(self, part: int, block: ResultBlock) -> None:
        """A search returned. A pair for pages that are only cited is none."""
        result = block.result
        place = _place_of(result.call_id)
        self._tell_call()
        if place is not None and not place.total and block.cited and not result.sources:
            return
        if place is None:
            self.flush()
            self._result = (part, self._answering(result))
            self._tell_result()
            return
        if self._result is None or self._result[1].call_id != place.search:
            self.flush()
            self._result = (part, replace(result, call_id=place.search))
        else:
            part, known = self._result
            # Where there were fewer pages than queries, a share repeats the page of the share before.
            repeated = known.sources and result.sources[:1] == known.sources[-1:]
            self._result = (part, replace(known, sources=known.sources + result.sources[bool(repeated) :]))
        if place.number >= place.total:
            self._tell_result()

    def flush(self) -> None:
        """Tell what is still incomplete: nothing more of it comes."""
        self._tell_call()
        self._tell_result()

    def _answering(self, result: SearchResult) -> SearchResult:
        """A result with an unknown id answers the first search before it that has none. (Some recorders
        replace ids. The result of a search of the turn before comes first of all.)"""
        if result.call_id not in self._unanswered and self._unanswered:
            return replace(result, call_id=self._unanswered[0])
        return result

    def _tell_call(self) -> None:
        told, self._call = self._call, None
        if told is not None:
            self._unanswered.append(told[1].id)
            self._emit(SearchCalled(*told))

    def _tell_result(self) -> None:
        told, self._result = self._result, None
        if told is not None:
            if told[1].call_id in self._unanswered:
                self._unanswered.remove(told[1].call_id)
            self._emit(SearchReturned(*told))
