"""An example request for each route, as a curl command. A test runs them."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.json import dump_json
from groundwire.model import Json, JsonObject
from groundwire.server.routes import Route

BASE_URL = "http://127.0.0.1:8484"
_QUESTION = "How long is the Nile?"
_USER: JsonObject = {"role": "user", "content": _QUESTION}
_PART: JsonObject = {"text": _QUESTION}

_BODIES: Mapping[str, Json] = {
    "ChatRequest": {"model": "auto", "messages": [_USER], "web_search_options": {}},
    "CodexSearchRequest": {"model": "auto", "commands": {"search_query": [{"q": "length of the Nile"}]}},
    "CohereChatRequest": {
        "model": "auto",
        "messages": [_USER],
        "connectors": [{"id": "web-search"}],
    },
    "ConversationRequest": {"model": "auto", "inputs": _QUESTION, "tools": [{"type": "web_search"}]},
    "ConverseRequest": {"messages": [{"role": "user", "content": [_PART]}]},
    "ExtractRequest": {"urls": ["https://sqlite.org/wal.html"]},
    "FetchRequest": {"url": "https://sqlite.org/wal.html"},
    "GenerateContentRequest": {
        "contents": [{"role": "user", "parts": [_PART]}],
        "tools": [{"googleSearch": {}}],
    },
    "InteractionRequest": {"model": "auto", "input": _QUESTION, "tools": [{"type": "google_search"}]},
    "KeyChange": {"requests_per_minute": 60},
    "LinkQuery": {"query": "length of the Nile"},
    "MessagesRequest": {
        "model": "auto",
        "max_tokens": 1000,
        "messages": [_USER],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    },
    "NewKey": {"name": "ci", "expires": "30d"},
    "ResponsesRequest": {"model": "auto", "input": _QUESTION, "tools": [{"type": "web_search"}]},
    "SearchApiRequest": {"query": "length of the Nile", "max_results": 5},
    "SearchRequest": {"query": _QUESTION},
    "UiMessages": {"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", **_PART}]}]},
}
"""Bodies by the name of their schema."""
_QUERIES: Mapping[str, str] = {
    "GET /search": "?q=sqlite+wal&format=json",
    "GET /v1/find": "?q=sqlite+wal&count=5",
    "POST /v1/models/{model}:streamGenerateContent": "?alt=sse",
    "POST /v1beta/models/{model}:streamGenerateContent": "?alt=sse",
}
_PARAMETERS: Mapping[str, str] = {"{model}": "auto", "{id}": "ID", "{path}": "cli.html"}


def request_example(schema: str) -> Json:
    """An example of a body; None if the schema has none."""
    return _BODIES.get(schema)


def curl_example(route: Route, schema: str) -> str:
    """A curl command that sends a request to the route."""
    path = route.path
    for name, text in _PARAMETERS.items():
        path = path.replace(name, text)
    words = ["curl", f"'{BASE_URL}{path}{_QUERIES.get(f'{route.method} {route.path}', '')}'"]
    body = request_example(schema)
    if route.method not in ("GET", "POST") or (route.method == "POST" and body is None):
        words += ["-X", route.method]
    if route.role != "member":
        words += ["-H", '"authorization: Bearer $GROUNDWIRE_KEY"']
    if body is not None:
        words += ["-H", "'content-type: application/json'", "-d", f"'{dump_json(body)}'"]
    return " ".join(words)
