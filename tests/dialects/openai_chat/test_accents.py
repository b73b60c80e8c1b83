"""Sources and searches of other vendors in Chat Completions: whole bodies, and streams byte by byte."""

from __future__ import annotations

import json
from typing import cast

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import Answer, Json, JsonObject, SearchCall, SearchResult, assemble

A, B, C = "https://a.example/x", "https://b.example/y", "https://c.example/z"
DONE = b"data: [DONE]\n\n"


def _decode_body(message: object, choice: object = None, **fields: object) -> Answer:
    body = {
        "id": "r",
        "model": "m",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop", **cast("JsonObject", choice or {})}
        ],
        **fields,
    }
    return assemble(DIALECT.decode_response(cast("JsonObject", body)))


def _decode_stream(*chunks: object, done: bytes = DONE) -> Answer:
    """The answer of a stream that arrives byte by byte."""
    data = b"".join(
        b"data: " + json.dumps({"id": "r", "model": "m", **cast("JsonObject", chunk)}).encode() + b"\n\n"
        for chunk in chunks
    )
    decoder = DIALECT.decoder()
    events = [
        event for index in range(len(data + done)) for event in decoder.feed((data + done)[index : index + 1])
    ]
    return assemble([*events, *decoder.close()])


def _delta(delta: object, finish: str | None = None, **fields: object) -> JsonObject:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return cast("JsonObject", {"object": "chat.completion.chunk", "choices": [choice], **fields})


