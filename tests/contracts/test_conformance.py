"""Conformance of all dialects, case by case: framing, domain lists, early close, unusual characters.

Cases of one vendor are in `test_conformance_*.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.sse import Frame, FrameReader
from groundwire.errors import ClientWireError, RequestError
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    JsonObject,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    assemble,
)
from groundwire.text.markdown import render_answer
from tests.contracts.amazon_frames import BINARY
from tests.contracts.wire_bodies import assert_one_terminal, streamed

BOM = b"\xef\xbb\xbf"
SOURCE = Source("https://a.example/x", "Ä page")
TEXT = "Schöne Grüße 😀\u2028 und mehr. Ende."
EVENTS: list[Event] = [
    Started("r", "m"),
    SearchCalled(0, SearchCall("s", ("größte Stadt",))),
    SearchReturned(1, SearchResult("s", (SOURCE,))),
    *(TextDelta(2, character) for character in TEXT),
    Cited(Citation(Span(7, 12), (Evidence(SOURCE, "grüß Gott"),))),
    TextSettled(2),
    Finished(),
]


def wire(name: str) -> bytes:
    encoder = dialect(name).encoder(Reply("1", "m"))
    return b"".join(encoder.feed(event) for event in EVENTS) + encoder.close()


def framed(name: str, write: Callable[[Frame], bytes]) -> bytes:
    """The same frames, written in another of the ways the standard allows."""
    reader = FrameReader()
    frames = reader.feed(wire(name)) + reader.close()
    return b"".join(write(frame) for frame in frames)


def _lines(frame: Frame, end: bytes) -> bytes:
    head = b"event: " + frame.event.encode() + end if frame.event else b""
    return head + b"data: " + frame.data + end + end


def _many_lines(frame: Frame) -> bytes:
    try:
        data = json.dumps(json.loads(frame.data), indent=1).encode()
    except ValueError:
        data = frame.data
    head = b"event:" + frame.event.encode() + b"\n" if frame.event else b""
    return head + b"".join(b"data:" + line + b"\n" for line in data.split(b"\n")) + b"\n"


FORMS: dict[str, Callable[[str], bytes]] = {
    "crlf": lambda name: framed(name, lambda frame: _lines(frame, b"\r\n")),
    "cr": lambda name: framed(name, lambda frame: _lines(frame, b"\r")),
    "comments": lambda name: framed(name, lambda frame: b": comment\n\n:\n" + _lines(frame, b"\n")),
    "multi_line_data": lambda name: framed(name, _many_lines),
    "byte_order_mark": lambda name: BOM + wire(name),
    "no_blank_line_at_the_end": lambda name: wire(name).rstrip(b"\n"),
    "other_fields": lambda name: framed(name, lambda frame: b"id: 1\nretry: 5\n" + _lines(frame, b"\n")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name in DIALECTS if name not in BINARY])
def test_sse_in_every_form_is_the_same_answer(name: str, form: str) -> None:
    # Byte by byte, so that every UTF-8 sequence and every line end is split.
    expected = streamed(name, wire(name))
    assert expected.error is None
    assert expected.text == TEXT
    assert streamed(name, FORMS[form](name)) == expected


@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_truncated_anywhere_keeps_the_earlier_events(name: str) -> None:
    data = wire(name)
    for cut in range(0, len(data), 23):
        decoder = dialect(name).decoder()
        events = decoder.feed(data[:cut]) + decoder.close()
        assert_one_terminal(events)
        assert TEXT.startswith(assemble(events).text)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("when", range(5))
def test_client_disconnect_mid_search(name: str, when: int) -> None:
    source_events: list[Event] = [
        Started("r", "m"),
        SearchStarted(0, "s"),
        SearchCalled(0, SearchCall("s", ("q",))),
        SearchReturned(1, SearchResult("s", (SOURCE,))),
        TextDelta(2, "Half an ans"),
    ]
    encoder = dialect(name).encoder(Reply("1", "m"))
    data = b"".join(encoder.feed(event) for event in source_events[: when + 1]) + encoder.close()
    decoder = dialect(name).decoder()
    events = decoder.feed(data) + decoder.close()
    assert_one_terminal(events)
    assert isinstance(events[-1], Failed)
    assert encoder.close() == b""


def search_request(**options: tuple[str, ...]) -> Request:
    return Request((Message("user", (Text("q"),)),), "m", search=SearchOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DIALECTS)
def test_both_domain_lists_are_encoded_or_named_as_unsupported(name: str) -> None:
    request = search_request(allowed_domains=("good.example",), blocked_domains=("bad.example",))
    try:
        body, unsupported = dialect(name).encode_request(request)
    except RequestError:
        return  # refused: nothing is dropped silently
    body_text = json.dumps(body)
    assert "good.example" in body_text or "allowed_domains" in unsupported
    assert "bad.example" in body_text or "blocked_domains" in unsupported


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("field", ["allowed_domains", "blocked_domains"])
def test_one_domain_list_is_encoded_or_named_as_unsupported(name: str, field: str) -> None:
    body, unsupported = dialect(name).encode_request(search_request(**{field: ("site.example",)}))
    assert ("site.example" in json.dumps(body)) != (field in unsupported)


@pytest.mark.parametrize("name", DIALECTS)
def test_both_domain_lists_empty_are_no_restriction(name: str) -> None:
    body, unsupported = dialect(name).encode_request(search_request(allowed_domains=(), blocked_domains=()))
    assert dialect(name).encode_request(search_request()) == (body, unsupported)
    assert "domains" not in json.dumps(body)
    assert not {"allowed_domains", "blocked_domains"} & set(unsupported)


def _anthropic(allowed: list[str] | None, blocked: list[str] | None) -> JsonObject:
    tool: JsonObject = {
        "type": "web_search_20250305",
        "name": "web_search",
        "allowed_domains": None if allowed is None else [*allowed],
        "blocked_domains": None if blocked is None else [*blocked],
    }
    return {
        "model": "m",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "q"}],
        "tools": [tool],
    }


def _responses(allowed: list[str] | None, blocked: list[str] | None) -> JsonObject:
    filters: JsonObject = {
        "allowed_domains": None if allowed is None else [*allowed],
        "blocked_domains": None if blocked is None else [*blocked],
    }
    return {"model": "m", "input": "q", "tools": [{"type": "web_search", "filters": filters}]}


REQUESTS = {"anthropic_messages": _anthropic, "openai_responses": _responses}


@pytest.mark.parametrize("lists", [(None, None), ([], []), (None, []), ([], None)])
@pytest.mark.parametrize("name", REQUESTS)
def test_empty_domain_lists_are_decoded_as_absent(
    name: str, lists: tuple[list[str] | None, list[str] | None]
) -> None:
    search = dialect(name).decode_request(REQUESTS[name](*lists)).search
    assert search is not None
    assert (search.allowed_domains, search.blocked_domains) == ((), ())


@pytest.mark.parametrize("name", REQUESTS)
def test_both_domain_lists_together_are_kept_or_refused(name: str) -> None:
    try:
        search = dialect(name).decode_request(REQUESTS[name](["good.example"], ["bad.example"])).search
    except (ClientWireError, RequestError):
        return
    assert search is not None
    assert search.allowed_domains == ("good.example",)
    assert search.blocked_domains == ("bad.example",)


COPILOT = "The release is out【3:2†source】【3:0†source】. More【4:1†source】."


def test_copilot_markers_are_resolved_to_their_sources() -> None:
    other = Source("https://b.example/y", "B")

    def marked(number: int, source: Source) -> Citation:
        text = ["【3:2†source】", "【3:0†source】", "【4:1†source】"][number]
        start = COPILOT.index(text)
        return Citation(Span(start, start + len(text)), (Evidence(source),), "marker")

    answer = Answer((Text(COPILOT),), (marked(0, SOURCE), marked(1, other), marked(2, SOURCE)))
    assert render_answer(answer) == (
        "The release is out[1][2]. More[1].\n"
        "\n"
        "Sources:\n"
        "[1] Ä page (https://a.example/x)\n"
        "[2] B (https://b.example/y)"
    )


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "websearch"])
def test_copilot_markers_encoded_in_any_dialect_keep_their_sources(name: str) -> None:
    start = COPILOT.index("【4:1")
    citation = Citation(Span(start, start + 12), (Evidence(SOURCE, extras={}),), "marker")
    answer = Answer((Text(COPILOT),), (citation,), finish="stop")
    body = dialect(name).encode_response(answer, Reply("1", "m"))
    read = assemble(dialect(name).decode_response(json.loads(json.dumps(body))))
    (found,) = read.citations
    assert [item.source.url for item in found.evidence] == [SOURCE.url]
    assert found.span is not None
    assert read.text[: found.span.end].removesuffix("【4:1†source】").removesuffix("[1]").endswith("More")
