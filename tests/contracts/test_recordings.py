"""Every recorded answer, error and request is decoded as intended.

The expected values come from plain readers of the raw JSON (`tests/contracts/recorded`), one for each family
of wires, which share no code with the dialects.
"""

from __future__ import annotations

import fnmatch
import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError, RequestError, UpstreamError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Failed,
    Finished,
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    Span,
    Started,
    Text,
    ToolCall,
    assemble,
)
from groundwire.model.value import replace
from tests.contracts.recorded.catalogue import (
    NOT_ANSWERS,
    READERS,
    Recording,
    answer_of,
    body_of,
    events_of,
    every_file,
    find_recording,
    not_an_answer,
    recorded_answer,
    recordings_of,
    status_and_headers,
)
from tests.contracts.recorded.each import each
from tests.contracts.recorded.errors import read_error
from tests.contracts.recorded.facts import RecordedAnswer, RecordedCitation, RecordedError, RecordedSearch
from tests.contracts.recorded.frames import decode, pieces_of
from tests.contracts.recorded.lookup import string, strings_in
from tests.contracts.recorded.repeated_text import doubled, shifted
from tests.contracts.recorded.requests import RecordedRequest, read_request

ANSWERS = recordings_of("body", "stream")
every_answer = each(ANSWERS)


def test_every_file_is_tested_or_listed_with_a_reason(recordings: Path) -> None:
    names = every_file()
    assert [name for name in names if not not_an_answer(name) and not find_recording(name)] == []
    assert [pattern for pattern in NOT_ANSWERS if not fnmatch.filter(names, pattern)] == []
    heads = {name.removesuffix("meta.json") for name in names if name.endswith(".meta.json")}
    assert [head for head in heads if not fnmatch.filter(names, f"{head}[!m]*")] == []


def test_every_family_has_recorded_answers(recordings: Path) -> None:
    assert {recording.dialect for recording in ANSWERS} == set(READERS)