def _split(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _cited(answer: Answer) -> list[tuple[str | None, list[str]]]:
    return [
        (
            answer.text[citation.span.start : citation.span.end] if citation.span else None,
            [item.source.url for item in citation.evidence],
        )
        for citation in answer.citations
    ]


def _codes(answer: Answer) -> list[str]:
    return [warning.code for warning in answer.warnings]


# Perplexity

PAGES = [
    {"title": "A", "url": A, "date": "2026-01-02", "snippet": "a"},
    {"title": "B", "url": B, "snippet": "b"},
]
SONAR = "Sun[1]. Rain[2][1]."


def _sonar_chunk(delta: str, so_far: str, kind: str, finish: str | None = None) -> JsonObject:
    choice = {
        "index": 0,
        "delta": {"role": "assistant", "content": delta},
        "message": {"role": "assistant", "content": so_far},
        "finish_reason": finish,
    }
    return cast(
        "JsonObject", {"object": kind, "choices": [choice], "citations": [A, B], "search_results": PAGES}
    )


def test_an_empty_delta_next_to_a_message_does_not_hide_the_message() -> None:
    answer = _decode_body(
        {"role": "assistant", "content": SONAR},
        {"delta": {"role": "assistant", "content": ""}},
        citations=[A, B],
        search_results=PAGES,
    )
    assert answer.text == SONAR
    assert _cited(answer) == [("[1]", [A]), ("[2]", [B]), ("[1]", [A])]
    assert {citation.anchor for citation in answer.citations} == {"marker"}
    assert answer.citations[0].evidence[0].source.title == "A"


def test_a_message_repeated_in_every_chunk_is_emitted_once() -> None:
    fragments = _split(SONAR)
    chunks = [
        _sonar_chunk(fragment, "".join(fragments[: index + 1]), "chat.completion.chunk")
        for index, fragment in enumerate(fragments)
    ]
    answer = _decode_stream(*chunks, _sonar_chunk("", SONAR, "chat.completion.done", "stop"), done=b"")
    from_body = _decode_body({"content": SONAR}, citations=[A, B], search_results=PAGES)
    assert (answer.text, answer.finish) == (SONAR, "stop")
    assert (answer.parts, answer.citations) == (from_body.parts, from_body.citations)


def test_text_that_only_a_repeated_message_has_is_emitted() -> None:
    answer = _decode_stream(
        _sonar_chunk("Sun", "Sun", "chat.completion.chunk"),
        _sonar_chunk("", SONAR, "chat.completion.done", "stop"),
    )
    assert answer.text == SONAR


def test_messages_without_deltas_grow() -> None:
    chunks: list[object] = [
        {"choices": [{"index": 0, "message": {"content": SONAR[:end]}, "finish_reason": finish}]}
        for end, finish in ((4, None), (9, None), (len(SONAR), "stop"))
    ]
    assert _decode_stream(*chunks).text == SONAR


def test_perplexitys_reasoning_steps_are_searches() -> None:
    steps = [
        {
            "type": "web_search",
            "thought": "Look first.",
            "web_search": {"search_keywords": ["rain rome", "sun rome"], "search_results": PAGES},
        },
        {
            "type": "fetch_url_content",
            "thought": "",
            "fetch_url_content": {"contents": [{"title": "C", "url": C}]},
        },
    ]
    from_body = _decode_body({"content": "Sun.", "reasoning_steps": steps})
    streamed = _decode_stream(
        _delta({"reasoning_steps": steps[:1]}, object="chat.reasoning"),
        {
            "object": "chat.reasoning.done",
            "choices": [{"index": 0, "delta": {"content": ""}, "message": {"reasoning_steps": steps}}],
        },
        _delta({"content": "Sun."}, "stop"),
    )
    for answer in (from_body, streamed):
        assert [(search.query, search.kind, search.state) for search in answer.searches] == [
            ("rain rome", "search", "done"),
            ("sun rome", "search", "done"),
            (C, "open", "done"),
        ]
        assert {source.url: source.state for source in answer.sources} == {
            A: "retrieved",
            B: "retrieved",
            C: "opened",
        }
    assert from_body.parts == streamed.parts


# Groq

TOOL = {
    "index": 0,
    "type": "search",
    "arguments": '{"query": "rain rome"}',
    "search_results": {"results": []},
}
FOUND = {
    **TOOL,
    "output": "Title: A",
    "search_results": {"results": [{"title": "A", "url": A, "content": "page a", "score": 0.9}]},
}
VISIT = {"index": 1, "type": "visit", "arguments": json.dumps({"url": B}), "output": "page b"}
CODE = {"index": 2, "type": "python", "arguments": '{"code": "1+1"}', "output": "2"}


def test_groqs_searches_have_queries_and_pages() -> None:
    from_body = _decode_body({"content": "Sun.", "executed_tools": [FOUND, VISIT, CODE], "reasoning": "hm"})
    streamed = _decode_stream(
        _delta({"reasoning": "h"}),
        _delta({"executed_tools": [TOOL]}),
        _delta({"executed_tools": [FOUND]}),
        _delta({"reasoning": "m"}),
        _delta({"executed_tools": [VISIT, CODE]}),
        _delta({"content": "Sun."}),
        _delta({}, "stop", x_groq={"usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
    )
    for answer in (from_body, streamed):
        assert [(search.query, search.kind, search.state) for search in answer.searches] == [
            ("rain rome", "search", "done"),
            (B, "open", "done"),
        ]
        assert answer.sources[0].excerpts == ("page a",)
        assert {source.url: source.state for source in answer.sources} == {A: "retrieved", B: "opened"}
        assert (answer.citations, answer.warnings, answer.finish) == ((), (), "stop")
    assert from_body.parts == streamed.parts
    assert (streamed.usage.input_tokens, streamed.usage.output_tokens) == (3, 4)


def test_each_search_is_emitted_once_however_often_its_tool_is_listed() -> None:
    unknown = {**TOOL, "arguments": ""}
    frames = [{"executed_tools": [tool]} for tool in (unknown, TOOL, TOOL, FOUND, FOUND)]
    decoder = DIALECT.decoder()
    events = []
    for frame in (*frames, {"content": "Sun."}):
        events += decoder.feed(b"data: " + json.dumps(_delta(frame)).encode() + b"\n\n")
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["Started", "SearchStarted", "SearchCalled", "SearchReturned", "TextDelta"]


def test_a_search_that_found_nothing_is_done_when_the_answer_is() -> None:
    answer = _decode_stream(_delta({"executed_tools": [TOOL]}), _delta({"content": "Sun."}, "stop"))
    assert [(search.query, search.state) for search in answer.searches] == [("rain rome", "done")]


def test_a_search_is_running_when_the_stream_breaks() -> None:
    answer = _decode_stream(_delta({"executed_tools": [TOOL]}), done=b"")
    assert [(search.query, search.state) for search in answer.searches] == [("rain rome", "running")]
    assert answer.error is not None


def test_searches_come_before_the_text_however_many_there_are() -> None:
    tools = [
        {**FOUND, "index": index, "arguments": json.dumps({"query": f"q{index}"})} for index in range(70)
    ]
    answer = _decode_body({"content": "Sun.", "executed_tools": tools})
    assert len(answer.searches) == 70
    assert [part.id for part in answer.parts if isinstance(part, SearchCall)] == [
        part.call_id for part in answer.parts if isinstance(part, SearchResult)
    ]


def test_gpt_oss_cites_the_pages_its_browser_opened() -> None:
    tools = [
        {
            "index": 0,
            "type": "browser.search",
            "arguments": '{"query": "q"}',
            "output": "[0] q (web-search://)",
        },
        {
            "index": 1,
            "type": "browser.open",
            "arguments": json.dumps({"id": A}),
            "output": "[1] A (a.example)",
        },
        {"index": 2, "type": "browser.find", "arguments": '{"pattern": "sun"}', "output": "[2] find results"},
    ]
    text = "Sun【1†L3-L4】. Rain【0†L1-L2】. Wind【7†L1-L1】."
    from_body = _decode_body({"content": text, "executed_tools": tools})
    streamed = _decode_stream(
        _delta({"executed_tools": tools}),
        *(_delta({"content": fragment}) for fragment in _split(text)),
        _delta({}, "stop"),
    )
    for answer in (from_body, streamed):
        assert answer.text == text
        assert _cited(answer) == [("【1†L3-L4】", [A])]
        assert answer.citations[0].anchor == "marker"
        assert _codes(answer) == ["citation_unresolved"]
        assert [search.kind for search in answer.searches] == ["search", "open", "find"]
    assert from_body.citations == streamed.citations


# Lists with numbers of their own


def _qwen(*numbers: int) -> list[JsonObject]:
    urls = {1: A, 2: B, 3: C}
    return [{"index": n, "title": f"T{n}", "url": urls[n], "site_name": "S"} for n in numbers]


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("Sun[ref_2].", {"search_info": {"search_results": _qwen(1, 2)}}, [("[ref_2]", [B])]),
        ("Sun[3][1].", {"search_info": {"search_results": _qwen(3, 1)}}, [("[3]", [C]), ("[1]", [A])]),
        ("Sun[1,2](@ref).", {"search_info": {"search_results": _qwen(1, 2)}}, [("[1,2](@ref)", [A, B])]),
        (
            "Sun[ref_2], rain[ref_1].",
            {
                "web_search": [
                    {"title": "T1", "link": A, "content": "a", "refer": "ref_1", "index": 0},
                    {"title": "T2", "link": "", "content": "b", "media": "M", "refer": "ref_2", "index": 0},
                ]
            },
            [("[ref_2]", [""]), ("[ref_1]", [A])],
        ),
        ("Sun^[1]^.", {"search_results": _qwen(1, 2)}, [("^[1]^", [A])]),
        (
            "Sun[1].",
            {
                "search_results": [
                    {"index": 0, "title": "T1", "url": A},
                    {"index": 1, "title": "T2", "url": B},
                ]
            },
            [("[1]", [A])],
        ),
        (
            "Sun[0].",
            {
                "search_results": [
                    {"index": 0, "title": "T1", "url": A},
                    {"index": 1, "title": "T2", "url": B},
                ]
            },
            [("[0]", [A])],
        ),
    ],
    ids=["qwen", "unsorted", "hunyuan", "glm", "baidu", "zero-based list", "zero-based markers"],
)
def test_numbers_refer_to_entries_of_the_list(
    text: str, fields: JsonObject, expected: list[tuple[str | None, list[str]]]
) -> None:
    fragments = [_delta({"content": fragment}) for fragment in _split(text, 3)]
    answers = {
        "whole": _decode_body({"content": text}, **fields),
        "in the first chunk": _decode_stream(
            _delta({"content": ""}, None, **fields), *fragments, _delta({}, "stop")
        ),
        "in the last chunk": _decode_stream(*fragments, _delta({}, "stop", **fields)),
        "in every chunk": _decode_stream(
            *({**fragment, **fields} for fragment in fragments), _delta({}, "stop", **fields)
        ),
        "in the message": _decode_body({"content": text, **fields}),
        "in a delta": _decode_stream(_delta({"role": "assistant", **fields}), *fragments, _delta({}, "stop")),
    }
    for name, answer in answers.items():
        assert _cited(answer) == expected, name
        assert {citation.anchor for citation in answer.citations} == {"marker"}, name
        assert answer.warnings == (), name
        assert answer.parts == answers["whole"].parts, name
    listed = next(part for part in answers["whole"].parts if isinstance(part, SearchResult))
    assert len(listed.sources) == 2


def test_a_list_that_arrives_entry_by_entry_is_assembled() -> None:
    first, second = _qwen(1), _qwen(2)
    answer = _decode_stream(
        _delta({"content": "Sun[1]"}, search_info={"search_results": first}),
        _delta({"content": "[2]."}, search_info={"search_results": second}),
        _delta({}, "stop"),
    )
    assert _cited(answer) == [("[1]", [A]), ("[2]", [B])]


def test_azure_numbers_documents() -> None:
    context = {
        "citations": [{"title": "A", "url": A, "content": "page a", "filepath": "a.pdf", "chunk_id": "0"}]
    }
    from_body = _decode_body({"content": "Sun [doc1].", "context": context})
    streamed = _decode_stream(
        _delta({"role": "assistant", "context": context}), _delta({"content": "Sun [doc1]."}, "stop")
    )
    assert _cited(from_body) == _cited(streamed) == [("[doc1]", [A])]


@pytest.mark.parametrize("value", [True, "yes", 7, {"enabled": True}, [1, "x", None], []])
@pytest.mark.parametrize("field", ["web_search", "search_info", "search_results", "citations", "context"])
def test_a_field_of_the_same_name_that_is_not_a_source_list_is_ignored(field: str, value: Json) -> None:
    answer = _decode_body({"content": "Sun[1].", field: value}, **{field: value})
    assert (answer.text, answer.citations, answer.finish) == ("Sun[1].", (), "stop")


def test_searches_among_the_calls_are_not_for_the_client() -> None:
    calls = [{"id": "s", "type": "search_intent", "search_intent": [{"query": "rain"}]}]
    answer = _decode_body({"content": "Sun.", "tool_calls": calls})
    assert [type(part).__name__ for part in answer.parts] == ["Text"]
    assert answer.finish == "stop"


# Mistral

CHUNKS: list[JsonObject] = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "Sun today."},
    {"type": "tool_reference", "tool": "web_search", "title": "A", "url": A, "description": "page a"},
    {"type": "tool_reference", "tool": "web_search", "title": "B", "url": B},
    {"type": "text", "text": " Rain later."},
    {"type": "tool_reference", "tool": "web_search", "title": "C", "url": C},
]


