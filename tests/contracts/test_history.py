"""Answers sent back as history: verbatim to their own dialect, readable text to every other.

The answers are written by hand in each dialect's wire form. What is encrypted or signed in them is named, and
so is every address, so that both can be looked for in the next request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Json, JsonObject, Message, Request, SearchOptions, Text, assemble
from tests.contracts.samples import REPLY, SAMPLES, decode_stream, encode_stream

ALPHA, BETA, UNCITED = "https://alpha.example/a", "https://beta.example/b?c=1&d=ü", "https://gamma.example/c"
ANSWER = "The Nile is long."


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """A provider's answer: what no other provider may see of it, and what each must see."""

    body: JsonObject
    secrets: tuple[str, ...]
    addresses: tuple[str, ...]


TURNS: dict[str, AssistantTurn] = {
    "anthropic_messages": AssistantTurn(
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "SIGNATURE+thinking/=="},
                {"type": "redacted_thinking", "data": "REDACTED+data/=="},
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_01ABC",
                    "name": "web_search",
                    "input": {"query": "nile"},
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_01ABC",
                    "content": [
                        {
                            "type": "web_search_result",
                            "url": url,
                            "title": "A page",
                            "encrypted_content": f"ENCRYPTED+{index}/==",
                            "page_age": None,
                        }
                        for index, url in enumerate((ALPHA, UNCITED))
                    ],
                },
                {
                    "type": "text",
                    "text": ANSWER,
                    "citations": [
                        {
                            "type": "web_search_result_location",
                            "url": ALPHA,
                            "title": "A page",
                            "encrypted_index": "INDEX+0/==",
                            "cited_text": "It is long.",
                        }
                    ],
                },
            ],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
        (
            *("SIGNATURE+thinking/==", "REDACTED+data/==", "ENCRYPTED+0/==", "ENCRYPTED+1/==", "INDEX+0/=="),
            "srvtoolu_01ABC",
        ),
        (ALPHA, UNCITED),
    ),
    "openai_responses": AssistantTurn(
        {
            "id": "resp_01",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "gpt-x",
            "output": [
                {
                    "id": "rs_01ABC",
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "gAAAAA+ENCRYPTED/==",
                },
                {
                    "id": "ws_01ABC",
                    "type": "web_search_call",
                    "status": "completed",
                    "action": {
                        "type": "search",
                        "query": "nile",
                        "queries": ["nile"],
                        "sources": [{"type": "url", "url": UNCITED}],
                    },
                },
                {
                    "id": "msg_01ABC",
                    "type": "message",
                    "status": "completed",
                    "role": "assistant",
                    "content": [
                        {
                            "type": "output_text",
                            "text": f"{ANSWER} ([alpha.example]({ALPHA}))",
                            "logprobs": [],
                            "annotations": [
                                {
                                    "type": "url_citation",
                                    "start_index": len(ANSWER) + 1,
                                    "end_index": len(f"{ANSWER} ([alpha.example]({ALPHA}))"),
                                    "title": "A page",
                                    "url": ALPHA,
                                }
                            ],
                        }
                    ],
                },
            ],
        },
        ("gAAAAA+ENCRYPTED/==", "rs_01ABC", "ws_01ABC", "msg_01ABC"),
        (ALPHA, UNCITED),
    ),
    "openai_chat": AssistantTurn(
        {
            "id": "chatcmpl-01",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-x",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {
                        "role": "assistant",
                        "content": ANSWER,
                        "refusal": None,
                        "annotations": [
                            {
                                "type": "url_citation",
                                "url_citation": {
                                    "start_index": 0,
                                    "end_index": len(ANSWER),
                                    "title": "A page",
                                    "url": url,
                                },
                            }
                            for url in (ALPHA, BETA)
                        ],
                        "reasoning_details": [{"type": "reasoning.encrypted", "data": "REASONING+data/=="}],
                    },
                }
            ],
        },
        ("REASONING+data/==",),
        (ALPHA, BETA),
    ),
    "gemini": AssistantTurn(
        {
            "responseId": "r01",
            "modelVersion": "gemini-x",
            "candidates": [
                {
                    "index": 0,
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "Hm.", "thought": True},
                            {
                                "toolCall": {
                                    "toolType": "GOOGLE_SEARCH_WEB",
                                    "id": "call01ABC",
                                    "args": {"queries": ["nile"]},
                                },
                                "thoughtSignature": "SIGNATURE+call/==",
                            },
                            {
                                "toolResponse": {
                                    "toolType": "GOOGLE_SEARCH_WEB",
                                    "id": "call01ABC",
                                    "response": {"search_suggestions": "<b>nile</b>"},
                                },
                                "thoughtSignature": "SIGNATURE+response/==",
                            },
                            {"text": ANSWER, "thoughtSignature": "SIGNATURE+text/=="},
                        ],
                    },
                    "groundingMetadata": {
                        "webSearchQueries": ["nile"],
                        "groundingChunks": [
                            {"web": {"uri": url, "title": "page"}} for url in (ALPHA, UNCITED)
                        ],
                        "groundingSupports": [
                            {
                                "segment": {"endIndex": len(ANSWER), "text": ANSWER},
                                "groundingChunkIndices": [0],
                            }
                        ],
                    },
                }
            ],
        },
        ("SIGNATURE+call/==", "SIGNATURE+response/==", "SIGNATURE+text/==", "call01ABC"),
        (ALPHA, UNCITED),
    ),
    "gemini_interactions": AssistantTurn(
        {
            "id": "v1_01",
            "object": "interaction",
            "status": "completed",
            "model": "gemini-x",
            "steps": [
                {"type": "thought", "signature": "SIGNATURE+thought/=="},
                {
                    "type": "google_search_call",
                    "id": "call01ABC",
                    "arguments": {"queries": ["nile"]},
                    "signature": "SIGNATURE+call/==",
                },
                {
                    "type": "google_search_result",
                    "call_id": "call01ABC",
                    "result": [{"search_suggestions": "<b>nile</b>"}],
                    "signature": "SIGNATURE+result/==",
                },
                {
                    "type": "model_output",
                    "content": [
                        {
                            "type": "text",
                            "text": ANSWER,
                            "annotations": [
                                {
                                    "type": "url_citation",
                                    "start_index": 0,
                                    "end_index": len(ANSWER),
                                    "url": url,
                                    "title": "page",
                                }
                                for url in (ALPHA, BETA)
                            ],
                        }
                    ],
                },
            ],
        },
        ("SIGNATURE+thought/==", "SIGNATURE+call/==", "SIGNATURE+result/==", "call01ABC"),
        (ALPHA, BETA),
    ),
    "bedrock_converse": AssistantTurn(
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [
                        {
                            "reasoningContent": {
                                "reasoningText": {"text": "Hm.", "signature": "SIGNATURE+thinking/=="}
                            }
                        },
                        {"reasoningContent": {"redactedContent": "REDACTED+data/=="}},
                        {
                            "toolUse": {
                                "toolUseId": "tooluse_01ABC",
                                "name": "nova_grounding",
                                "input": {"query": "nile"},
                                "type": "server_tool_use",
                            }
                        },
                        {
                            "toolResult": {
                                "toolUseId": "tooluse_01ABC",
                                "content": [{"text": "[HIDDEN]"}],
                                "status": "success",
                                "type": "nova_grounding_result",
                            }
                        },
                        {"text": ANSWER},
                        {
                            "citationsContent": {
                                "citations": [
                                    {"location": {"web": {"url": url, "domain": "x.example"}}}
                                    for url in (ALPHA, BETA)
                                ]
                            }
                        },
                    ],
                }
            },
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        },
        ("SIGNATURE+thinking/==", "REDACTED+data/==", "[HIDDEN]", "tooluse_01ABC"),
        (ALPHA, BETA),
    ),
    "cohere_chat": AssistantTurn(
        {
            "id": "c01",
            "finish_reason": "COMPLETE",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "THINKING of Cohere"},
                    {"type": "text", "text": ANSWER},
                ],
                "citations": [
                    {
                        "start": 0,
                        "end": len(ANSWER),
                        "text": ANSWER,
                        "sources": [
                            {
                                "type": "document",
                                "id": f"doc_01ABC:{number}",
                                "document": {"title": "A page", "url": url, "snippet": "It is long."},
                            }
                            for number, url in enumerate((ALPHA, BETA))
                        ],
                        "content_index": 1,
                        "type": "TEXT_CONTENT",
                    }
                ],
            },
            "usage": {"tokens": {"input_tokens": 1, "output_tokens": 2}},
        },
        ("THINKING of Cohere", "doc_01ABC:0", "doc_01ABC:1"),
        (ALPHA, BETA),
    ),
    "mistral_conversations": AssistantTurn(
        {
            "object": "conversation.response",
            "conversation_id": "conv_01",
            "outputs": [
                {
                    "type": "tool.execution",
                    "id": "tool_exec_01ABC",
                    "name": "web_search",
                    "arguments": '{"query": "nile"}',
                },
                {
                    "type": "message.output",
                    "id": "msg_01ABC",
                    "role": "assistant",
                    "content": [
                        {
                            "type": "thinking",
                            "thinking": [{"type": "text", "text": "Hm."}],
                            "signature": "SIGNATURE+thinking/==",
                        },
                        {"type": "text", "text": ANSWER},
                        {"type": "tool_reference", "tool": "web_search", "title": "A page", "url": ALPHA},
                        {"type": "tool_reference", "tool": "web_search", "title": "A page", "url": BETA},
                    ],
                },
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        },
        ("SIGNATURE+thinking/==", "tool_exec_01ABC"),
        (ALPHA, BETA),
    ),
    "websearch": AssistantTurn(
        {
            "llmContent": f'Web search results for "nile":\n\n{ANSWER}[1]\n\nSources:\n[1] A page ({ALPHA})',
            "returnDisplay": 'Search results for "nile" returned.',
            "sources": [{"web": {"title": "A page", "uri": ALPHA}}],
        },
        (),
        (ALPHA,),
    ),
}


