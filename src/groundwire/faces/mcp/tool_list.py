"""The tool list: definitions of the tools with input and output schemas.

Output schemas are open objects: results may contain the extension `groundwire`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.client_protocol import SearchClient
from groundwire.model import JsonObject
from groundwire.tools import TOOLS, geminisearch
from groundwire.tools.registry import ARGUMENTS, AUTO, Texts, ToolSpec

_ERROR: JsonObject = {
    "type": "object",
    "description": "Only if the call failed.",
    "properties": {"message": {"type": "string"}, "type": {"type": "string"}},
    "required": ["message"],
}
_WEB: JsonObject = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "uri": {"type": "string"}},
}

SEARCH_TOOL_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "llmContent": {"type": "string", "description": "The answer with [n] markers and its sources."},
        "returnDisplay": {"type": "string", "description": "One line for the user."},
        "sources": {
            "type": "array",
            "description": "The first has number 1.",
            "items": {"type": "object", "properties": {"web": _WEB}},
        },
        "error": _ERROR,
    },
    "required": ["llmContent", "returnDisplay"],
}
"""The result of every search tool."""

SEARCH_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "What `fetch` takes."},
                    "title": {"type": "string"},
                    "url": {"type": "string"},
                    "text": {"type": "string", "description": "A passage of the page, if one is known."},
                },
                "required": ["id", "title", "url"],
            },
        },
        "error": _ERROR,
    },
    "required": ["results"],
}
"""The result of `search`."""

FETCH_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "text": {"type": "string", "description": "The text of the page."},
        "url": {"type": "string"},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "error": _ERROR,
    },
    "required": ["id", "title", "text", "url"],
}
"""The result of `fetch`."""


VERIFY_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "Does no citation fail?"},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "citations": {
            "type": "array",
            "description": "The facts about each citation, in the order given.",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string"},
                    "url": {"type": "string"},
                    "standing": {"type": "string", "enum": ["supported", "open", "failed", "unchecked"]},
                    "address": {"type": "object"},
                    "quote": {"type": "object"},
                    "claimed": {"type": "object"},
                },
                "required": ["standing"],
            },
        },
        "error": _ERROR,
    },
    "required": ["ok", "citations"],
}
"""The result of `verify_citations`."""

MOST_CITATIONS = 100

SEARCH = "search"
FETCH = "fetch"
VERIFY = "verify_citations"
NAMES = (*TOOLS, SEARCH, FETCH, VERIFY)
"""Every tool that can be called, listed or not."""

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


_VERIFY: Texts = {
    "en": "Reads the pages that citations name, and says of each whether the address works, whether the "
    "quote is there, and what the page has of the claim: word for word, another number or name, the "
    "opposite, or nothing. Only pages that a search here has found, or that are indexed, are read.",
    "de": "Liest die Seiten, die Belege nennen, und sagt zu jedem, ob die Adresse stimmt, ob das Zitat dort "
    "steht und was die Seite von der Aussage hat: wörtlich, eine andere Zahl oder einen anderen Namen, das "
    "Gegenteil oder nichts. Gelesen werden nur Seiten, die hier gefunden wurden oder erfasst sind.",
}
_CITATION_FIELDS: Mapping[str, Texts] = {
    "claim": {"en": "What is claimed, one sentence.", "de": "Was behauptet wird, ein Satz."},
    "url": {"en": "The address of the cited page.", "de": "Die Adresse der genannten Seite."},
    "quote": {
        "en": "The passage of the page that is quoted, if any.",
        "de": "Die Stelle der Seite, die zitiert wird, falls es eine gibt.",
    },
}


def tool_definitions(client: SearchClient, language: str = "en", *, every: bool = False) -> list[JsonObject]:
    """The definitions of the tools whose provider is usable; of all tools with `every`."""
    tools = TOOLS.values() if every else _usable(client)
    own = _search(language), _fetch(language), _verify(language)
    return [*(_definition(tool, language) for tool in tools), *own]


def _usable(client: SearchClient) -> Iterator[ToolSpec]:
    key = geminisearch.key_of(client.config)
    client.add(geminisearch.row_of(client.config), key)
    usable = client.usable()
    for tool in TOOLS.values():
        if tool.provider == AUTO or usable.get(tool.provider) or (key and tool.provider == geminisearch.NAME):
            yield tool


def _definition(tool: ToolSpec, language: str) -> JsonObject:
    return {
        "name": tool.name,
        "title": _TITLES.get(tool.name, tool.name),
        "description": tool.description[language],
        "inputSchema": tool.parameters(language),
        "outputSchema": SEARCH_TOOL_OUTPUT,
        "annotations": _annotations(open_world=tool.provider != "local"),
    }


def _search(language: str) -> JsonObject:
    return {
        "name": SEARCH,
        "title": "Find pages",
        "description": _SEARCH[language],
        "inputSchema": _one_argument("query", ARGUMENTS["query"][language]),
        "outputSchema": SEARCH_OUTPUT,
        "annotations": _annotations(open_world=True),
    }


def _fetch(language: str) -> JsonObject:
    return {
        "name": FETCH,
        "title": "Read a page",
        "description": _FETCH[language],
        "inputSchema": _one_argument("id", _ID[language]),
        "outputSchema": FETCH_OUTPUT,
        "annotations": _annotations(open_world=True),
    }


def _verify(language: str) -> JsonObject:
    fields: JsonObject = {
        name: {"type": "string", "description": texts[language]} for name, texts in _CITATION_FIELDS.items()
    }
    citation: JsonObject = {
        "type": "object",
        "properties": fields,
        "required": ["claim", "url"],
        "additionalProperties": False,
    }
    return {
        "name": VERIFY,
        "title": "Verify citations",
        "description": _VERIFY[language],
        "inputSchema": {
            "type": "object",
            "properties": {
                "citations": {"type": "array", "items": citation, "minItems": 1, "maxItems": MOST_CITATIONS}
            },
            "required": ["citations"],
            "additionalProperties": False,
        },
        "outputSchema": VERIFY_OUTPUT,
        "annotations": _annotations(open_world=True),
    }


def _one_argument(name: str, description: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": 1, "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


def _annotations(*, open_world: bool) -> JsonObject:
    return {"readOnlyHint": True, "openWorldHint": open_world}