def test_mistral_cites_between_chunks() -> None:
    from_body = _decode_body({"content": CHUNKS})
    streamed = _decode_stream(
        *(_delta({"content": [chunk]}) for chunk in CHUNKS[:1]),
        _delta({"content": "Sun "}),
        _delta({"content": "today."}),
        *(_delta({"content": [chunk]}) for chunk in CHUNKS[2:]),
        _delta({"content": ""}, "stop"),
    )
    for answer in (from_body, streamed):
        assert answer.text == "Sun today. Rain later."
        assert [
            (citation.span, [item.source.url for item in citation.evidence]) for citation in answer.citations
        ] == [
            ((10, 10), [A, B]),
            ((22, 22), [C]),
        ]
        assert answer.citations[0].evidence[0].source.title == "A"
        assert answer.warnings == ()
    assert from_body.parts == streamed.parts


def test_references_to_sources_of_the_client_are_warned_of_as_unresolved() -> None:
    chunks = [{"type": "text", "text": "Sun."}, {"type": "reference", "reference_ids": [0, "1", "x"]}]
    answer = _decode_body({"content": chunks})
    assert (answer.text, answer.citations, _codes(answer)) == ("Sun.", (), ["citation_unresolved"])


def test_references_refer_to_entries_of_a_list() -> None:
    chunks = [{"type": "text", "text": "Sun."}, {"type": "reference", "reference_ids": [2]}]
    answer = _decode_body({"content": chunks}, citations=[A, B], search_results=PAGES)
    assert [(citation.span, citation.evidence[0].source.url) for citation in answer.citations] == [
        ((4, 4), B)
    ]


