"""Tool calls."""

from __future__ import annotations

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.websearch import DIALECT
from groundwire.dialects.websearch.request import decode_provider_request
from groundwire.errors import InvalidArguments, InvalidQuery
from groundwire.model import (
    FunctionTool,
    Image,
    Json,
    JsonObject,
    Location,
    Message,
    Request,
    SearchOptions,
    Text,
)

ALL: JsonObject = {
    "query": "How long is the Nile?",
    "provider": "gemini",
    "model": "gemini-2.5-flash",
    "allowed_domains": ["a.example", "b.example"],
    "blocked_domains": ["c.example"],
    "country": "DE",
    "region": "Bayern",
    "city": "München",
    "timezone": "Europe/Berlin",
    "language": "de",
    "since": "2026-01-01",
    "until": "2026-02-01",
    "max_uses": 3,
    "max_sources": 5,
    "context_size": "low",
    "live": False,
}


def test_a_query_is_a_question_with_search() -> None:
    request = DIALECT.decode_request({"query": "  How long is the Nile?\n"})
    assert request == Request(
        (Message("user", (Text("How long is the Nile?"),)),),
        search=SearchOptions(),
    )


def test_all_options_are_read_and_written() -> None:
    request = DIALECT.decode_request(ALL)
    assert request.model == "gemini-2.5-flash"
    assert request.extras == {"websearch": {"provider": "gemini"}}
    assert request.search == SearchOptions(
        ("a.example", "b.example"),
        ("c.example",),
        Location("DE", "Bayern", "München", "Europe/Berlin"),
        "de",
        "2026-01-01",
        "2026-02-01",
        3,
        5,
        "low",
        live=False,
    )
    assert DIALECT.encode_request(request) == (ALL, ())


def test_nulls_and_empty_values_are_absent() -> None:
    empty: dict[str, Json] = {name: None for name in ALL if name != "query"}
    assert DIALECT.decode_request({"query": "x", **empty}) == DIALECT.decode_request({"query": "x"})
    blank: JsonObject = {"query": "x", "provider": "", "country": " ", "allowed_domains": [], "since": ""}
    assert DIALECT.decode_request(blank) == DIALECT.decode_request({"query": "x"})


@pytest.mark.parametrize("body", [{}, {"query": None}, {"query": ""}, {"query": " \n\t "}])
def test_a_blank_query_is_refused(body: JsonObject) -> None:
    for decode in (DIALECT.decode_request, lambda call: decode_provider_request(call, "websearch_gemini")):
        with pytest.raises(InvalidQuery):
            decode(body)


def test_a_provider_tool_takes_a_query_and_nothing_else() -> None:
    with pytest.raises(InvalidArguments) as caught:
        decode_provider_request({"query": "x", "foo": 1}, "websearch_gemini")
    assert DIALECT.encode_error(caught.value, Reply()) == (
        400,
        {
            "llmContent": "Error: websearch_gemini only accepts a single 'query' field.\n\n"
            "Details: Unknown argument(s): foo, only 'query' supported.",
            "returnDisplay": "websearch_gemini only accepts a single 'query' field.",
            "error": {
                "message": "Unknown argument(s): foo, only 'query' supported.",
                "type": "INVALID_TOOL_ARGUMENTS",
            },
        },
    )
    assert decode_provider_request({"query": " x "}, "geminisearch").query == "x"


def test_all_unknown_arguments_are_named() -> None:
    with pytest.raises(InvalidArguments, match=r"^Unknown argument\(s\): a, b, only 'query', 'provider', "):
        DIALECT.decode_request({"a": 1, "query": "x", "b": 2})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("query", 3),
        ("allowed_domains", "a.example"),
        ("allowed_domains", [1]),
        ("max_uses", 0),
        ("max_sources", "many"),
        ("context_size", "huge"),
        ("live", "yes"),
        ("city", ["Rome"]),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_by_name(name: str, value: Json) -> None:
    with pytest.raises(InvalidArguments, match=rf"^\$\.{name}"):
        DIALECT.decode_request({"query": "x", name: value})


def test_what_a_tool_call_cannot_carry_is_named() -> None:
    question = Message("user", (Text("Nile?"), Image("image/png", "AAAA")))
    request = Request(
        (Message("user", (Text("Hi."),)), Message("assistant", (Text("Hello."),)), question),
        system=(Text("Be brief."),),
        tools=(FunctionTool("f", strict=True),),
        search=SearchOptions(location=Location(latitude=48.1, longitude=11.6)),
    )
    body, unsupported = DIALECT.encode_request(request)
    assert body == {"query": "Nile?"}
    assert set(unsupported) == {"system", "messages", "tools", "strict", "location"}
