"""The response does not depend on how the bytes of the provider were split into chunks."""

from __future__ import annotations

import gzip
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from groundwire.model.value import replace
from groundwire.server.response_writer import ResponseTimeouts
from groundwire.testing.script import EVENTS, Dribble, Framing, Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from tests.contracts.recorded.catalogue import Recording, answer_of, recordings_of
from tests.contracts.recorded.frames import is_sse
from tests.faces.gateway.raw import INBOUND, fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving

pytestmark = pytest.mark.server

_IDS = re.compile(rb"[0-9a-f]{32}")
_TIMES = re.compile(rb'("created(?:_at)?"|"completed_at"|"updated"): ?(?:\d+|"[^"]*")')
_TOKENS = re.compile(rb"gw1\.[\w.-]+")
LONGEST = 12_000
FEW, MANY = (29, 300), (1, 2, 7, 61, 300, 1000)
"""Chunk sizes in bytes."""


def plain(body: bytes) -> bytes:
    """The body without ids, times and signed tokens, which differ each time."""
    return _TOKENS.sub(b"TOKEN", _TIMES.sub(rb"\1:0", _IDS.sub(b"ID", body)))


def streams() -> list[Recording]:
    """A recorded stream of each dialect: the longest below the limit, or the shortest."""
    found: dict[str, Recording] = {}
    for recording in sorted(recordings_of("stream"), key=lambda item: len(item.data)):
        if is_sse(recording.data) and (recording.dialect not in found or len(recording.data) <= LONGEST):
            found[recording.dialect] = recording
    return list(found.values())


def responses(data: bytes, sizes: tuple[int, ...]) -> dict[str, ScriptedResponse]:
    """Responses with the same bytes in several framings and chunk sizes."""
    whole = ScriptedResponse(headers={"content-type": EVENTS}, body=data, framing="chunked")
    variants = {f"{size} at a time": replace(whole, dribble=Dribble(size, 0.0)) for size in sizes}
    packed = replace(whole, headers={**whole.headers, "content-encoding": "gzip"}, body=gzip.compress(data))
    return {
        **variants,
        "until the connection ends": replace(whole, framing="close"),
        "by its length": replace(whole, framing="length"),
        "compressed": packed,
        "compressed, 9 at a time": replace(packed, dribble=Dribble(9, 0.0)),
        "other line ends": replace(whole, body=data.replace(b"\n", b"\r\n") if b"\r" not in data else data),
    }


def check(inbound: str, sizes: tuple[int, ...]) -> None:
    found = streams()
    assert {recording.dialect for recording in found} == set(INBOUND)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(Upstream(Script()))
            providers = {f"my_{name}": provider_at(name, upstream.url) for name in INBOUND}
            # Single bytes are slow, and keep-alives would appear between them.
            timeouts = ResponseTimeouts(head=300.0, ping=300.0)
            here = await stack.enter_async_context(serving(providers, timeouts=timeouts))
            for recording in found:
                request = request_of(inbound, f"my_{recording.dialect}/m", stream=True)
                variants = responses(recording.data, sizes)
                upstream.script = Script(
                    (ScriptedResponse(headers={"content-type": EVENTS}, body=recording.data),)
                )
                expected = plain((await fetch(here.url, request)).body)
                assert len(expected) > 100
                for name, response in variants.items():
                    if name == "other line ends" and recording.dialect == inbound:
                        continue  # passthrough does not change bytes
                    upstream.script = Script((response,))
                    received = await fetch(here.url, request, seconds=120)
                    assert received.complete
                    assert plain(received.body) == expected, f"{recording.name}, {name}"

    run(main(), seconds=300)


@pytest.mark.parametrize("inbound", INBOUND)
def test_output_does_not_depend_on_how_the_input_is_chunked(recordings: Path, inbound: str) -> None:
    check(inbound, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("inbound", INBOUND)
def test_output_is_the_same_if_the_input_arrives_byte_by_byte(recordings: Path, inbound: str) -> None:
    check(inbound, MANY)


DONE = b"data: [DONE]"


def test_passthrough_forwards_every_byte(recordings: Path) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(Upstream(Script()))
            providers = {f"my_{name}": provider_at(name, upstream.url) for name in INBOUND}
            here = await stack.enter_async_context(serving(providers))
            passed = 0
            for recording in recordings_of("stream", "body"):
                streams_it = recording.kind == "stream"
                if streams_it != is_sse(recording.data) or answer_of(recording).error is not None:
                    continue
                framing: Framing = "chunked" if streams_it else "length"
                kind = {"content-type": EVENTS} if streams_it else {}
                upstream.script = Script(
                    (ScriptedResponse(headers=kind, body=recording.data, framing=framing),)
                )
                request = request_of(recording.dialect, f"my_{recording.dialect}/m", stream=streams_it)
                received = await fetch(here.url, request)
                assert received.status == 200
                sent = recording.data.strip()
                assert received.body.startswith(sent), recording.name
                # Perplexity omits the sentinel of Chat; clients wait for it.
                adds_end = streams_it and recording.dialect == "openai_chat" and not sent.endswith(DONE)
                assert received.body[len(sent) :].strip() == (DONE if adds_end else b""), recording.name
                passed += 1
            assert passed > 75

    run(main(), seconds=120)
