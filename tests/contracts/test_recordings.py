"""Every recorded answer, streamed or whole, is read as it was meant.

The expected values come from plain readers of the raw JSON (`tests/contracts/recorded`), one for each family
of wires, which share no code with the dialects.
"""

from __future__ import annotations

import fnmatch
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.errors import UpstreamError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Failed,
    Finished,
    Reasoning,
    SearchCall,
    SearchResult,
    Span,
    Started,
    Text,
    ToolCall,
)
from groundwire.model.value import replace
from tests.contracts.recorded.catalogue import (
    NOT_ANSWERS,
    READERS,
    Recording,
    answer_of,
    events_of,
    every_file,
    find_recording,
    not_an_answer,
    recordings_of,
    told_by,
)
from tests.contracts.recorded.deep import strings_in
from tests.contracts.recorded.told import Call, Mention, Told

ANSWERS = recordings_of("body", "stream")
every_answer = pytest.mark.parametrize("recording", ANSWERS, ids=lambda recording: recording.name)


def test_every_file_is_tested_or_listed_with_a_reason(recordings: Path) -> None:
    names = every_file()
    assert [name for name in names if not not_an_answer(name) and not find_recording(name)] == []
    assert [pattern for pattern in NOT_ANSWERS if not fnmatch.filter(names, pattern)] == []
    heads = {name.removesuffix("meta.json") for name in names if name.endswith(".meta.json")}
    assert [head for head in heads if not fnmatch.filter(names, f"{head}[!m]*")] == []


def test_every_family_has_recorded_answers(recordings: Path) -> None:
    assert {recording.dialect for recording in ANSWERS} == set(READERS)


@every_answer
def test_the_text_is_the_text_part_by_part(recording: Recording) -> None:
    told = told_by(recording)
    parts = [part for part in answer_of(recording).parts if isinstance(part, Text) and part.text]
    assert [part.text for part in parts] == told.texts
    assert [part.phase for part in parts] == told.phases


@every_answer
def test_each_source_is_cited_where_the_wire_put_it(recording: Recording) -> None:
    told = told_by(recording)
    answer = answer_of(recording)
    cited = {(citation.span, item.source.url) for citation, item in _evidence(answer)}
    expected = {(mention.place, mention.url) for mention in told.mentions if not mention.placeless}
    assert expected - cited == set()
    for span, url in cited - expected:
        assert _stands_for_itself(told, span, url), f"{url} was not cited at {span}"


def _stands_for_itself(told: Told, span: Span | None, url: str) -> bool:
    """A link that nobody annotated, or that was annotated without a place, may be a citation where it stands.

    OpenRouter's engines and xAI give no places, the Codex backend no annotations at all.
    """
    if any(mention.placeless and mention.url == url for mention in told.mentions) and span is None:
        return True
    if span is None or not all(mention.placeless for mention in told.mentions):
        return False
    return f"]({url})" in told.text[slice(*span)]


@every_answer
def test_every_placeless_source_is_cited_all_the_same(recording: Recording) -> None:
    cited = {item.source.url for _, item in _evidence(answer_of(recording))}
    assert {mention.url for mention in told_by(recording).mentions} <= cited


@every_answer
def test_a_place_that_the_text_does_not_bear_out_is_warned_of(recording: Recording) -> None:
    codes = [warning.code for warning in answer_of(recording).warnings]
    assert ("citation_unplaced" in codes) >= (told_by(recording).unverified > 0)


@every_answer
def test_a_link_or_a_number_is_a_marker_and_a_sentence_a_claim(recording: Recording) -> None:
    answer = answer_of(recording)
    for citation in answer.citations:
        if citation.span is not None:
            said = answer.text[citation.span.start : citation.span.end]
            is_link = (
                said.startswith(("[", "(")) and said.endswith(")") and "](http" in said and " [" not in said
            )
            is_number = re.fullmatch(r"\[\d+\]", said) is not None
            assert (citation.anchor == "marker") == (is_link or is_number), said


@every_answer
def test_evidence_has_the_title_the_quote_and_the_confidence_of_the_wire(recording: Recording) -> None:
    answer = answer_of(recording)
    facts = {
        (item.source.url, item.source.title, html.unescape(item.quote), item.confidence)
        for _, item in _evidence(answer)
    }
    for mention in told_by(recording).mentions:
        assert _fact(mention) in facts, (
            f"{_fact(mention)} not in {[fact for fact in facts if fact[0] == mention.url]}"
        )