# Markers in the style of Assistants and Copilot


def _annotation(label: str, start: int | None, end: int | None, url: str = A) -> JsonObject:
    annotation: JsonObject = {
        "type": "url_citation",
        "text": label,
        "url_citation": {"url": url, "title": "A"},
    }
    return annotation if start is None else {**annotation, "start_index": start, "end_index": end}


LABEL = "【3:0†source】"


@pytest.mark.parametrize(
    ("start", "end"), [(3, 15), (None, None), (5, 17), (0, 0)], ids=["exact", "absent", "wrong", "zero"]
)
def test_an_annotation_that_repeats_its_marker_has_the_span_of_the_marker(
    start: int | None, end: int | None
) -> None:
    answer = _decode_body({"content": f"Sun{LABEL}.", "annotations": [_annotation(LABEL, start, end)]})
    assert _cited(answer) == [(LABEL, [A])]
    assert (answer.citations[0].anchor, answer.warnings) == ("marker", ())


def test_markers_with_the_same_label_cite_the_same_source() -> None:
    answer = _decode_body(
        {"content": f"Sun{LABEL}. Rain{LABEL}.", "annotations": [_annotation(LABEL, 3, 15)]}
    )
    assert _cited(answer) == [(LABEL, [A]), (LABEL, [A])]


