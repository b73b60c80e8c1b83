"""Output of the Copilot CLI, decoded into events: tool results, messages, bare text, failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamWireError,
)
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    Warned,
    assemble,
)
from groundwire.providers.copilot.output import OutputReader
from tests.providers.copilot.fake import document, line, note, result_line, search_lines

ONE, TWO = "https://one.example/a", "https://two.example/b"


def events_of(output: str, query: str = "q", *, code: int = 0, errors: str = "") -> list[Event]:
    reader = OutputReader(query)
    events = [event for each in output.encode().splitlines() for event in reader.feed(each)]
    return [*events, *reader.close(code, errors.encode())]


def answer(output: str, query: str = "q", *, code: int = 0, errors: str = "") -> Answer:
    return assemble(events_of(output, query, code=code, errors=errors))


def codes(answered: Answer) -> list[str]:
    return [warning.code for warning in answered.warnings]


def error_of(events: list[Event]) -> GroundwireError:
    last = events[-1]
    assert isinstance(last, Failed)
    return last.error


def test_the_raw_tool_result_is_emitted_with_markers_as_anchors() -> None:
    text = "Grüße 😀 one【3:0†source】【3:1†source】."
    first = text.index("【3:0")
    notes = [note(first, first + 12, ONE, "One"), note(first + 12, first + 24, TWO, "Two")]
    events = events_of(
        line("model.call_start", model="gpt-4.1")
        + search_lines(document(text, notes, ("grüße", "greetings")))
        + line("assistant.message", content="something else", model="gpt-4.1")
        + result_line()
    )
    one, two = Source(ONE, "One"), Source(TWO, "Two")
    assert events == [
        Started(model="gpt-4.1"),
        SearchStarted(0, "call_1"),
        SearchCalled(0, SearchCall("call_1", ("grüße", "greetings"))),
        SearchReturned(1, SearchResult("call_1", (one, two))),
        TextDelta(2, text),
        Cited(Citation(Span(11, 23), (Evidence(one),), "marker")),
        Cited(Citation(Span(23, 35), (Evidence(two),), "marker")),
        Finished(),
    ]


def test_the_answer_is_complete_when_the_tool_has_answered() -> None:
    reader = OutputReader("q")
    lines = search_lines(document("x", None)).encode().splitlines()
    reader.feed(lines[0])
    assert not reader.is_complete
    reader.feed(lines[1])
    assert reader.is_complete


def test_searches_that_run_at_once_are_all_waited_for() -> None:
    starts, ends = [], []
    for number, text in enumerate(("first【1:0†source】", "second【1:0†source】")):
        at = text.index("【")
        content = document(text, [note(at, at + 12, ONE)], (f"query {number}",))
        start, end = search_lines(content, call=f"call_{number}").splitlines()
        starts.append(start)
        ends.append(end)
    reader = OutputReader("q")
    events = [event for each in (*starts, ends[0]) for event in reader.feed(each.encode())]
    early = reader.is_complete
    events += reader.feed(ends[1].encode())
    assert (early, reader.is_complete) == (False, True)
    answered = assemble([*events, *reader.close(0, b"")])
    assert answered.text == "first【1:0†source】\n\nsecond【1:0†source】"
    marks = [answered.text[item.span.start : item.span.end] for item in answered.citations if item.span]
    assert marks == ["【1:0†source】"] * 2
    assert [search.query for search in answered.searches] == ["query 0", "query 1"]


def test_a_repeated_marker_without_annotation_means_what_its_twin_means() -> None:
    text = "a【3:2†source】 b【3:2†source】 c【9:9†source】!"
    answered = answer(search_lines(document(text, [note(1, 13, ONE)])))
    assert answered.text == "a【3:2†source】 b【3:2†source】 c!"
    assert [item.span for item in answered.citations] == [Span(1, 13), Span(15, 27)]
    assert {item.evidence[0].source.url for item in answered.citations} == {ONE}


def test_markers_without_a_source_are_removed_and_offsets_shift() -> None:
    text = "a【9:9†source】b【3:2†source】"
    answered = answer(search_lines(document(text, [note(14, 26, ONE)])))
    assert answered.text == "ab【3:2†source】"
    assert [item.span for item in answered.citations] == [Span(2, 14)]


@pytest.mark.parametrize(
    ("start", "end", "label", "span"),
    [
        (3, 15, "", Span(3, 15)),
        (3, 15, "【3:2†source】", Span(3, 15)),
        (4, 16, "", Span(3, 15)),  # UTF-16 units: an astral character precedes it
        (0, 3, "", None),
        (0, 12, "【3:2†source】", Span(3, 15)),  # wrong, but the marker occurs just once
        (-5, 999999, "", None),
        (15, 3, "", None),
        (None, None, "", None),
        (None, None, "【3:2†source】", Span(3, 15)),
    ],
)
def test_an_offset_is_used_only_where_a_marker_is(
    start: int | None, end: int | None, label: str, span: Span | None
) -> None:
    text = "a😀b【3:2†source】 c"
    answered = answer(search_lines(document(text, [note(start, end, ONE, text=label)])))
    assert [item.span for item in answered.citations] == [span]
    assert codes(answered) == ([] if span else ["citation_unplaced"])


def test_the_outer_list_of_annotations_serves_where_the_inner_one_is_missing() -> None:
    content = json.loads(document("x【3:2†source】", None))
    content["annotations"] = [note(1, 13, ONE)]
    answered = answer(search_lines(json.dumps(content)))
    assert [item.span for item in answered.citations] == [Span(1, 13)]


def test_an_answer_without_searches_and_annotations_is_reported_as_not_grounded() -> None:
    nothing: tuple[list[dict[str, object]] | None, ...] = (None, [])
    for notes in nothing:
        answered = answer(search_lines(document("It is【3:2†source】 so.", notes, None)))
        assert answered.text == "It is so."
        assert codes(answered) == ["not_grounded"]
        assert (answered.citations, answered.sources, answered.searches) == ((), (), ())
        assert answered.finish == "stop"


def test_a_search_that_cites_nothing_is_reported_too() -> None:
    answered = answer(search_lines(document("It is so.", [])))
    assert codes(answered) == ["not_grounded"]
    assert [search.query for search in answered.searches] == ["q"]


def test_no_results_in_plain_words_are_an_empty_answer() -> None:
    answered = answer(search_lines("No relevant web results found.\n", query="nothing"))
    assert (answered.text, answered.citations, answered.finish) == ("", (), "stop")
    assert [search.query for search in answered.searches] == ["nothing"]


def test_unsafe_urls_are_not_sources() -> None:
    text = "x【3:2†source】"
    for url in ("javascript:alert(1)", "data:text/html,x", "", "file:///etc/passwd", "https://"):
        answered = answer(search_lines(document(text, [note(1, 13, url)])))
        assert (answered.text, answered.sources) == ("x", ())


def test_control_characters_are_replaced_and_offsets_stay() -> None:
    text = "a\x1b[31m\x07\x9b\r\n【3:2†source】"
    at = text.index("【")
    answered = answer(
        search_lines(
            document(text, [note(at, at + 12, "https://one.example/\x1b", "T\x1b]8;;\x07\n")], ("q\x1b",))
        )
    )
    shown = answered.text + "".join(
        (
            *(page.url + page.title for page in answered.sources),
            *(search.query for search in answered.searches),
        )
    )
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert answered.text[at : at + 12] == "【3:2†source】"
    assert answered.citations[0].span == Span(at, at + 12)


def test_a_detailed_result_serves_where_the_short_one_was_cut() -> None:
    whole = document("x", None)
    result = {"content": whole[:20], "detailedContent": whole}
    assert answer(search_lines("", result=result)).text == "x"


def test_the_tool_may_have_the_name_of_its_server_before_its_own() -> None:
    lines = search_lines(document("x", None)).replace('"web_search"', '"github-mcp-server/web_search"')
    assert answer(lines).text == "x"


def test_a_tool_that_was_not_offered_is_reported_and_its_result_is_not_believed() -> None:
    lines = search_lines(document("x", None)).replace('"web_search"', '"not_web_searching"')
    events = events_of(lines + line("assistant.message", content="y") + result_line())
    assert [event.code for event in events if isinstance(event, Warned)] == [
        "unexpected_tool",
        "not_grounded",
    ]
    assert assemble(events).text == "y"


def test_a_failed_search_is_an_event_and_the_message_is_not_grounded() -> None:
    answered = answer(
        search_lines("", success=False) + line("assistant.message", content="I could not.") + result_line()
    )
    assert [search.state for search in answered.searches] == ["failed"]
    assert codes(answered) == ["not_grounded"]
    assert answered.text == "I could not."


def test_the_message_is_used_if_the_tool_result_is_unreadable() -> None:
    summary = {"query": "q", "summary": "So it is.", "sources": [{"title": "One", "url": ONE}]}
    answered = answer(
        search_lines("what is this?") + line("assistant.message", content=json.dumps(summary)) + result_line()
    )
    assert answered.text == "So it is."
    assert answered.citations == (Citation(None, (Evidence(Source(ONE, "One")),)),)


def test_citations_of_a_message_count_utf16_units() -> None:
    content = "😀 Grüße [1]"
    citations = {
        "sources": [{"id": "s", "provider": "p", "title": "One", "url": ONE}],
        "spans": [
            {"startIndex": 3, "endIndex": 8, "references": [{"sourceId": "s", "citedText": "from the page"}]},
            {"startIndex": 9, "endIndex": 12, "references": [{"sourceId": "s"}, {"sourceId": "unknown"}]},
            {"startIndex": 0, "endIndex": 2, "references": [{"sourceId": "unknown"}]},
        ],
    }
    answered = answer(
        line("assistant.server_tool_progress", kind="web_search", status="searching", outputIndex=0)
        + line("assistant.message", content=content, citations=citations)
        + result_line()
    )
    page = Source(ONE, "One")
    assert answered.text == content
    assert answered.citations == (
        Citation(Span(2, 7), (Evidence(page, "from the page"),)),
        Citation(Span(8, 11), (Evidence(page),), "marker"),
    )
    assert codes(answered) == []


def test_markers_of_a_message_without_a_citation_are_removed() -> None:
    content = "Rain【3:0†source】 today【4†L1-L2】, sun【3:1†source】 later."
    start = content.index("【3:1")
    citations = {
        "sources": [{"id": "s", "provider": "p", "title": "One", "url": ONE}],
        "spans": [
            {"startIndex": start, "endIndex": start + 12, "references": [{"sourceId": "s"}]},
            {"startIndex": 0, "endIndex": 4, "references": [{"sourceId": "s"}]},
        ],
    }
    answered = answer(line("assistant.message", content=content, citations=citations) + result_line())
    assert answered.text == "Rain today, sun【3:1†source】 later."
    fragments = [answered.text[slice(*item.span)] for item in answered.citations if item.span]
    assert fragments == ["Rain", "【3:1†source】"]
    assert [item.anchor for item in answered.citations] == ["claim", "marker"]


@pytest.mark.parametrize("text", ["a【4†L1-L2】 b【4†L1-L2】.", "a【4†source】 b【4†source】."])
def test_markers_of_other_formats_are_resolved_or_removed_in_the_same_way(text: str) -> None:
    label = text[1 : text.index(" ")]
    answered = answer(search_lines(document(text, [note(1, 1 + len(label), ONE)])))
    fragments = [answered.text[slice(*item.span)] for item in answered.citations if item.span]
    assert fragments == [label, label]
    assert answer(search_lines(document(text, [note(0, 1, ONE)]))).text == "a b."


@pytest.mark.parametrize("citations", [[], "x", {"sources": 1}, {"sources": [{"url": 5}]}])
def test_citations_of_a_message_that_cannot_be_read_do_not_cost_the_message(citations: object) -> None:
    answered = answer(line("assistant.message", content="Words.", citations=citations) + result_line())
    assert answered.text == "Words."
    assert codes(answered) == ["not_grounded"]


def test_recorded_json_lines_without_a_search_are_an_answer_that_is_not_grounded(recordings: Path) -> None:
    text = (recordings / "copilot" / "cli-json-success.jsonl").read_text("utf-8")
    answered = answer(text, "grüße")
    assert answered.text == "Hi  done"
    assert answered.model == "gpt-4.1"
    assert codes(answered) == ["not_grounded"]
    assert (answered.citations, answered.finish) == ((), "stop")


def test_recorded_use_of_another_tool_is_reported(recordings: Path) -> None:
    text = (recordings / "copilot" / "cli-json-tool-call.jsonl").read_text("utf-8")
    answered = answer(text, "grüße")
    assert codes(answered) == ["unexpected_tool", "not_grounded"]
    assert answered.text == "Hi  done"


def test_a_recorded_failure_is_an_overloaded_provider(recordings: Path) -> None:
    error = error_of(
        events_of((recordings / "copilot" / "cli-json-failure.jsonl").read_text("utf-8"), code=1)
    )
    assert isinstance(error, Overloaded)
    assert error.status == 500
    assert "500 boom" in error.message


@pytest.mark.parametrize("name", ["cli-silent-tool", "cli-text-success", "cli-text-tool"])
def test_recorded_bare_text_contains_the_requested_object(recordings: Path, name: str) -> None:
    text = (recordings / "copilot" / f"{name}.stdout.txt").read_text("utf-8")
    answered = answer(text, "grüße")
    assert answered.text == "Hi  done"
    assert answered.citations == (Citation(None, (Evidence(Source("https://e.com", "T")),)),)
    assert codes(answered) == []


def test_a_recorded_failure_in_bare_text_is_read_from_stderr(recordings: Path) -> None:
    folder = recordings / "copilot"
    error = error_of(
        events_of(
            (folder / "cli-text-failure.stdout.txt").read_text("utf-8"),
            code=1,
            errors=(folder / "cli-text-failure.stderr.txt").read_text("utf-8"),
        )
    )
    assert isinstance(error, Overloaded)
    assert error.status == 500


@pytest.mark.parametrize(
    "change",
    [
        {"query": "another"},
        {"summary": ""},
        {"summary": 3},
        {"sources": "none"},
        {"sources": [{"title": "T", "url": "javascript:alert(1)"}]},
        {"sources": [{"title": "T", "url": ONE}, {"title": "T"}]},
        {"sources": [{"title": "T", "url": ONE, "more": 1}]},
        {"sources": [{"title": 3, "url": ONE}]},
        {"sources": ["T"]},
        {"more": 1},
    ],
)
def test_bare_text_that_is_not_the_requested_object_is_not_grounded(
    change: dict[str, object],
) -> None:
    requested = {"query": "q", "summary": "s", "sources": [{"title": "T", "url": ONE}]}
    text = json.dumps({**requested, **change})
    answered = answer(text)
    assert (answered.text, answered.citations) == (text, ())
    assert codes(answered) == ["not_grounded"]


def test_the_object_may_be_in_a_fence_and_after_text() -> None:
    requested = {"query": "q", "summary": "s", "sources": [{"title": "T", "url": ONE}]}
    answered = answer("Here {it} is:\n```json\n" + json.dumps(requested, indent=2) + "\n```\n")
    assert answered.text == "s"
    assert [page.url for page in answered.sources] == [ONE]


def test_braces_without_end_are_text() -> None:
    assert answer("{" * 20_000 + "}").text == "{" * 20_000 + "}"


@pytest.mark.parametrize(
    ("errors", "kind", "advice"),
    [
        ("Error: No authentication information found.\n", AuthRejected, "COPILOT_GITHUB_TOKEN"),
        (
            "Error: Authentication token found but could not be validated.",
            AuthRejected,
            "COPILOT_GITHUB_TOKEN",
        ),
        ("You have exceeded your premium request allowance", QuotaExhausted, "plan"),
        ("Last error: 429 Too Many Requests", RateLimited, "while"),
        ('Error: Model "gpt-9" from --model flag is not available.', NotFound, "WEB_SEARCH_MODEL"),
        ("error: unknown option '--available-tools'", Refused, "update"),
        ("Last error: 503 Service Unavailable", Overloaded, "503"),
        ("Last error: 403 Forbidden", AuthRejected, "COPILOT_GITHUB_TOKEN"),
        ("something odd", Refused, "something odd"),
        ("", Refused, "exit code 1"),
        ("bwrap: setting up uid map: Permission denied", ConfigError, "sandbox"),
    ],
)
def test_failures_are_classified_by_their_message(
    errors: str, kind: type[GroundwireError], advice: str
) -> None:
    error = error_of(events_of("", code=1, errors=errors))
    assert type(error) is kind
    assert advice in error.message


def test_a_failure_inside_json_lines_counts_even_if_the_exit_code_is_lost() -> None:
    events = events_of(
        line("session.error", errorType="rate_limit", message="slow down", statusCode=429) + result_line(1)
    )
    assert type(error_of(events)) is RateLimited


def test_a_killed_cli_is_an_interruption_and_a_silent_one_a_wire_error() -> None:
    assert type(error_of(events_of("", code=-9))) is Interrupted
    assert type(error_of(events_of("", code=0))) is UpstreamWireError
    assert type(error_of(events_of(result_line(0)))) is UpstreamWireError


def test_a_tool_result_is_kept_even_if_the_model_failed_afterwards() -> None:
    events = events_of(search_lines(document("x", None)) + result_line(1), code=1)
    assert events[-1] == Finished()


@pytest.mark.parametrize(
    "odd",
    [
        "{",
        "[]",
        "null",
        '"text"',
        '{"type": 3, "data": {}}',
        '{"type": "tool.execution_start", "data": {"toolName": 5}}',
        '{"type": "tool.execution_complete", "data": {"toolCallId": []}}',
        '{"type": "tool.execution_complete", "data": {"toolCallId": "call_1", "result": 7}}',
        '{"type": "assistant.message", "data": {"content": {}}}',
        '{"type": "assistant.message", "data": {"content": "x", "citations": []}}',
        '{"type": "session.error", "data": {"statusCode": "x"}}',
        '{"type": "unknown.event", "data": {"content": "x"}}',
        '{"type": "result", "exitCode": "zero"}',
        "\x00\xff",
        "[" * 5000,
    ],
)
def test_malformed_lines_are_ignored(odd: str) -> None:
    good = search_lines(document("x", None))
    assert answer(f"{odd}\n{good}{odd}\n{result_line()}").text == "x"


@pytest.mark.parametrize(
    "content",
    [
        '{"text": "x"}',
        '{"text": {"value": 4}}',
        '{"text": {"value": "x", "annotations": {"a": 1}}}',
        '{"text": {"value": "x", "annotations": [{"url_citation": "u"}]}}',
        '{"text": {"value": "x", "annotations": [{"start_index": "a", "url_citation": {"url": "https://a.b"}}]}}',
        '{"text": {"value": "x"}, "bing_searches": [1]}',
        "{}",
        "[]",
        "",
    ],
)
def test_malformed_results_are_ignored(content: str) -> None:
    events = events_of(search_lines(content) + line("assistant.message", content="y") + result_line())
    assert assemble(events).text == "y"
    assert events[-1] == Finished()
