"""Conformance, case by case: OpenAI's two dialects and compatible servers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from groundwire.model import Answer, JsonObject, SearchCall, Text
from tests.contracts.wire_bodies import answer_of, cited, queries, sse, streamed

A, B = "https://a.example/x", "https://b.example/y"
LINK_A, LINK_B = f"([a.example]({A}))", f"[Title]({B})"


def annotation(text: str, fragment: str, url: str, title: str | None = "T") -> JsonObject:
    start = text.index(fragment)
    body: JsonObject = {
        "type": "url_citation",
        "start_index": start,
        "end_index": start + len(fragment),
        "url": url,
    }
    return body if title is None else {**body, "title": title}


def output(text: str, annotations: Sequence[JsonObject]) -> JsonObject:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}],
    }


def search(action: JsonObject | None, number: int = 1, kind: str = "web_search_call") -> JsonObject:
    item: JsonObject = {"type": kind, "id": f"ws_{number}", "status": "completed"}
    return item if action is None else {**item, "action": action}


def response(items: Sequence[JsonObject]) -> JsonObject:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.5",
        "output": [*items],
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    }


def stream(
    items: Sequence[JsonObject], deltas: Sequence[str] = (), *, annotations: str = "interleaved"
) -> bytes:
    """The events of a response. Annotations come between deltas and `done`, after it, or only at the end."""
    head: JsonObject = {**response([]), "status": "in_progress", "usage": None}
    frames: list[JsonObject] = [
        {"type": "response.created", "response": head},
        {"type": "response.in_progress", "response": head},
    ]
    for index, item in enumerate(items):
        position: JsonObject = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            frames += _message(item, position, deltas, annotations)
            continue
        started: JsonObject = {**item, "status": "in_progress", "action": {"type": "search"}}
        frames.append({"type": "response.output_item.added", "output_index": index, "item": started})
        frames += [
            {"type": f"response.web_search_call.{state}", **position}
            for state in ("in_progress", "searching", "completed")
        ]
        frames.append({"type": "response.output_item.done", "output_index": index, "item": item})
    frames.append({"type": "response.completed", "response": response(items)})
    return sse(({**frame, "sequence_number": number} for number, frame in enumerate(frames)), named="type")


def _message(
    item: JsonObject, position: JsonObject, deltas: Sequence[str], annotations: str
) -> list[JsonObject]:
    index = position["output_index"]
    assert isinstance(item["content"], list)
    part = item["content"][0]
    assert isinstance(part, dict)
    where: JsonObject = {**position, "content_index": 0}
    notes = part["annotations"]
    assert isinstance(notes, list)
    added: list[JsonObject] = [
        {
            "type": "response.output_text.annotation.added",
            **where,
            "annotation_index": number,
            "annotation": note,
        }
        for number, note in enumerate(notes)
    ]
    deltas_sent: list[JsonObject] = [
        {"type": "response.output_text.delta", **where, "delta": delta, "logprobs": []}
        for delta in deltas or [str(part["text"])]
    ]
    done: JsonObject = {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []}
    middle = {
        "interleaved": [*deltas_sent, *added, done],
        "after_done": [*deltas_sent, done, *added],
        "at_the_end": [*deltas_sent, done],
    }
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {
            "type": "response.content_part.added",
            **where,
            "part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
        },
        *middle[annotations],
        {"type": "response.content_part.done", **where, "part": part},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def decode_both(items: Sequence[JsonObject], deltas: Sequence[str] = ()) -> Answer:
    """The answer of these items, which must be the same in one body and in every stream of them."""
    answer = answer_of("openai_responses", response(items))
    for when in ("interleaved", "after_done", "at_the_end"):
        assert streamed("openai_responses", stream(items, deltas, annotations=when)) == answer
    return answer


def chat(text: str, annotations: Sequence[JsonObject], **more: object) -> JsonObject:
    message: JsonObject = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": [*annotations],
    }
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5-search-api",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
    }
    return {**body, **more}  # type: ignore[dict-item]  # callers give JSON


def nested(note: JsonObject) -> JsonObject:
    return {
        "type": "url_citation",
        "url_citation": {key: value for key, value in note.items() if key != "type"},
    }


def test_the_span_is_the_link_and_a_marker_of_its_source() -> None:
    text = f"Ein Satz {LINK_A} und {LINK_B}."
    answer = decode_both([output(text, [annotation(text, LINK_A, A), annotation(text, LINK_B, B)])])
    assert cited(answer) == [(LINK_A, [A]), (LINK_B, [B])]
    assert {citation.anchor for citation in answer.citations} == {"marker"}


def test_open_page_and_find_in_page() -> None:
    text = f"Fact {LINK_A}."
    answer = decode_both(
        [
            search({"type": "search", "query": "one", "queries": ["one", "two"]}, 1),
            search({"type": "open_page", "url": A}, 2),
            search({"type": "find_in_page", "url": A, "pattern": "needle"}, 3),
            search({"type": "open_page", "url": None}, 4),
            output(text, [annotation(text, LINK_A, A)]),
        ]
    )
    calls = [part for part in answer.parts if isinstance(part, SearchCall)]
    assert [(call.kind, call.queries, call.url, call.pattern) for call in calls] == [
        ("search", ("one", "two"), "", ""),
        ("open", (), A, ""),
        ("find", (), A, "needle"),
        ("open", (), "", ""),
    ]
    assert cited(answer) == [(LINK_A, [A])]


@pytest.mark.parametrize("action", [None, {"type": "search"}, {"type": "search", "queries": []}])
def test_a_search_without_a_query_is_still_a_search(action: JsonObject | None) -> None:
    answer = decode_both([search(action), output("Words.", [])])
    assert len([part for part in answer.parts if isinstance(part, SearchCall)]) == 1
    assert not answer.grounded


def test_sources_of_type_api() -> None:
    action: JsonObject = {
        "type": "search",
        "query": "weather",
        "sources": [{"type": "url", "url": A}, {"type": "api", "name": "oai-weather"}],
    }
    answer = decode_both([search(action), output("Sunny.", [])])
    assert [(source.url, source.title) for source in answer.sources] == [(A, ""), ("", "oai-weather")]
    assert not answer.grounded


def test_missing_title() -> None:
    text = f"Fact {LINK_A}."
    answer = decode_both([output(text, [annotation(text, LINK_A, A, None)])])
    assert cited(answer) == [(LINK_A, [A])]
    assert answer.citations[0].evidence[0].source.title == ""


def test_utm_source_openai() -> None:
    tagged = f"{A}?utm_source=openai"
    text = f"One ([a.example]({tagged})), two {LINK_A}."
    notes = [annotation(text, f"([a.example]({tagged}))", tagged), annotation(text, LINK_A, A)]
    answer = decode_both([output(text, notes)])
    assert cited(answer) == [(f"([a.example]({tagged}))", [tagged]), (LINK_A, [A])]


@pytest.mark.parametrize("before", ["😀 ", "👩\u200d👩\u200d👧 und 𠮷 "])
def test_offsets_in_utf16_units_are_corrected_to_the_link(before: str) -> None:
    text = f"{before}Fact {LINK_A} more."
    shift = sum(ord(character) > 0xFFFF for character in before)
    note = annotation(text, LINK_A, A)
    assert isinstance(note["start_index"], int)
    assert isinstance(note["end_index"], int)
    note |= {"start_index": note["start_index"] + shift, "end_index": note["end_index"] + shift}
    assert cited(decode_both([output(text, [note])])) == [(LINK_A, [A])]


def test_annotation_added_after_text_done() -> None:
    text = f"Fact {LINK_A}."
    items = [output(text, [annotation(text, LINK_A, A)])]
    answer = streamed("openai_responses", stream(items, [text[:9], text[9:]], annotations="after_done"))
    assert cited(answer) == [(LINK_A, [A])]


PRIVATE = "\ue200cite\ue202turn0search0\ue201"


@pytest.mark.parametrize("cut", range(5, 5 + len(PRIVATE) + 1))
def test_private_markers_split_across_deltas(cut: int) -> None:
    raw = f"Fact {PRIVATE}. Then {LINK_A}."
    answer = decode_both([output(raw, [annotation(raw, LINK_A, A)])], [raw[:cut], raw[cut:]])
    assert answer.text == f"Fact . Then {LINK_A}."
    assert cited(answer) == [(LINK_A, [A])]


def test_private_markers_split_across_deltas_of_chat() -> None:
    raw = f"Fact {PRIVATE}. Then {LINK_A}."
    whole = answer_of("openai_chat", chat(raw, [nested(annotation(raw, LINK_A, A))]))
    assert whole.text == f"Fact . Then {LINK_A}."
    assert cited(whole) == [(LINK_A, [A])]


def test_openrouter_flat_and_nested() -> None:
    text = f"Fact {LINK_A}."
    note = {**annotation(text, LINK_A, A), "content": "An excerpt."}
    flat = decode_both([output(text, [note])])
    deep = answer_of("openai_chat", chat(text, [nested(note)]))
    for answer in (flat, deep):
        assert cited(answer) == [(LINK_A, [A])]
        assert answer.citations[0].evidence[0].quote == "An excerpt."


@pytest.mark.parametrize("missing", ["indices", "zero"])
def test_openrouter_without_title_or_indices(missing: str) -> None:
    bare: JsonObject = {"type": "url_citation", "url": A}
    if missing == "zero":
        bare |= {"start_index": 0, "end_index": 0}
    for answer in (
        decode_both([output("Plain words.", [bare])]),
        answer_of("openai_chat", chat("Plain words.", [nested(bare)])),
    ):
        assert cited(answer) == [(None, [A])]
        assert answer.grounded


@pytest.mark.parametrize("missing", ["indices", "zero"])
def test_openrouter_without_indices_finds_the_link_in_the_text(missing: str) -> None:
    text = f"Fact {LINK_A} and more."
    bare: JsonObject = {"type": "url_citation", "url": A}
    if missing == "zero":
        bare |= {"start_index": 0, "end_index": 0}
    for answer in (decode_both([output(text, [bare])]), answer_of("openai_chat", chat(text, [nested(bare)]))):
        assert cited(answer) == [(LINK_A, [A])]


def test_openrouters_own_search_item() -> None:
    action: JsonObject = {"type": "search", "query": "q", "sources": [{"type": "url", "url": A}]}
    answer = decode_both([search(action, kind="openrouter:web_search"), output("Words.", [])])
    assert queries(answer) == ["q"]
    assert [source.url for source in answer.sources] == [A]


PERPLEXITY: dict[str, object] = {
    "citations": [A, B],
    "search_results": [
        {"title": "Page A", "url": A, "date": "2026-01-02"},
        {"title": "Page B", "url": B, "date": None},
    ],
}


def test_perplexity_citations_and_search_results() -> None:
    answer = answer_of("openai_chat", chat("One fact[1]. Two facts[1][2]. Not this [3].", [], **PERPLEXITY))
    where = {
        (url, answer.text[: citation.span.end])
        for citation in answer.citations
        if citation.span is not None
        for url in [item.source.url for item in citation.evidence]
    }
    assert {url for url, _ in where} == {A, B}
    assert (A, "One fact[1]") in where
    assert any(url == B and before.endswith("[2]") for url, before in where)
    assert any(url == A and before.startswith("One fact[1]. Two facts[1]") for url, before in where)
    assert all("Not this" not in before for _, before in where)
    titles = {source.url: source.title for source in answer.sources}
    assert titles == {A: "Page A", B: "Page B"}


def test_perplexity_streamed_is_the_same_answer() -> None:
    text = "One fact[1]. Two facts[1][2]."
    base: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "sonar"}
    frames: list[JsonObject | str] = []
    for piece in (text[:9], text[9:]):
        choice: JsonObject = {
            "index": 0,
            "delta": {"role": "assistant", "content": piece},
            "finish_reason": None,
        }
        frames.append({**base, "choices": [choice], **PERPLEXITY})  # type: ignore[dict-item]
    end: JsonObject = {"index": 0, "delta": {}, "finish_reason": "stop"}
    frames += [{**base, "choices": [end], **PERPLEXITY}, "[DONE]"]  # type: ignore[dict-item]
    whole = answer_of("openai_chat", chat(text, [], **PERPLEXITY))
    answer = streamed("openai_chat", sse(frames))
    assert (answer.text, answer.citations) == (whole.text, whole.citations)
    assert answer.citations


@pytest.mark.parametrize("when", ["first", "last"])
def test_chat_annotations_before_and_after_the_text(when: str) -> None:
    text = f"Fact {LINK_A}."
    base: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    notes: JsonObject = {"annotations": [nested(annotation(text, LINK_A, A))]}
    deltas_sent = [chunk({"content": text[:9]}), chunk({"content": text[9:]})]
    frames: dict[str, list[JsonObject | str]] = {
        "first": [
            chunk({"role": "assistant", "content": "", **notes}),
            *deltas_sent,
            chunk({}, "stop"),
            "[DONE]",
        ],
        "last": [chunk({"role": "assistant", "content": ""}), *deltas_sent, chunk(notes, "stop"), "[DONE]"],
    }
    answer = streamed("openai_chat", b": OPENROUTER PROCESSING\n\n" + sse(frames[when]))
    assert cited(answer) == [(LINK_A, [A])]
    assert answer.text == text


def test_commentary_is_separated_from_the_answer() -> None:
    text = f"Fact {LINK_A}."
    first = {**output("Let me look. ", []), "id": "msg_0", "phase": "commentary"}
    last = {**output(text, [annotation(text, LINK_A, A)]), "phase": "final_answer"}
    answer = answer_of("openai_responses", response([first, last]))
    assert [part.phase for part in answer.parts if isinstance(part, Text)] == ["commentary", "final_answer"]
    assert cited(answer) == [(LINK_A, [A])]
