"""`LazyRequest`: decoded once, when a field outside its outline is read."""

from __future__ import annotations

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject, Message, Request, SearchOptions, Text, Wire
from groundwire.model.lazy_request import LazyRequest, RequestOutline, lazy_request, with_model
from groundwire.model.value import replace

DECODED = Request((Message("user", (Text("Why?"),)),), "m", search=SearchOptions(), stream=True)


class Decoder:
    """Counts how often it decodes."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Request:
        self.calls += 1
        return DECODED


def lazy() -> tuple[LazyRequest, Decoder]:
    decoder = Decoder()
    return lazy_request(RequestOutline("m", True, DECODED.search), None, decoder), decoder


def test_the_outline_is_read_without_decoding() -> None:
    request, decoder = lazy()
    assert (request.model, request.stream, request.search) == ("m", True, SearchOptions())
    assert (request.previous_id, request.stored, request.wire, request.links_only) == ("", None, None, False)
    assert decoder.calls == 0


def test_the_other_fields_are_decoded_once() -> None:
    request, decoder = lazy()
    assert request.messages == DECODED.messages
    assert request.tools == ()
    assert request.query == "Why?"
    assert decoder.calls == 1


def test_it_equals_the_decoded_request_and_is_replaced_by_one() -> None:
    assert lazy()[0] == DECODED
    assert replace(lazy()[0], stream=False) == replace(DECODED, stream=False)
    assert type(replace(lazy()[0])) is Request


def test_another_model_does_not_decode() -> None:
    request, decoder = lazy()
    other = with_model(request, "other")
    assert (other.model, other.stream, decoder.calls) == ("other", True, 0)
    assert other.messages == DECODED.messages
    assert other == replace(DECODED, model="other")
    assert with_model(request, "m") is request


def test_an_unknown_attribute_is_an_error() -> None:
    request, decoder = lazy()
    assert not hasattr(request, "nothing")
    assert decoder.calls == 0


MESSAGES: list[Json] = [{"role": "user", "content": "Why?"}]
BODIES: dict[str, list[JsonObject]] = {
    "openai_chat": [
        {"model": "m", "messages": [{"role": "user", "content": "Why?"}]},
        {"messages": MESSAGES, "stream": True, "web_search_options": {"search_context_size": "low"}},
        {
            "model": "m",
            "messages": MESSAGES,
            "tools": [{"type": "openrouter:web_search", "parameters": {"max_uses": 2}}],
        },
        {"model": "perplexity/sonar", "messages": MESSAGES, "search_domain_filter": ["-a.example"]},
    ],
    "anthropic_messages": [
        {"model": "m", "messages": [{"role": "user", "content": "Why?"}], "max_tokens": 5},
        {
            "model": "m",
            "messages": MESSAGES,
            "stream": True,
            "tools": [
                {"name": "f", "input_schema": {}},
                {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.example"]},
            ],
        },
    ],
    "openai_responses": [
        {"model": "m", "input": "Why?"},
        {
            "model": "m",
            "input": "Why?",
            "stream": True,
            "tools": [{"type": "web_search"}],
            "max_tool_calls": 3,
        },
        {
            "model": "m",
            "input": [{"type": "item_reference", "id": "msg_1"}],
            "previous_response_id": "resp_1",
        },
    ],
}


@pytest.mark.parametrize(
    ("name", "body"), [(name, body) for name, bodies in BODIES.items() for body in bodies]
)
def test_the_outline_of_a_body_is_that_of_the_decoded_request(name: str, body: JsonObject) -> None:
    language = dialect(name)
    assert language.outline_request is not None
    decoded = language.decode_request(body)
    assert language.outline_request(body) == RequestOutline(
        decoded.model, decoded.stream, decoded.search, decoded.previous_id, decoded.stored
    )


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    "broken", [{"model": 5}, {"stream": "yes"}, {"tools": "x"}, {"input": None, "messages": "x"}]
)
def test_an_outline_refuses_what_decoding_refuses(name: str, broken: JsonObject) -> None:
    language = dialect(name)
    body: JsonObject = {**BODIES[name][0], **broken}
    with pytest.raises(ClientWireError) as decoding:
        language.decode_request(body)
    assert language.outline_request is not None
    with pytest.raises(ClientWireError) as outlining:
        language.outline_request(body)
    assert str(outlining.value) == str(decoding.value)


def test_the_bytes_of_the_client_stay_with_another_model() -> None:
    wire = Wire("openai_chat", {}, b"{}")
    request = lazy_request(RequestOutline("m", False, None), wire, lambda: DECODED)
    assert with_model(request, "other").wire is wire
