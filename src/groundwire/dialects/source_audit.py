"""Source audit: warns of sources in fields that a codec does not read, and of answers without content.

Servers send sources under ever new names. Whatever looks like a source in the JSON of an answer must be in
some event: an object with a URL and a title, an object with a URL in a field whose name suggests sources,
and a list of URLs in such a field. If a URL is in no event, the answer ends with a warning that names the
field. So a new variant of a dialect is noticed by its first user.

The amount of data that is kept and searched is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from groundwire.dialects.json import load_json, write_for_search
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
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.urls import canonical_url, safe_url

_Path: TypeAlias = "tuple[_Path, str] | None"

_MAX_BYTES = 4_000_000
_MAX_NODES = 20_000
_MAX_SOURCES = 1_000
_MAX_PATHS = 3
_MAX_PATH_LENGTH = 160

_URL = lazy_pattern(r"https?://[^\s/]\S*")
_SOURCE_FIELD = lazy_pattern(
    r"cit(?:ation|e)|sourc|referenc|search|ground|result|annotat|evidence|footnote|retriev|web|link"
    r"|pages?$|docs?$|documents?$",
    re.IGNORECASE,
)
_MEDIA_FIELD = lazy_pattern(
    r"image|icon|thumb|logo|avatar|picture|video|audio|media|photo|file|schema|server|endpoint|webhook|live",
    re.IGNORECASE,
)
_TITLES = frozenset({"title", "snippet", "site_name", "domain", "cited_text", "page_age"})
_URL_IN_JSON = lazy_pattern(rb'"(https?:[^"\s]+)"')
# Fields that repeat the request, or that groundwire itself wrote.
_IGNORED_FIELDS = frozenset(
    {
        *("arguments", "error", "groundwire", "input", "instructions", "logprobs", "metadata", "prompt"),
        *("request", "tool_choice", "tools", "usage"),
    }
)


class SourceAudit:
    """Collects the sources in the JSON and the URLs in the events.

    While a stream is received, its frames are only searched for URLs. The JSON around a URL is examined at
    the end, and only if no event carried the URL.
    """

    __slots__ = ("_bytes_left", "_documents", "_found", "_frames", "_urls", "read")

    def __init__(self) -> None:
        self.read: set[str] = set()
        """The URLs in the events."""
        self._documents: list[Json] = []
        self._frames: list[tuple[bytes, set[bytes]]] = []
        self._urls: set[bytes] = set()
        self._bytes_left = _MAX_BYTES
        self._found: list[tuple[tuple[str, ...], _Path]] = []

    def audit_frame(self, data: bytes) -> None:
        """Collect the URLs of a frame that no earlier frame had."""
        new = set(_URL_IN_JSON.findall(data)) - self._urls
        if new and len(data) <= self._bytes_left:
            self._bytes_left -= len(data)
            self._urls |= new
            self._frames.append((data, new))

    def audit(self, document: Json) -> None:
        """Collect a whole document."""
        self._documents.append(document)

    def add_event(self, event: Event) -> None:
        """Collect the URLs of an event."""
        if isinstance(event, Cited):
            for item in event.citation.evidence:
                self.read.add(item.source.url)
        elif isinstance(event, SearchReturned):
            for source in event.result.sources:
                self.read.add(source.url)
        elif isinstance(event, SearchCalled):
            self.read.add(event.call.url)

    def warning(self) -> Warned | None:
        """The warning about sources that no event carried, if there are any."""
        for document in (*self._documents_with_unread_urls(), *self._frames_with_unread_urls()):
            self._search(document)
        if not self._found:
            return None
        read = {canonical_url(url) for url in self.read}
        lost = [
            path
            for urls, path in self._found
            if not any(canonical_url(safe_url(url) or url) in read for url in urls)
        ]
        if not lost:
            return None
        paths = list(dict.fromkeys(map(_format_path, lost)))
        named = ", ".join(paths[:_MAX_PATHS]) + (", …" if len(paths) > _MAX_PATHS else "")
        return Warned(
            "unread_sources",
            f"the provider listed {len(lost)} sources in fields that are not read: {named}",
        )

    def _documents_with_unread_urls(self) -> Iterator[Json]:
        """Usually all URLs are in the events, and a search of the text is cheaper than one of the objects."""
        for document in self._documents:
            text = write_for_search(document)
            if text is None or not self._encoded_urls().issuperset(_URL_IN_JSON.findall(text)):
                yield document

    def _encoded_urls(self) -> set[bytes]:
        return {url.encode("utf-8", "replace") for url in self.read}

    def _frames_with_unread_urls(self) -> Iterator[Json]:
        if not self._frames:
            return
        read = self._encoded_urls()
        for data, urls in self._frames:
            if not urls <= read:
                try:
                    yield load_json(data, UpstreamWireError)
                except UpstreamWireError:
                    continue  # it made the stream fail, and that was reported

    def _search(self, document: Json) -> None:
        stack: list[tuple[Json, _Path]] = [(document, None)]
        for _ in range(_MAX_NODES):
            if not stack or len(self._found) >= _MAX_SOURCES:
                return
            node, path = stack.pop()
            if isinstance(node, dict):
                self._search_object(node, path, stack)
            elif isinstance(node, list):
                self._search_list(node, path, stack)

    def _search_list(self, node: list[Json], path: _Path, stack: list[tuple[Json, _Path]]) -> None:
        for item in node:
            if isinstance(item, dict):
                stack.append((item, path))
            elif not isinstance(item, str) or item[:4] != "http" or item in self.read:
                continue
            elif _suggests_sources(path) and _is_source(item, path):
                self._found.append(((item,), path))

    def _search_object(self, node: JsonObject, path: _Path, stack: list[tuple[Json, _Path]]) -> None:
        urls: list[str] = []
        is_read = False
        for key, value in node.items():
            if type(value) is str:
                if not value.startswith("http"):
                    continue
                if value in self.read:
                    is_read = True
                elif not _MEDIA_FIELD.search(key):
                    urls.append(value)
            elif value and isinstance(value, dict | list) and key not in _IGNORED_FIELDS:
                stack.append((value, (path, key)))
        if not urls or is_read or (_TITLES.isdisjoint(node) and not _suggests_sources(path)):
            return
        urls = [url for url in urls if _is_source(url, path)]
        if urls:
            self._found.append((tuple(urls), path))


def with_audit_warnings(body: Json, events: list[Event], *, needs_content: bool = True) -> list[Event]:
    """Add the warnings of the audit to the events of a whole body."""
    if not events or not isinstance(events[-1], Finished):
        return events
    audit = SourceAudit()
    audit.audit(body)
    for event in events:
        if isinstance(event, CONTENT_EVENTS):
            audit.add_event(event)
    warnings: list[Warned | None] = [audit.warning()]
    if needs_content and expects_content(events[-1]) and not any(map(has_content, events)):
        warnings.append(EMPTY_ANSWER)
    return [*events[:-1], *(warning for warning in warnings if warning), events[-1]]


CONTENT_EVENTS = (
    TextDelta,
    ReasoningDelta,
    ToolCallDelta,
    PartAdded,
    SearchStarted,
    SearchCalled,
    SearchReturned,
    Cited,
)
"""Events that are content, as opposed to start, end, usage and warnings."""
EMPTY_ANSWER = Warned("empty_answer", "the provider's answer has no content that this dialect reads")


def has_content(event: Event) -> bool:
    """Whether an event is content that a client can show."""
    return isinstance(event, CONTENT_EVENTS) and not (
        isinstance(event, PartAdded) and isinstance(event.value, Opaque)
    )


def expects_content(event: Event) -> bool:
    """Whether an answer that ends this way should have content."""
    return isinstance(event, Finished) and event.reason in ("stop", "other")


def _suggests_sources(path: _Path) -> bool:
    return path is not None and _SOURCE_FIELD.search(path[1]) is not None


def _is_source(url: str, path: _Path) -> bool:
    """Whether it is a URL, and not one of an image or the like."""
    if not _URL.fullmatch(url):
        return False
    while path is not None:
        path, key = path
        if _MEDIA_FIELD.search(key):
            return False
    return True


def _format_path(path: _Path) -> str:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return "$" + "".join(f".{key}" for key in reversed(keys))[:_MAX_PATH_LENGTH]
