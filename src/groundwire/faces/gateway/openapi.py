"""The OpenAPI document: every route with the schemas of its request, its response and its errors.

The schemas describe what groundwire reads and writes of each vendor's API. Vendors accept more fields, which
are kept and forwarded where they can be, so no schema forbids further fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from groundwire import __version__
from groundwire.faces.gateway.curl_examples import curl_example, request_example
from groundwire.model import Json, JsonObject
from groundwire.model.access import ROLES, ROUTE_GROUPS
from groundwire.model.value import value
from groundwire.server.asgi import JSON
from groundwire.server.routes import Route
from groundwire.tools.registry import WEBSEARCH

_PARAMETER = re.compile(r"\{(\w+)\}")
_EVENT_STREAM = "application/vnd.amazon.eventstream"
_STREAM = "text/event-stream"
_SECURITY_SCHEMES: JsonObject = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "x-goog-api-key": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
}


def _object(properties: Mapping[str, Json], *required: str) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": list(required)} if required else schema


def _list(items: Json) -> JsonObject:
    return {"type": "array", "items": items}


def _nullable(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(*names: str) -> JsonObject:
    return {"type": "string", "enum": list(names)}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _any_of(*schemas: JsonObject) -> JsonObject:
    return {"anyOf": list(schemas)}


_TEXT: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 2**31}
_INDEX: JsonObject = {"type": "integer", "minimum": 0}
_FLAG: JsonObject = {"type": "boolean"}
_ANY: JsonObject = {"type": "object"}
_TEMPERATURE: JsonObject = {"type": "number", "minimum": 0, "maximum": 2}
_SHARE: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
_DOMAINS = _list({"type": "string", "examples": ["example.com"]})
_MODEL: JsonObject = {
    "type": "string",
    "description": "`provider/model`, an alias, a vendor's own name, or `auto`.",
    "examples": ["auto"],
}
_LOCATION = _object({"type": {"const": "approximate"}, "country": _TEXT, "region": _TEXT, "city": _TEXT})
_EXTENSION: JsonObject = {
    "type": "object",
    "description": "Added by groundwire: provider, warnings, and what the dialect has no field for.",
}

_CHAT: JsonObject = {
    "ChatMessage": _object(
        {
            "role": _one_of("system", "developer", "user", "assistant", "tool", "function"),
            "content": _any_of(_TEXT, _list(_object({"type": _TEXT}, "type")), {"type": "null"}),
            "name": _TEXT,
            "tool_calls": _list(
                _object(
                    {
                        "id": _TEXT,
                        "type": {"const": "function"},
                        "function": _object({"name": _TEXT, "arguments": _TEXT}, "name", "arguments"),
                    },
                    "id",
                    "function",
                )
            ),
            "tool_call_id": _TEXT,
            "annotations": _list(_ref("ChatAnnotation")),
        },
        "role",
    ),
    "ChatAnnotation": _object(
        {
            "type": {"const": "url_citation"},
            "url_citation": _object(
                {"url": _TEXT, "title": _TEXT, "start_index": _INDEX, "end_index": _INDEX}, "url"
            ),
        },
        "type",
    ),
    "ChatRequest": _object(
        {
            "model": _MODEL,
            "messages": {**_list(_ref("ChatMessage")), "minItems": 1},
            "stream": _FLAG,
            "stream_options": _object({"include_usage": _FLAG}),
            "max_completion_tokens": _COUNT,
            "max_tokens": _COUNT,
            "temperature": _TEMPERATURE,
            "top_p": _SHARE,
            "stop": _any_of(_TEXT, _list(_TEXT)),
            "tools": _list(_object({"type": _TEXT, "function": _object({"name": _TEXT}, "name")}, "type")),
            "response_format": _object({"type": _one_of("text", "json_object", "json_schema")}, "type"),
            "reasoning_effort": _one_of("none", "minimal", "low", "medium", "high", "xhigh"),
            "web_search_options": _object(
                {"search_context_size": _one_of("low", "medium", "high"), "user_location": _ANY}
            ),
        },
        "messages",
    ),
    "ChatResponse": _object(
        {
            "id": _TEXT,
            "object": {"const": "chat.completion"},
            "created": _INDEX,
            "model": _TEXT,
            "choices": _list(
                _object(
                    {"index": _INDEX, "message": _ref("ChatMessage"), "finish_reason": _nullable(_TEXT)},
                    "index",
                    "message",
                    "finish_reason",
                )
            ),
            "usage": _nullable(_ANY),
            "groundwire": _EXTENSION,
        },
        "id",
        "object",
        "choices",
    ),
}
_MESSAGES: JsonObject = {
    "ContentBlock": _object(
        {"type": _TEXT, "text": _TEXT, "citations": _nullable(_list(_object({"type": _TEXT}, "type")))},
        "type",
    ),
    "MessagesRequest": _object(
        {
            "model": _MODEL,
            "max_tokens": _COUNT,
            "messages": {
                **_list(
                    _object(
                        {
                            "role": _one_of("user", "assistant"),
                            "content": _any_of(
                                _TEXT,
                                _list(_object({"type": {"const": "text"}, "text": _TEXT}, "type", "text")),
                            ),
                        },
                        "role",
                        "content",
                    )
                ),
                "minItems": 1,
            },
            "system": _any_of(
                _TEXT, _list(_object({"type": {"const": "text"}, "text": _TEXT}, "type", "text"))
            ),
            "stream": _FLAG,
            "stop_sequences": _list(_TEXT),
            "temperature": _TEMPERATURE,
            "top_p": _SHARE,
            "top_k": _COUNT,
            "tools": _list(
                _any_of(
                    _object({"name": _TEXT, "description": _TEXT, "input_schema": _ANY}, "name"),
                    _object(
                        {
                            "type": _one_of("web_search_20250305", "web_search_20260209"),
                            "name": {"const": "web_search"},
                            "max_uses": {"type": "integer", "minimum": 1, "maximum": 100},
                            "allowed_domains": _DOMAINS,
                            "blocked_domains": _DOMAINS,
                            "user_location": _LOCATION,
                        },
                        "type",
                        "name",
                    ),
                )
            ),
        },
        "model",
        "max_tokens",
        "messages",
    ),
    "MessagesResponse": _object(
        {
            "id": _TEXT,
            "type": {"const": "message"},
            "role": {"const": "assistant"},
            "model": _TEXT,
            "content": _list(_ref("ContentBlock")),
            "stop_reason": _nullable(_TEXT),
            "usage": _object({"input_tokens": _INDEX, "output_tokens": _INDEX}),
            "groundwire": _EXTENSION,
        },
        "id",
        "type",
        "role",
        "content",
        "usage",
    ),
    "InputTokens": _object({"input_tokens": _INDEX}, "input_tokens"),
}
_RESPONSES: JsonObject = {
    "ResponsesRequest": _object(
        {
            "model": _MODEL,
            "input": _any_of(
                _TEXT,
                _list(
                    _object(
                        {
                            "type": {"const": "message"},
                            "role": _one_of("user", "assistant", "system", "developer"),
                            "content": _any_of(_TEXT, _list(_object({"type": _TEXT}, "type"))),
                        },
                        "role",
                        "content",
                    )
                ),
            ),
            "instructions": _TEXT,
            "stream": _FLAG,
            "max_output_tokens": _COUNT,
            "temperature": _TEMPERATURE,
            "top_p": _SHARE,
            "tools": _list(
                _any_of(
                    _object(
                        {"type": {"const": "function"}, "name": _TEXT, "parameters": _ANY}, "type", "name"
                    ),
                    _object(
                        {
                            "type": {"const": "web_search"},
                            "filters": _object({"allowed_domains": _DOMAINS, "blocked_domains": _DOMAINS}),
                            "search_context_size": _one_of("low", "medium", "high"),
                            "user_location": _LOCATION,
                        },
                        "type",
                    ),
                )
            ),
            "reasoning": _object({"effort": _one_of("none", "minimal", "low", "medium", "high", "xhigh")}),
        },
        "input",
    ),
    "ResponsesResponse": _object(
        {
            "id": _TEXT,
            "object": {"const": "response"},
            "created_at": {"type": "number"},
            "model": _TEXT,
            "status": _one_of("completed", "incomplete", "failed", "in_progress"),
            "output": _list(_object({"type": _TEXT}, "type")),
            "usage": _nullable(_ANY),
            "groundwire": _EXTENSION,
        },
        "id",
        "object",
        "status",
        "output",
    ),
    "CodexSearchRequest": _object(
        {
            "model": _MODEL,
            "commands": _object({"search_query": _list(_object({"q": _TEXT}, "q"))}, "search_query"),
            "settings": _ANY,
            "max_output_tokens": _COUNT,
        },
        "commands",
    ),
    "CodexSearchResponse": _object({"output": _TEXT, "results": _list(_ANY)}, "output", "results"),
}
_GEMINI: JsonObject = {
    "Content": _object({"role": _one_of("user", "model"), "parts": _list(_object({"text": _TEXT}))}, "parts"),
    "GenerateContentRequest": _object(
        {
            "contents": {**_list(_ref("Content")), "minItems": 1},
            "systemInstruction": _object({"parts": _list(_object({"text": _TEXT}))}, "parts"),
            "tools": _list(
                _object(
                    {
                        "googleSearch": _ANY,
                        "functionDeclarations": _list(_object({"name": _TEXT}, "name")),
                    }
                )
            ),
            "generationConfig": _object(
                {
                    "maxOutputTokens": _COUNT,
                    "temperature": _TEMPERATURE,
                    "topP": _SHARE,
                    "topK": _COUNT,
                    "stopSequences": _list(_TEXT),
                    "responseMimeType": _TEXT,
                }
            ),
        },
        "contents",
    ),
    "GenerateContentResponse": _object(
        {
            "candidates": _list(
                _object(
                    {
                        "content": _object({"role": _TEXT, "parts": _list(_ANY)}),
                        "finishReason": _TEXT,
                        "groundingMetadata": _ANY,
                    }
                )
            ),
            "usageMetadata": _ANY,
            "modelVersion": _TEXT,
            "responseId": _TEXT,
            "groundwire": _EXTENSION,
        },
        "candidates",
    ),
    "GenerateContentArray": _list(_ref("GenerateContentResponse")),
    "TotalTokens": _object({"totalTokens": _INDEX}, "totalTokens"),
    "InteractionRequest": _object(
        {
            "model": _MODEL,
            "input": _any_of(_TEXT, _list(_object({"type": {"const": "text"}, "text": _TEXT}, "type"))),
            "system_instruction": _TEXT,
            "stream": _FLAG,
            "tools": _list(_object({"type": _one_of("google_search")}, "type")),
            "generation_config": _object({"max_output_tokens": _COUNT, "temperature": _TEMPERATURE}),
        },
        "input",
    ),
    "InteractionResponse": _object({"id": _TEXT, "model": _TEXT, "status": _TEXT}, "id", "status"),
}
_KEY_FIELDS: JsonObject = {
    "role": _one_of(*ROLES),
    "owner": _TEXT,
    "expires": {"type": "string", "examples": ["30d", "2027-01-01"]},
    "routes": _list(_one_of(*ROUTE_GROUPS)),
    "providers": _list(_TEXT),
    "models": _list({"type": "string", "examples": ["gemini-*"]}),
    "allowed_domains": _DOMAINS,
    "may_search": _FLAG,
    "requests_per_minute": _nullable({"type": "integer", "minimum": 1}),
    "tokens_per_minute": _nullable({"type": "integer", "minimum": 1}),
    "usd_per_day": _any_of({"type": "string", "examples": ["2.50"]}, {"type": "number"}, {"type": "null"}),
    "usd_per_month": _any_of({"type": "string"}, {"type": "number"}, {"type": "null"}),
}
_KEYS: JsonObject = {
    "KeyChange": _object(_KEY_FIELDS),
    "NewKey": _object({"name": _TEXT, **_KEY_FIELDS}),
    "ApiKey": _object(
        {
            "id": _TEXT,
            "key": {"type": "string", "description": "The key itself; only when it is created."},
            "name": _TEXT,
            "created": _TEXT,
            "revoked": _TEXT,
            "created_by": {"type": "string", "description": "The id of the key that created it."},
            "revoked_with_it": {
                **_list(_TEXT),
                "description": "When it is revoked: the ids of the keys that it had created.",
            },
            **_KEY_FIELDS,
        },
        "id",
        "name",
        "role",
    ),
    "ApiKeys": _object({"keys": _list(_ref("ApiKey"))}, "keys"),
}
_OWN: JsonObject = {
    "SearchRequest": WEBSEARCH.parameters(),
    "SearchResult": _object(
        {
            "llmContent": _TEXT,
            "returnDisplay": _TEXT,
            "sources": _list(_ANY),
            "error": _object({"message": _TEXT, "type": _TEXT}, "message", "type"),
        },
        "llmContent",
        "returnDisplay",
    ),
    "Status": _object({"status": _TEXT, "index": _TEXT}, "status"),
    "Document": _ANY,
}
_CONVERSE: JsonObject = {
    "ConverseRequest": _object(
        {"messages": _list(_ANY), "system": _list(_ANY), "toolConfig": _ANY}, "messages"
    ),
    "ConverseResponse": _object(
        {"output": _ANY, "stopReason": _TEXT, "usage": _ANY, "metrics": _ANY}, "output", "stopReason", "usage"
    ),
}
_COHERE: JsonObject = {
    "CohereChatRequest": _object(
        {"model": _TEXT, "messages": _list(_ANY), "tools": _list(_ANY), "stream": {"type": "boolean"}},
        "messages",
    ),
    "CohereChatResponse": _object(
        {"id": _TEXT, "finish_reason": _TEXT, "message": _ANY, "usage": _ANY},
        "id",
        "finish_reason",
        "message",
    ),
}
_CONVERSATIONS: JsonObject = {
    "ConversationRequest": _object(
        {
            "model": _TEXT,
            "inputs": _any_of(_TEXT, _list(_ANY)),
            "tools": _list(_ANY),
            "stream": {"type": "boolean"},
        },
        "inputs",
    ),
    "ConversationResponse": _object(
        {"conversation_id": _TEXT, "outputs": _list(_ANY), "usage": _ANY},
        "conversation_id",
        "outputs",
        "usage",
    ),
}
_QUERY = _object({"query": {"type": "string", "examples": ["sqlite wal"]}}, "query")
_LINK = _object({"url": _TEXT, "title": _TEXT}, "url", "title")
_RESULTS = _object({"results": _list(_LINK)}, "results")
_SEARCH_APIS: JsonObject = {
    "FindResult": _object({"version": _COUNT, "links": _list(_LINK), "error": {}}, "version", "links"),
    "LinkQuery": _QUERY,
    "SearchApiRequest": _any_of(_QUERY, _object({"q": _TEXT, "format": _TEXT}, "q", "format")),
    "SearchApiResults": _RESULTS,
    "ExtractRequest": _object({"urls": _any_of(_TEXT, _list(_TEXT))}, "urls"),
    "ExtractResults": _object({"results": _list(_ANY), "failed_results": _list(_ANY)}, "results"),
    "FetchRequest": _object({"url": _TEXT}, "url"),
    "FetchedPage": _object({"title": _TEXT, "content": _TEXT, "links": _list(_TEXT)}, "title", "content"),
    "UiMessages": _object(
        {"messages": _list(_object({"role": _TEXT, "parts": _list(_ANY)}, "role", "parts"))}, "messages"
    ),
    "ExternalResults": _list(_object({"link": _TEXT, "title": _TEXT, "snippet": _TEXT}, "link")),
}
"""Search APIs of other services: what their clients read."""
_ERRORS: Mapping[str, JsonObject] = {
    "openai_chat": _object(
        {
            "error": _object(
                {"message": _TEXT, "type": _TEXT, "param": _nullable(_TEXT), "code": {}}, "message", "type"
            )
        },
        "error",
    ),
    "anthropic_messages": _object(
        {
            "type": {"const": "error"},
            "error": _object({"type": _TEXT, "message": _TEXT}, "type", "message"),
            "request_id": _TEXT,
        },
        "type",
        "error",
    ),
    "gemini": _object(
        {
            "error": _object(
                {"code": {"type": "integer"}, "message": _TEXT, "status": _TEXT, "details": _list(_ANY)},
                "code",
                "message",
                "status",
            )
        },
        "error",
    ),
    "gemini_interactions": _object(
        {"error": _object({"code": _TEXT, "message": _TEXT}, "code", "message")}, "error"
    ),
    "bedrock_converse": _object({"__type": _TEXT, "message": _TEXT}, "__type", "message"),
    "cohere_chat": _object({"id": _TEXT, "message": _TEXT}, "message"),
    "mistral_conversations": _object(
        {"object": _TEXT, "message": _TEXT, "type": _TEXT, "param": _nullable(_TEXT), "code": _TEXT},
        "object",
        "message",
    ),
    "websearch": _ref("SearchResult"),
}
_ERROR_NAMES: Mapping[str, str] = {
    "openai_chat": "OpenAIError",
    "openai_responses": "OpenAIError",
    "anthropic_messages": "AnthropicError",
    "gemini": "GeminiError",
    "gemini_interactions": "InteractionError",
    "bedrock_converse": "ConverseError",
    "cohere_chat": "CohereError",
    "mistral_conversations": "MistralError",
    "websearch": "SearchResult",
}
_ANY_ERROR: JsonObject = _any_of(*(_ref(name) for name in dict.fromkeys(_ERROR_NAMES.values())))


@value
class Operation:
    """The bodies of a route, by the names of their schemas."""

    request: str = ""
    response: str = "Document"
    streams: bool = False
    """Can the response be a stream of server-sent events?"""
    query: str = ""
    """The name of a query parameter."""
    content_type: str = JSON


_GENERATE = Operation("GenerateContentRequest", "GenerateContentResponse")
_OPERATIONS: Mapping[str, Operation] = {
    "POST /v1/chat/completions": Operation("ChatRequest", "ChatResponse", streams=True),
    "POST /v1/messages": Operation("MessagesRequest", "MessagesResponse", streams=True),
    "POST /v1/messages/count_tokens": Operation("MessagesRequest", "InputTokens"),
    "POST /v1/responses": Operation("ResponsesRequest", "ResponsesResponse", streams=True),
    "GET /v1/responses/{id}": Operation(response="ResponsesResponse", streams=True, query="starting_after"),
    "POST /v1/responses/{id}/cancel": Operation("Document", "ResponsesResponse"),
    "POST /model/{model}/converse": Operation("ConverseRequest", "ConverseResponse"),
    "POST /model/{model}/converse-stream": Operation("ConverseRequest", content_type=_EVENT_STREAM),
    "POST /v2/chat": Operation("CohereChatRequest", "CohereChatResponse", streams=True),
    "POST /v1/conversations": Operation("ConversationRequest", "ConversationResponse", streams=True),
    "POST /v1/conversations/{id}": Operation("ConversationRequest", "ConversationResponse"),
    "POST /v1/alpha/search": Operation("CodexSearchRequest", "CodexSearchResponse"),
    "POST /v1/search": Operation("SearchRequest", "SearchResult"),
    "GET /v1/find": Operation(response="FindResult", query="q"),
    "POST /v1/find": Operation("LinkQuery", "FindResult"),
    "GET /search": Operation(response="SearchApiResults", query="q"),
    "POST /search": Operation("SearchApiRequest", "SearchApiResults"),
    "POST /extract": Operation("ExtractRequest", "ExtractResults"),
    "POST /api/web_search": Operation("LinkQuery", "SearchApiResults"),
    "POST /api/web_fetch": Operation("FetchRequest", "FetchedPage"),
    "POST /v1/external": Operation("LinkQuery", "ExternalResults"),
    "POST /api/chat": Operation("UiMessages", content_type=_STREAM),
    **{
        f"POST /{version}/{path}": operation
        for version in ("v1", "v1beta")
        for path, operation in (
            ("models/{model}:generateContent", _GENERATE),
            (
                "models/{model}:streamGenerateContent",
                Operation("GenerateContentRequest", "GenerateContentArray", query="alt", streams=True),
            ),
            ("models/{model}:countTokens", Operation("GenerateContentRequest", "TotalTokens")),
            ("interactions", Operation("InteractionRequest", "InteractionResponse", streams=True)),
        )
    },
    **{f"GET {path}": Operation(response="Status") for path in ("/healthz", "/readyz", "/api/hello")},
    "GET /v1/keys": Operation(response="ApiKeys"),
    "POST /v1/keys": Operation("NewKey", "ApiKey"),
    "GET /v1/keys/{id}": Operation(response="ApiKey"),
    "PATCH /v1/keys/{id}": Operation("KeyChange", "ApiKey"),
    "DELETE /v1/keys/{id}": Operation(response="ApiKey", query="keep_children"),
    "GET /metrics": Operation(content_type="text/plain"),
}
_PAGE = Operation(content_type="text/html")


def openapi_document(routes: Sequence[Route]) -> JsonObject:
    """The OpenAPI 3.1 document of these routes."""
    paths: dict[str, JsonObject] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    errors = {_ERROR_NAMES[name]: schema for name, schema in _ERRORS.items() if name != "websearch"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "groundwire",
            "version": __version__,
            "description": "Cited web search in the dialects of vendors' APIs.",
        },
        "paths": dict(paths),
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "schemas": {
                **_CHAT,
                **_MESSAGES,
                **_RESPONSES,
                **_GEMINI,
                **_CONVERSE,
                **_COHERE,
                **_CONVERSATIONS,
                **_KEYS,
                **_OWN,
                **_SEARCH_APIS,
                **errors,
            },
        },
    }


def _operation(route: Route) -> JsonObject:
    known = _OPERATIONS.get(f"{route.method} {route.path}") or (
        Operation() if route.dialect or route.path.startswith(("/v1", "/openapi")) else _PAGE
    )
    answer: JsonObject = {
        known.content_type: {"schema": _ref(known.response) if known.content_type == JSON else _TEXT}
    }
    if known.streams:
        answer[_STREAM] = {"schema": {}}
    error = _ref(_ERROR_NAMES[route.dialect]) if route.dialect in _ERROR_NAMES else _ANY_ERROR
    if route.encode_error is not None:
        error = _ref("Document")
    operation: JsonObject = {
        "summary": route.about,
        "tags": [route.dialect or "groundwire"],
        "security": [{name: []} for name in _SECURITY_SCHEMES] if route.access != "public" else [],
        "x-codeSamples": [{"lang": "Shell", "label": "curl", "source": curl_example(route, known.request)}],
        "responses": {
            "200": {"description": "The response.", "content": answer},
            "default": {
                "description": "An error in the format of the dialect.",
                "content": {JSON: {"schema": error}},
            },
        },
    }
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in _PARAMETER.findall(route.path)
    ]
    if known.query:
        parameters.append({"name": known.query, "in": "query", "schema": _TEXT})
    if parameters:
        operation["parameters"] = parameters
    if route.method in ("POST", "PATCH"):
        schema = _ref(known.request) if known.request else _ANY
        required = known.request != "Document"
        media: JsonObject = {"schema": schema}
        if (example := request_example(known.request)) is not None:
            media["example"] = example
        operation["requestBody"] = {"required": required, "content": {JSON: media}}
    return operation
