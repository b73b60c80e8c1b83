"""Four vendor APIs as the scripted model serves them, written without the product's own codecs.

Each one reads the tool names and the tool results of a request, and writes text or a tool call, whole or as a
stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

Body: TypeAlias = Mapping[str, Any]
ToolName: TypeAlias = tuple[str, str]
"""Namespace, which only Codex uses, and name."""

_ID = "scripted1"


class Call(NamedTuple):
    """A call of a client's tool."""

    tool: ToolName
    arguments: Mapping[str, Any]
    id: str = "call_0"
    """Unique: clients treat two calls with the same id as one."""


ModelOutput: TypeAlias = str | Call


class VendorApi(NamedTuple):
    """How one API reads requests and writes responses."""

    name: str
    path: str
    """Part of the path that identifies its requests."""
    tools: Callable[[Body], list[ToolName]]
    results: Callable[[Body], list[str]]
    whole: Callable[[ModelOutput, str], Body]
    stream: Callable[[ModelOutput, str], Iterator[tuple[str, Any]]]
    """Pairs of event name and data."""


def frames(events: Iterable[tuple[str, Any]]) -> bytes:
    """Server-sent events."""
    lines = []
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        lines.append(f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return "".join(lines).encode()


def _flat(content: object) -> str:
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(content: object) -> Iterator[str]:
    """All strings in a value, at any depth."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for item in content.values():
            yield from _texts(item)
    elif isinstance(content, list):
        for item in content:
            yield from _texts(item)


def _blocks(body: Body) -> Iterator[Body]:
    for message in body["messages"]:
        if isinstance(message["content"], list):
            yield from message["content"]


def _anthropic_block(output: ModelOutput) -> dict[str, Any]:
    if isinstance(output, str):
        return {"type": "text", "text": output}
    return {
        "type": "tool_use",
        "id": f"toolu_{output.id}",
        "name": output.tool[1],
        "input": dict(output.arguments),
    }


def _anthropic_message(output: ModelOutput, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{_ID}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_anthropic_block(output)],
        "stop_reason": "end_turn" if isinstance(output, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def _anthropic_stream(output: ModelOutput, model: str) -> Iterator[tuple[str, Any]]:
    message = _anthropic_message(output, model)
    opening = {**message, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": opening}
    block = _anthropic_block(output)
    if isinstance(output, str):
        delta = {"type": "text_delta", "text": output}
        block = {**block, "text": ""}
    else:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(output.arguments)}
        block = {**block, "input": {}}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
    yield "message_stop", {"type": "message_stop"}


ANTHROPIC = VendorApi(
    "anthropic_messages",
    "/v1/messages",
    lambda body: [("", tool.get("name", "")) for tool in body.get("tools") or ()],
    lambda body: [
        _flat(block.get("content", "")) for block in _blocks(body) if block["type"] == "tool_result"
    ],
    _anthropic_message,
    _anthropic_stream,
)


def _responses_tools(body: Body) -> list[ToolName]:
    names: list[ToolName] = []
    for tool in body.get("tools") or ():
        if tool["type"] == "namespace":
            names += ((tool["name"], inner["name"]) for inner in tool["tools"])
        else:
            names.append(("", tool.get("name", tool["type"])))
    return names


def _responses_results(body: Body) -> list[str]:
    items = body["input"] if isinstance(body["input"], list) else []
    return [_flat(item["output"]) for item in items if item.get("type") == "function_call_output"]


def _responses_item(output: ModelOutput) -> dict[str, Any]:
    if isinstance(output, str):
        content = [{"type": "output_text", "text": output, "annotations": []}]
        return {
            "id": f"msg_{_ID}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    space, name = output.tool
    return {
        "id": f"fc_{output.id}",
        "type": "function_call",
        "call_id": output.id,
        "status": "completed",
        **({"namespace": space} if space else {}),
        "name": name,
        "arguments": json.dumps(output.arguments),
    }


def _response(output: ModelOutput, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 20,
    }
    head = {"id": f"resp_{_ID}", "object": "response", "created_at": 1_790_000_000, "status": "completed"}
    return {**head, "model": model, "output": [_responses_item(output)], "usage": usage}


def _responses_stream(output: ModelOutput, model: str) -> Iterator[tuple[str, Any]]:
    whole, item = _response(output, model), _responses_item(output)
    opening = {**whole, "status": "in_progress", "output": [], "usage": None}
    location = {"item_id": item["id"], "output_index": 0}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": opening}]
    if isinstance(output, str):
        begun = {**item, "content": [], "status": "in_progress"}
        part = {"type": "output_text", "text": "", "annotations": []}
        at = {**location, "content_index": 0}
        events += (
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            {"type": "response.content_part.added", **at, "part": part},
            {"type": "response.output_text.delta", **at, "delta": output},
            {"type": "response.output_text.done", **at, "text": output},
            {"type": "response.content_part.done", **at, "part": {**part, "text": output}},
        )
    else:
        begun = {**item, "arguments": "", "status": "in_progress"}
        events += (
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            {"type": "response.function_call_arguments.done", **location, "arguments": item["arguments"]},
        )
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}


RESPONSES = VendorApi(
    "openai_responses", "/responses", _responses_tools, _responses_results, _response, _responses_stream
)


def _chat_message(output: ModelOutput) -> dict[str, Any]:
    if isinstance(output, str):
        return {"role": "assistant", "content": output}
    function = {"name": output.tool[1], "arguments": json.dumps(output.arguments)}
    call = {"index": 0, "id": output.id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_end(output: ModelOutput) -> str:
    return "stop" if isinstance(output, str) else "tool_calls"


def _chat(output: ModelOutput, model: str) -> dict[str, Any]:
    choice = {"index": 0, "message": _chat_message(output), "finish_reason": _chat_end(output)}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    head = {"id": f"chatcmpl-{_ID}", "object": "chat.completion", "created": 1_790_000_000, "model": model}
    return {**head, "choices": [choice], "usage": usage}


def _chat_stream(output: ModelOutput, model: str) -> Iterator[tuple[str, Any]]:
    head = {**_chat(output, model), "object": "chat.completion.chunk", "usage": None}
    yield "", {**head, "choices": [{"index": 0, "delta": _chat_message(output), "finish_reason": None}]}
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_end(output)}]}
    yield "", {**head, "choices": [], "usage": _chat(output, model)["usage"]}
    yield "", "[DONE]"


CHAT = VendorApi(
    "openai_chat",
    "/chat/completions",
    lambda body: [("", tool.get("function", {}).get("name", "")) for tool in body.get("tools") or ()],
    lambda body: [_flat(item["content"]) for item in body["messages"] if item["role"] == "tool"],
    _chat,
    _chat_stream,
)


def _gemini_tools(body: Body) -> list[ToolName]:
    tools = body.get("tools") or ()
    declared = [item["name"] for tool in tools for item in tool.get("functionDeclarations", ())]
    return [("", name) for name in declared] + [
        ("", "googleSearch") for tool in tools if "googleSearch" in tool
    ]


def _gemini_results(body: Body) -> list[str]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    return [_flat(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]


def _gemini(output: ModelOutput, model: str) -> dict[str, Any]:
    part: dict[str, Any] = {"text": output}
    if isinstance(output, Call):
        part = {"functionCall": {"name": output.tool[1], "args": dict(output.arguments)}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": uuid4().hex,
    }


GEMINI = VendorApi(
    "gemini",
    "generateContent",
    _gemini_tools,
    _gemini_results,
    _gemini,
    lambda output, model: iter([("", _gemini(output, model))]),
)
VENDOR_APIS = (ANTHROPIC, RESPONSES, CHAT, GEMINI)