def strings(value: Json) -> Iterator[str]:
    """Every string in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def next_request(message: Message) -> Request:
    question = Message("user", (Text("How long is the Nile?"),))
    again = Message("user", (Text("And the Amazon?"),))
    return Request((question, message, again), "model-1", search=SearchOptions())


def replayed(codec: Dialect, message: Message) -> str:
    return "\n".join(strings(codec.encode_request(next_request(message)).body))


def test_every_dialect_has_a_turn() -> None:
    assert set(TURNS) == set(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_its_own_dialect_gets_the_answer_back_verbatim(name: str) -> None:
    codec, turn = dialect(name), TURNS[name]
    body = replayed(codec, assemble(codec.decode_response(turn.body)).message)
    missing = [secret for secret in turn.secrets if secret not in body]
    assert not missing


@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_in_its_own_dialect_loses_nothing_that_must_come_back(name: str) -> None:
    codec, turn = dialect(name), TURNS[name]
    events = decode_stream(codec, encode_stream(codec, codec.decode_response(turn.body)))
    body = replayed(codec, assemble(events).message)
    missing = [secret for secret in turn.secrets if secret not in body]
    assert not missing


@pytest.mark.parametrize("name", DIALECTS)
def test_a_body_in_its_own_dialect_loses_nothing_that_must_come_back(name: str) -> None:
    codec, turn = dialect(name), TURNS[name]
    answer = assemble(codec.decode_response(turn.body))
    again = assemble(codec.decode_response(codec.encode_response(answer, REPLY)))
    body = replayed(codec, again.message)
    missing = [secret for secret in turn.secrets if secret not in body]
    assert not missing


@pytest.mark.parametrize(("source", "target"), list(permutations(DIALECTS, 2)))
def test_another_dialect_reads_every_url_and_no_secret(source: str, target: str) -> None:
    turn = TURNS[source]
    message = assemble(dialect(source).decode_response(turn.body)).message
    encoded = dialect(target).encode_request(next_request(message))
    body = "\n".join(strings(encoded.body))
    assert not [secret for secret in turn.secrets if secret in body]
    if "messages" not in encoded.unsupported:
        assert not [address for address in turn.addresses if address not in body]
        assert ANSWER.rstrip(".") in body


@pytest.mark.parametrize("name", DIALECTS)
def test_an_answer_made_from_foreign_events_is_readable_when_it_comes_back(name: str) -> None:
    codec = dialect(name)
    for sample in SAMPLES:
        encoded = codec.encode_request(next_request(sample.answer.message))
        body = "\n".join(strings(encoded.body))
        if "messages" not in encoded.unsupported:
            missing = [source.url for source in sample.answer.sources if source.url not in body]
            assert not missing, sample.name


def test_signed_tokens_never_reach_the_real_api() -> None:
    codec = dialect("anthropic_messages")
    for sample in SAMPLES:
        content = codec.encode_response(sample.answer, REPLY)["content"]
        body: JsonObject = {
            "model": "claude-x",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": content}],
        }
        sent = "\n".join(strings(codec.encode_request(codec.decode_request(body)).body))
        assert not [token for token in _tokens(content) if token and token in sent], sample.name
        placed = (item for item in sample.answer.citations if item.span is not None)
        cited = {item.source.url for citation in placed for item in citation.evidence}
        assert not [url for url in cited if url not in sent], sample.name


def _tokens(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("encrypted_content", "encrypted_index") and isinstance(item, str):
                yield item
            yield from _tokens(item)
    elif isinstance(value, list):
        for item in value:
            yield from _tokens(item)
