"""Which tools are offered, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from groundwire.engine.pages import Page
from groundwire.faces.mcp.schemas import CONTRACT, DOCUMENT, RESULTS
from groundwire.model import JsonObject
from groundwire.tools import TOOLS, geminisearch
from groundwire.tools.registry import ARGUMENTS, AUTO, Texts, ToolSpec
from groundwire.tools.run import Searcher

SEARCH = "search"
FETCH = "fetch"
NAMES = (*TOOLS, SEARCH, FETCH)
"""Every tool that can be called, offered or not."""

_TITLES: Mapping[str, str] = {
    "websearch": "Web search",
    "websearch_gemini": "Web search (Gemini)",
    "websearch_openai_oauth": "Web search (ChatGPT)",
    "websearch_openrouter": "Web search (OpenRouter)",
    "websearch_openai": "Web search (OpenAI)",
    "websearch_anthropic": "Web search (Claude)",
    "websearch_copilot": "Web search (Copilot)",
    "websearch_web": "Web search (live)",
    "websearch_local": "Search of indexed pages",
    "geminisearch": "Google Search (Gemini)",
}
_SEARCH: Texts = {
    "en": "Searches the web and returns the pages that were found, each with an id for `fetch`.",
    "de": "Durchsucht das Web und liefert die gefundenen Seiten, jede mit einer id für `fetch`.",
}
_FETCH: Texts = {
    "en": "Returns the text of a page that a search here has found, or that is indexed on this machine.",
    "de": "Liefert den Text einer Seite, die hier gefunden wurde oder auf diesem Rechner erfasst ist.",
}
_ID: Texts = {
    "en": "The id of a result of `search`, or the address of a source that a search here has named.",
    "de": "Die id eines Ergebnisses von `search` oder die Adresse einer hier gefundenen Quelle.",
}


class Asker(Searcher, Protocol):
    """What the server needs of a `Groundwire`."""

    def usable(self) -> Mapping[str, bool]:
        """Every provider, and whether it can be used now."""
        ...

    async def page(self, url: str, *, live: bool = ...) -> Page:
        """A page as it is stored; else, if `live`, as it is on the web now. Raises `GroundwireError`."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def offered(asker: Asker, language: str = "en", *, every: bool = False) -> list[JsonObject]:
    """The definitions of the tools that can be used now; of all with `every`."""
    tools = TOOLS.values() if every else _usable(asker)
    return [*(_defined(tool, language) for tool in tools), _search(language), _fetch(language)]


def _usable(asker: Asker) -> Iterator[ToolSpec]:
    key = geminisearch.key_of(asker.config)
    asker.add(geminisearch.row_of(asker.config), key)
    usable = asker.usable()
    for tool in TOOLS.values():
        if tool.provider == AUTO or usable.get(tool.provider) or (key and tool.provider == geminisearch.NAME):
            yield tool


def _defined(tool: ToolSpec, language: str) -> JsonObject:
    return {
        "name": tool.name,
        "title": _TITLES.get(tool.name, tool.name),
        "description": tool.description[language],
        "inputSchema": tool.parameters(language),
        "outputSchema": CONTRACT,
        "annotations": _annotations(open_world=tool.provider != "local"),
    }


def _search(language: str) -> JsonObject:
    return {
        "name": SEARCH,
        "title": "Find pages",
        "description": _SEARCH[language],
        "inputSchema": _takes("query", ARGUMENTS["query"][language]),
        "outputSchema": RESULTS,
        "annotations": _annotations(open_world=True),
    }


def _fetch(language: str) -> JsonObject:
    return {
        "name": FETCH,
        "title": "Read a page",
        "description": _FETCH[language],
        "inputSchema": _takes("id", _ID[language]),
        "outputSchema": DOCUMENT,
        "annotations": _annotations(open_world=True),
    }


def _takes(name: str, description: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": 1, "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


def _annotations(*, open_world: bool) -> JsonObject:
    return {"readOnlyHint": True, "openWorldHint": open_world}
