"""What an answer holds and no event tells: sources in fields that a codec does not read, and nothing at all.

Servers tell sources under ever new names. Whatever looks like a source in the JSON of an answer must be
carried by some event: an object with an address and a title, an object with an address in a field whose name
speaks of sources, and a list of addresses in such a field. If an address is in no event, the answer ends with
a warning that names the field. So a new accent is noticed by its first user, whatever the dialect.

Only frames that hold an address are looked through, and the number of values looked at is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

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
    Source,
    TextDelta,
    ToolCallDelta,
    Warned,
)
from groundwire.text.addresses import canonical_address, safe_address

_Path: TypeAlias = "tuple[_Path, str] | None"

_MOST_NODES = 20_000
_MOST_SOURCES = 1_000
_MOST_PATHS = 3
_LONGEST_PATH = 160

_ADDRESS = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_ABOUT_SOURCES = re.compile(
    r"cit(?:ation|e)|sourc|referenc|search|ground|result|annotat|evidence|footnote|retriev|web|link"
    r"|pages?$|docs?$|documents?$",
    re.IGNORECASE,
)
_NOT_SOURCES = re.compile(
    r"image|icon|thumb|logo|avatar|picture|video|audio|media|photo|file|schema|server|endpoint|webhook|live",
    re.IGNORECASE,
)
_TITLES = ("title", "snippet", "site_name", "domain", "cited_text", "page_age")
# Fields that repeat the request, and what other fields of ours say.
_NOT_LOOKED_AT = frozenset(
    {
        *("arguments", "error", "groundwire", "input", "instructions", "logprobs", "metadata", "prompt"),
        *("request", "tool_choice", "tools", "usage"),
    }
)


class SourceAudit:
    """Collects the sources that JSON shows and the addresses that events carry."""

    __slots__ = ("_nodes", "_read", "_shown")

    def __init__(self) -> None:
        self._nodes = 0
        self._read: set[str] = set()
        self._shown: list[tuple[tuple[str, ...], _Path]] = []

    def look(self, document: Json) -> None:
        """Note every source in a document."""
        stack: list[tuple[Json, _Path]] = [(document, None)]
        while stack and self._nodes < _MOST_NODES and len(self._shown) < _MOST_SOURCES:
            self._nodes += 1
            node, path = stack.pop()
            if isinstance(node, dict):
                self._look_at(node, path)
                stack += (
                    (value, (path, key))
                    for key, value in node.items()
                    if (value.__class__ is dict or value.__class__ is list) and key not in _NOT_LOOKED_AT
                )
            elif isinstance(node, list):
                self._look_at_list(node, path)
                stack += ((item, path) for item in node if item.__class__ is dict)

    def note(self, event: Event) -> None:
        """An event that may carry addresses."""
        match event:
            case Cited(citation):
                self._note(item.source for item in citation.evidence)
            case SearchReturned(_, result):
                self._note(result.sources)
            case SearchCalled(_, call) if call.url:
                self._read.add(call.url)

    def warning(self) -> Warned | None:
        """Of the sources that no event carried."""
        if not self._shown:
            return None
        read = self._read | {canonical_address(url) for url in self._read}
        lost = [path for urls, path in self._shown if not any(_is_read(url, read) for url in urls)]
        if not lost:
            return None
        paths = list(dict.fromkeys(map(_written, lost)))
        named = ", ".join(paths[:_MOST_PATHS]) + (", …" if len(paths) > _MOST_PATHS else "")
        return Warned(
            "unread_sources",
            f"the provider listed {len(lost)} sources in fields that are not read: {named}",
        )

    def _note(self, sources: Iterator[Source] | tuple[Source, ...]) -> None:
        self._read.update(source.url for source in sources)

    def _look_at(self, node: JsonObject, path: _Path) -> None:
        urls = tuple(
            value
            for key, value in node.items()
            if value.__class__ is str and value[:4] in ("http", "HTTP") and _is_address(value, key)
        )
        if urls and (_is_about_sources(path) or any(name in node for name in _TITLES)) and _is_page(path):
            self._shown.append((urls, path))

    def _look_at_list(self, node: list[Json], path: _Path) -> None:
        if node and isinstance(node[0], str) and _is_about_sources(path) and _is_page(path):
            urls = [item for item in node if isinstance(item, str) and _ADDRESS.fullmatch(item)]
            self._shown += (((url,), path) for url in urls[:_MOST_SOURCES])


def audited(body: Json, events: list[Event]) -> list[Event]:
    """The events of a whole body, with warnings of what it holds and they do not tell."""
    if not events or not isinstance(events[-1], Finished):
        return events
    audit = SourceAudit()
    audit.look(body)
    for event in events:
        audit.note(event)
    warnings: list[Warned | None] = [audit.warning()]
    if is_silent(events[-1]) and not any(map(says_something, events)):
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


def _is_address(value: str, key: str) -> bool:
    return _ADDRESS.fullmatch(value) is not None and _NOT_SOURCES.search(key) is None


def _is_about_sources(path: _Path) -> bool:
    return path is not None and _ABOUT_SOURCES.search(path[1]) is not None


def _is_page(path: _Path) -> bool:
    while path is not None:
        path, key = path
        if _NOT_SOURCES.search(key):
            return False
    return True


def _is_read(url: str, read: set[str]) -> bool:
    return url in read or safe_address(url) in read or canonical_address(url) in read


def _written(path: _Path) -> str:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return "$" + "".join(f".{key}" for key in reversed(keys))[:_LONGEST_PATH]
