"""Mistral's Conversations API, which can search the web; Chat Completions cannot.

Its answers are read by the codec of OpenAI Responses. Requests are written from a Responses body: messages
and calls are `inputs`, sampling and limits are in `completion_args`, a function has an object of its own.
Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import as_object
from groundwire.model import Json, JsonObject, Request
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path

_ARGUMENTS: Mapping[str, str] = {
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
}
_CHOICES = frozenset({"auto", "none", "required"})
_CARRIED = frozenset({"input", "include", "text", "tool_choice", *_ARGUMENTS})


def adjust(body: JsonObject, _: Request) -> JsonObject:
    """The body of a conversation from that of a response."""
    items = body.get("input")
    entries: list[Json] = items if isinstance(items, list) else [{"role": "user", "content": items or ""}]
    instructions = [str(body.get("instructions") or ""), *_instructions(entries)]
    conversation: JsonObject = {
        "model": body.get("model"),
        "inputs": list(_inputs(entries)),
        "instructions": "\n\n".join(filter(None, instructions)),
        "tools": [_tool(as_object(tool)) for tool in _list(body.get("tools"))],
        "completion_args": _completion_arguments(body),
        "stream": body.get("stream"),
    }
    non_empty: JsonObject = {name: item for name, item in conversation.items() if item}
    return {**non_empty, "store": False}


def _inputs(entries: list[Json]) -> Iterator[JsonObject]:
    for entry in map(as_object, entries):
        match entry.get("type", "message"):
            case "message" if entry.get("role") in ("user", "assistant"):
                yield {"role": entry["role"], "content": _content(entry.get("content"))}
            case "function_call":
                yield {
                    "type": "function.call",
                    "tool_call_id": entry.get("call_id"),
                    "name": entry.get("name"),
                    "arguments": entry.get("arguments"),
                }
            case "function_call_output":
                result = _text(entry.get("output"))
                yield {"type": "function.result", "tool_call_id": entry.get("call_id"), "result": result}


def _instructions(entries: list[Json]) -> Iterator[str]:
    """System messages, which a conversation does not have."""
    for entry in map(as_object, entries):
        if entry.get("role") in ("system", "developer"):
            yield _text(entry.get("content"))


def _content(content: Json) -> Json:
    """A text, or chunks if there are images."""
    parts = [as_object(part) for part in _list(content)]
    if not any(part.get("type") == "input_image" for part in parts):
        return _text(content)
    chunks: list[Json] = []
    for part in parts:
        if part.get("type") == "input_image":
            chunks.append({"type": "image_url", "image_url": part.get("image_url")})
        elif isinstance(text := part.get("text"), str):
            chunks.append({"type": "text", "text": text})
    return chunks


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    texts = (as_object(part).get("text") for part in _list(content))
    return "".join(text for text in texts if isinstance(text, str))


def _list(content: Json) -> list[Json]:
    return content if isinstance(content, list) else []


def _tool(tool: JsonObject) -> JsonObject:
    if tool.get("type") != "function":
        return {"type": "web_search"} if str(tool.get("type", "")).startswith("web_search") else tool
    return {"type": "function", "function": {name: item for name, item in tool.items() if name != "type"}}


def _completion_arguments(body: JsonObject) -> JsonObject:
    arguments: JsonObject = {
        name: body[field] for field, name in _ARGUMENTS.items() if body.get(field) is not None
    }
    if body.get("tool_choice") in _CHOICES:
        arguments["tool_choice"] = body["tool_choice"]
    output = as_object(as_object(body.get("text")).get("format"))
    if output.get("type") == "json_schema":
        schema: JsonObject = {name: item for name, item in output.items() if name != "type"}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif output.get("type") == "json_object":
        arguments["response_format"] = {"type": "json_object"}
    return arguments


MISTRAL_CONVERSATIONS = ProviderSpec(
    name="mistral_conversations",
    title="Mistral Conversations",
    dialect="openai_responses",
    base_url="https://api.mistral.ai/v1",
    url=path("/conversations"),
    model="mistral-medium-latest",
    lookups=(
        Lookup("environment", "MISTRAL_API_KEY"),
        Lookup("opencode", "mistral", "api"),
        Lookup("own", "mistral_conversations"),
        Lookup("own", "mistral"),
    ),
    missing="MISSING_MISTRAL_API_KEY",
    advice="Set MISTRAL_API_KEY, or run `groundwire login mistral`.",
    adjust=adjust,
    carried=_CARRIED,
    passes_through=False,
    models_page="https://docs.mistral.ai/getting-started/models",
    capabilities=Capabilities(options={"allowed_domains": "emulated", "blocked_domains": "emulated"}),
)