def test_markers_with_the_same_label_and_different_sources_cite_only_at_their_spans() -> None:
    annotations = [_annotation(LABEL, 3, 15), _annotation(LABEL, 21, 33, B)]
    answer = _decode_body({"content": f"Sun{LABEL}. Rain{LABEL}. Fog{LABEL}.", "annotations": annotations})
    assert _cited(answer) == [(LABEL, [A]), (LABEL, [B])]
    assert _codes(answer) == ["citation_unresolved"]


def test_a_marker_without_a_known_source_is_never_a_citation() -> None:
    text = f"Sun{LABEL}. Rain【9:1†source】."
    from_body = _decode_body({"content": text, "annotations": [_annotation(LABEL, 3, 15)]})
    streamed = _decode_stream(
        *(_delta({"content": fragment}) for fragment in _split(text)),
        _delta({"annotations": [_annotation(LABEL, 3, 15)]}, "stop"),
    )
    for answer in (from_body, streamed):
        assert answer.text == text
        assert _cited(answer) == [(LABEL, [A])]
        assert [warning.message for warning in answer.warnings] == [
            "citation markers without a known source: 1, for example 【9:1†source】"
        ]


_ANTHROPIC = {
    "type": "web_search_result_location",
    "url": A,
    "title": "A",
    "cited_text": "so said the page",
    "supported_text": "Beta is two.",
}
_GROUNDING = {
    "groundingChunks": [{"web": {"uri": A, "title": "A"}}, {"web": {"uri": B, "title": "B"}}],
    "groundingSupports": [
        {"segment": {"endIndex": 13, "text": "Älpha is one."}, "groundingChunkIndices": [0]},
        {
            "segment": {"startIndex": 15, "endIndex": 27, "text": "Beta is two."},
            "groundingChunkIndices": [1, 9],
        },
    ],
}
_TWO = "Älpha is one. Beta is two."


