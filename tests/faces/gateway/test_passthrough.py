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
from tests.faces.gateway.kills import FIRST, stream_of
from tests.faces.gateway.raw import INBOUND, RawResponse, fetch, request_of
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.serving import provider_at, run, serving
from tests.faces.gateway.stream_ends import check_end

pytestmark = pytest.mark.server

by_dialect = pytest.mark.parametrize("dialect", INBOUND)
WITH_SENTINEL = ("openai_responses", "gemini_interactions", "anthropic_messages")


def middle(stream: bytes) -> int:
    """Where the frame ends that tells of the moon."""
    return stream.index(b"\n\n", stream.index(b"moon")) + 2


def passed(dialect: str, body: bytes, *, pause: float = 0.0) -> RawResponse:
    """What a client of the dialect gets of these bytes of its provider's."""
    response = ScriptedResponse(headers={"content-type": EVENTS}, body=body, framing="chunked")
    if pause:
        response = replace(response, dribble=Dribble(len(body) // 8 + 1, pause))

    async def main() -> RawResponse:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(Upstream(response))
            here = await stack.enter_async_context(serving({"mine": provider_at(dialect, upstream.url)}))
            return await fetch(here.url, request_of(dialect, "mine/m", stream=True))

    got = run(main())
    assert (got.status, got.complete) == (200, True)
    check_end(dialect, got.body)
    return got


@by_dialect
@pytest.mark.parametrize(
    "noise", [b"<html>502</html>", b'data: {"half":', b"data: null", b"data: overloaded"], ids=repr
)
def test_bytes_that_are_not_an_event_end_the_stream_with_an_error(dialect: str, noise: bytes) -> None:
    stream = stream_of(dialect)
    place = middle(stream)
    got = passed(dialect, stream[:place] + noise + b"\n\n" + stream[place:])
    if noise.startswith(b"data"):
        assert got.body.startswith(stream[:place])
        assert b"error" in got.body[place:]
        assert b"rain" not in got.body
    else:  # a line without a field's name tells nothing
        assert got.body == stream[:place] + noise + b"\n\n" + stream[place:]


@by_dialect
def test_unknown_events_pass(dialect: str) -> None:
    stream = stream_of(dialect)
    place = middle(stream)
    odd = b': a comment\n\nid: 7\nevent: new.thing\ndata: {"type":"new.thing","event_type":"new.thing"}\n\n'
    whole = stream[:place] + odd + stream[place:]
    assert passed(dialect, whole).body == whole


@by_dialect
def test_a_torn_sign_is_mended(dialect: str) -> None:
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
def test_an_error_is_the_end_although_the_provider_goes_on(dialect: str) -> None:
    stream = stream_of(dialect)
    place = middle(stream)
    error = f"event: error\ndata: {json.dumps(ERRORS[dialect])}\n\n".encode()
    body = passed(dialect, stream[:place] + error + stream[place:]).body
    assert body.startswith(stream[:place] + error)
    assert body[place + len(error) :].strip() in (b"", b"data: [DONE]", b"event: done\ndata: [DONE]")


@by_dialect
def test_a_stream_that_just_ends_gets_an_error(dialect: str) -> None:
    stream = stream_of(dialect)
    place = middle(stream)
    body = passed(dialect, stream[:place]).body
    assert body.startswith(stream[:place])
    assert b"error" in body[place:]


@by_dialect
def test_an_answer_that_comes_twice_ends_once(dialect: str) -> None:
    stream = stream_of(dialect)
    body = passed(dialect, stream + stream).body
    assert dialect == "gemini" or body == stream  # Gemini's streams end with their bytes


@pytest.mark.parametrize("dialect", WITH_SENTINEL)
def test_a_sentinel_where_more_was_due_is_a_broken_stream(dialect: str) -> None:
    stream = stream_of(dialect)
    place = middle(stream)
    body = passed(dialect, stream[:place] + b"data: [DONE]\n\n" + stream[place:]).body
    assert body.startswith(stream[:place] + b"event: error")


def test_an_error_of_ours_goes_on_counting_where_the_provider_stopped() -> None:
    passing = PassthroughWriter(DIALECT, Reply())
    passing.feed([Verbatim(b'data: {"type":"response.created","sequence_number":6}\n\n')])
    passing.feed([Verbatim(b": still here\n\n")])
    numbers = re.findall(rb'"sequence_number":(\d+)', passing.fail(Interrupted("cut")))
    assert numbers[0] == b"7"


def test_words_that_look_like_an_end_are_none() -> None:
    stream = stream_of("openai_chat").replace(b"moon", b"data: [DONE]")
    assert passed("openai_chat", stream).body == stream


def test_a_finish_reason_in_every_chunk_is_not_an_end() -> None:
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": f"{n} "}], "role": "model"}, "finishReason": "STOP"}]}
        for n in range(8)
    ]
    stream = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    assert passed("gemini", stream, pause=0.15).body == stream


def test_a_line_of_megabytes_passes_in_no_time() -> None:
    stream = stream_of("openai_chat").replace(b"moon", b"m" * 8_000_000)
    assert passed("openai_chat", stream).body == stream


def read(change: Callable[[bytes], bytes]) -> dict[str, SdkAnswer]:
    """What the official clients make of streams that were changed."""

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


def test_the_official_clients_raise_their_own_errors_for_noise() -> None:
    found = read(lambda stream: stream[: middle(stream)] + b"data: oops\n\n" + stream[middle(stream) :])
    for dialect, one in found.items():
        assert one.error, dialect
        assert not one.broken, f"{dialect}: {one.error}"


def test_the_official_clients_read_an_answer_that_comes_twice_once() -> None:
    found = read(lambda stream: stream + stream)
    assert {one.text for name, one in found.items() if name != "gemini"} == {FIRST}
    assert not any(one.error for one in found.values())
