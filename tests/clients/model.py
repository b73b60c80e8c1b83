"""A rule-based model on loopback: it calls any search tool that it is offered, and repeats the URLs.

Its final text contains only URLs from tool results, so a URL in a client's output has come from the index.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.clients.pages import ANSWER_URL, FACT, QUESTION, urls_in
from tests.clients.vendor_apis import (
    GEMINI,
    VENDOR_APIS,
    Body,
    Call,
    ModelOutput,
    ToolName,
    VendorApi,
    frames,
)

_PLAIN: Mapping[str, Any] = {"query": QUESTION}
SEARCHES: Mapping[ToolName, Mapping[str, Any]] = {
    ("", "mcp__groundwire__websearch"): _PLAIN,
    ("", "mcp_groundwire_websearch"): _PLAIN,
    ("mcp__groundwire", "websearch"): _PLAIN,
    ("", "groundwire_websearch"): _PLAIN,
    ("", "groundwire__websearch"): _PLAIN,
    ("", "websearch"): _PLAIN,
    ("web", "run"): {"search_query": [{"q": QUESTION}], "response_length": "short"},
    ("", "WebSearch"): _PLAIN,
    ("", "google_web_search"): _PLAIN,
    ("", "web_search"): _PLAIN,
}
"""The search tools that it knows, in order of preference."""
_DEFERRED = ("mcp__groundwire__websearch", "WebSearch")
"""Tools that newer versions of Claude Code only name until ToolSearch loads them."""
_SPELLINGS = (
    ("", "mcp__groundwire__"),
    ("", "mcp_groundwire_"),
    ("mcp__groundwire", ""),
    ("", "groundwire_"),
)
"""Namespaces and prefixes that clients add to the names of our tools; the first is Claude Code's."""
_ID = re.compile(r'\\*"id\\*": *\\*"([^"\\]+)')
GROUNDED = "grounded"
"""Recorded as the output if Gemini's own search was requested."""
_PASSAGE = re.compile(r'^\{"passage".*$', re.MULTILINE)


class ModelRequest(NamedTuple):
    """A recorded request to the model, and its output."""

    api: str
    path: str
    output: ModelOutput


def next_scripted_call(api: VendorApi, body: Body, script: Sequence[str]) -> ModelOutput | None:
    """The next tool call of the script; None if all were called."""
    given = api.results(body)
    results = [text for text in given if not _loads(text)]
    offered = api.tools(body)
    if not offered or len(results) >= len(script):
        return None
    name = script[len(results)]
    found = _ID.findall(results[-1]) if results else []
    arguments = {"id": found[0]} if name == "fetch" and found else _PLAIN
    for space, before in (*_SPELLINGS, ("", "")):
        if (space, before + name) in offered:
            return Call((space, before + name), arguments, f"call_{len(given)}")
    wanted = ",".join(_SPELLINGS[0][1] + tool for tool in script)
    return Call(("", "ToolSearch"), {"query": f"select:{wanted}", "max_results": len(script)})


def _loads(result: str) -> bool:
    """Whether this is the result of Claude Code's ToolSearch."""
    return not result or "Tool loaded" in result or "tool_reference" in result


def next_output(api: VendorApi, body: Body, script: Sequence[str] = ()) -> ModelOutput:
    """The output of the model for a request."""
    results = api.results(body)
    if (scripted := next_scripted_call(api, body, script)) is not None:
        return scripted
    if numbered := [json.loads(line) for text in results for line in _PASSAGE.findall(text)]:
        return " ".join(f"{passage['title']} [{passage['passage']}]." for passage in numbered[:2])
    if found := urls_in(results):
        return f"It was lit on {FACT}. I was given: {' , '.join(found)}"
    if "responseJsonSchema" in body.get("generationConfig", {}):
        return json.dumps({"complexity_reasoning": "simple", "complexity_score": 10})
    offered = api.tools(body)
    if not all(map(_loads, results)):
        return f"The tool gave no address: {results[-1][:500]}"
    for tool, arguments in SEARCHES.items():
        if tool in offered:
            return Call(tool, arguments, f"call_{len(results)}")
    if ("", "ToolSearch") in offered:
        named = json.dumps(body)
        name = next((name for name in _DEFERRED if name in named), "WebSearch")
        return Call(("", "ToolSearch"), {"query": f"select:{name}", "max_results": 1})
    return "No search is offered."


def grounded(model: str) -> Body:
    """A response of Gemini's own search: one page that supports the whole text."""
    text = f"The lighthouse was first lit on {FACT}."
    chunk = {"web": {"uri": ANSWER_URL, "title": "docs.groundwire.test"}}
    support = {"segment": {"endIndex": len(text), "text": text}, "groundingChunkIndices": [0]}
    whole = dict(GEMINI.whole(text, model))
    metadata = {"webSearchQueries": [QUESTION], "groundingChunks": [chunk], "groundingSupports": [support]}
    whole["candidates"] = [{**whole["candidates"][0], "groundingMetadata": metadata}]
    return whole


def api_at(path: str) -> VendorApi | None:
    """The API that is served at a path."""
    return next((api for api in VENDOR_APIS if api.path.lower() in path.lower()), None)


def respond(
    path: str, body: Body, model_requests: list[ModelRequest], script: Sequence[str] = ()
) -> tuple[int, str, bytes]:
    """Status, content type and body of the response to a request."""
    api = api_at(path)
    if api is None:
        return 404, "application/json", b'{"error": {"message": "no such path"}}'
    model = str(body.get("model", "scripted"))
    if api is GEMINI and ("", "googleSearch") in api.tools(body):
        model_requests.append(ModelRequest(api.name, path, GROUNDED))
        whole = grounded(model)
        events: Iterator[tuple[str, Any]] = iter([("", whole)])
    else:
        output = next_output(api, body, script)
        model_requests.append(ModelRequest(api.name, path, output))
        whole, events = api.whole(output, model), api.stream(output, model)
    if body.get("stream") or "streamGenerateContent" in path:
        return 200, "text/event-stream", frames(events)
    return 200, "application/json", json.dumps(whole).encode()


@contextmanager
def scripted_model(script: Sequence[str] = ()) -> Iterator[tuple[str, list[ModelRequest]]]:
    """Serve the model; yield its URL, and the list of recorded requests.

    It calls our tools in the order of the script, which may change between two conversations.
    """
    model_requests: list[ModelRequest] = []

    class ModelHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, kind, data = respond(self.path.partition("?")[0], body, model_requests, script)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing: requests are recorded."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelHandler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", model_requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
