"""The tools, as data: name, provider, words for models in two languages, schema, error codes.

Provider tools take a query and nothing else; `websearch` takes where and how to search as well. Error codes
follow one pattern: `MISSING_…` comes from the provider, `<PROVIDER>_WEB_SEARCH_FAILED` from the tool.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.websearch.tools import UNIFIED_ARGUMENTS
from groundwire.dialects.websearch.tools import UNIFIED_TOOL as UNIFIED_NAME
from groundwire.model import Json, JsonObject
from groundwire.model.value import value
from groundwire.tools.texts import ARGUMENTS, DESCRIPTIONS, Texts

AUTO = "auto"


@value
class ToolSpec:
    """A tool."""

    name: str
    provider: str
    """Whom it asks; `auto` lets the configuration decide."""
    failed: str
    """The code when the search itself fails."""
    description: Texts
    arguments: tuple[str, ...] = ("query",)

    def parameters(self, language: str = "en") -> JsonObject:
        """What it takes, as JSON Schema."""
        properties: JsonObject = {name: _argument(name, language) for name in self.arguments}
        return {
            "type": "object",
            "properties": properties,
            "required": ["query"],
            "additionalProperties": False,
        }


def _argument(name: str, language: str) -> JsonObject:
    schema: JsonObject = {**_SCHEMAS.get(name, _STRING)}
    schema["description"] = ARGUMENTS[name][language]
    return schema


_STRING: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_DOMAINS: JsonObject = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
_SIZES: list[Json] = ["low", "medium", "high"]
_SCHEMAS: Mapping[str, JsonObject] = {
    "query": {"type": "string", "minLength": 1},
    "allowed_domains": _DOMAINS,
    "blocked_domains": _DOMAINS,
    "max_uses": _COUNT,
    "max_sources": _COUNT,
    "context_size": {"type": "string", "enum": _SIZES},
    "live": {"type": "boolean"},
}


def failure_code(provider: str) -> str:
    """The code when a provider's search fails; without one when nobody in particular was asked."""
    return "WEB_SEARCH_FAILED" if provider == AUTO else f"{provider.upper()}_WEB_SEARCH_FAILED"


def _of_provider(provider: str) -> ToolSpec:
    name = f"websearch_{provider}"
    return ToolSpec(name, provider, failure_code(provider), DESCRIPTIONS[name])


GEMINISEARCH = ToolSpec("geminisearch", "geminisearch", failure_code("gemini"), DESCRIPTIONS["geminisearch"])
WEBSEARCH = ToolSpec(UNIFIED_NAME, AUTO, failure_code(AUTO), DESCRIPTIONS[UNIFIED_NAME], UNIFIED_ARGUMENTS)

_PROVIDERS = ("gemini", "openai_oauth", "openrouter", "openai", "anthropic", "copilot", "web", "local")

TOOLS: Mapping[str, ToolSpec] = {
    tool.name: tool for tool in (WEBSEARCH, *map(_of_provider, _PROVIDERS), GEMINISEARCH)
}
"""Every tool by its name."""
