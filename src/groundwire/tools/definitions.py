"""Tool definitions for other APIs, and the special tools that a provider runs itself.

`webSearch` means the own search of the provider; `googleSearch` means that of Google, so that only Gemini has
it. A generic tool is `{"id", "name", "description", "parameters", …}`, with texts as strings or by language;
options of a search are next to them (`filters`, `user_location`, `external_web_access`). Unknown special
tools are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import ClientWireError, InvalidArguments, UnsupportedFeature
from groundwire.model import FunctionTool, Json, JsonObject, Location, Message, Request, SearchOptions, Text
from groundwire.model.value import value
from groundwire.providers.policy import RESTRICTIONS, check_domains
from groundwire.tools.registry import TOOLS
from groundwire.tools.schemas import EMPTY, KEYWORDS, is_strictable, limited, localized, pick, strict

WEB_SEARCH = "webSearch"
GOOGLE_SEARCH = "googleSearch"

APIS: Mapping[str, str] = {
    "openai-responses": "openai_responses",
    "openai-chat": "openai_chat",
    "openai": "openai_chat",
    "anthropic": "anthropic_messages",
    "gemini": "gemini",
    "google": "gemini",
}
"""The dialects by the names that lists of generic tools give them."""

_GOOGLES = frozenset({"gemini", "gemini_interactions"})
_STRICT = frozenset({"openai_responses", "openai_chat"})
"""Dialects that get `strict`. Anthropic supports it, but refuses requests whose strict schemas are too large
together."""

DEFINITIONS: tuple[JsonObject, ...] = (
    {
        "id": WEB_SEARCH,
        "name": {"en": "Web search", "de": "Websuche"},
        "description": {
            "en": "Lets the model look things up on the web with its provider's own search, and cite them.",
            "de": "Lässt das Modell mit der Suche seines Anbieters im Web nachsehen und Quellen nennen.",
        },
        "provider": "openai-responses",
        "isSpecialTool": True,
        "parameters": {
            "type": "object",
            "properties": {
                "filters": {
                    "type": "object",
                    "description": {
                        "en": "Which results are wanted.",
                        "de": "Welche Ergebnisse gewünscht sind.",
                    },
                    "properties": {
                        "allowed_domains": {
                            "type": "array",
                            "items": {"type": "string"},
                            "maxItems": 100,
                            "description": {
                                "en": "Search only these sites, at most 100: ['python.org', 'sqlite.org'].",
                                "de": "Nur auf diesen Seiten suchen, höchstens 100: "
                                "['python.org', 'sqlite.org'].",
                            },
                        }
                    },
                },
                "user_location": {
                    "type": "object",
                    "description": {
                        "en": "Roughly where the user is, for results nearby.",
                        "de": "Ungefähr wo der Nutzer ist, für Ergebnisse aus der Nähe.",
                    },
                    "properties": {
                        "type": {"type": "string", "enum": ["approximate"], "default": "approximate"},
                        "country": {
                            "type": "string",
                            "description": {"en": "ISO country code", "de": "ISO-Ländercode"},
                        },
                        "city": {"type": "string", "description": {"en": "City", "de": "Stadt"}},
                        "region": {"type": "string", "description": {"en": "Region", "de": "Region"}},
                        "timezone": {
                            "type": "string",
                            "description": {"en": "IANA time zone", "de": "IANA-Zeitzone"},
                        },
                    },
                },
                "external_web_access": {
                    "type": "boolean",
                    "default": True,
                    "description": {
                        "en": "true: fetch pages live; false: use only what is stored.",
                        "de": "true: Seiten frisch abrufen; false: nur Gespeichertes verwenden.",
                    },
                },
            },
        },
    },
    {
        "id": GOOGLE_SEARCH,
        "name": {"en": "Google Search", "de": "Google-Suche"},
        "description": {
            "en": "Lets a Gemini model look things up with Google Search, and cite them.",
            "de": "Lässt ein Gemini-Modell mit der Google-Suche nachsehen und Quellen nennen.",
        },
        "provider": "google",
        "isSpecialTool": True,
        "parameters": {"type": "object", "properties": {}},
    },
)


@value
class ToolOffer:
    """Functions and search options of a list of generic tools."""

    functions: tuple[FunctionTool, ...] = ()
    search: SearchOptions | None = None


def read_tools(tools: Sequence[JsonObject], name: str, language: str = "en") -> ToolOffer:
    """Read a list of generic tools for a dialect."""
    functions: list[FunctionTool] = []
    search: SearchOptions | None = None
    for tool in tools:
        identity = pick(tool.get("id"), language) or pick(tool.get("name"), language)
        if identity == WEB_SEARCH:
            search = _search_options(tool)
        elif identity == GOOGLE_SEARCH:
            search = search or (SearchOptions() if name in _GOOGLES else None)
        elif tool.get("isSpecialTool") is not True:
            functions.append(_function(tool, identity, name, language))
    return ToolOffer(tuple(functions), search)


def convert(tools: Sequence[JsonObject], name: str, language: str = "en") -> list[Json]:
    """The entries of a request's `tools`, for a dialect or an API of `APIS`.

    Search has no entry where the API has none, or declares it elsewhere.
    """
    name = APIS.get(name, name)
    if name not in DIALECTS:
        known = ", ".join(sorted({*APIS, *DIALECTS}))
        raise InvalidArguments(f"{name!r} is not an API that takes tools; choose one of: {known}")
    offer = read_tools(tools, name, language)
    request = Request((Message("user", (Text("?"),)),), tools=offer.functions, search=offer.search)
    body, unsupported = dialect(name).encode_request(request)
    broken = sorted(RESTRICTIONS.intersection(unsupported))
    if broken:
        raise UnsupportedFeature(f"{name} cannot honour {', '.join(broken)}; leave it out for this provider")
    entries = body.get("tools") or as_object(body.get("toolConfig")).get("tools")
    return entries if isinstance(entries, list) else []


def _search_options(tool: JsonObject) -> SearchOptions:
    fields = Fields(tool, ClientWireError)
    try:
        user_location = fields.obj("user_location")
        location = Location(
            user_location.text("country"),
            user_location.text("region"),
            user_location.text("city"),
            user_location.text("timezone"),
        )
        options = SearchOptions(
            allowed_domains=fields.obj("filters").texts("allowed_domains"),
            location=location if location != Location() else None,
            live=fields.flag("external_web_access"),
        )
        check_domains(options)
    except (ClientWireError, InvalidArguments) as error:
        raise InvalidArguments(f"{WEB_SEARCH}: {error.message}") from None
    return options


def _function(tool: JsonObject, identity: str, name: str, language: str) -> FunctionTool:
    if not identity:
        raise InvalidArguments("a tool needs an id or a name")
    given = tool.get("parameters")
    schema = localized(given if isinstance(given, dict) else EMPTY, language)
    keywords = KEYWORDS.get(name)
    fits = is_strictable(schema)
    return FunctionTool(
        identity,
        pick(tool.get("description"), language),
        limited(strict(schema), keywords) if fits else _loose(schema, keywords, name),
        strict=fits if name in _STRICT else None,
    )


def _loose(schema: JsonObject, keywords: frozenset[str] | None, name: str) -> JsonObject:
    """A schema without a strict form: whole where the API has `strict`, else with the allowed keywords."""
    return schema if name in _STRICT else limited(schema, keywords)


MCP = "mcp"


def tools_in(format_: str, language: str = "en") -> list[Json]:
    """Every tool in one of the formats: an API of `APIS`, or MCP."""
    if format_ == MCP:
        return [_mcp(name, language) for name in TOOLS]
    generic: list[JsonObject] = [
        {
            "id": tool.name,
            "description": tool.description[language],
            "parameters": tool.parameters(language),
        }
        for tool in TOOLS.values()
    ]
    return convert(generic, format_, language)


def special_tools_in(format_: str, language: str = "en") -> list[Json]:
    """The special tools as an API declares its own search; without a format, their definitions."""
    if format_ == MCP:
        return []  # an MCP server cannot offer the own search of the model
    if format_:
        return convert(DEFINITIONS, format_, language)
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
