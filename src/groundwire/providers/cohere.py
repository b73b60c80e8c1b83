"""Cohere's Chat API, version 2, whose citations the compatible endpoint loses. It has no web search.

Its answers are read by the codec of OpenAI Chat. Requests are written from a Chat body: limits and choices
have other names, and one switch makes all functions strict. Documents that a client sends (`documents`,
`citation_options`) are passed on, and cited.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import as_object
from groundwire.model import Json, JsonObject, Request
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path

_SAME = (
    *("model", "stream", "temperature", "seed", "frequency_penalty", "presence_penalty", "logprobs"),
    *("documents", "citation_options", "safety_mode", "priority", "thinking", "max_tokens"),
)
_RENAMED: Mapping[str, str] = {"max_completion_tokens": "max_tokens", "top_p": "p", "top_k": "k"}
_CHOICES: Mapping[str, str] = {"required": "REQUIRED", "none": "NONE"}
_MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id")
_CARRIED = frozenset(
    {*_RENAMED, "stop", "tool_choice", "tools", "response_format", "reasoning_effort", "stream_options"}
)


def adjust(body: JsonObject, _: Request) -> JsonObject:
    """The body of version 2 from that of Chat."""
    chat: JsonObject = {name: body[name] for name in _SAME if body.get(name) is not None}
    chat |= {name: body[field] for field, name in _RENAMED.items() if body.get(field) is not None}
    chat["messages"] = [_message(as_object(message)) for message in _list(body.get("messages"))]
    stop = body.get("stop")
    if stop:
        chat["stop_sequences"] = stop if isinstance(stop, list) else [stop]
    chat |= _tools(_list(body.get("tools")), body.get("tool_choice"))
    if form := _response_format(as_object(body.get("response_format"))):
        chat["response_format"] = form
    if effort := body.get("reasoning_effort"):
        chat["thinking"] = {"type": "disabled" if effort == "none" else "enabled"}
    return chat


def _message(message: JsonObject) -> JsonObject:
    kept: JsonObject = {name: message[name] for name in _MESSAGE_FIELDS if message.get(name) is not None}
    return {**kept, "role": "system"} if kept.get("role") == "developer" else kept


def _tools(tools: list[Json], choice: Json) -> JsonObject:
    """The functions, and which of them must be called: a named one is required by leaving the others out."""
    functions = [as_object(as_object(tool).get("function")) for tool in tools]
    named = as_object(as_object(choice).get("function")).get("name")
    if named is not None:
        functions = [function for function in functions if function.get("name") == named]
    if not functions:
        return {}
    plain: list[Json] = [
        {"type": "function", "function": {name: item for name, item in function.items() if name != "strict"}}
        for function in functions
    ]
    adjusted: JsonObject = {"tools": plain}
    if all(function.get("strict") is True for function in functions):
        adjusted["strict_tools"] = True
    wanted = "REQUIRED" if named is not None else _CHOICES.get(choice if isinstance(choice, str) else "")
    return {**adjusted, "tool_choice": wanted} if wanted else adjusted


def _response_format(form: JsonObject) -> JsonObject:
    match form.get("type"):
        case "json_schema":
            schema = as_object(form.get("json_schema")).get("schema")
            return {"type": "json_object", "json_schema": schema}
        case "json_object":
            return {"type": "json_object"}
    return {}


def _list(content: Json) -> list[Json]:
    return content if isinstance(content, list) else []


COHERE = ProviderSpec(
    name="cohere",
    title="Cohere",
    dialect="openai_chat",
    base_url="https://api.cohere.com",
    url=path("/v2/chat"),
    model=default_model("cohere"),
    family=r"command-a(?:-plus)?-\d\d-\d{4}",
    lookups=(
        Lookup("environment", "CO_API_KEY"),
        Lookup("environment", "COHERE_API_KEY"),
        Lookup("opencode", "cohere", "api"),
        Lookup("own", "cohere"),
    ),
    missing="MISSING_CO_API_KEY",
    advice="Set CO_API_KEY, or run `groundwire login cohere`.",
    adjust=adjust,
    carried=_CARRIED,
    passes_through=False,
    models_page="https://docs.cohere.com/docs/models",
    capabilities=Capabilities(search="none"),
)