def test_litellm_passes_on_the_citations_of_anthropic() -> None:
    # A list for each text block; `supported_text` is the text of the block in newer versions.
    plain = {key: value for key, value in _ANTHROPIC.items() if key != "supported_text"} | {"url": B}
    document = {"type": "char_location", "document_title": "a.pdf", "cited_text": "x", "document_index": 0}
    fields = {"citations": [[_ANTHROPIC], None, [plain], [document]], "thinking_blocks": None}
    answer = _decode_body({"content": _TWO, "provider_specific_fields": fields})
    assert _cited(answer) == [("Beta is two.", [A]), (None, [B, ""])]
    assert [item.quote for citation in answer.citations for item in citation.evidence] == [
        "so said the page",
        "so said the page",
        "x",
    ]
    assert answer.warnings == ()


def test_litellm_streams_the_citations_of_anthropic_one_by_one() -> None:
    chunks = [_delta({"content": piece}) for piece in _split(_TWO)]
    noted = _delta({"content": "", "provider_specific_fields": {"citation": _ANTHROPIC}})
    answer = _decode_stream(*chunks[:2], noted, noted, *chunks[2:], _delta({}, "stop"))
    assert _cited(answer) == [("Beta is two.", [A])]


def test_litellm_passes_on_the_grounding_of_gemini() -> None:
    answer = _decode_body({"content": _TWO}, vertex_ai_grounding_metadata=[_GROUNDING])
    assert _cited(answer) == [("Älpha is one.", [A]), ("Beta is two.", [B])]


def test_citations_that_a_proxy_has_also_as_annotations_are_not_cited_twice() -> None:
    note = {"type": "url_citation", "url_citation": {"start_index": 14, "end_index": 26, "url": A}}
    fields = {"citations": [[_ANTHROPIC]]}
    answer = _decode_body({"content": _TWO, "annotations": [note], "provider_specific_fields": fields})
    assert _cited(answer) == [("Beta is two.", [A])]


@pytest.mark.parametrize("nonsense", [None, 7, "x", [], {}, {"citations": 7}, {"citations": [[[7]]]}])
def test_other_fields_of_a_proxy_are_ignored(nonsense: object) -> None:
    answer = _decode_body(
        {"content": _TWO, "provider_specific_fields": nonsense}, vertex_ai_grounding_metadata=nonsense
    )
    assert answer.citations == ()


def test_volcengine_lists_its_pages_as_references() -> None:
    pages = [{"url": A, "title": "A", "summary": "s"}, {"url": B, "title": "B"}]
    answer = _decode_body({"content": "One.[1] Two."}, references=pages)
    assert _cited(answer) == [("[1]", [A])]
    assert {source.url for source in answer.sources} == {A, B}


def test_one_marker_may_name_several_sources() -> None:
    answer = _decode_body({"content": "One.[1, 2] Two.[2,3] Three.[3]"}, citations=[A, B, C])
    assert _cited(answer) == [("[1, 2]", [A, B]), ("[2,3]", [B, C]), ("[3]", [C])]


