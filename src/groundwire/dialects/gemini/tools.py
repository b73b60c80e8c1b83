"""`tools` and `toolConfig`: functions, the search, and what only Google has.

An entry of `tools` has one key as a rule, and may have several. The config of function calling is refused
where no function is declared. Search and functions together need `includeServerSideToolInvocations`, except
on Vertex AI, and then the mode is VALIDATED in the place of AUTO.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.schemas import decode_schema
from groundwire.dialects.gemini.search import SEARCH_TOOLS, decode_search, encode_search, is_vertex
from groundwire.dialects.proto_json import NAME, extras_of, many, snake_case
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

SERVER_PARTS = "includeServerSideToolInvocations"
_FUNCTIONS = "functionDeclarations"
_CALLING = "functionCallingConfig"


class Toolbox(NamedTuple):
    """What a request offers the model; `config` is what of the tool config has no canonical place."""

    tools: tuple[Tool, ...]
    search: SearchOptions | None
    choice: ToolChoice | None
    config: JsonObject


class EncodedToolbox(NamedTuple):
    """`tools` and `toolConfig`, and what they leave unsaid."""

    tools: list[Json]
    config: JsonObject
    unsupported: list[str]


def decode_tools(body: Fields) -> Toolbox:
    """The tools of a request, and how they may be used."""
    config = body.obj("toolConfig")
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for entry in many(body, "tools"):
        tools += map(_decode_function, many(entry, _FUNCTIONS))
        for key, value in entry.rest(_FUNCTIONS).items():
            name = next((name for name in SEARCH_TOOLS if key in (name, snake_case(name))), None)
            if name is not None and search is None:
                search = decode_search(name, entry, config.obj("retrievalConfig"))
            else:
                tools.append(OpaqueTool(NAME, {key: value}))
    known = (_CALLING, "retrievalConfig") if search is not None else (_CALLING,)
    rest = config.rest(*known, SERVER_PARTS)
    if config.flag(SERVER_PARTS):
        rest[SERVER_PARTS] = True
    choice, kept = _decode_choice(config.obj(_CALLING), searches=search is not None)
    return Toolbox(tuple(tools), search, choice, {**rest, **kept})


def encode_tools(request: Request, rest: JsonObject) -> EncodedToolbox:
    """The tools of a request; `rest` is what its own dialect had said in the config."""
    functions = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    opaque = [tool for tool in request.tools if isinstance(tool, OpaqueTool)]
    tools: list[Json] = [tool.data for tool in opaque if tool.dialect == NAME]
    unsupported = ["opaque_tools"] if len(tools) < len(opaque) else []
    config: JsonObject = dict(rest)
    searches = request.search is not None and (_CALLING in rest or not _forbids(request.tool_choice))
    if request.search is not None and searches:
        declaration = encode_search(request.search)
        tools.append(declaration.tool)
        unsupported += declaration.unsupported
        if declaration.retrieval:
            config["retrievalConfig"] = declaration.retrieval
    if functions:
        tools.append({_FUNCTIONS: [_encode_function(tool) for tool in functions]})
        unsupported += ["strict"] if any(tool.strict for tool in functions) else []
        if searches and not is_vertex(request.search):
            config[SERVER_PARTS] = True
    calling = _encode_choice(request.tool_choice, functions, mixed=SERVER_PARTS in config)
    if calling:
        config.setdefault(_CALLING, calling)
    elif _is_unsaid(request.tool_choice) and _CALLING not in rest:
        unsupported.append("tool_choice")
    return EncodedToolbox(tools, config, unsupported)


def _decode_function(function: Fields) -> FunctionTool:
    """A declaration; a schema of the wire's own kind is kept beside its JSON Schema."""
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
    """The choice, and the config itself where the choice does not say all of it.

    NONE is about functions alone: a search beside them goes on. Whether arguments come in pieces
    (`streamFunctionCallArguments`) is between two ends of a wire, and each of ours decides for itself.
    """
    mode = calling.text("mode").upper()
    names = calling.texts("allowedFunctionNames")
    kept: JsonObject = {_CALLING: calling.rest("streamFunctionCallArguments")}
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


def _forbids(choice: ToolChoice | None) -> bool:
    return choice is not None and choice.mode == "none"


def _is_unsaid(choice: ToolChoice | None) -> bool:
    """Nobody can be made to search, and without functions nothing can be required."""
    return choice is not None and choice.mode in ("search", "required", "function")


def asked_config(request: Request) -> JsonObject:
    """What the request's own dialect had said in its tool config."""
    return as_object(request.extras.get(NAME, {}).get("toolConfig"))
