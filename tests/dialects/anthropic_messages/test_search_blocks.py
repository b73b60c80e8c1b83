"""Searches of other providers for Messages clients: a call and a result for each query."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.base import CitationPolicy, Reply
from groundwire.dialects.foreign_history import readable_text
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Message,
    ReasoningDelta,
    SearchCall,
    SearchCalled,
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
    assemble,
)
from tests.dialects.anthropic_messages.bodies import decode, encode, payloads

A, B, C = (Source(f"https://{name}.example/", name.upper()) for name in "abc")
TEXT = "Tides follow the moon."
NO_USAGE = Usage()
POLICIES: tuple[CitationPolicy, ...] = ("exact", "live")


def claim(source: Source) -> Citation:
    return Citation(Span(0, 5), (Evidence(source),))


def whole(*sources: Source, quote: str = "") -> Citation:
    return Citation(None, tuple(Evidence(source, quote) for source in sources))


def searched(*queries: str, found: Iterable[Source] = ()) -> tuple[SearchCall, SearchResult]:
    return SearchCall("s", queries), SearchResult("s", tuple(found))


def answered(*parts: Any, cites: Iterable[Citation] = (), usage: Usage = NO_USAGE) -> Answer:
    return Answer((*parts, Text(TEXT)), tuple(cites), usage, finish="stop")


def events_of(answer: Answer) -> list[Event]:
    """The events of an answer whose citations arrive last."""
    events: list[Event] = [Started("r", "m")]
    for number, part in enumerate(answer.parts):
        match part:
            case SearchCall():
                events.append(SearchCalled(number, part))
            case SearchResult():
                events.append(SearchReturned(number, part))
            case Text(text):
                events.append(TextDelta(number, text))
    events += [Cited(citation) for citation in answer.citations]
    events += [TextSettled(number) for number, part in enumerate(answer.parts) if isinstance(part, Text)]
    return [*events, UsageSeen(answer.usage), Finished("stop")]


def streamed(answer: Answer, policy: CitationPolicy = "exact") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The blocks of a stream, put together, and its usage."""
    blocks: list[dict[str, Any]] = []
    usage: dict[str, Any] = {}
    arguments = ""
    for payload in payloads(encode(events_of(answer), citations=policy)):
        match payload:
            case {"type": "content_block_start", "content_block": dict(block)}:
                blocks.append({**block})
                arguments = ""
            case {"delta": {"type": "input_json_delta", "partial_json": str(piece)}}:
                arguments += piece
                if arguments:
                    blocks[-1]["input"] = json.loads(arguments)
            case {"delta": {"type": "text_delta", "text": str(text)}}:
                blocks[-1]["text"] += text
            case {"type": "message_delta", "usage": dict(counts)}:
                usage = counts
    return blocks, usage


def written(answer: Answer) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    body: dict[str, Any] = dict(DIALECT.encode_response(answer, Reply(id="r")))
    return body["content"], body["usage"]


def both(answer: Answer) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    return [written(answer), *(streamed(answer, policy) for policy in POLICIES)]


def calls(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in blocks if block["type"] == "server_tool_use"]


def lists(blocks: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [page["url"] for page in block["content"]]
        for block in blocks
        if block["type"] == "web_search_tool_result"
    ]


def is_paired(blocks: list[dict[str, Any]]) -> bool:
    """Has every call one result, after it, and every result its call?"""
    calls = [block["id"] for block in blocks if block["type"] == "server_tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"].endswith("_tool_result")]
    order = [block.get("id") or block.get("tool_use_id") for block in blocks if block["type"] != "text"]
    return (
        sorted(calls) == sorted(results)
        and len(set(calls)) == len(calls)
        and all(order.index(block_id) < len(order) - 1 - order[::-1].index(block_id) for block_id in calls)
    )


def again(answer: Answer, policy: CitationPolicy | None) -> Answer:
    """The answer as it is read from what we write."""
    if policy is None:
        return assemble(DIALECT.decode_response(DIALECT.encode_response(answer, Reply(id="r"))))
    return assemble(decode(encode(events_of(answer), citations=policy)))


def turn_back(answer: Answer) -> Message:
    """The turn that a client sends back."""
    body = DIALECT.encode_response(answer, Reply(id="r"))
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": body["content"]}]
    return DIALECT.decode_request({"model": "m", "max_tokens": 9, "messages": turns}).messages[1]  # type: ignore[dict-item]


def test_each_query_has_a_call_and_a_result() -> None:
    answer = answered(*searched("tide", "Gezeiten", "潮", found=(A, B, C)), cites=[claim(A)])
    for blocks, usage in both(answer):
        assert [block["input"] for block in calls(blocks)] == [
            {"query": "tide"},
            {"query": "Gezeiten"},
            {"query": "潮"},
        ]
        assert is_paired(blocks)
        assert [url for urls in lists(blocks) for url in urls] == [A.url, B.url, C.url]
        assert usage["server_tool_use"]["web_search_requests"] == 3


