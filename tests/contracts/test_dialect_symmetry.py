"""Requests: a dialect decodes what it encodes to the same meaning, and names what it cannot encode.

Also the caller's mistakes: whatever is wrong with a body, the error is the caller's and names the JSON path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import ClientWireError, RequestError
from groundwire.model import (
    FunctionTool,
    Image,
    Json,
    JsonObject,
    Limits,
    Location,
    Message,
    OpaqueTool,
    OutputFormat,
    Part,
    ReasoningOptions,
    Request,
    SearchOptions,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from groundwire.model.value import field_names, replace
from tests.contracts.mutators import Path, at, paths, put
from tests.model.strategies import examples

QUESTION = Message("user", (Text("How long is the Nile? 🐊\r\nIn km\u2028please."),))
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Größe"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
WEATHER = FunctionTool("get_weather", "The weather of a city.", SCHEMA, strict=True)
CLOCK = FunctionTool("clock_now", "What time it is.", {"type": "object", "properties": {}})
BERLIN = Location("DE", "Berlin", "Berlin", "Europe/Berlin")
PICTURE = Image("image/png", "iVBORw0KGgo=")
CALLS = (
    QUESTION,
    Message(
        "assistant",
        (
            Text("Moment."),
            ToolCall("call_a", "get_weather", '{"city": "Köln", "days": 2}'),
            ToolCall("call_b", "clock_now", "{}"),
        ),
    ),
    Message(
        "user",
        (
            ToolResult("call_a", (Text("Rain 🌧"),), "get_weather"),
            ToolResult("call_b", (Text("12:00"),), "clock_now"),
        ),
    ),
)
REQUEST = Request((QUESTION,), model="model-1")

REQUESTS: dict[str, Request] = {
    "a question": REQUEST,
    "a conversation": replace(
        REQUEST, messages=(QUESTION, Message("assistant", (Text("6650 km."),)), QUESTION)
    ),
    "instructions": replace(REQUEST, system=(Text("Be brief."), Text("Be kind."))),
    "an instruction from a developer": replace(
        REQUEST, messages=(Message("developer", (Text("Be brief."),)), QUESTION)
    ),
    "several text parts": replace(REQUEST, messages=(Message("user", (Text("One. "), Text("Two."))),)),
    "tools": replace(REQUEST, tools=(WEATHER, CLOCK)),
    "tool calls and results": replace(REQUEST, messages=CALLS, tools=(WEATHER, CLOCK)),
    "a failed tool": replace(
        REQUEST,
        messages=(
            *CALLS[:2],
            Message("user", (ToolResult("call_a", (Text("no"),), "get_weather", is_error=True),)),
        ),
        tools=(WEATHER,),
    ),
    "a picture": replace(REQUEST, messages=(Message("user", (Text("What is this?"), PICTURE)),)),
    "a picture by address": replace(
        REQUEST,
        messages=(Message("user", (Text("And this?"), Image("image/png", url="https://a.example/b.png"))),),
    ),
    "search": replace(REQUEST, search=SearchOptions()),
    "search with tools": replace(REQUEST, search=SearchOptions(), tools=(WEATHER,)),
    "a forced search": replace(REQUEST, search=SearchOptions(), tool_choice=ToolChoice("search")),
    "any tool": replace(REQUEST, tools=(WEATHER,), tool_choice=ToolChoice("required")),
    "no tool": replace(REQUEST, tools=(WEATHER,), tool_choice=ToolChoice("none")),
    "the model's choice": replace(REQUEST, tools=(WEATHER,), tool_choice=ToolChoice("auto")),
    "a named function": replace(
        REQUEST, tools=(WEATHER, CLOCK), tool_choice=ToolChoice("function", "clock_now")
    ),
    "limits": replace(REQUEST, limits=Limits(500, ("END", "STOP"), 0.5, 0.25, 20)),
    "a limit": replace(REQUEST, limits=Limits(max_output_tokens=500)),
    "low effort": replace(REQUEST, reasoning=ReasoningOptions("low")),
    "high effort shown": replace(REQUEST, reasoning=ReasoningOptions("high", visible=True)),
    "no reasoning": replace(REQUEST, reasoning=ReasoningOptions("none")),
    "a budget of reasoning": replace(REQUEST, reasoning=ReasoningOptions(budget_tokens=2048)),
    "output by a schema": replace(REQUEST, output=OutputFormat(SCHEMA, "weather", strict=True)),
    "any JSON": replace(REQUEST, output=OutputFormat()),
    "streamed": replace(REQUEST, stream=True),
    "continued": replace(REQUEST, previous_id="r0"),
    "a tool of an unknown dialect": replace(REQUEST, tools=(OpaqueTool("unknown", {"type": "x"}), CLOCK)),
}


_ERROR = "Error: "
"""How dialects without a field for it mark a failed tool result."""
_PART_OF = {"strict": "tools", "opaque_tools": "tools", "is_error": "messages", "messages": "images_by_url"}
"""Unsupported features whose loss another name covers."""


def meaning(request: Request) -> dict[str, object]:
    """The meaning of a request, by the names that `unsupported` uses."""
    values: dict[str, object] = {
        "system": _instructions(request),
        "messages": _turns(request),
        "is_error": [
            part.is_error or _result_text(part).startswith(_ERROR)
            for message in request.messages
            for part in message.parts
            if isinstance(part, ToolResult)
        ],
        "tools": [
            (tool.name, tool.description, tool.parameters)
            for tool in request.tools
            if isinstance(tool, FunctionTool)
        ],
        "strict": [tool.strict for tool in request.tools if isinstance(tool, FunctionTool) and tool.strict],
        "opaque_tools": [tool for tool in request.tools if isinstance(tool, OpaqueTool)],
        "tool_choice": request.tool_choice if request.tool_choice != ToolChoice("auto") else None,
        "search": request.search is not None,
        "stop": request.limits.stop,
        "temperature": request.limits.temperature,
        "top_p": request.limits.top_p,
        "top_k": request.limits.top_k,
        "reasoning": request.reasoning and (request.reasoning.effort, request.reasoning.budget_tokens),
        "output": request.output is not None and (request.output.schema or "any"),
        "previous_id": request.previous_id,
    }
    return values | search_meaning(request.search or SearchOptions())


def search_meaning(options: SearchOptions) -> dict[str, object]:
    values = {name: getattr(options, name) for name in field_names(SearchOptions) if name != "extras"}
    return values | {"live": options.live is not False}


def _instructions(request: Request) -> str:
    texts = [text.text for text in request.system]
    texts += [message.text for message in request.messages if message.role in ("system", "developer")]
    return " ".join(" ".join(texts).split())


def _turns(request: Request) -> list[tuple[str, list[object]]]:
    """Roles and parts; neighbours of one role are one turn, neighbouring texts one text."""
    turns: list[tuple[str, list[object]]] = []
    for message in request.messages:
        if message.role in ("system", "developer"):
            continue
        if not turns or turns[-1][0] != message.role:
            turns.append((message.role, []))
        parts = turns[-1][1]
        for part in message.parts:
            value = _part_value(part)
            if isinstance(value, str) and parts and isinstance(parts[-1], str):
                parts[-1] += value
            else:
                parts.append(value)
    return turns


def _part_value(part: Part) -> object:
    match part:
        case Text(text):
            return text
        case ToolCall(call_id, name, arguments):
            return call_id, name, json.loads(arguments)
        case ToolResult(call_id):
            return call_id, _result_text(part).removeprefix(_ERROR)
        case Image(media_type, data, url):
            return (media_type, data) if data else url
    return part


def _result_text(result: ToolResult) -> str:
    return "".join(item.text for item in result.content if isinstance(item, Text))


def there_and_back(codec: Dialect, request: Request) -> tuple[Request, tuple[str, ...]]:
    encoded = codec.encode_request(request)
    body = Fields.of(load_json(dump_json(encoded.body), ClientWireError), ClientWireError).raw
    return codec.decode_request(body), encoded.unsupported


def silent_losses(
    before: Mapping[str, object], after: Mapping[str, object], unsupported: tuple[str, ...]
) -> list[str]:
    return [
        f"{name}: {value!r} became {after[name]!r}, unsupported: {unsupported}"
        for name, value in before.items()
        if name not in unsupported and _PART_OF.get(name) not in unsupported and after[name] != value
    ]


@pytest.mark.parametrize("case", REQUESTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_request_is_read_as_it_was_meant(name: str, case: str) -> None:
    request = REQUESTS[case]
    after, unsupported = there_and_back(dialect(name), request)
    if name == "websearch":
        # Every request of this dialect is a search.
        request = replace(request, search=request.search or SearchOptions())
    lost = silent_losses(meaning(request), meaning(after), unsupported)
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_plain_search_is_fully_supported(name: str) -> None:
    assert dialect(name).encode_request(REQUESTS["search"]).unsupported == ()


@pytest.mark.parametrize("name", DIALECTS)
def test_a_limit_of_the_answer_is_kept_or_named(name: str) -> None:
    after, unsupported = there_and_back(dialect(name), REQUESTS["a limit"])
    assert after.limits.max_output_tokens == 500 or "max_output_tokens" in unsupported


_DOMAINS = st.lists(
    st.sampled_from(["a.example", "b.example/path", "docs.c.example", "xn--bcher-kva.example"]),
    max_size=3,
    unique=True,
).map(tuple)
_NAMED = st.builds(
    Location,
    country=st.sampled_from(["", "DE", "US"]),
    region=st.sampled_from(["", "Bayern"]),
    city=st.sampled_from(["", "München"]),
    timezone=st.sampled_from(["", "Europe/Berlin"]),
).filter(lambda location: location != Location())
_PLACES = st.sampled_from([None, Location(latitude=48.137, longitude=11.575)]) | _NAMED
_OPTION_VALUES: dict[str, st.SearchStrategy[object]] = {
    "allowed_domains": _DOMAINS,
    "blocked_domains": _DOMAINS,
    "location": _PLACES,
    "language": st.sampled_from(["", "de", "pt-BR"]),
    "since": st.sampled_from(["", "2026-01-01T00:00:00Z"]),
    "until": st.sampled_from(["", "2026-06-30T23:59:59Z"]),
    "max_uses": st.none() | st.integers(1, 20),
    "max_sources": st.none() | st.integers(1, 25),
    "context_size": st.sampled_from([None, "low", "medium", "high"]),
    "live": st.sampled_from([None, True, False]),
}
_OPTIONS = st.builds(SearchOptions, **_OPTION_VALUES)


def test_every_search_option_is_tested_here() -> None:
    assert set(_OPTION_VALUES) == set(field_names(SearchOptions)) - {"extras"}


@pytest.mark.parametrize("name", DIALECTS)
@given(options=_OPTIONS)
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_search_option_survives_or_is_named(name: str, options: SearchOptions) -> None:
    try:
        after, unsupported = there_and_back(dialect(name), replace(REQUEST, search=options))
    except RequestError:
        # Some dialects take one list of domains, not both; refusing is honest.
        assert options.allowed_domains
        assert options.blocked_domains
        return
    assert after.search is not None
    lost = silent_losses(search_meaning(options), search_meaning(after.search), unsupported)
    assert not lost, "\n".join(lost)


RICH = Request(
    (*CALLS, Message("user", (Text("And this?"), PICTURE))),
    "model-1",
    (Text("Be brief."),),
    (WEATHER, CLOCK),
    ToolChoice("function", "get_weather"),
    SearchOptions(("a.example",), (), BERLIN, "de", max_uses=3, context_size="low"),
    Limits(500, ("END",), 0.5, 0.25, 20),
    ReasoningOptions("low"),
    OutputFormat(SCHEMA, "weather"),
)
_ODD: tuple[Json, ...] = (7, "text", True, 1.5, [], {}, [7], ["x"], [[]], {"x": 1}, [{}], -1, "", 10**30)


def spelled(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def mistakes(codec: Dialect) -> Iterator[tuple[Path, Json, JsonObject]]:
    """Bodies with one value of another type."""
    text = dump_json(codec.encode_request(RICH).body)
    whole = json.loads(text)
    for path in paths(whole):
        for odd in _ODD:
            if type(odd) is not type(at(whole, path)):
                body = json.loads(text)
                put(body, path, odd)
                yield path, odd, body


def refusal(codec: Dialect, body: JsonObject, what: str) -> ClientWireError | RequestError | None:
    """The error for a body, which must be the caller's."""
    try:
        codec.decode_request(body)
    except (ClientWireError, RequestError) as error:
        return error
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return None


