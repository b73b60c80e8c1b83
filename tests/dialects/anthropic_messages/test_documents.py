"""Citations that refer to a document by index: fetched pages, client documents, search results."""

from __future__ import annotations

import anthropic.types
import pytest
from anthropic.types import CitationCharLocation, TextBlock
from pydantic import TypeAdapter

from groundwire.dialects.anthropic_messages import DIALECT
from groundwire.dialects.base import Reply
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Json,
    JsonObject,
    Message,
    Opaque,
    Request,
    Source,
    Span,
    Text,
    ToolResult,
    assemble,
)
from tests.dialects.anthropic_messages.bodies import block, decode, end, sse, start

PAGE = "https://a.example/article"
BODY = "Tides follow the moon. They rise twice a day."
QUOTE = "They rise twice a day."


def fetch(
    number: int, url: str = PAGE, title: str | None = "Tides", data: str | None = BODY
) -> list[JsonObject]:
    """A fetch and the page that it returned; without text it is a PDF."""
    source: JsonObject = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    if data is not None:
        source = {"type": "text", "media_type": "text/plain", "data": data}
    document: JsonObject = {
        "type": "document",
        "source": source,
        "title": title,
        "citations": {"enabled": True},
    }
    call_id = f"srvtoolu_0{number}"
    return [
        {"type": "server_tool_use", "id": call_id, "name": "web_fetch", "input": {"url": url}},
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": call_id,
            "content": {"type": "web_fetch_result", "url": url, "retrieved_at": None, "content": document},
        },
    ]


def char_location(index: int, title: str | None = "Tides", quote: str = QUOTE) -> JsonObject:
    start_index = max(BODY.find(quote), 0)
    return {
        "type": "char_location",
        "cited_text": quote,
        "document_index": index,
        "document_title": title,
        "start_char_index": start_index,
        "end_char_index": start_index + len(quote),
        "file_id": None,
    }


def page_location(index: int, title: str | None = "Tides") -> JsonObject:
    return {
        "type": "page_location",
        "cited_text": QUOTE,
        "document_index": index,
        "document_title": title,
        "start_page_number": 1,
        "end_page_number": 2,
    }


def content_block_location(index: int, title: str | None = "Tides") -> JsonObject:
    return {
        "type": "content_block_location",
        "cited_text": QUOTE,
        "document_index": index,
        "document_title": title,
        "start_block_index": 0,
        "end_block_index": 1,
    }


def message(*blocks: JsonObject) -> JsonObject:
    content: list[Json] = [*blocks]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "end_turn",
    }


def cited_text(*citations: JsonObject) -> JsonObject:
    return {"type": "text", "text": "Twice daily.", "citations": [*citations]}


def evidence(answer: Answer) -> list[tuple[str, str, str]]:
    return [
        (item.source.url, item.source.title, item.quote)
        for citation in answer.citations
        for item in citation.evidence
    ]


def read(*blocks: JsonObject, request: Request | None = None) -> Answer:
    codec = DIALECT.for_request(DIALECT, request) if request else DIALECT
    return assemble(codec.decode_response(message(*blocks)))


def document(title: str | None = None, data: str = "Our own paper.") -> JsonObject:
    return {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": data},
        "title": title,
    }


def request_with(*documents: JsonObject) -> Request:
    return Request(
        (Message("user", (*(Opaque("anthropic_messages", item) for item in documents), Text("?"))),)
    )


@pytest.mark.parametrize("location", [char_location, page_location, content_block_location])
@pytest.mark.parametrize("title", ["Tides", None])
def test_a_citation_of_a_fetched_page_has_its_url(location: object, title: str | None) -> None:
    assert callable(location)
    answer = read(*fetch(1, title=title), cited_text(location(0, title)))
    assert evidence(answer) == [(PAGE, title or "", QUOTE)]
    assert answer.citations[0].span == Span(0, len("Twice daily."))
    assert [source.state for source in answer.sources] == ["cited"]


def test_a_citation_of_a_fetched_page_in_a_stream_has_its_url() -> None:
    call, result = fetch(1)
    text: JsonObject = {"type": "text", "text": "", "citations": []}
    data = sse(
        start(),
        *block(0, call),
        *block(1, result),
        *block(
            2,
            text,
            {"type": "citations_delta", "citation": char_location(0)},
            {"type": "text_delta", "text": "Twice daily."},
        ),
        *end(),
    )
    streamed = assemble(decode(data))
    assert streamed.citations == read(*fetch(1), cited_text(char_location(0))).citations


def test_documents_of_the_request_are_counted_first() -> None:
    request = request_with(document("Paper"), document())
    answer = read(
        *fetch(1, "https://a.example/1", "One", "First page."),
        *fetch(2, "https://a.example/2", None, None),
        cited_text(
            page_location(0, "Paper"), page_location(1, None), page_location(2, "One"), page_location(3, None)
        ),
        request=request,
    )
    assert [(url, title) for url, title, _ in evidence(answer)] == [
        ("", "Paper"),
        ("", "Document 2"),
        ("https://a.example/1", "One"),
        ("https://a.example/2", ""),
    ]


