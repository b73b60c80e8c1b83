"""The lists of sources that answers carry beside their text, in every accent.

| field | who | entries |
|---|---|---|
| `citations` | Perplexity, xAI | addresses, or objects with one |
| `search_results` | Perplexity, Baidu | pages |
| `search_info.search_results` | Qwen (DashScope), Tencent Hunyuan | pages with an `index` |
| `web_search` | GLM (Z.ai) | pages with a `link`, which may be empty, and `refer` (`ref_1`) |
| `context.citations` | Azure OpenAI on your data | passages of documents |

They are fields of the response, or of its message. Streams tell them once, in the first and last chunk, or in
every chunk. Markers in the text name entries by number: the one an entry has, else its place in the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from groundwire.dialects.fields import as_object
from groundwire.dialects.openai_chat.annotations import decode_page
from groundwire.model import Json, JsonObject, Source
from groundwire.text.urls import safe_url

_ADDRESSES = "citations"
_INSIDE = {"search_info": "search_results", "context": "citations"}
LIST_FIELDS = (_ADDRESSES, "search_results", "search_info", "web_search", "context")
_REFERENCE = re.compile(r"\D*(\d{1,3})\D*")


class SourceLists:
    """Collects the lists while an answer comes in. They may come at once, piecewise or again."""

    __slots__ = ("_entries", "pages")

    def __init__(self) -> None:
        self._entries: dict[str, list[Json]] = {}
        self.pages: tuple[Source, ...] = ()
        """Every page found, each address once; another value as soon as there are more."""

    @property
    def has_addresses(self) -> bool:
        """Is there a list of what was cited, not only of what was found?"""
        return bool(self._entries.get(_ADDRESSES))

    def read(self, holder: JsonObject) -> None:
        """Take the lists of a response, chunk, choice, message or delta."""
        grown = [key for key in LIST_FIELDS if key in holder and self._take(key, holder[key])]
        if any(key != _ADDRESSES for key in grown):
            found = (source for key in self._entries if key != _ADDRESSES for _, source in self._pages(key))
            self.pages = tuple({source.url or source.title: source for source in found}.values())

    def numbered(self, used: Iterable[int]) -> Mapping[int, Source]:
        """The sources that markers in the text name, by number; `used` are the numbers in the text."""
        key = next((key for key in LIST_FIELDS if self._entries.get(key)), "")
        if key == _ADDRESSES:
            return dict(enumerate(map(_decode_address, self._entries[key]), 1))
        sources = dict(self._pages(key)) if key else {}
        if 0 in sources and 0 not in used:
            return {number + 1: source for number, source in sources.items()}
        return sources

    def _take(self, key: str, value: Json) -> bool:
        if key in _INSIDE:
            value = as_object(value).get(_INSIDE[key])
        known = self._entries.get(key, [])
        if not isinstance(value, list) or not value or value == known:
            return False
        # Usually each telling repeats the one before; some streams tell every entry once.
        self._entries[key] = value if value[: len(known)] == known else known + _new(value, known)
        return True

    def _pages(self, key: str) -> Iterable[tuple[int, Source]]:
        pages = [as_object(entry) for entry in self._entries[key]]
        numbers = [_number(page) for page in pages]
        if None in numbers or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(pages) + 1))
        sources = ((number, decode_page(page)) for number, page in zip(numbers, pages, strict=True))
        return [
            (number, source)
            for number, source in sources
            if number is not None and (source.url or source.title)
        ]


def _new(entries: list[Json], known: list[Json]) -> list[Json]:
    return [entry for entry in entries if entry not in known]


def _number(page: JsonObject) -> int | None:
    """The number that an entry has: `"refer": "ref_3"`, `"index": 3`. (GLM's `index` is the search round.)"""
    refer, index = page.get("refer"), page.get("index")
    if isinstance(refer, str) and (match := _REFERENCE.fullmatch(refer)):
        return int(match[1])
    return index if type(index) is int and 0 <= index < 1000 else None


def _decode_address(item: Json) -> Source:
    """An address, or an object that holds one; an unusable entry keeps its number."""
    if isinstance(item, dict):
        return decode_page(item)
    return Source(safe_url(item) if isinstance(item, str) else "")
