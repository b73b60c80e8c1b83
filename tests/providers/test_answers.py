"""What comes back: the same answer from everybody, streamed or not, however it is wrapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.dialects.features import Feature, project
from groundwire.dialects.json import load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import Interrupted, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.model.value import replace
from groundwire.testing.answers import told, written
from groundwire.testing.script import ScriptedResponse, answer, file_response
from tests.providers.asking import Outcome, question, world
from tests.providers.speakers import SPEAKERS, STREAMING, Speaker, speaker_named
from tests.transport.bounded import run

NILE = Source("https://alpha.example/rivers?a=1&b=2", "Rivers")
AMAZON = Source("https://beta.example/amazon", "Der Amazonas – Länge")
TEXT = "Der Nil 🐊 ist 6650 km lang. Der Amazonas führt mehr Wasser."
FIRST, SECOND = Span(0, 27), Span(28, 59)


ENDLESS = ("gemini",)
"""Its streams have no last word: they just end."""


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


def asked(speaker: Speaker, response: ScriptedResponse, *, stream: bool) -> Outcome:
    async def main() -> Outcome:
        async with world(speaker, response) as here:
            return await here.ask(question(stream=stream))

    return run(main())


def check(outcome: Outcome, speaker: Speaker) -> None:
    """The answer holds everything that its dialect has words for."""
    assert outcome.error is None
    assert len(outcome.ends) == 1
    assert outcome.ends == outcome.events[-1:]
    expected, got = assemble(EVENTS), outcome.answer
    assert got.text == TEXT
    assert {source.url for source in got.sources} == {NILE.url, AMAZON.url}
    losses = dialect(speaker.dialect).losses
    for feature in (Feature.CITATIONS, Feature.SPAN_STARTS, Feature.TITLES, Feature.QUERIES, Feature.TOKENS):
        if feature not in losses:
            assert project(got, feature) == project(expected, feature), feature
    ends = [
        (citation.span.end, citation.evidence[0].source.url) for citation in got.citations if citation.span
    ]
    assert ends == [(FIRST.end, NILE.url), (SECOND.end, AMAZON.url)]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_text_citations_and_queries_arrive(speaker: Speaker, stream: bool) -> None:
    check(asked(speaker, answer(speaker.dialect, EVENTS), stream=stream), speaker)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_an_answer_in_the_other_form_than_asked_for_is_understood(speaker: Speaker) -> None:
    """Servers ignore `stream`, and some know only one form."""
    form = written(speaker.dialect, EVENTS)
    whole = ScriptedResponse(body=form.whole)
    check(asked(speaker, whole, stream=True), speaker)
    streamed = ScriptedResponse(
        headers={"content-type": "text/event-stream"}, body=form.stream, framing="chunked"
    )
    check(asked(speaker, streamed, stream=False), speaker)


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "application/octet-stream", ""])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_a_wrong_content_type_does_not_matter(speaker: Speaker, content_type: str) -> None:
    response = replace(answer(speaker.dialect, EVENTS), headers={"content-type": content_type})
    for stream in (False, True):
        check(asked(speaker, response, stream=stream), speaker)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_blanks_before_a_body_are_passed_over(speaker: Speaker) -> None:
    response = answer(speaker.dialect, EVENTS)
    padded = replace(response, body=b"\n         \n" * 80 + response.body)
    check(asked(speaker, padded, stream=False), speaker)


@pytest.mark.parametrize("speaker", STREAMING, ids=str)
def test_comments_in_a_stream_are_passed_over(speaker: Speaker) -> None:
    response = answer(speaker.dialect, EVENTS)
    stream = b": PROCESSING\n\n" * 3 + (response.stream or b"")
    check(asked(speaker, replace(response, stream=stream), stream=True), speaker)


@pytest.mark.parametrize(
    "speaker", [speaker for speaker in STREAMING if speaker.dialect not in ENDLESS], ids=str
)
def test_what_follows_the_end_is_not_waited_for(speaker: Speaker) -> None:
    response = answer(speaker.dialect, EVENTS)
    stalled = replace(response, stall_at=len(response.stream or b""))
    check(asked(speaker, stalled, stream=True), speaker)


@pytest.mark.parametrize("speaker", STREAMING, ids=str)
def test_a_stream_cut_before_its_end_keeps_what_was_said_and_tells_of_the_cut(speaker: Speaker) -> None:
    stream = answer(speaker.dialect, EVENTS).stream or b""
    at = len(stream) // 2

    async def main() -> None:
        for cut in ("fin", "rst"):
            response = replace(answer(speaker.dialect, EVENTS), cut_at=at, cut=cut)
            async with world(speaker, response) as here:
                outcome = await here.ask(question(stream=True))
                assert outcome.raised is None
                assert isinstance(outcome.error, Interrupted)
                assert len(outcome.ends) == 1
                assert TEXT.startswith(outcome.answer.text)
                decoder = dialect(speaker.dialect).decoder()
                pure = assemble([*decoder.feed(stream[:at]), *decoder.close()])
                assert outcome.answer.text == pure.text

    run(main())


@pytest.mark.parametrize("speaker", STREAMING, ids=str)
def test_a_stream_that_merely_ends_early_is_no_answer(speaker: Speaker) -> None:
    response = answer(speaker.dialect, EVENTS)
    half = (response.stream or b"")[: len(response.stream or b"") // 2]
    outcome = asked(speaker, replace(response, stream=half), stream=True)
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
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_a_body_that_is_no_answer_is_an_error_that_may_pass(
    speaker: Speaker, name: str, stream: bool
) -> None:
    outcome = asked(speaker, ScriptedResponse(body=BAD_BODIES[name]), stream=stream)
    assert isinstance(outcome.error, UpstreamWireError | Interrupted), outcome.events
    assert outcome.error.retryable
    assert outcome.answer.text == ""


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_sources_outside_the_allowed_domains_do_not_come_through(speaker: Speaker) -> None:
    async def main() -> None:
        async with world(speaker, answer(speaker.dialect, EVENTS)) as here:
            for stream in (False, True):
                search = SearchOptions(allowed_domains=("alpha.example",))
                outcome = await here.ask(question(stream=stream, search=search))
                assert {source.url for source in outcome.answer.sources} == {NILE.url}
                removed = [event for event in outcome.events if isinstance(event, Warned)]
                assert [event.code for event in removed].count("source_removed") == 1

    run(main())


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
def test_recorded_answers_come_through_as_the_codec_reads_them(
    recordings: Path, name: str, path: str
) -> None:
    speaker = speaker_named(name)
    response = file_response(recordings / path)
    decoder = dialect(speaker.dialect).decoder()
    if path.endswith(".sse"):
        expected = assemble([*decoder.feed(response.body), *decoder.close()])
    else:
        body = load_json(response.body, UpstreamWireError)
        assert isinstance(body, dict)
        expected = assemble(dialect(speaker.dialect).decode_response(body))
    outcome = asked(speaker, response, stream=path.endswith(".sse"))
    assert outcome.answer == expected
    assert outcome.answer.text


def test_an_answer_that_finds_nothing_is_an_answer() -> None:
    for speaker in SPEAKERS:
        outcome = asked(speaker, answer(speaker.dialect, told("No idea.")), stream=True)
        assert outcome.error is None
        assert not outcome.answer.grounded