@pytest.mark.parametrize("pages", range(6))
@pytest.mark.parametrize("queries", [1, 2, 3, 5])
def test_no_query_appears_to_have_found_nothing_and_no_page_is_lost(queries: int, pages: int) -> None:
    found = [Source(f"https://p{number}.example/", f"P{number}") for number in range(pages)]
    answer = answered(*searched(*(f"q{number}" for number in range(queries)), found=found))
    for blocks, _ in both(answer):
        assert len(lists(blocks)) == queries
        assert all(bool(urls) == bool(pages) for urls in lists(blocks))
        assert list(dict.fromkeys(url for urls in lists(blocks) for url in urls)) == [
            page.url for page in found
        ]


@pytest.mark.parametrize("policy", [None, *POLICIES])
@pytest.mark.parametrize("pages", [0, 1, 3])
def test_several_queries_come_back_as_one_search(policy: CitationPolicy | None, pages: int) -> None:
    answer = answered(*searched("tide", "Gezeiten", found=(A, B, C)[:pages]), cites=[claim(C), whole(B)])
    read = again(answer, policy)
    [call] = [part for part in read.parts if isinstance(part, SearchCall)]
    [result] = [part for part in read.parts if isinstance(part, SearchResult) and part.call_id == call.id]
    assert (call.queries, result.sources) == (("tide", "Gezeiten"), (A, B, C)[:pages])
    assert {(item.span, item.evidence[0].source.url) for item in read.citations} == {
        (Span(0, 5), C.url),
        (None, B.url),
    }


def test_the_queries_of_a_search_are_emitted_as_soon_as_they_are_known() -> None:
    """A stream that passes two gateways must not wait for the results to show what is searched for."""
    encoder, decoder = DIALECT.encoder(Reply(id="r")), DIALECT.decoder()
    call, result = searched("tide", "Gezeiten", found=(A,))
    events: list[Event] = []
    before: list[Event] = [Started("r", "m"), SearchCalled(0, call)]
    after: list[Event] = [SearchReturned(1, result), ReasoningDelta(2, "Hm."), Finished()]
    for event in before:
        events += decoder.feed(encoder.feed(event))
    assert [event.call.queries for event in events if isinstance(event, SearchCalled)] == [
        ("tide", "Gezeiten")
    ]
    for event in after:
        events += decoder.feed(encoder.feed(event))
    assert len([event for event in events if isinstance(event, SearchCalled | SearchReturned)]) == 2


def test_citations_without_a_span_are_in_the_list_of_results() -> None:
    answer = answered(*searched("tide"), cites=[whole(A, B)], usage=Usage(searches=1))
    for blocks, usage in both(answer):
        assert is_paired(blocks)
        assert [url for urls in lists(blocks) for url in urls if urls] == [A.url, B.url]
        assert usage["server_tool_use"]["web_search_requests"] == 1
    for blocks, _ in (written(answer), streamed(answer)):
        assert [block["type"] for block in blocks] == ["server_tool_use", "web_search_tool_result", "text"]


def test_pages_that_are_cited_but_not_found_are_listed_after_those_found() -> None:
    answer = answered(*searched("tide", found=(A,)), cites=[claim(C), whole(B, A)])
    for blocks, _ in (written(answer), streamed(answer)):
        assert lists(blocks) == [[A.url, C.url, B.url]]


def test_an_answer_without_a_search_lists_what_it_cites_in_a_pair_of_its_own() -> None:
    answer = answered(cites=[claim(A), whole(B)])
    for blocks, usage in both(answer):
        assert is_paired(blocks)
        assert sorted(url for urls in lists(blocks) for url in urls) == [A.url, B.url]
        assert [block["input"] for block in calls(blocks)] == [{"query": ""}]
        assert usage["server_tool_use"]["web_search_requests"] == 1
    assert [block["type"] for block in streamed(answer)[0]][:2] == [
        "server_tool_use",
        "web_search_tool_result",
    ]
    assert streamed(answer, "live")[0][-1]["type"] == "web_search_tool_result", "late ones come at the tail"
    assert not any(isinstance(part, SearchCall | SearchResult) for part in again(answer, "live").parts)


def test_an_answer_that_cites_nothing_has_no_pair() -> None:
    for blocks, usage in both(answered()):
        assert [block["type"] for block in blocks] == ["text"]
        assert "server_tool_use" not in usage


@pytest.mark.parametrize("policy", [None, *POLICIES])
def test_citations_of_the_whole_answer_come_back_as_such(policy: CitationPolicy | None) -> None:
    answer = answered(*searched("tide", found=(A,)), cites=[whole(A, B, quote="It is the moon.")])
    [citation] = again(answer, policy).citations
    assert citation.span is None
    assert {(item.source.url, item.source.title, item.quote) for item in citation.evidence} == {
        (A.url, "A", "It is the moon."),
        (B.url, "B", "It is the moon."),
    }


