"""OpenRouter, Responses API, with its server tool `openrouter:web_search`.

The `web` plugin is deprecated; a user who wants it sets `search_form = "plugin"` in the configuration.
"""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.model import Json, JsonObject, Request
from groundwire.providers.base import Row, path
from groundwire.providers.capabilities import Capabilities

_RENAMED = {"blocked_domains": "excluded_domains"}
_TAKEN = ("search_context_size", "user_location")


def adjust(body: JsonObject, request: Request) -> JsonObject:
    """The search declaration in OpenRouter's own form, which takes more options than OpenAI's."""
    tools = body.get("tools")
    if request.search is None or not isinstance(tools, list):
        return body
    return {**body, "tools": [_server_tool(tool, request) for tool in tools]}


def _server_tool(tool: Json, request: Request) -> Json:
    if not isinstance(tool, dict) or not str(tool.get("type", "")).startswith("web_search"):
        return tool
    parameters: JsonObject = {key: tool[key] for key in _TAKEN if key in tool}
    filters = tool.get("filters")
    for key, entries in filters.items() if isinstance(filters, dict) else ():
        parameters[_RENAMED.get(key, key)] = entries
    options = request.search
    if options is not None and options.max_uses is not None:
        parameters["max_uses"] = options.max_uses
    if options is not None and options.max_sources is not None:
        parameters["max_results"] = options.max_sources
    return {"type": "openrouter:web_search", "parameters": parameters}


ROW = Row(
    name="openrouter",
    title="OpenRouter",
    dialect="openai_responses",
    base_url="https://openrouter.ai/api/v1",
    url=path("/responses"),
    model="openai/o4-mini",
    lookups=(
        Lookup("environment", "OPENROUTER_API_KEY"),
        Lookup("opencode", "openrouter", "api"),
        Lookup("own", "openrouter"),
    ),
    missing="MISSING_OPENROUTER_API_KEY",
    advice="Set OPENROUTER_API_KEY, or log in with OpenCode.",
    adjust=adjust,
    capabilities=Capabilities(
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "location": "native",
            "max_uses": "native",
            "max_sources": "native",
            "context_size": "native",
        }
    ),
)
