"""Decodes and encodes whole responses.

`annotations` is always present, as in OpenAI's responses. Pages that were found are written next to the
choices as Perplexity's `search_results`, if there are any. An answer that failed midway keeps its content and
has the error in OpenRouter's format.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.openai_chat.decoder import Decoder
from groundwire.dialects.openai_chat.errors import encode_error_object, encode_finish
from groundwire.dialects.openai_chat.history import ContentLayout, encode_image, encode_reasoning
from groundwire.dialects.openai_chat.search import encode_page
from groundwire.dialects.openai_chat.tools import encode_call, encode_legacy_call, expects_legacy
from groundwire.dialects.openai_chat.usage import encode_usage
from groundwire.model import Answer, Event, Image, Json, JsonObject, SearchResult, Text, ToolCall, Usage

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "one `content`",
    Feature.PHASE: "`content`; a refusal goes to `refusal`",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.QUERIES: "`groundwire.searches`",
    Feature.SEARCH_CALLS: "`groundwire.searches`",
    Feature.PAGES_OPENED: "`groundwire.searches`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.SEARCH_ERRORS: "`groundwire.searches`, as the state `failed` with its `error`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.TOOL_TOKENS: "counted in `usage.prompt_tokens`",
}
"""Features that a chat response cannot express, and where they go instead.

Chat has one text, one reasoning text and one list of function calls. It has no searches, only sources: cited
ones as annotations, others as Perplexity's `search_results`.
"""


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a provider's whole response into events."""
    return Decoder().read(body)


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a whole answer for a client."""
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
                **encode_finish_fields(answer, legacy=expects_legacy(reply.request)),
            }
        ],
    }
    if answer.usage != Usage():
        body["usage"] = encode_usage(answer.usage)
    if answer.error is not None:
        body["error"] = encode_error_object(answer.error)
    return add_found_pages(body, answer)


def encode_finish_fields(answer: Answer, *, legacy: bool) -> JsonObject:
    """Encode the finish reason of an answer."""
    if answer.error is not None:
        return {"finish_reason": "error"}
    refusal = any(isinstance(part, Text) and part.phase == "refusal" for part in answer.parts)
    return encode_finish(answer.finish, answer.detail, refusal=refusal, legacy=legacy)


def add_found_pages(body: JsonObject, answer: Answer) -> JsonObject:
    """Add the pages that were found, and the extension for what chat cannot express, to a final object."""
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
    texts = [part for part in answer.parts if isinstance(part, Text)]
    text = "".join(part.text for part in texts if part.phase != "refusal")
    refusal = "".join(part.text for part in texts if part.phase == "refusal")
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    message: JsonObject = {
        "role": "assistant",
        "content": text or (None if calls or refusal else ""),
        "refusal": refusal or None,
        "annotations": ContentLayout.of(answer.parts).annotations(answer.parts, answer.citations),
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
