"""Response reader: every provider gives the same answer, streamed or not, however it is framed."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.features import Feature, project
from groundwire.dialects.json import load_json
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.sse import MAX_PENDING, FrameReader
from groundwire.errors import Interrupted, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Message,
    Opaque,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    Verbatim,
    Warned,
    Wire,
    assemble,
)
from groundwire.model.value import replace
from groundwire.providers.passthrough.scan import SCAN_RULES
from groundwire.providers.spec import flatten
from groundwire.testing.answers import answer_events, encode_answer
from groundwire.testing.script import ScriptedResponse, answer, file_response
from groundwire.transport.http import Deadlines
from tests.contracts.amazon_frames import BINARY
from tests.dialects.anthropic_messages.bodies import block, end, sse, start
from tests.dialects.anthropic_messages.test_documents import (
    cited_text,
    document,
    fetch,
    message,
    page_location,
)
from tests.providers.harness import (
    PROVIDER_CASES,
    STREAMING,
    ProviderCase,
    ProviderOutcome,
    case_named,
    question,
    sampled,
    world,
)
from tests.transport.bounded import run

pytestmark = pytest.mark.server

NILE = Source("https://alpha.example/rivers?a=1&b=2", "Rivers")
AMAZON = Source("https://beta.example/amazon", "Der Amazonas – Länge")
TEXT = "Der Nil 🐊 ist 6650 km lang. Der Amazonas führt mehr Wasser."
FIRST, SECOND = Span(0, 27), Span(28, 59)


ENDLESS = ("gemini",)
"""Its streams have no end event."""


def _citation(span: Span, source: Source) -> Cited:
    return Cited(Citation(span, (Evidence(source),)))


EVENTS: list[Event] = [
    Started("id-1", "model-1"),
    SearchCalled(0, SearchCall("search_0", ("nile length", "amazon water"))),
    SearchReturned(1, SearchResult("search_0", (NILE, AMAZON))),
    *(TextDelta(2, TEXT[start : start + 5]) for start in range(0, len(TEXT), 5)),
    _citation(FIRST, NILE),
    _citation(SECOND, AMAZON),
    TextSettled(2),
    UsageSeen(Usage(input_tokens=10, output_tokens=20)),
    Finished("stop"),
]


def outcome_of(case: ProviderCase, response: ScriptedResponse, *, stream: bool) -> ProviderOutcome:
    async def main() -> ProviderOutcome:
        async with world(case, response) as here:
            return await here.ask(question(stream=stream))

    return run(main())


def check(outcome: ProviderOutcome, case: ProviderCase) -> None:
    """The answer has everything that its dialect supports."""
    assert outcome.error is None
    assert len(outcome.ends) == 1
    assert outcome.ends == outcome.events[-1:]
    expected, answer_read = assemble(EVENTS), outcome.answer
    assert answer_read.text == TEXT
    assert {source.url for source in answer_read.sources} == {NILE.url, AMAZON.url}
    losses = dialect(case.dialect).losses
    for feature in (Feature.CITATIONS, Feature.SPAN_STARTS, Feature.TITLES, Feature.QUERIES, Feature.TOKENS):
        if feature not in losses:
            assert project(answer_read, feature) == project(expected, feature), feature
    ends = [
        (citation.span.end, citation.evidence[0].source.url)
        for citation in answer_read.citations
        if citation.span
    ]
    assert ends == [(FIRST.end, NILE.url), (SECOND.end, AMAZON.url)]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_text_citations_and_queries_arrive(case: ProviderCase, stream: bool) -> None:
    check(outcome_of(case, answer(case.dialect, EVENTS), stream=stream), case)


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_an_answer_is_decoded_whether_or_not_it_is_streamed_as_requested(case: ProviderCase) -> None:
    """Servers ignore `stream`, and some know only one form."""
    form = encode_answer(case.dialect, EVENTS)
    whole = ScriptedResponse(body=form.whole)
    check(outcome_of(case, whole, stream=True), case)
    streamed = ScriptedResponse(
        headers={"content-type": "text/event-stream"}, body=form.stream, framing="chunked"
    )
    check(outcome_of(case, streamed, stream=False), case)


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "application/octet-stream", ""])
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_a_wrong_content_type_does_not_matter(case: ProviderCase, content_type: str) -> None:
    response = replace(answer(case.dialect, EVENTS), headers={"content-type": content_type})
    for stream in (False, True):
        check(outcome_of(case, response, stream=stream), case)


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_blanks_before_a_body_are_skipped(case: ProviderCase) -> None:
    response = answer(case.dialect, EVENTS)
    padded = replace(response, body=b"\n         \n" * 80 + response.body)
    check(outcome_of(case, padded, stream=False), case)


@pytest.mark.parametrize("case", sampled([case for case in STREAMING if case.dialect not in BINARY]))
def test_comments_in_a_stream_are_skipped(case: ProviderCase) -> None:
    response = answer(case.dialect, EVENTS)
    stream = b": PROCESSING\n\n" * 3 + (response.stream or b"")
    check(outcome_of(case, replace(response, stream=stream), stream=True), case)


@pytest.mark.parametrize("case", sampled([case for case in STREAMING if case.dialect not in ENDLESS]))
def test_bytes_after_the_end_are_not_waited_for(case: ProviderCase) -> None:
    response = answer(case.dialect, EVENTS)
    stalled = replace(response, stall_at=len(response.stream or b""))
    check(outcome_of(case, stalled, stream=True), case)


@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_a_truncated_stream_keeps_its_text_and_ends_with_an_error(case: ProviderCase) -> None:
    stream = answer(case.dialect, EVENTS).stream or b""
    at = len(stream) // 2

    for cut in ("fin", "rst"):
        response = replace(answer(case.dialect, EVENTS), cut_at=at, cut=cut)
        async with world(case, response) as here:
            outcome = await here.ask(question(stream=True))
            assert outcome.raised is None
            assert isinstance(outcome.error, Interrupted)
            assert len(outcome.ends) == 1
            assert TEXT.startswith(outcome.answer.text)
            decoder = dialect(case.dialect).decoder()
            pure = assemble([*decoder.feed(stream[:at]), *decoder.close()])
            assert outcome.answer.text == pure.text


@pytest.mark.parametrize("case", sampled(STREAMING))
def test_a_stream_that_ends_early_is_an_error(case: ProviderCase) -> None:
    response = answer(case.dialect, EVENTS)
    half = (response.stream or b"")[: len(response.stream or b"") // 2]
    outcome = outcome_of(case, replace(response, stream=half), stream=True)
    assert outcome.error is not None
    assert outcome.error.retryable
    assert len(outcome.ends) == 1


BAD_BODIES = {
    "empty": b"",
    "blank": b" \r\n ",
    "a page": b"<!doctype html><html><body>Welcome to the hotel network</body></html>",
    "half": b'{"id": "x", ',
    "a word": b"OK",
    "null": b"null",
    "a list": b"[]",
    "nothing": b"{}",
    "deep": b"[" * 5000,
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_a_body_that_is_not_an_answer_is_a_retryable_error(
    case: ProviderCase, name: str, stream: bool
) -> None:
    outcome = outcome_of(case, ScriptedResponse(body=BAD_BODIES[name]), stream=stream)
    assert isinstance(outcome.error, UpstreamWireError | Interrupted), outcome.events
    assert outcome.error.retryable
    assert outcome.answer.text == ""


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_sources_outside_the_allowed_domains_are_removed(case: ProviderCase) -> None:
    async with world(case, answer(case.dialect, EVENTS)) as here:
        for stream in (False, True):
            search = SearchOptions(allowed_domains=("alpha.example",))
            outcome = await here.ask(question(stream=stream, search=search))
            assert {source.url for source in outcome.answer.sources} == {NILE.url}
            removed = [event for event in outcome.events if isinstance(event, Warned)]
            assert [event.code for event in removed].count("source_removed") == 1


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("anthropic", "anthropic/search-sonnet37.sse"),
        ("anthropic", "anthropic/search-sonnet4.json"),
        ("openai", "openai-responses/stream-2026-05-sources-typescript.sse"),
        ("openai", "openai-responses/json-allowed-domains-sources.json"),
        ("openai_chat", "openai-chat/stream-4o-mini-search-preview.sse"),
        ("openai_chat", "openai-chat/json-2026-08-4o-mini-search-preview.json"),
        ("gemini", "gemini/search-stream-2.5-flash-prism.sse"),
        ("gemini", "gemini/search-2.5-pro-sf.json"),
        ("my_interactions", "gemini/interactions-google-search.json"),
        ("my_chat", "openrouter-chat/json-2026-08-servertool-gpt52.raw.txt"),
        ("my_responses", "xai-responses/json-xai.json"),
        ("my_responses", "azure-responses/json-azure-preview.json"),
    ],
)
def test_recorded_answers_are_returned_as_the_codec_decodes_them(
    recordings: Path, name: str, path: str
) -> None:
    case = case_named(name)
    response = file_response(recordings / path)
    decoder = dialect(case.dialect).decoder()
    if path.endswith(".sse"):
        expected = assemble([*decoder.feed(response.body), *decoder.close()])
    else:
        body = load_json(response.body, UpstreamWireError)
        assert isinstance(body, dict)
        expected = assemble(dialect(case.dialect).decode_response(body))
    outcome = outcome_of(case, response, stream=path.endswith(".sse"))
    assert outcome.answer == expected
    assert outcome.answer.text


def test_an_answer_that_finds_nothing_is_an_answer() -> None:
    for case in PROVIDER_CASES:
        outcome = outcome_of(case, answer(case.dialect, answer_events("No idea.")), stream=True)
        assert outcome.error is None
        assert not outcome.answer.grounded


LARGEST = 100_000


def endless(name: str, size: int) -> bytes:
    """A long stream without a proper end."""
    encoder = dialect(name).encoder(Reply(citations="live"))
    pieces = [encoder.feed(Started("id", "model"))]
    while sum(map(len, pieces)) < size:
        pieces.append(encoder.feed(TextDelta(0, "word " * 100)))
    return b"".join(pieces)


@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_a_stream_that_is_too_large_ends_with_an_error_after_what_was_read(case: ProviderCase) -> None:
    stream = endless(case.dialect, 3 * LARGEST)
    response = ScriptedResponse(stream=stream, headers={"content-type": "text/event-stream"})
    async with world(case, response) as here:
        provider = here.provider(deadlines=replace(Deadlines(), largest=LARGEST))
        events = [event async for event in flatten(provider.batches(question(stream=True)))]
    assert any(isinstance(event, TextDelta) for event in events)
    assert isinstance(events[-1], Failed)
    assert "larger than" in events[-1].error.message
    assert sum(isinstance(event, Failed | Finished) for event in events) == 1


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_encodes_the_error_of_a_stream_that_is_too_large(name: str) -> None:
    encoder = dialect(name).encoder(Reply())
    wire = encoder.feed(Started("id", "model")) + encoder.feed(TextDelta(0, "Half"))
    wire += encoder.feed(Failed(UpstreamWireError("the answer is larger than 64 MB")))
    assert b"larger than 64 MB" in wire
    assert encoder.close() == b""


def pieces_of(line: bytes, size: int = 32 * 1024) -> Iterator[bytes]:
    return (line[at : at + size] for at in range(0, len(line), size))


def peak(line: bytes) -> int:
    """Bytes of memory that reading takes at most, in addition to the line itself."""
    reader = FrameReader()
    tracemalloc.start()
    try:
        for piece in pieces_of(line):
            reader.feed(piece)
        return tracemalloc.get_traced_memory()[1]
    except UpstreamWireError:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_line_is_in_memory_twice_at_most() -> None:
    line = b"data: " + json.dumps({"text": "x" * (MAX_PENDING // 2)}).encode() + b"\n\n"
    assert peak(line) < 2.5 * len(line)


def test_a_line_that_is_too_long_is_refused_before_it_takes_much_memory() -> None:
    line = b"data: " + b"x" * (4 * MAX_PENDING)
    assert peak(line) < 1.5 * MAX_PENDING


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_they_are_split(end: bytes, size: int) -> None:
    lines = [
        b": comment",
        b"event: a",
        b"data: one",
        b"data:two",
        b"data",
        b"",
        b"data: {}",
        b"id: 1",
        b"",
        b"datax: no",
        b"",
    ]
    data = end.join(lines) + end
    reader = FrameReader()
    frames = [frame for piece in pieces_of(data, size) for frame in reader.feed(piece)] + reader.close()
    assert [(frame.event, frame.data) for frame in frames] == [("a", b"one\ntwo\n"), ("", b"{}")]


CITED = (page_location(0, None), page_location(1, None))


def reply(*, stream: bool) -> ScriptedResponse:
    call, result = fetch(1, title=None, data=None)
    if not stream:
        return ScriptedResponse(body=json.dumps(message(call, result, cited_text(*CITED))).encode())
    deltas = [{"type": "citations_delta", "citation": item} for item in CITED]
    text = {"type": "text_delta", "text": "Twice daily."}
    events = (
        *block(0, call),
        *block(1, result),
        *block(2, {"type": "text", "text": "", "citations": []}, *deltas, text),  # type: ignore[arg-type]
    )
    return ScriptedResponse(headers={"content-type": "text/event-stream"}, body=sse(start(), *events, *end()))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_document_of_the_request_is_not_taken_for_a_page_that_was_fetched(stream: bool) -> None:
    async def main() -> list[tuple[str, str]]:
        async with world(case_named("anthropic"), reply(stream=stream)) as here:
            turn = Message("user", (Opaque("anthropic_messages", document("", "")), Text("When?")))
            outcome = await here.ask(replace(question(stream=stream), messages=(turn,)))
            assert outcome.error is None
            citations = outcome.answer.citations
            return [(item.source.url, item.source.title) for cited in citations for item in cited.evidence]

    assert await main() == [("", "Document 1"), ("https://a.example/article", "")]


SAFE, UNSAFE = b"https://evil.example/x", b"javascript:alert(1)"
# Nothing is passed through: these encode the search of OpenAI's clients differently, name the model in the
# path, or send items that OpenAI's clients cannot read.
ENCODED = (
    *("mistral_conversations", "openrouter", "perplexity", "perplexity_responses", "groq", "qwen", "zai"),
    "vertex_claude",
)
PASSED = [case for case in STREAMING if case.dialect in SCAN_RULES and str(case) not in ENCODED]
WHOLE = [case for case in PASSED if str(case) != "openai_oauth"]  # which always streams
UNSAFE_EVENTS: list[Event] = [
    Started("id", "model"),
    TextDelta(0, "Words. "),
    TextDelta(0, "Claim."),
    Cited(Citation(Span(7, 13), (Evidence(Source(SAFE.decode(), "Title", "cited")),))),
    Finished(),
]


def passthrough_body(case: ProviderCase, *, stream: bool) -> Request:
    request = question(stream=stream)
    body = dialect(case.dialect).encode_request(request).body
    return replace(request, wire=Wire(case.dialect, body, json.dumps(body).encode()))


def passed(case: ProviderCase, response: ScriptedResponse, *, stream: bool) -> tuple[bytes, list[Event]]:
    async def main() -> list[Event]:
        async with world(case, response) as here:
            return [
                event
                async for event in flatten(here.provider().batches(passthrough_body(case, stream=stream)))
            ]

    events = run(main())
    return b"".join(event.data for event in events if isinstance(event, Verbatim)), events


@pytest.mark.parametrize("case", sampled(PASSED))
def test_a_stream_is_passed_on_without_unsafe_urls(case: ProviderCase) -> None:
    encoder = dialect(case.dialect).encoder(Reply())
    stream = b"".join(encoder.feed(event) for event in UNSAFE_EVENTS).replace(SAFE, UNSAFE)
    assert UNSAFE in stream
    headers = {"content-type": "text/event-stream"}
    data, events = passed(case, ScriptedResponse(stream=stream, headers=headers), stream=True)
    assert b"Claim." in data
    assert UNSAFE not in data
    assert data.count(b'""') > stream.count(b'""')
    assert "address_removed" in {event.code for event in events if isinstance(event, Warned)}


@pytest.mark.parametrize("case", sampled(WHOLE))
def test_a_whole_answer_is_passed_on_without_unsafe_urls(case: ProviderCase) -> None:
    body = dialect(case.dialect).encode_response(assemble(UNSAFE_EVENTS), Reply())
    whole = json.dumps(body).encode().replace(SAFE, UNSAFE)
    headers = {"content-type": "application/json"}
    data, events = passed(case, ScriptedResponse(body=whole, headers=headers), stream=False)
    assert b"Claim." in data
    assert UNSAFE not in data
    assert isinstance(json.loads(data), dict)
    assert "address_removed" in {event.code for event in events if isinstance(event, Warned)}