def test_a_result_without_its_call_gets_one() -> None:
    answer = answered(
        SearchResult("never called", (A,)), SearchResult("never called", (B,)), cites=[claim(A)]
    )
    for blocks, usage in both(answer):
        assert is_paired(blocks)
        assert lists(blocks) == [[A.url], [B.url]]
        assert usage["server_tool_use"]["web_search_requests"] == 2
    for policy in (None, *POLICIES):
        parts = again(answer, policy).parts
        assert not any(isinstance(part, SearchCall) for part in parts)
        assert [part.sources for part in parts if isinstance(part, SearchResult)] == [(A,), (B,)]


def test_a_failed_search_has_its_error_and_is_not_counted() -> None:
    call, _ = searched("tide", "Gezeiten")
    answer = answered(call, SearchResult("s", error="max_uses_exceeded"), cites=[whole(A)])
    for blocks, usage in both(answer):
        assert is_paired(blocks)
        errors = [block["content"] for block in blocks if block.get("tool_use_id", "").endswith("_s")]
        assert errors == [{"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}] * 2
        assert usage["server_tool_use"]["web_search_requests"] == 1, "only the pair that lists what is cited"
    for policy in (None, *POLICIES):
        read = again(answer, policy)
        assert [part.error for part in read.parts if isinstance(part, SearchResult)] == ["max_uses_exceeded"]
        assert {search.state for search in read.searches} == {"failed"}


def test_a_page_that_was_opened_is_not_listed_again() -> None:
    opened = (SearchCall("o", kind="open", url=A.url), SearchResult("o", (A,)))
    for blocks, _ in both(answered(*opened, cites=[claim(A)])):
        assert [block["type"] for block in blocks if block["type"] != "text"] == [
            "server_tool_use",
            "web_fetch_tool_result",
        ]


def test_the_next_provider_reads_every_cited_url() -> None:
    answer = answered(*searched("tide", "Gezeiten", found=(A,)), cites=[claim(B), whole(C)])
    text = readable_text(turn_back(answer))
    assert all(source.url in text for source in (A, B, C))
    assert "Searched for: tide; Gezeiten" in text


def test_content_signed_with_a_key_is_verified_with_that_key() -> None:
    answer = answered(*searched("tide", found=(A,)), cites=[whole(B, quote="It is the moon.")])
    content = DIALECT.encode_response(answer, Reply(id="r", key=b"secret"))["content"]
    turns: Any = [{"role": "user", "content": "?"}, {"role": "assistant", "content": content}]
    body: Any = {"model": "m", "max_tokens": 9, "messages": turns}
    [_, turn] = DIALECT.with_key(DIALECT, b"secret").decode_request(body).messages
    [_, foreign] = DIALECT.with_key(DIALECT, b"another").decode_request(body).messages
    assert [item.source.url for citation in turn.citations for item in citation.evidence] == [B.url]
    assert foreign.citations == ()
    assert all(source.url in readable_text(foreign) for source in (A, B)), "URLs are readable without the key"


def test_a_client_that_sends_text_back_without_citations_still_sends_the_cited_pages() -> None:
    body: dict[str, Any] = dict(DIALECT.encode_response(answered(cites=[claim(A), whole(B)]), Reply(id="r")))
    stripped = [{**block, "citations": []} if block["type"] == "text" else block for block in body["content"]]
    read = assemble(DIALECT.decode_response({**body, "content": stripped}))
    assert {item.source.url for citation in read.citations for item in citation.evidence} == {A.url, B.url}


def test_a_source_without_a_url_is_not_listed_as_a_link() -> None:
    feed = Source("", "oai-weather")
    for blocks, _ in both(answered(*searched("tide", found=(A, feed)), cites=[whole(feed)])):
        assert lists(blocks) == [[A.url]]


def test_blocks_made_by_anthropic_stay_unchanged() -> None:
    native: list[Any] = [
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "tide"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": []},
        {
            "type": "text",
            "text": TEXT,
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": A.url,
                    "title": "A",
                    "encrypted_index": "Eo8",
                    "cited_text": "moon",
                }
            ],
        },
    ]
    usage = {"input_tokens": 1, "output_tokens": 1, "server_tool_use": {"web_search_requests": 1}}
    body: dict[str, Any] = {"type": "message", "content": native, "stop_reason": "end_turn", "usage": usage}
    answer = assemble(DIALECT.decode_response(body))
    assert written(answer)[0] == native
    assert written(answer)[1]["server_tool_use"]["web_search_requests"] == 1


def test_a_result_whose_id_was_replaced_answers_the_search_before_it() -> None:
    native: list[Any] = [
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "tide"}},
        {"type": "web_search_tool_result", "tool_use_id": "toolu_REDACTED", "content": []},
    ]
    answer = assemble(
        DIALECT.decode_response({"type": "message", "content": native, "stop_reason": "end_turn"})
    )
    assert [search.state for search in answer.searches] == ["done"]
    assert written(answer)[0] == native
