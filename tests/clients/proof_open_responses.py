"""Open Responses: the requests of its compliance runner, and responses that its published types accept.

The runner itself is not published as a package, but the types that are generated from the specification are.
Web search does not apply: the specification has functions as its only tools, and no item for a search.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, ValidationError

from tests.clients.packages import OPEN_RESPONSES, install_types
from tests.clients.running_gateway import BOUND, RunningGateway

MODELS = ("openai_chat/gpt-5.1", "anthropic/claude-opus-4-8")
"""Models whose answers are translated; those of OpenAI's Responses are passed through unchanged."""
# One red pixel.
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
_FUNCTION = {
    "type": "function",
    "name": "websearch",
    "description": "Searches the web.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


def _message(role: str, content: object) -> dict[str, object]:
    return {"type": "message", "role": role, "content": content}


SCENARIOS: Mapping[str, dict[str, Any]] = {
    "text": {"input": [_message("user", "Say hello.")]},
    "system prompt": {"input": [_message("system", "Be a pirate."), _message("user", "Say hello.")]},
    "several turns": {
        "input": [
            _message("user", "My name is Ada."),
            _message("assistant", "Hello Ada."),
            _message("user", "What is my name?"),
        ]
    },
    "image": {
        "input": [
            _message(
                "user",
                [
                    {"type": "input_text", "text": "Which colour is this?"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}"},
                ],
            )
        ]
    },
    "function": {"input": [_message("user", "Look it up.")], "tools": [_FUNCTION]},
}


@pytest.fixture(scope="module")
def types() -> Mapping[str, type[BaseModel]]:
    """The published types by their names."""
    sys.path.insert(0, str(install_types()))
    found = vars(import_module("openresponses_types.types")).items()
    return {name: item for name, item in found if isinstance(item, type) and issubclass(item, BaseModel)}


def faults(model: type[BaseModel], value: object) -> list[str]:
    try:
        model.model_validate(value)
    except ValidationError as error:
        return [f"{model.__name__}: {item['loc']}: {item['msg']}" for item in error.errors()]
    return []


def events_of(stream: str) -> Iterator[dict[str, Any]]:
    for line in stream.splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def event_type(types: Mapping[str, type[BaseModel]], name: str) -> type[BaseModel] | None:
    """The type of an event: its description repeats the event's name."""
    for title, model in types.items():
        if title.endswith("StreamingEvent") and f"`{name}`" in (model.model_fields["type"].description or ""):
            return model
    return None


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_response_and_its_stream_conform(
    scenario: str,
    model: str,
    gateway: RunningGateway,
    types: Mapping[str, type[BaseModel]],
    show: Callable[[str, str], None],
) -> None:
    body = {"model": model, **SCENARIOS[scenario]}
    url = f"{gateway.url}/v1/responses"
    whole = httpx2.post(url, json=body, timeout=BOUND).json()
    assert not faults(types["ResponseResource"], whole)
    assert whole["status"] == "completed"
    kinds = [item["type"] for item in whole["output"]]
    assert ("function_call" if scenario == "function" else "message") in kinds

    events = list(events_of(httpx2.post(url, json={**body, "stream": True}, timeout=BOUND).text))
    unknown = [event["type"] for event in events if event_type(types, event["type"]) is None]
    assert not unknown
    wrong = [
        fault
        for event in events
        if (known := event_type(types, event["type"])) is not None
        for fault in faults(known, event)
    ]
    assert not wrong
    names = [event["type"] for event in events]
    assert names[-1] == "response.completed"
    if scenario == "function":
        assert "response.function_call_arguments.delta" in names
        assert "response.function_call_arguments.done" in names
    show(f"{OPEN_RESPONSES}, {scenario}, {model}", f"conforms: {', '.join(kinds)}; {len(events)} events")