@every_answer
def test_the_text_of_every_part_is_that_of_the_wire(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    parts = [part for part in answer_of(recording).parts if isinstance(part, Text) and part.text]
    assert [part.text for part in parts] == recorded.texts
    assert [part.phase for part in parts] == recorded.phases


@every_answer
def test_each_source_is_cited_where_the_wire_put_it(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    answer = answer_of(recording)
    cited = {(citation.span, item.source.url) for citation, item in _evidence(answer)}
    expected = {(mention.span, mention.url) for mention in recorded.citations if not mention.without_span}
    assert expected - cited == set()
    for span, url in cited - expected:
        assert _is_unannotated_link(recorded, span, url), f"{url} was not cited at {span}"


def _is_unannotated_link(recorded: RecordedAnswer, span: Span | None, url: str) -> bool:
    """A link without an annotation, or with one that has no offsets, may be a citation at its own span.

    OpenRouter's engines and xAI send no offsets, the Codex backend no annotations at all.
    """
    if any(mention.without_span and mention.url == url for mention in recorded.citations) and span is None:
        return True
    if span is None or not all(mention.without_span for mention in recorded.citations):
        return False
    return f"]({url})" in recorded.text[slice(*span)]


@every_answer
def test_every_source_without_a_span_is_still_cited(recording: Recording) -> None:
    cited = {item.source.url for _, item in _evidence(answer_of(recording))}
    assert {mention.url for mention in recorded_answer(recording).citations} <= cited


@every_answer
def test_an_offset_outside_of_the_text_is_warned_of(recording: Recording) -> None:
    codes = [warning.code for warning in answer_of(recording).warnings]
    assert ("citation_unplaced" in codes) >= (recorded_answer(recording).unverified > 0)


@every_answer
def test_a_link_or_a_number_is_a_marker_and_a_sentence_a_claim(recording: Recording) -> None:
    answer = answer_of(recording)
    for citation in answer.citations:
        if citation.span is not None:
            marked = answer.text[citation.span.start : citation.span.end]
            is_link = (
                marked.startswith(("[", "("))
                and marked.endswith(")")
                and "](http" in marked
                and " [" not in marked
            )
            is_number = re.fullmatch(r"\[\d+\]", marked) is not None
            assert (citation.anchor == "marker") == (is_link or is_number), marked


@every_answer
def test_evidence_has_the_title_the_quote_and_the_confidence_of_the_wire(recording: Recording) -> None:
    answer = answer_of(recording)
    facts = {
        (item.source.url, item.source.title, html.unescape(item.quote), item.confidence)
        for _, item in _evidence(answer)
    }
    for mention in recorded_answer(recording).citations:
        assert _fact(mention) in facts, (
            f"{_fact(mention)} not in {[fact for fact in facts if fact[0] == mention.url]}"
        )


def _fact(mention: RecordedCitation) -> tuple[str, str, str, float | None]:
    return mention.url, mention.title, html.unescape(mention.quote), mention.confidence


@every_answer
def test_no_quote_is_text_of_the_answer_that_the_wire_did_not_quote(recording: Recording) -> None:
    quotes = {html.unescape(mention.quote) for mention in recorded_answer(recording).citations}
    assert {html.unescape(item.quote) for _, item in _evidence(answer_of(recording))} <= quotes | {""}


@every_answer
def test_every_search_page_and_pattern_is_emitted(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    calls = [_call(part) for part in answer_of(recording).parts if isinstance(part, SearchCall)]
    if recorded.queries is None:
        assert calls == recorded.calls
        return
    assert {query for call in calls if call.kind == "search" for query in call.subjects} == set(
        recorded.queries
    )
    assert [call for call in calls if call.kind != "search"] == recorded.calls


def _call(part: SearchCall) -> RecordedSearch:
    subjects = {"search": part.queries, "open": (part.url,), "find": (part.url, part.pattern)}
    return RecordedSearch(part.kind, tuple(subjects[part.kind]))


@every_answer
def test_everything_found_is_a_source_with_its_date(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    answer = answer_of(recording)
    assert recorded.found <= {source.url for source in answer.sources}
    assert recorded.dates <= {(source.url, source.date) for source in answer.sources}
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [result.error for result in results if result.error] == recorded.search_errors
    shown = "".join(result.suggestions for result in results)
    assert all(suggestion in shown for suggestion in recorded.suggestions)


@every_answer
def test_reasoning_is_shown_in_full(recording: Recording) -> None:
    parts = answer_of(recording).parts
    text = "".join(part.text for part in parts if isinstance(part, Reasoning))
    assert "".join(text.split()) == "".join(recorded_answer(recording).reasoning.split())


@every_answer
def test_opaque_provider_data_is_kept_unchanged(recording: Recording) -> None:
    kept = set(strings_in(answer_of(recording)))
    lost = [blob[:40] for blob in recorded_answer(recording).blobs if blob not in kept]
    assert lost == []


@every_answer
def test_server_tools_never_become_calls_for_the_client(recording: Recording) -> None:
    calls = [(part.id, part.name) for part in answer_of(recording).parts if isinstance(part, ToolCall)]
    assert calls == recorded_answer(recording).tool_calls


@every_answer
def test_usage_is_what_the_wire_counts(recording: Recording) -> None:
    usage = answer_of(recording).usage
    recorded = recorded_answer(recording).usage
    if recording.dialect == "gemini" and usage.searches is not None:
        # Gemini has no counter: its queries are counted here.
        recorded = replace(recorded, searches=len(set(recorded_answer(recording).queries or ())))
    assert usage == recorded


@every_answer
def test_the_finish_reason_is_that_of_the_wire(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    answer = answer_of(recording)
    if recorded.refusal is None:
        assert (answer.finish, answer.error) == (recorded.finish, None)
        return
    assert isinstance(answer.error, UpstreamError)
    assert type(answer.error) is recorded.refusal.kind
    assert recorded.refusal.message in answer.error.message
    assert answer.error.retry_after == recorded.refusal.retry_after
    assert not recorded.refusal.codes or answer.error.upstream_code in recorded.refusal.codes


@every_answer
def test_id_and_model_are_those_of_the_wire(recording: Recording) -> None:
    recorded = recorded_answer(recording)
    assert (answer_of(recording).id, answer_of(recording).model) == (recorded.id, recorded.model)


@every_answer
def test_an_answer_starts_once_and_ends_once(recording: Recording) -> None:
    events = events_of(recording)
    recorded = recorded_answer(recording)
    starts = [index for index, event in enumerate(events) if isinstance(event, Started)]
    assert starts == [0] or (starts == [] and recorded.refusal is not None and not recorded.texts)
    assert [event for event in events if isinstance(event, Finished | Failed)] == [events[-1]]


@every_answer
def test_searches_and_evidence_have_the_mark_of_their_dialect(recording: Recording) -> None:
    answer = answer_of(recording)
    marks = [
        *(part.extras for part in answer.parts if isinstance(part, SearchCall | SearchResult)),
        *(item.extras for _, item in _evidence(answer)),
    ]
    assert all(recording.dialect in mark for mark in marks)


def _evidence(answer: Answer) -> Iterator[tuple[Citation, Evidence]]:
    return ((citation, item) for citation in answer.citations for item in citation.evidence)


ERRORS = recordings_of("error")
every_error = each(ERRORS)


def _recorded_error(recording: Recording) -> RecordedError:
    body: Json = json.loads(recording.data)
    return read_error(body, status_and_headers(recording)[0])


def _error(recording: Recording) -> UpstreamError:
    status, headers = status_and_headers(recording)
    return dialect(recording.dialect).decode_error(status, recording.data, headers)


@every_error
def test_the_error_is_of_the_right_kind(recording: Recording) -> None:
    assert type(_error(recording)) is _recorded_error(recording).kind


@every_error
def test_the_error_has_the_message_of_the_provider(recording: Recording) -> None:
    error, recorded = _error(recording), _recorded_error(recording)
    assert recorded.message in error.message
    assert error.status == status_and_headers(recording)[0]
    assert not recorded.codes or error.upstream_code in recorded.codes


@every_error
def test_the_error_knows_how_long_to_wait(recording: Recording) -> None:
    assert _error(recording).retry_after == _recorded_error(recording).retry_after


@every_error
def test_the_error_has_the_request_id(recording: Recording) -> None:
    body: Json = json.loads(recording.data)
    headers = status_and_headers(recording)[1]
    assert _error(recording).request_id == (string(body, "request_id") or headers.get("x-request-id", ""))


@every_error
def test_a_retry_header_is_read(recording: Recording) -> None:
    status, headers = status_and_headers(recording)
    recorded = dialect(recording.dialect).decode_error(
        status, recording.data, {**headers, "retry-after": "7"}
    )
    assert recorded.retry_after in (7.0, _recorded_error(recording).retry_after)


@every_error
def test_an_error_body_instead_of_a_stream_is_one_failure(recording: Recording) -> None:
    for size in (1, 7, 1 << 20):
        events = decode(dialect(recording.dialect).decoder(), pieces_of(recording.data, size))
        recorded = [event for event in events if not isinstance(event, Started)]
        assert len(recorded) == 1, size
        assert isinstance(recorded[0], Failed), size
        assert _recorded_error(recording).message in recorded[0].error.message


@pytest.mark.parametrize("name", sorted({recording.dialect for recording in ERRORS}))
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_page_is_an_error_of_its_status(name: str, status: int) -> None:
    page = b"<html>\r\n<title>Bad \x00 gateway</title>" + b"<p>x</p>" * 1000
    error = dialect(name).decode_error(status, page, {})
    assert type(error) is read_error({}, status).kind
    assert len(error.message) <= 300
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", error.message)


PLACED = [
    recording
    for recording in recordings_of("body", "stream")
    if recording.dialect != "anthropic_messages"
    and any(mention.span is not None for mention in recorded_answer(recording).citations)
]
LINKED = [recording for recording in PLACED if recording.dialect.startswith("openai")]


def _check(body: JsonObject, owner: str, recorded: RecordedAnswer) -> None:
    answer = assemble(dialect(owner).decode_response(body))
    cited = {(citation.span, item.source.url) for citation in answer.citations for item in citation.evidence}
    assert answer.text == recorded.text
    assert not recorded.citations or cited == {(mention.span, mention.url) for mention in recorded.citations}


@each(PLACED)
def test_offsets_alone_decide_in_a_text_that_repeats_everything(recording: Recording) -> None:
    body = doubled(body_of(recording), recording.dialect)
    _check(body, recording.dialect, READERS[recording.dialect].read(body))


@each(LINKED)
def test_offsets_that_cut_a_link_in_two_mean_the_link(recording: Recording) -> None:
    for by in (-3, 3):
        _check(shifted(body_of(recording), by), recording.dialect, recorded_answer(recording))


REQUESTS = recordings_of("request")
SOURCES = "web_search_call.action.sources"
"""Requested from Responses with every search, or its pages would stay unknown."""
WITHOUT_A_QUESTION = "error-400-empty-messages"
"""OpenAI turned it down, and so may we."""
ASKING = [recording for recording in REQUESTS if WITHOUT_A_QUESTION not in recording.name]
every_request = each(ASKING)


def _body(recording: Recording) -> JsonObject:
    body: Json = json.loads(recording.data)
    assert isinstance(body, dict), "every request is an object"
    return body


@cache
def _recorded_request(recording: Recording) -> RecordedRequest:
    return read_request(_body(recording), recording.dialect)


@cache
def _request(recording: Recording) -> Request:
    """The request as the dialect decodes it."""
    return dialect(recording.dialect).decode_request(_body(recording))


def test_a_request_without_a_question_is_refused(recordings: Path) -> None:
    (recording,) = [item for item in REQUESTS if item not in ASKING]
    with pytest.raises((ClientWireError, RequestError)):
        _request(recording)


@every_request
def test_the_question_is_kept(recording: Recording) -> None:
    facts_of_request, request = _recorded_request(recording), _request(recording)
    assert request.query == (facts_of_request.user[-1] if facts_of_request.user else "")
    assert [
        message.text for message in request.messages if message.role == "user" and message.text
    ] == facts_of_request.user
    assert (
        "".join(turn.text for turn in request.messages if turn.role == "assistant")
        == facts_of_request.assistant
    )


@every_request
def test_instructions_are_kept(recording: Recording) -> None:
    facts_of_request, request = _recorded_request(recording), _request(recording)
    kept = [part.text for part in request.system]
    kept += [turn.text for turn in request.messages if turn.role in ("system", "developer")]
    assert sorted(kept) == sorted(facts_of_request.system)


@every_request
def test_tools_are_kept_and_search_is_none_of_them(recording: Recording) -> None:
    facts_of_request, request = _recorded_request(recording), _request(recording)
    assert [
        tool.name for tool in request.tools if isinstance(tool, FunctionTool)
    ] == facts_of_request.functions
    assert (
        len([tool for tool in request.tools if isinstance(tool, OpaqueTool)]) == facts_of_request.other_tools
    )


@every_request
def test_search_options_are_kept(recording: Recording) -> None:
    search = _request(recording).search
    assert (search and replace(search, extras={})) == _recorded_request(recording).search


@every_request
def test_model_limits_and_output_format_are_kept(recording: Recording) -> None:
    facts_of_request, request = _recorded_request(recording), _request(recording)
    assert (request.model, request.stream, request.previous_id) == (
        facts_of_request.model,
        facts_of_request.stream,
        facts_of_request.previous_id,
    )
    assert request.limits.max_output_tokens == facts_of_request.max_output_tokens


@every_request
def test_history_keeps_every_url_and_every_opaque_value(recording: Recording) -> None:
    facts_of_request, kept = _recorded_request(recording), set(strings_in(_request(recording)))
    assert facts_of_request.urls <= kept
    assert [blob[:40] for blob in facts_of_request.blobs if blob not in kept] == []


@every_request
def test_a_request_encoded_again_in_its_own_dialect_is_the_same_request(recording: Recording) -> None:
    ours = dialect(recording.dialect)
    request = _request(recording)
    encoded = ours.encode_request(request)
    assert _essence(ours.decode_request(encoded.body)) == _essence(request)
    assert encoded.unsupported == ()


def _essence(request: Request) -> Request:
    """Without what is in the path of Gemini's URL, and what a dialect may request in addition."""
    extras = {name: kept for name, fields in request.extras.items() if (kept := _without_sources(fields))}
    return replace(request, model="", stream=False, extras=extras)


def _without_sources(fields: JsonObject) -> JsonObject:
    included = fields.get("include")
    if not isinstance(included, list):
        return fields
    rest: Json = [item for item in included if item != SOURCES]
    return {
        **{key: value for key, value in fields.items() if key != "include"},
        **({"include": rest} if rest else {}),
    }
