"""Function calls, in the three shapes chat knows.

`tool_calls` entries of type `function`; those of type `custom`, whose input is free text; and the
`function_call` of old, which has no id. Fields beside them (Google's `extra_content` with its thought
signatures) must come back with the history and are kept.
"""

from __future__ import annotations

from typing import NamedTuple

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.parts import own
from groundwire.model import FunctionTool, JsonObject, Request, ToolCall

_KNOWN = ("id", "type", "function", "custom", "index")
_LEGACY = "function_call"


class CallTold(NamedTuple):
    """A call, or the piece of one that a delta holds."""

    id: str
    name: str
    arguments: str
    verbatim: JsonObject


def is_for_client(call: Fields) -> bool:
    """Must the client act? GLM lists searches of its own among the calls."""
    is_function = call.text("type", "function") in ("function", "custom")
    return is_function or call.has("function") or call.has("custom")


def decode_call(call: Fields) -> CallTold:
    """An entry of `tool_calls`."""
    verbatim: JsonObject = {key: value for key, value in call.rest(*_KNOWN).items() if value is not None}
    if call.has("custom"):
        body = call.obj("custom")
        return CallTold(
            call.text("id"), body.text("name"), body.text("input"), {**verbatim, "type": "custom"}
        )
    body = call.obj("function")
    return CallTold(call.text("id"), body.text("name"), _arguments(body), verbatim)


def decode_legacy_call(call: Fields) -> CallTold:
    """The object `function_call`."""
    return CallTold("", call.text("name"), _arguments(call), {"type": _LEGACY})


def encode_call(call: ToolCall) -> JsonObject:
    """An entry of `tool_calls`."""
    verbatim = own(call.extras)
    if verbatim.get("type") == "custom":
        return {"id": call.id, **verbatim, "custom": {"name": call.name, "input": call.arguments}}
    return {
        "id": call.id,
        **{key: value for key, value in verbatim.items() if key != "type"},
        "type": "function",
        "function": encode_legacy_call(call),
    }


def encode_more(call: ToolCall) -> JsonObject:
    """A later delta of a call: only what is new in it."""
    custom = own(call.extras).get("type") == "custom"
    body: JsonObject = {"input" if custom else "arguments": call.arguments}
    if call.name:
        body["name"] = call.name
    return {"custom" if custom else "function": body}


def encode_legacy_call(call: ToolCall) -> JsonObject:
    """Name and arguments, as `function_call` holds them."""
    return {"name": call.name, "arguments": call.arguments}


def is_legacy(call: ToolCall) -> bool:
    """Was this call told as `function_call`?"""
    return own(call.extras).get("type") == _LEGACY


def expects_legacy(request: Request) -> bool:
    """Did the caller declare `functions`, and so reads `function_call` only?"""
    return any(
        isinstance(tool, FunctionTool) and own(tool.extras).get("legacy") is True for tool in request.tools
    )


def _arguments(body: Fields) -> str:
    value = body.get("arguments")
    # Some compatible servers send the arguments parsed.
    return dump_json(value) if isinstance(value, dict) else body.text("arguments")
