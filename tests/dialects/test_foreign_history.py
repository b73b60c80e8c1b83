"""Foreign history as text: nothing that was found or cited is lost."""

from __future__ import annotations

from hypothesis import given

from groundwire.dialects.foreign_history import is_native, readable_parts, readable_text
from groundwire.model import (
    Citation,
    Evidence,
    Extras,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
)
from groundwire.text.sources import label_of
from groundwire.text.urls import canonical_url
from tests.model.strategies import cases, messages

OURS: Extras = {"gemini": {"x": 1}}
A = Source("https://a.example/x", "Page A", excerpts=("An excerpt.",))
B = Source("https://b.example/y")


def searched(*parts: Part, cites: tuple[Citation, ...] = ()) -> Message:
    return Message("assistant", parts, cites)


def test_a_message_is_native_if_all_its_searches_and_evidence_have_the_mark_of_the_dialect() -> None:
    call = SearchCall("s", ("q",), extras=OURS)
    result = SearchResult("s", (A,), extras=OURS)
    evidence = Citation(None, (Evidence(A, extras=OURS),))
    assert is_native(searched(call, result, Text("x"), cites=(evidence,)), "gemini")
    assert not is_native(searched(call, result, cites=(evidence,)), "openai_chat")
    assert not is_native(searched(SearchCall("s"), result), "gemini")
    assert not is_native(searched(call, SearchResult("s")), "gemini")
    assert not is_native(searched(call, cites=(Citation(None, (Evidence(A),)),)), "gemini")


def test_an_empty_mark_is_a_mark() -> None:
    assert is_native(searched(SearchCall("s", extras={"gemini": {}})), "gemini")


def test_a_message_without_searches_is_native_to_every_dialect() -> None:
    assert is_native(searched(Text("x")), "gemini")


def test_searches_and_citations_become_text() -> None:
    message = searched(
        SearchCall("s", ("first query", "second")),
        SearchResult("s", (A, B)),
        Text("A fact. Another."),
        cites=(Citation(Span(0, 7), (Evidence(A, "Quoted\n  passage."),)),),
    )
    assert readable_text(message) == (
        "A fact.[1] Another.\n"
        "\n"
        "Searched for: first query; second\n"
        "\n"
        "Sources:\n"
        "[1] Page A (https://a.example/x)\n"
        '    "Quoted passage."\n'
        '    "An excerpt."\n'
        "[2] b.example (https://b.example/y)"
    )


def test_cited_sources_come_before_those_that_were_only_found() -> None:
    message = searched(
        SearchResult("s", (B, A)), Text("Fact."), cites=(Citation(Span(0, 5), (Evidence(A),)),)
    )
    assert readable_text(message).startswith("Fact.[1]\n\nSources:\n[1] Page A")


def test_text_comes_first_then_calls_and_images() -> None:
    call, image, opaque = ToolCall("c", "f"), Image(url="https://i.example"), Opaque("gemini", {})
    message = searched(SearchCall("s", ("q",)), call, Text("x"), image, opaque, Reasoning("hm"))
    text, *rest = readable_parts(message, "gemini")
    assert text == Text("x\n\nSearched for: q")
    assert rest == [call, image, opaque]
    assert readable_parts(message, "openai_chat")[1:] == (call, image)


def test_a_message_without_searches_keeps_all_but_foreign_parts() -> None:
    ours, theirs = Reasoning("mine", OURS), Reasoning("yours", {"openai_chat": {}})
    message = searched(Text("a"), ours, theirs, Opaque("openai_chat", {}), Text("b"))
    assert readable_parts(message, "gemini") == (Text("a"), ours, Text("b"))


def test_a_message_with_only_an_empty_search_has_no_text() -> None:
    assert readable_parts(searched(SearchCall("s")), "gemini") == ()


def test_opened_pages_and_searched_patterns_are_emitted() -> None:
    message = searched(
        SearchCall("o", kind="open", url="https://a.example/x"),
        SearchCall("f", kind="find", url="https://a.example/x", pattern="needle"),
    )
    assert "Searched for: https://a.example/x; needle" in readable_text(message)
    assert "(https://a.example/x)" in readable_text(message)


@cases(60)
@given(messages())
def test_every_page_and_every_quote_stays_readable(message: Message) -> None:
    text = readable_text(message)
    sources = [
        *(source for part in message.parts if isinstance(part, SearchResult) for source in part.sources),
        *(item.source for citation in message.citations for item in citation.evidence),
    ]
    keys = {canonical_url(source.url) for source in sources if source.url}
    shown = {source.url for source in sources if source.url and f"({source.url})" in text}
    assert {canonical_url(url) for url in shown} == keys
    for source in sources:
        assert source.url or not source.title or label_of(source) in text
        assert all(" ".join(excerpt.split()) in text for excerpt in source.excerpts)
    for citation in message.citations:
        assert all(" ".join(item.quote.split()) in text for item in citation.evidence)