@pytest.mark.parametrize("text", ["From [0, 1] on.", "The pair [1, 7].", "`[1, 2]`", "[[1, 2]]", "[1, 2](x)"])
def test_numbers_that_are_not_all_listed_are_no_marker(text: str) -> None:
    answer = _decode_body({"content": text}, citations=[A, B])
    assert all(citation.span is None for citation in answer.citations)


def test_a_file_is_cited_by_its_name() -> None:
    notes = [
        {"type": "file_citation", "file_citation": {"file_id": "f1", "filename": "a.pdf", "end_index": 13}},
        {
            "type": "file_citation",
            "text": "【4:0†b.pdf】",
            "start_index": 26,
            "end_index": 37,
            "file_citation": {"file_id": "f2"},
        },
    ]
    answer = _decode_body({"content": _TWO + "【4:0†b.pdf】", "annotations": notes})
    found = [
        (citation.span, item.source.title) for citation in answer.citations for item in citation.evidence
    ]
    assert found == [((0, 13), "a.pdf"), ((26, 37), "f2")]


# GitHub Copilot: references next to the answer, or as an event of their own


SEARCHED: JsonObject = {
    "type": "github.web-search",
    "id": "s1",
    "data": {
        "type": "web-search",
        "query": "nile length",
        "results": [{"title": "Nile", "url": "https://a.example/nile", "excerpt": "It has 6650 km."}],
    },
    "metadata": {"display_name": "nile length", "display_icon": "globe"},
}
SHOWN: JsonObject = {
    "type": "acme.page",
    "id": "p1",
    "data": {"any": "thing"},
    "is_implicit": False,
    "metadata": {"display_name": "Amazon", "display_url": "https://b.example/amazon"},
}
IMPLICIT: JsonObject = {
    "type": "client.file",
    "id": "f1",
    "data": {},
    "metadata": {"display_name": "main.py"},
}


def _copilot_text() -> JsonObject:
    choice: JsonObject = {"index": 0, "delta": {"content": "Long."}, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "gpt-5.5", "choices": [choice]}


def _copilot_stream(name: str, references: Json) -> bytes:
    head = f"event: {name}\n" if name else ""
    frames = (
        f"{head}data: {json.dumps(references)}\n\ndata: {json.dumps(_copilot_text())}\n\ndata: [DONE]\n\n"
    )
    return frames.encode()


@pytest.mark.parametrize(
    "data",
    [
        _copilot_stream("copilot_references", [SEARCHED, SHOWN, IMPLICIT]),
        _copilot_stream("", {"choices": [], "copilot_references": [SEARCHED, SHOWN, IMPLICIT]}),
        _copilot_stream("", {"copilot_references": [SEARCHED, SHOWN, IMPLICIT]}),
    ],
    ids=["event", "chunk", "without choices"],
)
def test_references_of_copilot_are_searches_and_pages(data: bytes) -> None:
    decoder = DIALECT.decoder()
    answer = assemble([*decoder.feed(data), *decoder.close()])
    assert answer.text == "Long."
    assert [part.queries for part in answer.parts if isinstance(part, SearchCall)] == [("nile length",)]
    found = {
        source.url: (source.title, source.excerpts)
        for part in answer.parts
        if isinstance(part, SearchResult)
        for source in part.sources
    }
    assert found == {
        "https://a.example/nile": ("Nile", ("It has 6650 km.",)),
        "https://b.example/amazon": ("Amazon", ()),
    }
    assert answer.warnings == ()


def test_references_of_copilot_in_a_whole_message() -> None:
    message: JsonObject = {"role": "assistant", "content": "Long.", "copilot_references": [SEARCHED, SHOWN]}
    body: JsonObject = {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    answer = assemble(DIALECT.decode_response(body))
    assert {source.url for source in answer.sources} == {"https://a.example/nile", "https://b.example/amazon"}
    assert answer.warnings == ()
