"""Our tools as definitions for other APIs."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.model import Json, JsonObject
from groundwire.tools.registry import TOOLS
from groundwire.tools.special import convert

DIALECTS: Mapping[str, str] = {
    "openai-responses": "openai_responses",
    "openai-chat": "openai_chat",
    "anthropic": "anthropic_messages",
    "gemini": "gemini",
}
MCP = "mcp"


def tools_in(form: str, language: str = "en") -> list[Json]:
    """Every tool in one of the formats: those of `DIALECTS`, or MCP's."""
    if form == MCP:
        return [_mcp(name, language) for name in TOOLS]
    generic: list[JsonObject] = [
        {
            "id": tool.name,
            "description": tool.description[language],
            "parameters": tool.parameters(language),
        }
        for tool in TOOLS.values()
    ]
    return convert(generic, DIALECTS[form], language)


def _mcp(name: str, language: str) -> JsonObject:
    tool = TOOLS[name]
    return {
        "name": tool.name,
        "description": tool.description[language],
        "inputSchema": tool.parameters(language),
        "annotations": {"readOnlyHint": True, "openWorldHint": tool.provider != "local"},
    }