@pytest.mark.parametrize("name", DIALECTS)
def test_a_value_of_the_wrong_type_is_the_callers_fault_and_named(name: str) -> None:
    codec = dialect(name)
    refused = 0
    for path, odd, body in mistakes(codec):
        where = spelled(path)
        error = refusal(codec, body, f"{where} = {odd!r}")
        refused += error is not None
        if isinstance(error, ClientWireError):
            assert where.startswith(error.path) or error.path.startswith(where), f"{where} = {odd!r}: {error}"
    assert refused


@pytest.mark.parametrize(
    "odd", [None, [], {}, [{}], "", 10**400, [None], {"": None}], ids=lambda odd: repr(odd)[:9]
)
@pytest.mark.parametrize("name", DIALECTS)
def test_any_top_level_value_is_accepted_or_refused(name: str, odd: Json) -> None:
    codec = dialect(name)
    whole = codec.encode_request(RICH).body
    for key in [*whole, "temperature", "top_p", "max_tokens", "tools", "messages", "input", "contents"]:
        error = refusal(codec, {**whole, key: odd}, key)
        assert error is None or error.message


_DEEP = b"[" * 200 + b"]" * 200
_NO_JSON = {
    "nothing": b"",
    "blanks": b"  \n",
    "cut": b'{"messages": [',
    "words": b"hello",
    "a comma too many": b'{"a": 1,}',
    "two values": b"{} {}",
    "NaN": b'{"temperature": NaN}',
    "infinity": b'{"temperature": -Infinity}',
    "out of range": b'{"temperature": 1e999}',
    "a number of 5,000 digits": b'{"max_tokens": ' + b"9" * 5000 + b"}",
    "200 lists": b'{"messages": ' + _DEEP + b"}",
    "100,000 lists": b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "single quotes": b"{'a': 1}",
    "a control character": b'{"a": "\x01"}',
    "a list": b"[]",
    "a string": b'"x"',
    "a number": b"1",
    "null": b"null",
}


@pytest.mark.parametrize("case", _NO_JSON)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_body_that_is_not_an_object_is_the_clients_fault(name: str, case: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        dialect(name).decode_request(
            Fields.of(load_json(_NO_JSON[case], ClientWireError), ClientWireError).raw
        )
    assert caught.value.path.startswith("$")
    assert caught.value.reason


@pytest.mark.parametrize("name", DIALECTS)
def test_a_lone_surrogate_is_replaced(name: str) -> None:
    codec = dialect(name)
    text = dump_json(codec.encode_request(REQUEST).body).replace("Nile", "N\\ud800ile")
    body = Fields.of(load_json(text, ClientWireError), ClientWireError).raw
    assert "N\ufffdile" in codec.decode_request(body).query
