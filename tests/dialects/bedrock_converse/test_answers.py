"""Answers of Nova and Claude on Bedrock, in the shapes of botocore's service model."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.event_stream import encode_event, encode_exception
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import (
    AuthRejected,
    GroundwireError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    TimedOut,
    UpstreamError,
)
from groundwire.model import Answer, JsonObject, Opaque, SearchCall, Span, Text, ToolCall, Usage, assemble

CODEC = dialect("bedrock_converse")
NOVA: list[JsonObject] = [
    {
        "toolUse": {
            "toolUseId": "tooluse_1",
            "name": "nova_grounding",
            "input": {"query": "longest river"},
            "type": "server_tool_use",
        }
    },
    {
        "toolResult": {
            "toolUseId": "tooluse_1",
            "content": [{"text": "[HIDDEN]"}],
            "status": "success",
            "type": "nova_grounding_result",
        }
    },
    {"text": "The Nile 🐊 is long."},
    {
        "citationsContent": {
            "citations": [
                {"location": {"web": {"url": "https://a.example/nile", "domain": "a.example"}}},
                {"location": {"web": {"url": "https://r.example/x", "domain": "b.example"}}},
            ]
        }
    },
    {"text": "\nThe Amazon is wide."},
    {"citationsContent": {"citations": [{"location": {"web": {"url": "https://c.example/"}}}]}},
    {"text": "\nThat is all."},
]
CLAUDE: list[JsonObject] = [
    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "SIG"}}},
    {"text": "As you wrote, "},
    {
        "citationsContent": {
            "content": [{"text": "the Nile is "}, {"text": "long"}],
            "citations": [
                {
                    "title": "Rivers",
                    "sourceContent": [{"text": "The Nile is very long."}],
                    "location": {"documentChar": {"documentIndex": 0, "start": 3, "end": 25}},
                },
                {
                    "source": "https://d.example/",
                    "location": {"searchResultLocation": {"searchResultIndex": 0, "start": 0, "end": 1}},
                },
            ],
        }
    },
    {"toolUse": {"toolUseId": "tooluse_2", "name": "weather", "input": {"city": "Köln"}}},
]


def body(content: list[JsonObject], stop: str = "end_turn") -> JsonObject:
    return {
        "output": {"message": {"role": "assistant", "content": [*content]}},
        "stopReason": stop,
        "usage": {
            "inputTokens": 10,
            "outputTokens": 5,
            "totalTokens": 35,
            "cacheReadInputTokens": 20,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 7},
    }


def content_of(whole: JsonObject) -> list[dict[str, Any]]:
    output: Any = whole["output"]
    found: list[dict[str, Any]] = output["message"]["content"]
    return found


def stream_of(whole: JsonObject) -> bytes:
    """The stream that Bedrock would send for a body: a block of text or citations is not announced."""
    events: list[tuple[str, JsonObject]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(content_of(whole)):
        ((kind, value),) = block.items()
        place: JsonObject = {"contentBlockIndex": index}
        deltas: list[JsonObject] = [{kind: value}]
        if kind == "citationsContent":
            deltas = [{"text": item["text"]} for item in value.get("content", [])]
            deltas += [{"citation": item} for item in value["citations"]]
        elif kind == "reasoningContent":
            shown = value["reasoningText"]
            deltas = [{kind: {"text": shown["text"]}}, {kind: {"signature": shown["signature"]}}]
        elif kind in ("toolUse", "toolResult"):
            start = {name: item for name, item in value.items() if name not in ("input", "content")}
            events.append(("contentBlockStart", {"start": {kind: start}, **place}))
            text = dump_json(value.get("input"))
            deltas = [{kind: {"input": text[:4]}}, {kind: {"input": text[4:]}}]
            deltas = [{kind: value["content"]}] if kind == "toolResult" else deltas
        events += [("contentBlockDelta", {"delta": delta, **place}) for delta in deltas]
        events.append(("contentBlockStop", place))
    events.append(("messageStop", {"stopReason": whole["stopReason"]}))
    events.append(("metadata", {"usage": whole["usage"], "metrics": whole["metrics"]}))
    return b"".join(encode_event(name, dump_json(payload).encode()) for name, payload in events)


def read(whole: JsonObject) -> Answer:
    """The answer of a body, which must equal that of its stream."""
    answer = assemble(CODEC.decode_response(whole))
    decoder = CODEC.decoder()
    streamed = assemble([*decoder.feed(stream_of(whole)), *decoder.close()])
    assert streamed == answer
    return answer


def test_citations_of_nova_apply_to_the_text_before_them() -> None:
    answer = read(body(NOVA))
    cited = [
        (answer.text[slice(*citation.span)], [item.source.url for item in citation.evidence])
        for citation in answer.citations
        if citation.span
    ]
    assert cited == [
        ("The Nile 🐊 is long.", ["https://a.example/nile", "https://r.example/x"]),
        ("The Amazon is wide.", ["https://c.example/"]),
    ]
    assert [source.domain for source in answer.sources] == ["", "b.example", ""]
    assert [part.queries for part in answer.parts if isinstance(part, SearchCall)] == [("longest river",)]
    assert (answer.finish, answer.warnings) == ("stop", ())
    assert answer.usage == Usage(30, 5, 20, 0)


def test_citations_of_claude_apply_to_their_block_and_may_name_documents() -> None:
    answer = read(body(CLAUDE, "tool_use"))
    (citation,) = answer.citations
    assert citation.span == Span(14, 30)
    assert answer.text[14:30] == "the Nile is long"
    assert [(item.source.url, item.source.title, item.quote) for item in citation.evidence] == [
        ("", "Rivers", "The Nile is very long."),
        ("https://d.example/", "", ""),
    ]
    assert answer.parts[-1] == ToolCall("tooluse_2", "weather", '{"city":"Köln"}')
    assert answer.finish == "tool_calls"


def test_a_citation_that_comes_after_its_text_was_settled_has_no_span() -> None:
    citation: JsonObject = {
        "location": {"web": {"url": "https://a.example/"}},
        "groundwire": {"span": [0, 4]},
    }
    content: list[JsonObject] = [
        {"text": "One."},
        {"text": "Two."},
        {"citationsContent": {"content": [{"text": "Three."}], "citations": [citation]}},
    ]
    (found,) = read(body(content)).citations
    assert found.span is None


@pytest.mark.parametrize("content", [NOVA, CLAUDE], ids=["Nova", "Claude"])
def test_an_answer_goes_back_as_it_came(content: list[JsonObject]) -> None:
    answer = read(body(content))
    again = CODEC.encode_response(answer, Reply())
    sent = content_of(again)
    reread = assemble(CODEC.decode_response(again))
    assert (reread.text, reread.citations, reread.usage) == (answer.text, answer.citations, answer.usage)
    assert [block for block in sent if "toolUse" in block] == [
        block for block in content if "toolUse" in block
    ]


def test_other_server_tools_are_kept_and_are_not_for_the_client() -> None:
    call: JsonObject = {
        "toolUseId": "t",
        "name": "nova_code_interpreter",
        "input": {"snippet": "1"},
        "type": "server_tool_use",
    }
    answer = read(body([{"toolUse": call}, {"text": "1"}]))
    assert answer.parts == (Opaque("bedrock_converse", {"toolUse": call}), Text("1"))
    assert answer.finish == "stop"


ERRORS: dict[str, tuple[int, str, type[UpstreamError]]] = {
    "ThrottlingException": (429, "Too many requests, please wait", RateLimited),
    "ValidationException": (400, "messages: roles must alternate", Refused),
    "AccessDeniedException": (
        403,
        "You don't have access to the model with the specified model ID.",
        AuthRejected,
    ),
    "UnrecognizedClientException": (
        403,
        "The security token included in the request is invalid.",
        AuthRejected,
    ),
    "InvalidSignatureException": (403, "Credential should be scoped to a valid region.", AuthRejected),
    "ResourceNotFoundException": (404, "Could not resolve the foundation model", NotFound),
    "ServiceQuotaExceededException": (400, "Too many tokens per day", QuotaExhausted),
    "ModelTimeoutException": (408, "The model took too long", TimedOut),
    "ModelNotReadyException": (429, "The model is not ready", Overloaded),
    "InternalServerException": (500, "Internal", Overloaded),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_class_of_their_name(name: str) -> None:
    status, message, kind = ERRORS[name]
    data = dump_json({"message": message}).encode()
    amazon = f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"
    error = CODEC.decode_error(status, data, {"x-amzn-errortype": amazon, "x-amzn-requestid": "r1"})
    assert (type(error), error.message, error.upstream_code, error.request_id) == (kind, message, name, "r1")
    lower = name[0].lower() + name[1:]
    decoder = CODEC.decoder()
    stream = encode_event("messageStart", b'{"role":"assistant"}') + encode_exception(lower, data)
    (failed,) = [event for event in decoder.feed(stream) if hasattr(event, "error")]
    assert type(failed.error) is kind


@pytest.mark.parametrize(
    "message",
    [
        "The provided model identifier is invalid.",
        "Invocation of model ID x with on-demand throughput isn’t supported.",
        "This model version has reached the end of its life.",
    ],
)
def test_an_unknown_model_is_not_found_although_the_status_is_400(message: str) -> None:
    data = dump_json({"message": message}).encode()
    error: GroundwireError = CODEC.decode_error(400, data, {"x-amzn-errortype": "ValidationException"})
    assert isinstance(error, NotFound)