def _fact(mention: Mention) -> tuple[str, str, str, float | None]:
    return mention.url, mention.title, html.unescape(mention.quote), mention.confidence


@every_answer
def test_no_quote_is_text_of_the_answer_that_the_wire_did_not_quote(recording: Recording) -> None:
    quotes = {html.unescape(mention.quote) for mention in told_by(recording).mentions}
    assert {html.unescape(item.quote) for _, item in _evidence(answer_of(recording))} <= quotes | {""}


@every_answer
def test_every_search_page_and_pattern_is_told(recording: Recording) -> None:
    told = told_by(recording)
    calls = [_call(part) for part in answer_of(recording).parts if isinstance(part, SearchCall)]
    if told.queries is None:
        assert calls == told.calls
        return
    assert {query for call in calls if call.kind == "search" for query in call.subjects} == set(told.queries)
    assert [call for call in calls if call.kind != "search"] == told.calls


def _call(part: SearchCall) -> Call:
    subjects = {"search": part.queries, "open": (part.url,), "find": (part.url, part.pattern)}
    return Call(part.kind, tuple(subjects[part.kind]))


@every_answer
def test_everything_found_is_a_source_with_its_date(recording: Recording) -> None:
    told = told_by(recording)
    answer = answer_of(recording)
    assert told.found <= {source.url for source in answer.sources}
    assert told.dates <= {(source.url, source.date) for source in answer.sources}
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [result.error for result in results if result.error] == told.search_errors
    shown = "".join(result.suggestions for result in results)
    assert all(suggestion in shown for suggestion in told.suggestions)


@every_answer
def test_reasoning_is_shown_in_full(recording: Recording) -> None:
    parts = answer_of(recording).parts
    said = "".join(part.text for part in parts if isinstance(part, Reasoning))
    assert "".join(said.split()) == "".join(told_by(recording).reasoning.split())


@every_answer
def test_what_only_the_provider_understands_is_kept_unchanged(recording: Recording) -> None:
    kept = set(strings_in(answer_of(recording)))
    lost = [blob[:40] for blob in told_by(recording).blobs if blob not in kept]
    assert lost == []


@every_answer
def test_server_tools_never_become_calls_for_the_client(recording: Recording) -> None:
    calls = [(part.id, part.name) for part in answer_of(recording).parts if isinstance(part, ToolCall)]
    assert calls == told_by(recording).tool_calls


@every_answer
def test_usage_is_what_the_wire_counts(recording: Recording) -> None:
    usage = answer_of(recording).usage
    told = told_by(recording).usage
    if recording.dialect == "gemini" and usage.searches is not None:
        # Gemini has no counter; whoever counts its queries must count right.
        told = replace(told, searches=len(set(told_by(recording).queries or ())))
    assert usage == told


@every_answer
def test_the_end_is_the_end_the_wire_told(recording: Recording) -> None:
    told = told_by(recording)
    answer = answer_of(recording)
    if told.refusal is None:
        assert (answer.finish, answer.error) == (told.finish, None)
        return
    assert isinstance(answer.error, UpstreamError)
    assert type(answer.error) is told.refusal.kind
    assert told.refusal.message in answer.error.message
    assert answer.error.retry_after == told.refusal.retry_after
    assert not told.refusal.words or answer.error.upstream_code in told.refusal.words


@every_answer
def test_id_and_model_are_those_of_the_wire(recording: Recording) -> None:
    told = told_by(recording)
    assert (answer_of(recording).id, answer_of(recording).model) == (told.id, told.model)


@every_answer
def test_an_answer_starts_once_and_ends_once(recording: Recording) -> None:
    events = events_of(recording)
    told = told_by(recording)
    starts = [place for place, event in enumerate(events) if isinstance(event, Started)]
    assert starts == [0] or (starts == [] and told.refusal is not None and not told.texts)
    assert [event for event in events if isinstance(event, Finished | Failed)] == [events[-1]]


@every_answer
def test_searches_and_evidence_carry_the_mark_of_their_dialect(recording: Recording) -> None:
    answer = answer_of(recording)
    marks = [
        *(part.extras for part in answer.parts if isinstance(part, SearchCall | SearchResult)),
        *(item.extras for _, item in _evidence(answer)),
    ]
    assert all(recording.dialect in mark for mark in marks)


def _evidence(answer: Answer) -> Iterator[tuple[Citation, Evidence]]:
    return ((citation, item) for citation in answer.citations for item in citation.evidence)
