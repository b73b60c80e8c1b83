"""Response cache: keys, lifetime and size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import Overloaded
from groundwire.model import (
    Event,
    Finished,
    FunctionTool,
    JsonObject,
    Limits,
    Message,
    OpaqueTool,
    Request,
    SearchCall,
    SearchOptions,
    Started,
    Text,
    TextDelta,
    ToolResult,
    Wire,
)
from groundwire.model.value import replace
from groundwire.routing.cache import CacheLimits, CacheStatus, ResponseCache, cache_key, is_cacheable

QUESTION = Request((Message("user", (Text("q?"),)),), "auto", search=SearchOptions())
BODIES: dict[str, JsonObject] = {
    "anthropic_messages": {
        "model": "auto",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "q?"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    },
    "openai_responses": {
        "model": "auto",
        "input": "q?",
        "max_output_tokens": 100,
        "stream": True,
        "tools": [{"type": "web_search"}],
    },
    "openai_chat": {
        "model": "auto",
        "max_completion_tokens": 100,
        "messages": [{"role": "user", "content": "q?"}],
        "web_search_options": {},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q?"}]}],
        "generationConfig": {"maxOutputTokens": 100},
        "tools": [{"googleSearch": {}}],
    },
    "gemini_interactions": {
        "model": "auto",
        "input": "q?",
        "generation_config": {"max_output_tokens": 100},
        "tools": [{"type": "google_search"}],
    },
}


class NumberingProvider:
    """Answers every question with its number, and counts them."""

    def __init__(self, *, suffix: str = "", failures: int = 0) -> None:
        self.requests: list[Request] = []
        self.suffix = suffix
        self.failures = failures

    async def batches(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if len(self.requests) <= self.failures:
            raise Overloaded("gone")
        yield (Started(), TextDelta(0, f"{len(self.requests)}{self.suffix}"))
        yield (Finished(),)


class CacheClient:
    """Sends requests through a cache with a fake clock."""

    def __init__(
        self, provider: NumberingProvider, seconds: float = 60.0, bounds: CacheLimits | None = None
    ) -> None:
        self.now = 0.0
        self.cache = ResponseCache(provider.batches, seconds, lambda: self.now, bounds)
        self.notes: list[CacheStatus] = []

    async def ask(self, request: Request = QUESTION, provider: str = "p", model: str = "m") -> str:
        batches = self.cache.batches(request, provider=provider, model=model, note=self.notes.append)
        events = [event async for batch in batches for event in batch]
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    def ask_all(self, *requests: Request) -> list[str]:
        async def one_by_one() -> list[str]:
            return [await self.ask(request) for request in requests]

        return asyncio.run(one_by_one())


def request_for(text: str) -> Request:
    return replace(QUESTION, messages=(Message("user", (Text(text),)),))


def test_a_question_is_sent_once_until_its_answer_expires() -> None:
    client = CacheClient(NumberingProvider())
    assert client.ask_all(QUESTION, QUESTION) == ["1", "1"]
    client.now = 59.9
    assert client.ask_all(QUESTION) == ["1"]
    client.now = 60.0
    assert client.ask_all(QUESTION) == ["2"]
    assert client.notes == [
        CacheStatus("miss"),
        CacheStatus("hit", 0),
        CacheStatus("hit", 59),
        CacheStatus("miss"),
    ]


async def test_a_hundred_identical_requests_cause_one_upstream_request() -> None:
    provider = NumberingProvider()
    client = CacheClient(provider)

    async def together() -> list[str]:
        return list(await asyncio.gather(*(client.ask() for _ in range(100))))

    assert await together() == ["1"] * 100
    assert len(provider.requests) == 1
    assert [note.state for note in client.notes] == ["miss", *["shared"] * 99]


def test_without_seconds_every_request_is_sent() -> None:
    provider = NumberingProvider()
    client = CacheClient(provider, seconds=0)
    assert client.ask_all(QUESTION, QUESTION) == ["1", "2"]
    assert client.notes == []
    assert len(client.cache) == 0


def test_an_error_is_not_kept() -> None:
    client = CacheClient(NumberingProvider(failures=1))
    with pytest.raises(Overloaded):
        client.ask_all(QUESTION)
    assert client.ask_all(QUESTION, QUESTION) == ["2", "2"]


def test_the_answer_used_least_recently_is_dropped_first() -> None:
    client = CacheClient(NumberingProvider(), bounds=CacheLimits(entries=2))
    assert client.ask_all(*map(request_for, "abacba")) == ["1", "2", "1", "3", "4", "5"]
    assert len(client.cache) == 2


def test_no_more_bytes_are_kept_than_allowed() -> None:
    client = CacheClient(NumberingProvider(suffix="x" * 1000), bounds=CacheLimits(total=5000, answer=2000))
    client.ask_all(*map(request_for, "abcdefgh"))
    assert 2 <= len(client.cache) <= 4
    assert 0 < client.cache.size <= 5000
    client.now = 100
    client.ask_all(*map(request_for, "fgh"))
    assert 0 < client.cache.size <= 5000


def test_an_answer_that_is_too_large_is_streamed_but_not_cached() -> None:
    client = CacheClient(NumberingProvider(suffix="x" * 3000), bounds=CacheLimits(answer=2000))
    one, other = client.ask_all(QUESTION, QUESTION)
    assert (one[0], other[0], len(one)) == ("1", "2", 3001)
    assert (len(client.cache), client.cache.size) == (0, 0)


def test_the_provider_is_not_given_the_bytes_of_one_dialect() -> None:
    provider = NumberingProvider()
    wire = Wire("gemini", {"contents": []}, b"{}")
    CacheClient(provider).ask_all(replace(QUESTION, wire=wire))
    CacheClient(provider, seconds=0).ask_all(replace(QUESTION, wire=wire))
    assert [request.wire for request in provider.requests] == [None, wire]


def test_five_dialects_have_the_same_cache_key() -> None:
    requests = [dialect(name).decode_request(body) for name, body in BODIES.items()]
    assert all(map(is_cacheable, requests))
    assert len({cache_key(request, "p", "m") for request in requests}) == 1


DIFFERENT = {
    "text": request_for("r?"),
    "role": replace(QUESTION, messages=(Message("system", (Text("q?"),)),)),
    "system": replace(QUESTION, system=(Text("be brief"),)),
    "domains": replace(QUESTION, search=SearchOptions(allowed_domains=("a.example",))),
    "freshness": replace(QUESTION, search=SearchOptions(since="2026-01-01T00:00:00Z")),
    "limit": replace(QUESTION, limits=Limits(max_output_tokens=5)),
    "own": replace(QUESTION, extras={"gemini": {"safetySettings": []}}),
    "own search": replace(QUESTION, search=SearchOptions(extras={"gemini": {"x": 1}})),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_question_has_another_answer(name: str) -> None:
    assert cache_key(DIFFERENT[name], "p", "m") != cache_key(QUESTION, "p", "m")


def test_another_target_has_another_answer() -> None:
    found = {cache_key(QUESTION, *target) for target in (("p", "m"), ("q", "m"), ("p", "n"))}
    assert len(found) == 3


def test_ids_do_not_affect_the_cache_key_but_what_they_join_does() -> None:
    def conversation(*ids: str) -> Request:
        calls = tuple(SearchCall(name, ("x",)) for name in ids)
        return replace(QUESTION, messages=(Message("assistant", calls), *QUESTION.messages))

    assert cache_key(conversation("a", "b"), "p", "m") == cache_key(conversation("c", "d"), "p", "m")
    assert cache_key(conversation("a", "b"), "p", "m") != cache_key(conversation("a", "a"), "p", "m")
    assert conversation("a", "b").messages[0].parts[0] == SearchCall("a", ("x",))


@pytest.mark.parametrize(
    "request_",
    [
        replace(QUESTION, search=None),
        replace(QUESTION, tools=(FunctionTool("f"),)),
        replace(QUESTION, tools=(OpaqueTool("gemini", {"codeExecution": {}}),)),
        replace(QUESTION, previous_id="resp_1"),
        replace(QUESTION, messages=(*QUESTION.messages, Message("user", (ToolResult("c"),)))),
    ],
    ids=["no search", "function", "other tool", "kept answer", "tool result"],
)
def test_requests_that_depend_on_more_than_their_text_are_not_cached(request_: Request) -> None:
    assert not is_cacheable(request_)
    assert CacheClient(NumberingProvider()).ask_all(request_, request_) == ["1", "2"]
