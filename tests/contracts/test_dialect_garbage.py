"""Whatever a provider sends, its decoder emits one terminal event, and every encoder writes a valid stream.

Streams of our own making and recorded ones are broken at random, cut at random, read by their own dialect
and written by another; a strict reader judges what comes out. A failure names the seed that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import pytest

from groundwire.dialects.base import Dialect, Reply
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import UpstreamError, UpstreamWireError
from groundwire.model import Citation, Cited, Event, Failed, Finished, Span, assemble
from groundwire.model.value import replace
from tests.conftest import RECORDINGS
from tests.contracts.amazon_frames import BINARY, as_binary, as_sse
from tests.contracts.checkers import check_stream
from tests.contracts.mutators import chunks, mutate, mutate_json
from tests.contracts.samples import BROKEN, ORDERS, REPLY, SAMPLES, answer_events, encode_stream
from tests.contracts.strict_parser import Violation, strict_json
from tests.figures import Figures

RECORDED: dict[str, tuple[str, ...]] = {
    "anthropic_messages": ("anthropic/search-sonnet37.sse", "anthropic/webfetch-stream.sse"),
    "openai_responses": (
        "openai-responses/stream-2026-05-gpt41-ggplot-2.sse",
        "openai-responses/stream-error-insufficient-quota.sse",
        "synthetic/responses-stream-astral-codepoints.sse",
        "codex/stream-langchain-codex-reasoning.sse",
    ),
    "openai_chat": (
        "openai-chat/stream-4o-mini-search-preview.sse",
        "synthetic/chat-stream-annotations-last-chunk.sse",
        "synthetic/chat-stream-error-midway.sse",
    ),
    "gemini": ("gemini/search-stream-2.5-flash-1chunk.sse", "gemini/url-context-stream.sse"),
}
"""Real streams that our strict readers accept."""

MAX_GOLDEN = 60_000


@cache
def golden(name: str) -> tuple[bytes, ...]:
    """Valid streams of a dialect: what it makes of the samples, and what was recorded."""
    codec = dialect(name)
    made = [encode_stream(codec, answer_events(sample.answer)) for sample in (*SAMPLES, *BROKEN)]
    files = (RECORDINGS / path for path in RECORDED.get(name, ()))
    found = [path.read_bytes().replace(b"\r\n", b"\n") for path in files if path.is_file()]
    return tuple(data for data in (*made, *found) if len(data) <= MAX_GOLDEN)


def decode(source: Dialect, pieces: Iterable[bytes]) -> list[Event]:
    decoder = source.decoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.close()


def check_events(events: Sequence[Event]) -> None:
    """One end, an error of the right kind, and no citation outside the text."""
    ends = [index for index, event in enumerate(events) if isinstance(event, Finished | Failed)]
    assert ends == [len(events) - 1], f"ends at {ends} of {len(events)}"
    last = events[-1]
    assert not isinstance(last, Failed) or isinstance(last.error, UpstreamError | UpstreamWireError)
    answer = assemble(events)
    for citation in answer.citations:
        assert citation.span is None or 0 <= citation.span.start <= citation.span.end <= len(answer.text)


def check_encoded(
    target: Dialect, events: Sequence[Event], random: Random, *, shuffled: bool = False
) -> None:
    """The encoded stream is valid, with keep-alives between its events."""
    live = random.random() < 0.3
    encoder = target.encoder(replace(REPLY, citations="live" if live else "exact"))
    written = b""
    for event in events:
        written += encoder.feed(event)
        if written and random.random() < 0.05:
            written += encoder.ping()
    written += encoder.close()
    assert encoder.feed(Finished()) == b""
    check_stream(target.name, written, live=live or shuffled)


def check_whole(target: Dialect, events: Sequence[Event]) -> None:
    """The same answer as one body."""
    answer = assemble(events)
    if answer.error is None:
        strict_json(dump_json(target.encode_response(answer, REPLY)))


def failures(source: str, seeds: range, targets: Sequence[str] = ()) -> Iterator[str]:
    """What went wrong, with the seeds that repeat it."""
    for seed in seeds:
        try:
            survive(source, seed, targets)
        except AssertionError as error:
            yield str(error)


def survive(source: str, seed: int, targets: Sequence[str]) -> None:
    random = Random(f"{source} {seed}")
    data = random.choice(golden(source))
    data, names = mutate(random, as_sse(data) if source in BINARY else data)
    if source in BINARY:
        data = as_binary(data, random)
    step = f"{source} seed {seed} ({', '.join(names)})"
    try:
        events = decode(dialect(source), chunks(random, data))
        check_events(events)
        for target in targets or [random.choice(DIALECTS)]:
            step += f" to {target}"
            check_encoded(dialect(target), events, random)
            if seed % 10 == 0:
                check_whole(dialect(target), events)
    except Exception as error:
        raise AssertionError(f"{step}: {type(error).__name__}: {str(error)[:400]}") from error


@pytest.mark.parametrize("name", DIALECTS)
def test_the_strict_checkers_accept_every_sample(name: str) -> None:
    for number, sample in enumerate((*SAMPLES, *BROKEN)):
        for place, order in enumerate(ORDERS):
            live = (number + place) % 2 == 1
            reply = replace(REPLY, citations="live" if live else "exact")
            stream = encode_stream(dialect(name), answer_events(sample.answer, order), reply)
            try:
                check_stream(name, stream, live=live)
            except Violation as error:
                pytest.fail(f"{sample.name}, {order}, live {live}: {error}")


@pytest.mark.parametrize("path", [(name, path) for name, found in RECORDED.items() for path in found])
def test_the_strict_checkers_accept_real_traffic(path: tuple[str, str], recordings: Path) -> None:
    check_stream(path[0], (recordings / path[1]).read_bytes())


@pytest.mark.parametrize("name", DIALECTS)
def test_the_strict_checkers_refuse_broken_streams(name: str) -> None:
    stream = encode_stream(dialect(name), answer_events(SAMPLES[2].answer))
    odd = stream.replace(b'"', b"'", 1)
    for broken in (stream[:-20], stream + stream, odd, b"", stream + b"data: NaN\n\n"):
        with pytest.raises((Violation, KeyError)):
            check_stream(name, broken)


@pytest.mark.parametrize("name", DIALECTS)
def test_broken_streams_are_decoded_and_encoded_in_any_dialect(name: str) -> None:
    wrong = list(failures(name, range(120)))
    assert not wrong, "\n".join([f"{len(wrong)} in all", *wrong[:20]])


@pytest.mark.thorough
@pytest.mark.parametrize("name", DIALECTS)
def test_ten_thousand_broken_streams_are_encoded_in_every_dialect(name: str, figures: Figures) -> None:
    wrong = list(failures(name, range(1000, 11_000), DIALECTS))
    figures.add("R1", "malformed streams, each encoded in every dialect", 10_000, part=name)
    figures.add("R1", "of them with an unexpected exception", len(wrong), part=name)
    assert not wrong, "\n".join([f"{len(wrong)} in all", *wrong[:50]])


@pytest.mark.parametrize("name", DIALECTS)
def test_events_in_any_order_make_a_valid_stream(name: str) -> None:
    for seed in range(60):
        random = Random(seed)
        events = [
            event
            for sample in random.sample(SAMPLES, 2)
            for event in answer_events(sample.answer, random.choice(ORDERS))
            if not isinstance(event, Finished) and random.random() < 0.9
        ]
        if random.random() < 0.7:
            random.shuffle(events)
        events += [_strayed(event, random) for event in events if isinstance(event, Cited)]
        try:
            check_encoded(dialect(name), [*events, Finished()], random, shuffled=True)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error


def _strayed(event: Cited, random: Random) -> Cited:
    """The same citation with an impossible span."""
    start = random.choice((0, 3, 10**6, -5))
    span = Span(start, start + random.choice((-7, 0, 4, 10**6)))
    return Cited(Citation(span, event.citation.evidence, event.citation.anchor))


@pytest.mark.parametrize("name", DIALECTS)
def test_broken_bodies_are_wire_errors_or_answers(name: str) -> None:
    source = dialect(name)
    for seed in range(120):
        random = Random(seed)
        body, names = mutate_json(random, source.encode_response(random.choice(SAMPLES).answer, REPLY))
        try:
            value = load_json(body, UpstreamWireError)
            events = source.decode_response(value) if isinstance(value, dict) else [Finished()]
        except (UpstreamWireError, UpstreamError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed} ({names}): {type(error).__name__}: {error}") from error
        check_events(events)


_BODIES = (
    *(b"", b"<html><body>no</body></html>", b"null", b"[]", b"[[]]", b"7", b'"x"', b"{", b"\xff\xfe\x00"),
    *(b'{"error":null}', b'{"error":7}', b'{"error":"x"}', b'{"error":[]}', b'{"error":{"message":[1]}}'),
    *(b'[{"error":{"code":429}}]', b'{"detail":[{"msg":"x"}]}', b'{"error":{"code":' + b"9" * 5000 + b"}}"),
    *(b'{"error":{"details":[{"retryDelay":"soon"},7,null]}}', b'{"type":"error"}', b"[" * 100_000),
    *(b'{"error":{"code":NaN,"status":{}}}', b'{"error":{"message":"\\ud800","type":true}}', b"\x1b[31mred"),
)


@pytest.mark.parametrize("name", DIALECTS)
def test_any_error_body_becomes_an_upstream_error(name: str) -> None:
    for status in (200, 400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 502, 503, 504, 524, 529, 599):
        for body in _BODIES:
            for headers in ({}, {"retry-after": "x", "retry-after-ms": "1e999", "x-request-id": "r"}):
                error = dialect(name).decode_error(status, body, headers)
                assert isinstance(error, UpstreamError)
                assert error.status == status
                assert error.message.isprintable(), error.message
                dialect(name).encode_error(error, Reply())
