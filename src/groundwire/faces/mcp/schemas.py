"""What the tools give back, as JSON Schema. Open objects: the extension `groundwire` may stand in them."""

from __future__ import annotations

from groundwire.model import JsonObject

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

CONTRACT: JsonObject = {
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

RESULTS: JsonObject = {
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

DOCUMENT: JsonObject = {
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
