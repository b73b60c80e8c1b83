"""Every recorded answer reaches the official client of every dialect whole: words, citations, end."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.model.value import replace
from tests.contracts.recorded.catalogue import Recording, answer_of
from tests.faces.gateway.matrix import (
    INBOUND,
    PROVIDERS,
    Score,
    all_recordings,
    chosen,
    forms_of,
    misses,
    play,
)
from tests.faces.gateway.sdk_readers import Read
from tests.faces.gateway.serving import run
from tests.oracles.expected import queries

by_provider = pytest.mark.parametrize("provider", PROVIDERS)


def faults_of(recordings: list[Recording], *, crossed: bool = False) -> list[str]:
    scores = run(play(recordings, crossed=crossed), seconds=500)
    asked = {(cell.inbound, cell.stream) for cell in scores}
    assert asked == {(inbound, stream) for inbound in INBOUND for stream in forms_of(recordings, crossed)}
    return [
        f"{cell.inbound} from {cell.provider}, {'stream' if cell.stream else 'whole'}: {fault[:600]}"
        for cell, score in scores.items()
        for fault in score.faults
    ]


def of(provider: str, recordings: list[Recording]) -> list[Recording]:
    return [recording for recording in recordings if recording.dialect == provider]


@by_provider
def test_an_answer_reaches_every_client_as_its_provider_gave_it(recordings: Path, provider: str) -> None:
    assert not faults_of(chosen(of(provider, all_recordings()), 2))


@by_provider
def test_a_provider_that_answers_in_the_other_form_is_understood_too(recordings: Path, provider: str) -> None:
    assert not faults_of(chosen(of(provider, all_recordings()), 1), crossed=True)


@pytest.mark.thorough
@pytest.mark.parametrize("crossed", [False, True])
@by_provider
def test_every_recording_reaches_every_client(recordings: Path, provider: str, crossed: bool) -> None:
    assert not faults_of(of(provider, all_recordings()), crossed=crossed)


def read_well(recording: Recording) -> Read:
    """What a perfect Chat client would hold."""
    answer = answer_of(recording)
    spans = {(*item.span, one.source.url) for item in answer.citations if item.span for one in item.evidence}
    said = [{"kind": "search", "query": query} for query in sorted(queries(answer))]
    tokens = (answer.usage.input_tokens or 0, answer.usage.output_tokens or 0)
    read = Read(answer.text, spans, finish="stop", tokens=tokens, searches=answer.usage.searches)
    read.extension = {"searches": said}
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
def test_the_comparison_notices_what_is_missing_or_invented(
    recordings: Path, change: dict[str, object]
) -> None:
    recording = next(item for item in all_recordings() if item.name == "anthropic/search-sonnet4.json")
    answer = answer_of(recording)
    read = read_well(recording)
    assert not list(misses("openai_chat", read, answer))
    for name, item in change.items():
        setattr(read, name, item)
    assert list(misses("openai_chat", read, answer))


def test_an_error_that_is_not_told_is_noticed(recordings: Path) -> None:
    recording = next(item for item in all_recordings() if answer_of(item).error is not None)
    assert list(misses("openai_chat", Read(), answer_of(recording)))
    assert not list(misses("openai_chat", Read(error="boom"), answer_of(recording)))
    assert list(misses("openai_chat", Read(error="boom"), replace(answer_of(recording), error=None)))


def test_a_score_counts_answers_not_faults() -> None:
    assert str(Score(total=4, citations=7, faults=["a", "b", "c"], failed=1)) == "3/4 (7)"
