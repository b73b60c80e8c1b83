"""Whole answers.

`annotations` is always there, as OpenAI has it. Pages that were found stand beside the choices as
Perplexity's `search_results`, only if there are any. An answer that broke off keeps what it had and adds the
error, in OpenRouter's shape.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.openai_chat.annotations import encode_page
from groundwire.dialects.openai_chat.calls import encode_call, encode_legacy_call, expects_legacy
from groundwire.dialects.openai_chat.decoding import Decoder
from groundwire.dialects.openai_chat.errors import encode_finish, encode_told_error
from groundwire.dialects.openai_chat.layout import Layout
from groundwire.dialects.openai_chat.losses import LOSSES
from groundwire.dialects.openai_chat.parts import encode_image
from groundwire.dialects.openai_chat.reasoning import encode_reasoning
from groundwire.dialects.openai_chat.usage import encode_usage
from groundwire.model import Answer, Event, Image, Json, JsonObject, SearchResult, Text, ToolCall, Usage


def decode_response(body: JsonObject) -> list[Event]:
    """A provider's whole answer, as the events that tell it."""
    return Decoder().read(body)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """A whole answer for a client."""
    body: JsonObject = {
        "id": f"chatcmpl-{reply.id}",
        "object": "chat.completion",
        "created": reply.created,
        "model": reply.model or answer.model,
        "choices": [
            {
                "index": 0,
                "message": _encode_message(answer, reply),
                "logprobs": None,
                **encode_ending(answer, legacy=expects_legacy(reply.request)),
            }
        ],
    }
    if answer.usage != Usage():
        body["usage"] = encode_usage(answer.usage)
    if answer.error is not None:
        body["error"] = encode_told_error(answer.error)
    return encode_beside(body, answer)


def encode_ending(answer: Answer, *, legacy: bool) -> JsonObject:
    """Why it ended."""
    if answer.error is not None:
        return {"finish_reason": "error"}
    refusal = any(isinstance(part, Text) and part.phase == "refusal" for part in answer.parts)
    return encode_finish(answer.finish, answer.detail, refusal=refusal, legacy=legacy)


def encode_beside(body: JsonObject, answer: Answer) -> JsonObject:
    """What stands beside the choices: the pages that were found, and what chat has no words for."""
    found = {
        (source.url, source.title, source.date): source
        for part in answer.parts
        if isinstance(part, SearchResult)
        for source in part.sources
    }
    if found:
        body["search_results"] = [encode_page(source) for source in found.values()]
    return add_extension(body, answer, LOSSES)


def _encode_message(answer: Answer, reply: Reply) -> JsonObject:
    words = [part for part in answer.parts if isinstance(part, Text)]
    text = "".join(part.text for part in words if part.phase != "refusal")
    refusal = "".join(part.text for part in words if part.phase == "refusal")
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    message: JsonObject = {
        "role": "assistant",
        "content": text or (None if calls or refusal else ""),
        "refusal": refusal or None,
        "annotations": Layout.of(answer.parts).annotations(answer.parts, answer.citations),
        **encode_reasoning(answer.parts, "reasoning_content"),
    }
    images: list[Json] = [encode_image(part) for part in answer.parts if isinstance(part, Image)]
    if images:
        message["images"] = images
    if calls and expects_legacy(reply.request):
        message["function_call"] = encode_legacy_call(calls[0])
    elif calls:
        message["tool_calls"] = [encode_call(call) for call in calls]
    return message
