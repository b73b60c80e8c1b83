"""Every recorded answer reaches the official client of every dialect complete: text, citations, end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from groundwire.dialects.registry import dialect
from groundwire.faces.gateway.rendering import RENDERINGS, Rendering
from groundwire.model.value import replace
from tests.contracts.documented import documented
from tests.contracts.recorded.catalogue import Recording, answer_of
from tests.faces.gateway.matrix import (
    INBOUND,
    PROVIDERS,
    Forms,
    Score,
    all_recordings,
    chosen,
    forms_of,
    misses,
    play,
    richest,
)
from tests.faces.gateway.sdk_readers import SdkAnswer
from tests.faces.gateway.serving import run
from tests.faces.gateway.turns import PROTOCOLS, play_turns, with_citations
from tests.oracles.expected import queries

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[3]
IN_THE_TEXT: tuple[Rendering, ...] = ("markers", "both")
by_provider = pytest.mark.parametrize("provider", PROVIDERS)


def faults_of(
    recordings: list[Recording], *, forms: Forms = "own", renderings: Sequence[Rendering] = ("structured",)
) -> list[str]:
    scores = run(play(recordings, forms=forms, renderings=renderings), seconds=500)
    requested = {(cell.inbound, cell.stream) for cell in scores}
    assert requested == {(inbound, stream) for inbound in INBOUND for stream in forms_of(recordings, forms)}
    return [
        f"{cell.inbound} from {cell.row.dialect}, {'stream' if cell.stream else 'whole'}, "
        f"{cell.rendering}: {fault[:600]}"
        for cell, score in scores.items()
        for fault in score.faults
    ]


def of(provider: str, recordings: list[Recording]) -> list[Recording]:
    return [recording for recording in recordings if recording.dialect == provider]


@by_provider
def test_an_answer_reaches_every_client_as_its_provider_gave_it(recordings: Path, provider: str) -> None:
    assert not faults_of(chosen(of(provider, all_recordings()), 1))


@by_provider
def test_a_body_for_a_streaming_request_and_the_reverse_are_decoded(recordings: Path, provider: str) -> None:
    assert not faults_of(chosen(of(provider, all_recordings()), 1), forms="other")


def test_answers_in_the_documented_shapes_of_vendors_reach_every_client() -> None:
    assert not faults_of(documented())


@pytest.mark.thorough
def test_documented_answers_reach_every_client_in_every_rendering() -> None:
    assert not faults_of(documented(), forms="both", renderings=RENDERINGS)


@pytest.mark.parametrize("rendering", IN_THE_TEXT)
@by_provider
def test_citations_rendered_into_the_text_are_numbered_and_listed_once(
    recordings: Path, provider: str, rendering: Rendering
) -> None:
    assert not faults_of([*richest(of(provider, all_recordings())).values()], renderings=(rendering,))


@pytest.mark.thorough
@by_provider
def test_every_recording_reaches_every_client(recordings: Path, provider: str) -> None:
    assert not faults_of(of(provider, all_recordings()), forms="both", renderings=RENDERINGS)


@by_provider
def test_every_cited_address_can_be_read_in_the_next_turn(recordings: Path, provider: str) -> None:
    cited = richest(with_citations(of(provider, all_recordings())))
    assert not unreadable([cited["body"]], "structured")
    assert not unreadable([cited["stream"]], "markers")


@pytest.mark.thorough
@pytest.mark.parametrize("rendering", ["structured", "markers"])
@by_provider
def test_the_cited_addresses_of_more_answers_can_be_read_in_the_next_turn(
    recordings: Path, provider: str, rendering: Rendering
) -> None:
    assert not unreadable(chosen(with_citations(of(provider, all_recordings())), 2), rendering)


def unreadable(cited: list[Recording], rendering: Rendering) -> list[str]:
    scores = run(play_turns(cited, (rendering,)), seconds=300)
    assert {(turn.inbound, turn.target) for turn in scores} == set(product(INBOUND, INBOUND))
    return [fault for score in scores.values() for fault in score.faults]


def test_a_client_that_sends_no_citations_back_is_detected(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = PROTOCOLS["openai_chat"]

    def without_annotations(body: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
        message = response["choices"][0]["message"]
        return chat.again(body, {"choices": [{"message": {**message, "annotations": []}}]})

    monkeypatch.setitem(PROTOCOLS, "openai_chat", chat._replace(again=without_annotations))
    cited = chosen(with_citations(of("gemini", all_recordings())), 1)[:1]
    scores = run(play_turns(cited), seconds=300)
    faulty = {turn.inbound for turn, score in scores.items() if score.faults}
    assert faulty == {"openai_chat"}


def test_citations_that_clients_do_not_send_back_are_documented() -> None:
    page = (ROOT / "docs" / "losses.md").read_text("utf-8")
    without_citations = [dialect(name) for name in INBOUND if dialect(name).not_resent]
    assert [spec.name for spec in without_citations] == ["gemini"]
    assert all(spec.not_resent in page for spec in without_citations)


def complete_read(recording: Recording) -> SdkAnswer:
    """What a perfect Chat client would read."""
    answer = answer_of(recording)
    spans = {(*item.span, one.source.url) for item in answer.citations if item.span for one in item.evidence}
    searches = [{"kind": "search", "query": query} for query in sorted(queries(answer))]
    tokens = (answer.usage.input_tokens or 0, answer.usage.output_tokens or 0)
    read = SdkAnswer(answer.text, spans, finish="stop", tokens=tokens, searches=answer.usage.searches)
    read.extension = {"searches": searches}
    return read


@pytest.mark.parametrize(
    "change",
    [
        {"text": "x"},
        {"spans": set[tuple[int, int, str]]()},
        {"spans": {(0, 5, "https://invented.example/")}},
        {"unplaced": {"https://invented.example/"}},
        {"extension": dict[str, object]()},
        {"searches": 77},
        {"finish": "length"},
        {"tokens": (1, 1)},
        {"error": "boom"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_comparison_detects_missing_and_invented_fields(
    recordings: Path, change: dict[str, object]
) -> None:
    recording = next(item for item in all_recordings() if item.name == "anthropic/search-sonnet4.json")
    answer = answer_of(recording)
    read = complete_read(recording)
    assert not list(misses("openai_chat", read, answer))
    for name, item in change.items():
        setattr(read, name, item)
    assert list(misses("openai_chat", read, answer))


def test_the_comparison_detects_an_unreported_error(recordings: Path) -> None:
    recording = next(item for item in all_recordings() if answer_of(item).error is not None)
    assert list(misses("openai_chat", SdkAnswer(), answer_of(recording)))
    assert not list(misses("openai_chat", SdkAnswer(error="boom"), answer_of(recording)))
    assert list(misses("openai_chat", SdkAnswer(error="boom"), replace(answer_of(recording), error=None)))


def test_a_score_counts_answers_not_differences() -> None:
    assert str(Score(total=4, citations=7, faults=["a", "b", "c"], failed=1)) == "3/4 (7)"