def test_documents_in_tool_results_and_pages_of_earlier_turns_are_counted_too() -> None:
    earlier = DIALECT.decode_request(
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "?"}]},
                {
                    "role": "assistant",
                    "content": [*fetch(1), {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": [document("Paper")]}],
                },
            ],
        }
    )
    answer = read(cited_text(page_location(0), page_location(1, "Paper")), request=earlier)
    assert [(url, title) for url, title, _ in evidence(answer)] == [(PAGE, "Tides"), ("", "Paper")]
    assert any(isinstance(part, ToolResult) for part in earlier.messages[-1].parts)


def test_an_assistant_turn_in_the_history_refers_to_pages_of_earlier_turns() -> None:
    request = DIALECT.decode_request(
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [document("Paper"), {"type": "text", "text": "?"}]},
                {"role": "assistant", "content": [*fetch(1), cited_text(char_location(1))]},
                {"role": "user", "content": "And?"},
                {"role": "assistant", "content": [cited_text(char_location(1), page_location(0, "Paper"))]},
                {"role": "user", "content": "Thanks."},
            ],
        }
    )
    cited = [
        (item.source.url, item.source.title)
        for turn in request.messages
        for citation in turn.citations
        for item in citation.evidence
    ]
    assert cited == [(PAGE, "Tides"), (PAGE, "Tides"), ("", "Paper")]


@pytest.mark.parametrize(
    ("title", "quote"), [("Something else", QUOTE), (None, "Words that are on no fetched page.")]
)
def test_an_index_contradicted_by_title_or_text_gives_no_url(title: str | None, quote: str) -> None:
    answer = read(*fetch(1), cited_text(char_location(0, title, quote)))
    assert [(url, name) for url, name, _ in evidence(answer)] == [("", title or "Document 1")]


def test_a_wrong_index_is_corrected_by_title_or_text() -> None:
    pages = (*fetch(1), *fetch(2, "https://b.example/", "Other", "Other words."))
    assert evidence(read(*pages, cited_text(char_location(7))))[0][0] == PAGE
    assert evidence(read(*pages, cited_text(char_location(1, None))))[0][0] == PAGE


def test_a_search_result_of_the_client_is_cited_by_its_source() -> None:
    def cited(source: str, title: str | None) -> list[tuple[str, str, str]]:
        location: JsonObject = {
            "type": "search_result_location",
            "cited_text": "A & B &amp; C",
            "search_result_index": 0,
            "source": source,
            "title": title,
            "start_block_index": 0,
            "end_block_index": 1,
        }
        return evidence(read(cited_text(location)))

    assert cited(PAGE, "Tides") == [(PAGE, "Tides", "A & B &amp; C")]
    assert cited("kb-17", "Tides") == [("", "Tides", "A & B &amp; C")]
    assert cited("kb-17", None) == [("", "kb-17", "A & B &amp; C")]


@pytest.mark.parametrize("index", [-1, 2**40, 2**70])
def test_an_impossible_index_refers_to_no_document(index: int) -> None:
    assert evidence(read(*fetch(1, data="Other."), cited_text(char_location(index, "Elsewhere")))) == [
        ("", "Elsewhere", QUOTE)
    ]


def test_citations_of_documents_are_sent_to_clients_and_to_anthropic_verbatim() -> None:
    blocks = (*fetch(1), cited_text(char_location(0), page_location(0)))
    answer = read(*blocks)
    assert DIALECT.encode_response(answer, Reply())["content"] == [*blocks]
    body = DIALECT.encode_request(Request((Message("user", (Text("?"),)), answer.message))).body
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "?"}]},
        {"role": "assistant", "content": [*blocks]},
    ]


def test_a_source_without_a_url_is_cited_as_a_document_the_request_does_not_have() -> None:
    almanac, atlas = (Source("", title, "cited") for title in ("The almanac", "The atlas"))
    answer = Answer(
        (Text("Twice. Daily."),),
        (
            Citation(Span(0, 6), (Evidence(almanac, "two tides"), Evidence(atlas))),
            Citation(Span(7, 13), (Evidence(almanac),)),
        ),
        finish="stop",
    )
    body = DIALECT.encode_response(answer, Reply(request=request_with(document("Paper"))))
    content = body["content"]
    assert isinstance(content, list)
    citations = [item for part in content if isinstance(part, dict) for item in part.get("citations", [])]  # type: ignore[union-attr]
    assert [(item["type"], item["document_index"], item["document_title"]) for item in citations] == [  # type: ignore[index, call-overload]
        ("char_location", 1, "The almanac"),
        ("char_location", 2, "The atlas"),
        ("char_location", 1, "The almanac"),
    ]
    assert assemble(DIALECT.decode_response(body)).citations == answer.citations
    message = TypeAdapter(anthropic.types.Message).validate_python(body)
    kinds = [
        type(item) for part in message.content if isinstance(part, TextBlock) for item in part.citations or ()
    ]
    assert kinds == [CitationCharLocation] * 3
