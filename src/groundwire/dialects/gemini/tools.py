"""Function tools, tool choice and schemas: `tools` and `toolConfig`.

An entry of `tools` usually has one key, and may have several. The function calling config is rejected where
no function is declared. Search and functions together need `includeServerSideToolInvocations`, except on
Vertex AI, and then the mode is VALIDATED instead of AUTO.

Schemas of this wire have upper-case types and `nullable`. Clients write upper-case types under either name
(`parameters`, `parametersJsonSchema`), so both are decoded to JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.search import (
    DECLARED_SEARCH_TOOLS,
    NAME,
    decode_search,
    encode_search,
    extras_of,
    is_vertex,
)
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.proto_json import many, snake_case
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Request,
    SearchOptions,
    Tool,
    ToolChoice,
)

_SCHEMA_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def decode_schema(schema: JsonObject) -> JsonObject:
    """Decode a schema to JSON Schema."""
    found: JsonObject = {}
    for key, value in schema.items():
        name = _CAMEL_CASE.get(key, key)
        found[name] = _SCHEMA_DECODERS[name](value) if name in _SCHEMA_DECODERS else value
    nullable = found.pop("nullable", None)
    found.pop("propertyOrdering", None)
    kind = found.get("type")
    if nullable is True and isinstance(kind, str):
        found["type"] = [kind, "null"]
    return found


def _decode_type(value: Json) -> Json:
    if isinstance(value, list):
        return [_decode_type(item) for item in value]
    return value.lower() if isinstance(value, str) and value in _SCHEMA_TYPES else value


def _decode_nested(value: Json) -> Json:
    if isinstance(value, list):
        return [_decode_nested(item) for item in value]
    return decode_schema(value) if isinstance(value, dict) else value


def _decode_named(value: Json) -> Json:
    return {name: _decode_nested(item) for name, item in value.items()} if isinstance(value, dict) else value


def _decode_count(value: Json) -> Json:
    # 64-bit numbers are strings on this wire.
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


_COUNT_KEYWORDS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")

_SCHEMA_DECODERS: dict[str, Callable[[Json], Json]] = {
    "type": _decode_type,
    "properties": _decode_named,
    "$defs": _decode_named,
    "items": _decode_nested,
    "prefixItems": _decode_nested,
    "anyOf": _decode_nested,
    "oneOf": _decode_nested,
    "allOf": _decode_nested,
    "additionalProperties": _decode_nested,
    **dict.fromkeys(_COUNT_KEYWORDS, _decode_count),
}

_CAMEL_CASE = {
    snake_case(name): name
    for name in (*_COUNT_KEYWORDS, "prefixItems", "anyOf", "additionalProperties", "propertyOrdering")
}

INCLUDE_SERVER_PARTS = "includeServerSideToolInvocations"
_FUNCTIONS_KEY = "functionDeclarations"
_CALLING_KEY = "functionCallingConfig"


class DecodedTools(NamedTuple):
    """Decoded `tools` and `toolConfig`; `config` is the part of the tool config without a canonical form."""

    tools: tuple[Tool, ...]
    search: SearchOptions | None
    choice: ToolChoice | None
    config: JsonObject


class EncodedTools(NamedTuple):
    """Encoded `tools` and `toolConfig`, and the names of options they cannot express."""

    tools: list[Json]
    config: JsonObject
    unsupported: list[str]


def decode_tools(body: Fields) -> DecodedTools:
    """Decode the tools of a request, and the tool choice."""
    config = body.obj("toolConfig")
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for entry in many(body, "tools"):
        tools += map(_decode_function, many(entry, _FUNCTIONS_KEY))
        for key, value in entry.rest(_FUNCTIONS_KEY).items():
            name = next((name for name in DECLARED_SEARCH_TOOLS if key in (name, snake_case(name))), None)
            if name is not None and search is None:
                search = decode_search(name, entry, config.obj("retrievalConfig"))
            else:
                tools.append(OpaqueTool(NAME, {key: value}))
    known = (_CALLING_KEY, "retrievalConfig") if search is not None else (_CALLING_KEY,)
    rest = config.rest(*known, INCLUDE_SERVER_PARTS)
    if config.flag(INCLUDE_SERVER_PARTS):
        rest[INCLUDE_SERVER_PARTS] = True
    choice, kept = _decode_choice(config.obj(_CALLING_KEY), searches=search is not None)
    return DecodedTools(tuple(tools), search, choice, {**rest, **kept})


def encode_tools(request: Request, rest: JsonObject) -> EncodedTools:
    """Encode the tools of a request; `rest` is the tool config that the client sent in this dialect."""
    functions = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    opaque = [tool for tool in request.tools if isinstance(tool, OpaqueTool)]
    tools: list[Json] = [tool.data for tool in opaque if tool.dialect == NAME]
    unsupported = ["opaque_tools"] if len(tools) < len(opaque) else []
    config: JsonObject = dict(rest)
    searches = request.search is not None and (
        _CALLING_KEY in rest or not _forbids_tools(request.tool_choice)
    )
    if request.search is not None and searches:
        declaration = encode_search(request.search)
        tools.append(declaration.tool)
        unsupported += declaration.unsupported
        if declaration.retrieval:
            config["retrievalConfig"] = declaration.retrieval
    if functions:
        tools.append({_FUNCTIONS_KEY: [_encode_function(tool) for tool in functions]})
        unsupported += ["strict"] if any(tool.strict for tool in functions) else []
        if searches and not is_vertex(request.search):
            config[INCLUDE_SERVER_PARTS] = True
    calling = _encode_choice(request.tool_choice, functions, mixed=INCLUDE_SERVER_PARTS in config)
    if calling:
        config.setdefault(_CALLING_KEY, calling)
    elif _is_unsupported_choice(request.tool_choice) and _CALLING_KEY not in rest:
        unsupported.append("tool_choice")
    return EncodedTools(tools, config, unsupported)


def _decode_function(function: Fields) -> FunctionTool:
    """Decode a function declaration; a native schema is kept in addition to its JSON Schema."""
    name = function.text("name")
    if not name:
        raise function.fault("a function must have a name", "name")
    native = function.obj("parameters").raw
    schema = function.obj("parametersJsonSchema").raw or native
    rest = function.rest("name", "description", "parameters", "parametersJsonSchema")
    if native:
        rest["parameters"] = native
    return FunctionTool(
        name,
        function.text("description"),
        decode_schema(schema) if schema else None,
        extras=extras_of(rest),
    )


def _encode_function(tool: FunctionTool) -> JsonObject:
    rest = tool.extras.get(NAME, {})
    declaration: JsonObject = {"name": tool.name}
    if tool.description:
        declaration["description"] = tool.description
    if tool.parameters is not None and "parameters" not in rest:
        declaration["parametersJsonSchema"] = tool.parameters
    return {**declaration, **rest}


def _decode_choice(calling: Fields, *, searches: bool) -> tuple[ToolChoice | None, JsonObject]:
    """Decode the tool choice, and keep the config itself where the choice does not express all of it.

    NONE applies to functions only: search stays on. Whether arguments are streamed
    (`streamFunctionCallArguments`) is decided separately for each connection.
    """
    mode = calling.text("mode").upper()
    names = calling.texts("allowedFunctionNames")
    kept: JsonObject = {_CALLING_KEY: calling.rest("streamFunctionCallArguments")}
    if mode == "ANY":
        if len(names) == 1:
            return ToolChoice("function", names[0]), {}
        return ToolChoice("required"), kept if names else {}
    if mode == "NONE":
        return ToolChoice("none"), kept if searches else {}
    if mode == "AUTO":
        return ToolChoice("auto"), kept if names else {}
    if mode == "VALIDATED":
        return ToolChoice("auto"), kept
    return None, {}


def _encode_choice(
    choice: ToolChoice | None, functions: Iterable[FunctionTool], *, mixed: bool
) -> JsonObject:
    if choice is None or not functions:
        return {}
    if choice.mode == "function":
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    modes = {"auto": "VALIDATED" if mixed else "AUTO", "none": "NONE", "required": "ANY"}
    return {"mode": modes[choice.mode]} if choice.mode in modes else {}


def _forbids_tools(choice: ToolChoice | None) -> bool:
    return choice is not None and choice.mode == "none"


def _is_unsupported_choice(choice: ToolChoice | None) -> bool:
    """Whether the choice has no form: search cannot be forced, and without functions nothing can be
    required."""
    return choice is not None and choice.mode in ("search", "required", "function")


def client_tool_config(request: Request) -> JsonObject:
    """The tool config that the client sent in this dialect."""
    return as_object(request.extras.get(NAME, {}).get("toolConfig"))


NO_ID = "no_id"
"""Set in the extras of a call or a result that had no id."""


def decode_arguments(arguments: str) -> JsonObject:
    """Decode the arguments of a call to an object; text that is not an object is wrapped in one."""
    found = parse_object(arguments)
    if found is not None:
        return found
    return {"arguments": arguments} if arguments.strip() else {}


def encode_arguments(arguments: JsonObject) -> str:
    """Encode the arguments of a call as JSON text."""
    return dump_json(arguments) if arguments else "{}"


def parse_object(text: str) -> JsonObject | None:
    """Parse a text as a JSON object; None if it is not one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = load_json(text, UpstreamWireError)
    except UpstreamWireError:
        return None
    return value if isinstance(value, dict) else None
