"""Oracles for recorded requests, read from their raw JSON, one reader per dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from groundwire.model import Json, JsonObject, Location, SearchOptions
from groundwire.model.request import ContextSize
from tests.contracts.recorded.lookup import at, blobs, count, objects, string, strings


@dataclass
class RecordedRequest:
    """Everything in a recorded request that the decoded request must contain."""

    user: list[str]
    assistant: str
    system: list[str]
    functions: list[str]
    other_tools: int
    search: SearchOptions | None
    model: str
    stream: bool
    max_output_tokens: int | None = None
    previous_id: str = ""
    urls: set[str] = field(default_factory=set)
    blobs: set[str] = field(default_factory=set)


def read_request(body: JsonObject, owner: str) -> RecordedRequest:
    """Read the facts of a request body."""
    facts = _READERS[owner](body)
    facts.blobs = blobs(body)
    facts.urls = set(_urls(body))
    return facts


def _turns(items: list[JsonObject], role: str, texts: Callable[[JsonObject], str]) -> list[str]:
    return [text for item in items if string(item, "role") == role and (text := texts(item))]


def _content(message: JsonObject) -> str:
    """`content` as a string or as blocks that have text."""
    blocks = "".join(string(block, "text") for block in objects(message, "content"))
    return string(message, "content") or blocks


def _parts(message: JsonObject) -> str:
    return "".join(string(part, "text") for part in objects(message, "parts"))


def _anthropic(body: JsonObject) -> RecordedRequest:
    tools = objects(body, "tools")
    searches = [tool for tool in tools if string(tool, "type").startswith("web_search_")]
    functions = [string(tool, "name") for tool in tools if "input_schema" in tool]
    messages = objects(body, "messages")
    return RecordedRequest(
        _turns(messages, "user", _content),
        "".join(_turns(messages, "assistant", _content)),
        [string(body, "system")] if string(body, "system") else [],
        functions,
        len(tools) - len(searches) - len(functions),
        _options(searches[0], searches[0]) if searches else None,
        string(body, "model"),
        body.get("stream") is True,
        count(body, "max_tokens"),
    )


def _responses(body: JsonObject) -> RecordedRequest:
    tools = objects(body, "tools")
    searches = [tool for tool in tools if "web_search" in string(tool, "type")]
    items = objects(body, "input")
    question = string(body, "input")
    return RecordedRequest(
        [question] if question else _turns(items, "user", _content),
        "".join(_turns(items, "assistant", _content)),
        [text for text in (string(body, "instructions"), *_turns(items, "system", _content)) if text],
        [string(tool, "name") for tool in tools if string(tool, "type") == "function"],
        0,
        _options(searches[0], at(searches[0], "filters")) if searches else None,
        string(body, "model"),
        body.get("stream") is True,
        count(body, "max_output_tokens"),
        string(body, "previous_response_id"),
    )


def _chat(body: JsonObject) -> RecordedRequest:
    messages = objects(body, "messages")
    servers = [tool for tool in objects(body, "tools") if string(tool, "type") == "openrouter:web_search"]
    options = at(body, "web_search_options")
    if servers:
        options = at(servers[0], "parameters") or {}
    return RecordedRequest(
        _turns(messages, "user", _content),
        "".join(_turns(messages, "assistant", _content)),
        _turns(messages, "system", _content),
        [],
        0,
        None if options is None else _options(options, options),
        string(body, "model"),
        body.get("stream") is True,
    )


def _gemini(body: JsonObject) -> RecordedRequest:
    contents = objects(body, "contents")
    tools = objects(body, "tools")
    searches = [tool for tool in tools if "googleSearch" in tool]
    system = "".join(string(part, "text") for part in objects(body, "systemInstruction", "parts"))
    return RecordedRequest(
        _turns(contents, "user", _parts),
        "".join(_turns(contents, "model", _parts)),
        [system] if system else [],
        [],
        len(tools) - len(searches),
        SearchOptions() if searches else None,
        "",
        stream=False,
    )


def _options(tool: Json, domains: Json) -> SearchOptions:
    """All dialects but Gemini name the options the same, in slightly different objects."""
    approximate = at(tool, "user_location", "approximate") or at(tool, "user_location")
    location = Location(
        string(approximate, "country"),
        string(approximate, "region"),
        string(approximate, "city"),
        string(approximate, "timezone"),
    )
    live = at(tool, "external_web_access")
    sizes: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}
    return SearchOptions(
        allowed_domains=tuple(strings(domains, "allowed_domains")),
        blocked_domains=(*strings(domains, "blocked_domains"), *strings(domains, "excluded_domains")),
        location=None if approximate is None else location,
        max_uses=count(tool, "max_uses"),
        context_size=sizes.get(string(tool, "search_context_size")),
        live=live if isinstance(live, bool) else None,
    )


def _urls(value: Json) -> Iterator[str]:
    """The URLs of everything found or cited earlier."""
    if isinstance(value, dict):
        url = value.get("url")
        if isinstance(url, str):
            yield url
        for item in value.values():
            yield from _urls(item)
    elif isinstance(value, list):
        for item in value:
            yield from _urls(item)


_READERS: dict[str, Callable[[JsonObject], RecordedRequest]] = {
    "anthropic_messages": _anthropic,
    "openai_responses": _responses,
    "openai_chat": _chat,
    "gemini": _gemini,
}
