"""What an answer holds and no event tells: sources in fields that a codec does not read, and nothing at all.

Servers tell sources under ever new names. Whatever looks like a source in the JSON of an answer must be
carried by some event: an object with an address and a title, an object with an address in a field whose name
speaks of sources, and a list of addresses in such a field. If an address is in no event, the answer ends with
a warning that names the field. So a new accent is noticed by its first user, whatever the dialect.

How much is kept and looked at is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Cited,
    Event,
    Finished,
    Json,
    JsonObject,
    Opaque,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    TextDelta,
    ToolCallDelta,
    Warned,
)
from groundwire.text.urls import canonical_url, safe_url

_Path: TypeAlias = "tuple[_Path, str] | None"

_MOST_BYTES = 4_000_000
_MOST_NODES = 20_000
_MOST_SOURCES = 1_000
_MOST_PATHS = 3
_LONGEST_PATH = 160

_ADDRESS = re.compile(r"https?://[^\s/]\S*")
_ABOUT_SOURCES = re.compile(
    r"cit(?:ation|e)|sourc|referenc|search|ground|result|annotat|evidence|footnote|retriev|web|link"
    r"|pages?$|docs?$|documents?$",
    re.IGNORECASE,
)
_NOT_SOURCES = re.compile(
    r"image|icon|thumb|logo|avatar|picture|video|audio|media|photo|file|schema|server|endpoint|webhook|live",
    re.IGNORECASE,
)
_TITLES = frozenset({"title", "snippet", "site_name", "domain", "cited_text", "page_age"})
_IN_JSON = re.compile(rb'"(https?:[^"\s]+)"')
# Fields that repeat the request, and what other fields of ours say.
_NOT_LOOKED_AT = frozenset(
    {
        *("arguments", "error", "groundwire", "input", "instructions", "logprobs", "metadata", "prompt"),
        *("request", "tool_choice", "tools", "usage"),
    }
)


class SourceAudit:
    """Collects the sources that JSON shows and the addresses that events carry.

    While a stream comes in, its frames are only searched for addresses. What stands around an address is
    looked at in the end, and only if no event carried it.
    """

    __slots__ = ("_addresses", "_documents", "_frames", "_room", "_shown", "read")

    def __init__(self) -> None:
        self.read: set[str] = set()
        """The addresses that events carry."""
        self._documents: list[Json] = []
        self._frames: list[tuple[bytes, set[bytes]]] = []
        self._addresses: set[bytes] = set()
        self._room = _MOST_BYTES
        self._shown: list[tuple[tuple[str, ...], _Path]] = []

    def look_in_frame(self, data: bytes) -> None:
        """Note the addresses in a frame that no frame before it had."""
        new = set(_IN_JSON.findall(data)) - self._addresses
        if new and len(data) <= self._room:
            self._room -= len(data)
            self._addresses |= new
            self._frames.append((data, new))

    def look(self, document: Json) -> None:
        """Note a whole document."""
        self._documents.append(document)

    def note(self, event: Event) -> None:
        """An event that may carry addresses."""
        if isinstance(event, Cited):
            for item in event.citation.evidence:
                self.read.add(item.source.url)
        elif isinstance(event, SearchReturned):
            for source in event.result.sources:
                self.read.add(source.url)
        elif isinstance(event, SearchCalled):
            self.read.add(event.call.url)

    def warning(self) -> Warned | None:
        """Of the sources that no event carried."""
        for document in (*self._documents, *self._unread_frames()):
            self._look(document)
        if not self._shown:
            return None
        read = {canonical_url(url) for url in self.read}
        lost = [
            path
            for urls, path in self._shown
            if not any(canonical_url(safe_url(url) or url) in read for url in urls)
        ]
        if not lost:
            return None
        paths = list(dict.fromkeys(map(_written, lost)))
        named = ", ".join(paths[:_MOST_PATHS]) + (", …" if len(paths) > _MOST_PATHS else "")
        return Warned(
            "unread_sources",
            f"the provider listed {len(lost)} sources in fields that are not read: {named}",
        )

    def _unread_frames(self) -> Iterator[Json]:
        if not self._frames:
            return
        read = {url.encode("utf-8", "replace") for url in self.read}
        for data, addresses in self._frames:
            if not addresses <= read:
                try:
                    yield load_json(data, UpstreamWireError)
                except UpstreamWireError:
                    continue  # it broke the stream, and that was told

    def _look(self, document: Json) -> None:
        stack: list[tuple[Json, _Path]] = [(document, None)]
        for _ in range(_MOST_NODES):
            if not stack or len(self._shown) >= _MOST_SOURCES:
                return
            node, path = stack.pop()
            if isinstance(node, dict):
                self._look_at(node, path, stack)
            elif isinstance(node, list):
                self._look_at_list(node, path, stack)

    def _look_at_list(self, node: list[Json], path: _Path, stack: list[tuple[Json, _Path]]) -> None:
        for item in node:
            if isinstance(item, dict):
                stack.append((item, path))
            elif not isinstance(item, str) or item[:4] != "http" or item in self.read:
                continue
            elif _is_about_sources(path) and _is_source(item, path):
                self._shown.append(((item,), path))

    def _look_at(self, node: JsonObject, path: _Path, stack: list[tuple[Json, _Path]]) -> None:
        urls: list[str] = []
        is_read = False
        for key, value in node.items():
            if isinstance(value, str):
                if value[:4] != "http":
                    continue
                if value in self.read:
                    is_read = True
                elif not _NOT_SOURCES.search(key):
                    urls.append(value)
            elif value and isinstance(value, dict | list) and key not in _NOT_LOOKED_AT:
                stack.append((value, (path, key)))
        if not urls or is_read or (_TITLES.isdisjoint(node) and not _is_about_sources(path)):
            return
        urls = [url for url in urls if _is_source(url, path)]
        if urls:
            self._shown.append((tuple(urls), path))


def audited(body: Json, events: list[Event], *, needs_content: bool = True) -> list[Event]:
    """The events of a whole body, with warnings of what it holds and they do not tell."""
    if not events or not isinstance(events[-1], Finished):
        return events
    audit = SourceAudit()
    audit.look(body)
    for event in events:
        if isinstance(event, SAYING):
            audit.note(event)
    warnings: list[Warned | None] = [audit.warning()]
    if needs_content and is_silent(events[-1]) and not any(map(says_something, events)):
        warnings.append(EMPTY)
    return [*events[:-1], *(warning for warning in warnings if warning), events[-1]]


SAYING = (
    TextDelta,
    ReasoningDelta,
    ToolCallDelta,
    PartAdded,
    SearchStarted,
    SearchCalled,
    SearchReturned,
    Cited,
)
"""Events that say something."""
EMPTY = Warned("empty_answer", "the provider's answer has no content that this dialect reads")


def says_something(event: Event) -> bool:
    """Does it tell more than that there is an answer, and how it ended?"""
    return isinstance(event, SAYING) and not (
        isinstance(event, PartAdded) and isinstance(event.value, Opaque)
    )


def is_silent(event: Event) -> bool:
    """Does an answer that ends so need content?"""
    return isinstance(event, Finished) and event.reason in ("stop", "other")


def _is_about_sources(path: _Path) -> bool:
    return path is not None and _ABOUT_SOURCES.search(path[1]) is not None


def _is_source(url: str, path: _Path) -> bool:
    """Is it an address, and none of a picture or the like?"""
    if not _ADDRESS.fullmatch(url):
        return False
    while path is not None:
        path, key = path
        if _NOT_SOURCES.search(key):
            return False
    return True


def _written(path: _Path) -> str:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return "$" + "".join(f".{key}" for key in reversed(keys))[:_LONGEST_PATH]
