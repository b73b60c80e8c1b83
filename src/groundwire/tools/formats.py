"""Our tools as definitions for other APIs."""

from __future__ import annotations

from groundwire.model import Json, JsonObject
from groundwire.tools.registry import TOOLS
from groundwire.tools.schemas import localized, pick
from groundwire.tools.special import DEFINITIONS, convert

MCP = "mcp"


def tools_in(form: str, language: str = "en") -> list[Json]:
    """Every tool in one of the formats: an API of `special.APIS`, or MCP."""
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
    return convert(generic, form, language)


def special_tools_in(form: str, language: str = "en") -> list[Json]:
    """The special tools as an API declares its own search; without a format, their definitions."""
    if form == MCP:
        return []  # a client's model has its own search, or none: a server cannot offer it
    if form:
        return convert(DEFINITIONS, form, language)
    return [_localized(definition, language) for definition in DEFINITIONS]


def _localized(definition: JsonObject, language: str) -> JsonObject:
    parameters = definition["parameters"]
    return {
        **definition,
        "name": pick(definition["name"], language),
        "description": pick(definition["description"], language),
        "parameters": localized(parameters, language) if isinstance(parameters, dict) else parameters,
    }


def _mcp(name: str, language: str) -> JsonObject:
    tool = TOOLS[name]
    return {
        "name": tool.name,
        "description": tool.description[language],
        "inputSchema": tool.parameters(language),
        "annotations": {"readOnlyHint": True, "openWorldHint": tool.provider != "local"},
    }
