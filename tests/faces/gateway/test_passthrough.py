"""Passthrough: answers in the client's own dialect are sent unchanged and end once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import Interrupted
from groundwire.model import Verbatim
from groundwire.model.value import replace
from groundwire.providers.passthrough.writer import PassthroughWriter
from groundwire.testing.script import EVENTS, Dribble, ScriptedResponse
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.broken_streams import FIRST, stream_of
from tests.faces.gateway.raw import INBOUND, RawResponse, fetch, request_of
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.serving import provider_at, run, serving
from tests.faces.gateway.stream_ends import check_end

pytestmark = pytest.mark.server

by_dialect = pytest.mark.parametrize("dialect", INBOUND)
WITH_SENTINEL = ("openai_responses", "gemini_interactions", "anthropic_messages")


def middle(stream: bytes) -> int:
    """The end of the frame with the word "moon", as an offset."""
    return stream.index(b"\n\n", stream.index(b"moon")) + 2


def passed(dialect: str, body: bytes, *, pause: float = 0.0) -> RawResponse:
    """The response to a client of the dialect whose provider sends this body."""
    scripted = ScriptedResponse(headers={"content-type": EVENTS}, body=body, framing="chunked")
    if pause:
        scripted = replace(scripted, dribble=Dribble(len(body) // 8 + 1, pause))

    async def main() -> RawResponse:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(Upstream(scripted))
            here = await stack.enter_async_context(serving({"mine": provider_at(dialect, upstream.url)}))
            return await fetch(here.url, request_of(dialect, "mine/m", stream=True))

    response = run(main())
    assert (response.status, response.complete) == (200, True)
    check_end(dialect, response.body)
    return response


@by_dialect
@pytest.mark.parametrize(
    "garbage", [b"<html>502</html>", b'data: {"half":', b"data: null", b"data: overloaded"], ids=repr
)
def test_bytes_that_are_not_an_event_end_the_stream_with_an_error(dialect: str, garbage: bytes) -> None:
    stream = stream_of(dialect)
    offset = middle(stream)
    response = passed(dialect, stream[:offset] + garbage + b"\n\n" + stream[offset:])
    if garbage.startswith(b"data"):
        assert response.body.startswith(stream[:offset])
        assert b"error" in response.body[offset:]
        assert b"rain" not in response.body
    else:  # a line without a field name is ignored
        assert response.body == stream[:offset] + garbage + b"\n\n" + stream[offset:]


@by_dialect
def test_unknown_events_are_passed_through(dialect: str) -> None:
    stream = stream_of(dialect)
    offset = middle(stream)
    odd = b': a comment\n\nid: 7\nevent: new.thing\ndata: {"type":"new.thing","event_type":"new.thing"}\n\n'
    whole = stream[:offset] + odd + stream[offset:]
    assert passed(dialect, whole).body == whole


@by_dialect
def test_an_invalid_utf8_byte_becomes_a_replacement_character(dialect: str) -> None:
    stream = stream_of(dialect).replace(b"moon", b"mo\xffon")
    assert passed(dialect, stream).body == stream.replace(b"\xff", "\ufffd".encode())


ERRORS = {
    "anthropic_messages": {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
    "openai_responses": {"type": "error", "code": "x", "message": "no", "param": None, "sequence_number": 9},
    "openai_chat": {"error": {"message": "no", "type": "server_error", "code": None, "param": None}},
    "gemini": {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}},
    "gemini_interactions": {"event_type": "error", "error": {"code": "internal", "message": "no"}},
}


@by_dialect
def test_an_error_ends_the_stream_even_if_the_provider_continues(dialect: str) -> None:
    stream = stream_of(dialect)
    offset = middle(stream)
    error = f"event: error\ndata: {json.dumps(ERRORS[dialect])}\n\n".encode()
    body = passed(dialect, stream[:offset] + error + stream[offset:]).body
    assert body.startswith(stream[:offset] + error)
    assert body[offset + len(error) :].strip() in (b"", b"data: [DONE]", b"event: done\ndata: [DONE]")


@by_dialect
def test_a_truncated_stream_ends_with_an_error(dialect: str) -> None:
    stream = stream_of(dialect)
    offset = middle(stream)
    body = passed(dialect, stream[:offset]).body
    assert body.startswith(stream[:offset])
    assert b"error" in body[offset:]


SEARCHED = (
    b'data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0,'
    b'"groundingMetadata":{"webSearchQueries":["moon"]}}],"modelVersion":"m","responseId":"1"}\n\n'
)
"""A search is all that a client sees of it, and a decoder reports it when the stream has ended."""


def test_a_stream_that_ends_after_a_search_ends_with_an_error() -> None:
    body = passed("gemini", SEARCHED).body
    assert body.startswith(SEARCHED)
    assert body.count(b'"error"') == 1


def test_an_error_of_the_provider_after_a_search_is_sent_once() -> None:
    error = b'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\n\n'
    assert passed("gemini", SEARCHED + error).body == SEARCHED + error


@by_dialect
def test_an_answer_sent_twice_ends_once(dialect: str) -> None:
    stream = stream_of(dialect)
    body = passed(dialect, stream + stream).body
    assert dialect == "gemini" or body == stream  # Gemini's streams end with their bytes


@pytest.mark.parametrize("dialect", WITH_SENTINEL)
def test_a_premature_sentinel_is_a_broken_stream(dialect: str) -> None:
    stream = stream_of(dialect)
    offset = middle(stream)
    body = passed(dialect, stream[:offset] + b"data: [DONE]\n\n" + stream[offset:]).body
    assert body.startswith(stream[:offset] + b"event: error")


def test_an_inserted_error_continues_the_sequence_numbers_of_the_provider() -> None:
    writer = PassthroughWriter(DIALECT, Reply())
    writer.feed([Verbatim(b'data: {"type":"response.created","sequence_number":6}\n\n')])
    writer.feed([Verbatim(b": still here\n\n")])
    numbers = re.findall(rb'"sequence_number":(\d+)', writer.fail(Interrupted("cut")))
    assert numbers[0] == b"7"


def test_text_that_looks_like_an_end_is_not_an_end() -> None:
    stream = stream_of("openai_chat").replace(b"moon", b"data: [DONE]")
    assert passed("openai_chat", stream).body == stream


def test_a_finish_reason_in_every_chunk_is_not_an_end() -> None:
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": f"{n} "}], "role": "model"}, "finishReason": "STOP"}]}
        for n in range(8)
    ]
    stream = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    assert passed("gemini", stream, pause=0.15).body == stream


def test_a_line_of_megabytes_is_passed_through_quickly() -> None:
    stream = stream_of("openai_chat").replace(b"moon", b"m" * 8_000_000)
    assert passed("openai_chat", stream).body == stream


def read(change: Callable[[bytes], bytes]) -> dict[str, SdkAnswer]:
    """What the official clients read from changed streams."""

    async def main() -> dict[str, SdkAnswer]:
        async with AsyncExitStack() as stack:
            providers = {}
            for dialect in INBOUND:
                body = change(stream_of(dialect))
                response = ScriptedResponse(headers={"content-type": EVENTS}, body=body, framing="chunked")
                upstream = await stack.enter_async_context(Upstream(response))
                providers[f"my_{dialect}"] = provider_at(dialect, upstream.url)
            here = await stack.enter_async_context(serving(providers))
            clients = await stack.enter_async_context(SdkClients(here.url))
            return {name: await clients.ask(name, f"my_{name}/m", stream=True) for name in INBOUND}

    return run(main())


def test_the_official_clients_raise_their_own_errors_for_garbage() -> None:
    found = read(lambda stream: stream[: middle(stream)] + b"data: oops\n\n" + stream[middle(stream) :])
    for dialect, one in found.items():
        assert one.error, dialect
        assert not one.broken, f"{dialect}: {one.error}"


def test_the_official_clients_read_an_answer_sent_twice_once() -> None:
    found = read(lambda stream: stream + stream)
    assert {one.text for name, one in found.items() if name != "gemini"} == {FIRST}
    assert not any(one.error for one in found.values())
