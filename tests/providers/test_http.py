"""HTTP provider: URL, credentials and body of requests, unique tool call ids, refused sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundwire.credentials.lookup import find
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.credentials.session import Refresher
from groundwire.dialects.registry import DIALECTS
from groundwire.errors import AuthRejected, ConfigError, Interrupted, MissingCredential, Overloaded
from groundwire.model import (
    Json,
    JsonObject,
    Location,
    Message,
    Request,
    SearchOptions,
    Source,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from groundwire.model.value import replace
from groundwire.providers.catalog import KNOWN_PROVIDERS
from groundwire.providers.http import HttpProvider, ToolCallIds
from groundwire.providers.registry import find_spec
from groundwire.providers.spec import ProviderSpec
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Received, Upstream
from tests.credentials.builders import (
    QUICK,
    SESSIONS,
    Rotation,
    jwt,
    lookup_context,
    stored_refresh,
    write_session,
)
from tests.providers.harness import (
    CONFIGURED,
    KEY,
    MODEL,
    PROVIDER_CASES,
    QUERY,
    STREAMING,
    VENDORS,
    ProviderCase,
    ask,
    case_named,
    question,
    world,
)
from tests.transport.bounded import run

pytestmark = pytest.mark.server

EVENTS = answer_events("Long.", Source("https://alpha.example/"), query="nile")
FLAGGED = (
    *("anthropic_messages", "openai_responses", "openai_chat", "gemini_interactions", "cohere_chat"),
    "mistral_conversations",
)
"""Dialects that request streaming in the body; Gemini does so in the URL."""

SEARCHES: dict[str, JsonObject] = {
    "anthropic_messages": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "openai_responses": {"tools": [{"type": "web_search"}]},
    "openai_chat": {"web_search_options": {}},
    "gemini": {"tools": [{"googleSearch": {}}]},
    "gemini_interactions": {"tools": [{"type": "google_search"}]},
    "bedrock_converse": {"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}},
    "cohere_chat": {"connectors": [{"id": "web-search"}]},
    "mistral_conversations": {"tools": [{"type": "web_search"}]},
    "websearch": {"query": QUERY},
}
OWN_SEARCHES: dict[str, JsonObject] = {
    "openrouter": {"tools": [{"type": "openrouter:web_search", "parameters": {}}]},
    "perplexity": {},
    "groq": {},
    "qwen": {
        "enable_search": True,
        "search_options": {
            "enable_source": True,
            "enable_citation": True,
            "citation_format": "[ref_<number>]",
        },
    },
    "zai": {
        "tools": [
            {
                "type": "web_search",
                "web_search": {"search_engine": "search-prime", "search_result": True, "enable": True},
            }
        ]
    },
}
"""Vendors that declare a search in their own way; some always search."""


def sent(case: ProviderCase, request: Request) -> Received:
    """The request as the provider received it."""

    async def main() -> Received:
        async with world(case, answer(case.dialect, EVENTS)) as here:
            outcome = await here.ask(request)
            assert outcome.error is None
            (seen,) = here.upstream.requests
            return seen

    return run(main())


def body_of(seen: Received) -> JsonObject:
    assert isinstance(seen.json, dict)
    return seen.json


def test_the_suite_covers_every_provider() -> None:
    rows = {name for name in KNOWN_PROVIDERS if isinstance(find_spec(name), ProviderSpec)}
    assert rows | {"vertex", "vertex_claude", "bedrock"} == {case.name for case in VENDORS}
    assert {case.dialect for case in CONFIGURED} == set(DIALECTS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", PROVIDER_CASES, ids=str)
def test_a_request_goes_to_its_url_with_the_key_in_one_header(case: ProviderCase, stream: bool) -> None:
    seen = sent(case, question(stream=stream))
    streamed = stream or case.always_streams
    assert seen.method == "POST"
    assert seen.target == case.path_for(streamed=streamed)
    assert seen.headers[case.auth] == case.key_shown
    others = {name: text for name, text in seen.headers.items() if name != case.auth}
    assert KEY not in str(others)
    assert KEY not in seen.target
    assert KEY.encode() not in seen.body
    assert case.headers.items() <= others.items()
    assert others["content-type"] == "application/json"
    accepted = "text/event-stream" if streamed else "application/json"
    if case.dialect == "bedrock_converse":
        accepted = "application/json, application/vnd.amazon.eventstream"
    assert others["accept"] == accepted
    assert others["x-groundwire-hop"] == "1"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", PROVIDER_CASES, ids=str)
def test_the_body_requests_streaming_as_its_dialect_does(case: ProviderCase, stream: bool) -> None:
    body = body_of(sent(case, question(stream=stream)))
    flagged = case.dialect in FLAGGED and (stream or case.always_streams)
    assert body.get("stream") == (True if flagged else None)


@pytest.mark.parametrize("case", PROVIDER_CASES, ids=str)
def test_the_body_declares_the_search_and_contains_the_question(case: ProviderCase) -> None:
    seen = sent(case, question())
    body = body_of(seen)
    expected = OWN_SEARCHES.get(case.name, SEARCHES[case.dialect])
    assert expected.items() <= body.items()
    assert "web_search_options" in expected or "web_search_options" not in body
    assert QUERY in seen.body.decode()


@pytest.mark.parametrize("case", STREAMING, ids=str)
def test_a_question_without_search_declares_none(case: ProviderCase) -> None:
    body = body_of(sent(case, replace(question(), search=None)))
    assert not {"tools", "web_search_options", "plugins", "include", "tool_choice"} & body.keys()


@pytest.mark.parametrize("case", PROVIDER_CASES, ids=str)
def test_the_requested_model_is_the_one_that_is_sent(case: ProviderCase) -> None:
    seen = sent(case, replace(question(), model="some-model-1"))
    if case.dialect in ("gemini", "bedrock_converse") or case.name == "vertex_claude":
        assert any(
            f"{part}some-model-1{end}" in seen.target for part, end in (("/models/", ":"), ("/model/", "/"))
        )
    else:
        assert body_of(seen)["model"] == "some-model-1"


DE = Location("DE", "Berlin", "Berlin", "Europe/Berlin")
FLAT: JsonObject = {
    "type": "approximate",
    "country": "DE",
    "region": "Berlin",
    "city": "Berlin",
    "timezone": "Europe/Berlin",
}
NESTED: JsonObject = {"type": "approximate", "approximate": {key: FLAT[key] for key in FLAT if key != "type"}}
ALLOWED = SearchOptions(("a.example", "b.example"), location=DE)
BLOCKED = SearchOptions(blocked_domains=("c.example",))

OPTIONS: list[tuple[str, SearchOptions, JsonObject]] = [
    (
        "anthropic",
        replace(ALLOWED, max_uses=3),
        {
            "tools": [
                {
                    "type": "web_search_20250305",
                    "name": "web_search",
                    "allowed_domains": ["a.example", "b.example"],
                    "user_location": FLAT,
                    "max_uses": 3,
                }
            ]
        },
    ),
    (
        "anthropic",
        BLOCKED,
        {"tools": [{"type": "web_search_20250305", "name": "web_search", "blocked_domains": ["c.example"]}]},
    ),
    (
        "openai",
        replace(ALLOWED, blocked_domains=("c.a.example",), live=False, context_size="low", max_uses=2),
        {
            "tools": [
                {
                    "type": "web_search",
                    "filters": {
                        "allowed_domains": ["a.example", "b.example"],
                        "blocked_domains": ["c.a.example"],
                    },
                    "external_web_access": False,
                    "search_context_size": "low",
                    "user_location": FLAT,
                }
            ],
            "max_tool_calls": 2,
            "include": ["web_search_call.action.sources"],
        },
    ),
    (
        "openrouter",
        replace(ALLOWED, max_uses=2, max_sources=4, context_size="high"),
        {
            "tools": [
                {
                    "type": "openrouter:web_search",
                    "parameters": {
                        "allowed_domains": ["a.example", "b.example"],
                        "max_uses": 2,
                        "max_results": 4,
                        "search_context_size": "high",
                        "user_location": FLAT,
                    },
                }
            ]
        },
    ),
    (
        "openrouter",
        BLOCKED,
        {"tools": [{"type": "openrouter:web_search", "parameters": {"excluded_domains": ["c.example"]}}]},
    ),
    (
        "openai_oauth",
        replace(BLOCKED, live=True, context_size="medium"),
        {
            "tools": [
                {
                    "type": "web_search",
                    "filters": {"blocked_domains": ["c.example"]},
                    "external_web_access": True,
                    "search_context_size": "medium",
                }
            ],
            "tool_choice": {"type": "web_search"},
        },
    ),
    (
        "openai_chat",
        SearchOptions(location=DE, context_size="high"),
        {"web_search_options": {"search_context_size": "high", "user_location": NESTED}},
    ),
    (
        "gemini",
        SearchOptions(
            language="de",
            since="2026-01-01T00:00:00Z",
            until="2026-02-01T00:00:00Z",
            location=Location(latitude=52.5, longitude=13.4),
        ),
        {
            "tools": [
                {
                    "googleSearch": {
                        "timeRangeFilter": {
                            "startTime": "2026-01-01T00:00:00Z",
                            "endTime": "2026-02-01T00:00:00Z",
                        }
                    }
                }
            ],
            "toolConfig": {
                "retrievalConfig": {"latLng": {"latitude": 52.5, "longitude": 13.4}, "languageCode": "de"}
            },
        },
    ),
]


@pytest.mark.parametrize(("name", "options", "expected"), OPTIONS)
def test_options_are_sent_in_the_vendors_fields(name: str, options: SearchOptions, expected: Json) -> None:
    case = case_named(name)
    body = body_of(sent(case, question(search=options)))
    assert isinstance(expected, dict)
    assert {key: body.get(key) for key in expected} == expected


def test_options_that_openrouter_refuses_are_not_sent() -> None:
    case = case_named("openrouter")
    body = body_of(sent(case, question(search=SearchOptions(max_uses=2))))
    assert not {"include", "max_tool_calls"} & body.keys()


@pytest.mark.parametrize(
    ("model", "segment"),
    [
        ("gemini-3-pro", "gemini-3-pro"),
        ("models/gemini-3-pro", "gemini-3-pro"),
        ("tuned/one:two", "tuned%2Fone%3Atwo"),
        ("a b?key=1#x", "a%20b%3Fkey%3D1%23x"),
        ("../../v1/files", "..%2F..%2Fv1%2Ffiles"),
        ("größe", "gr%C3%B6%C3%9Fe"),
    ],
)
def test_a_gemini_model_is_one_segment_of_the_path_whatever_it_is_called(model: str, segment: str) -> None:
    case = case_named("gemini")
    seen = sent(case, replace(question(stream=True), model=model))
    assert seen.target == f"/v1beta/models/{segment}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("case", CONFIGURED, ids=str)
async def test_no_key_is_sent_to_a_server_that_needs_none(case: ProviderCase) -> None:
    async def nothing() -> Credential | None:
        return None

    async with world(case, answer(case.dialect, EVENTS)) as here:
        provider = HttpProvider(case.row(here.upstream.url), here.http, nothing, Redactor())
        assert (await ask(provider, question())).error is None
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & here.upstream.requests[0].headers.keys()


@pytest.mark.parametrize("case", PROVIDER_CASES, ids=str)
async def test_without_its_credential_nothing_is_sent(case: ProviderCase) -> None:
    async def missing() -> Credential | None:
        raise MissingCredential("no key")

    async with world(case, answer(case.dialect, EVENTS)) as here:
        provider = HttpProvider(case.row(here.upstream.url), here.http, missing, Redactor())
        assert isinstance((await ask(provider, question())).raised, MissingCredential)
        assert here.upstream.connections == 0


async def test_a_provider_without_a_model_names_the_setting() -> None:
    case = case_named("my_chat")

    async with world(case, answer(case.dialect, EVENTS)) as here:
        row = replace(case.row(here.upstream.url), model="")

        async def nothing() -> Credential | None:
            return None

        outcome = await ask(HttpProvider(row, here.http, nothing, Redactor()), question())
        assert isinstance(outcome.raised, ConfigError)
        assert "providers.my_chat.model" in outcome.raised.message
        assert here.upstream.connections == 0


def test_a_base_url_may_end_with_a_slash() -> None:
    for case in PROVIDER_CASES:
        row = case.row("http://h")
        slashed = replace(row, base_url=row.base_url + "/")
        sent_request = replace(question(), model=MODEL)
        assert slashed.url(slashed.base_url, sent_request) == row.url(row.base_url, sent_request)


def ids_of(*used: str) -> ToolCallIds:
    parts = tuple(ToolCall(one, "clock", "{}") for one in used)
    return ToolCallIds(Request((Message("user", (Text("?"),)), Message("assistant", parts)), "m"))


def test_a_used_tool_call_id_gets_an_unused_suffix() -> None:
    ids = ids_of("call_0", "call_0_2")
    assert ids.unique(ToolCallDelta(0, "call_0", "clock", "{}")) == ToolCallDelta(
        0, "call_0_3", "clock", "{}"
    )


def test_all_other_events_stay_unchanged() -> None:
    ids = ids_of("call_0")
    for event in (
        ToolCallDelta(0, "call_1", "clock"),
        ToolCallDelta(0, "", "", "more"),
        TextDelta(0, "call_0"),
    ):
        assert ids.unique(event) is event


def test_without_calls_in_the_history_no_id_is_changed() -> None:
    call = ToolCallDelta(0, "call_0", "clock", "{}")
    assert ids_of().unique(call) is call
    assert ids_of("").unique(ToolCallDelta(0, "", "clock")) == ToolCallDelta(0, "", "clock")


CODEX = case_named("openai_oauth")
SESSION_EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
GOOD = answer(CODEX.dialect, SESSION_EVENTS)
NO = json_response({"detail": "Provided authentication token is expired."}, 401)
NOW = 1_000_000.0
LATER = NOW + 100_000
Wait = Callable[[], Awaitable[object]]


def renewed(number: int) -> str:
    """The access token that a refresh gives."""
    return jwt({"exp": LATER, "number": number})


async def at_once() -> None:
    """Wait for nothing."""


@asynccontextmanager
async def signed_in(
    home: Path, kind: str, script: Script
) -> AsyncIterator[tuple[HttpProvider, Upstream, Rotation, list[Wait]]]:
    """Codex with a session that looks good for hours; what a refresh waits for, and what a request."""
    rotation = Rotation("refresh-first", LATER - NOW, renewed)
    waits: list[Wait] = [at_once, at_once]

    async def send(_url: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        await waits[0]()
        return rotation.answer(body)

    if kind != "inline":
        write_session(home, kind, "access-first", "refresh-first", LATER)
    record = {
        "type": "oauth",
        "refresh": "refresh-first",
        "access": "access-first",
        "expires": int(LATER * 1000),
    }
    inline = {"OPENCODE_AUTH_CONTENT": json.dumps({"openai": record})} if kind == "inline" else {}
    refresher = Refresher(send, lambda: NOW, timeouts=QUICK)

    async def credential() -> Credential | None:
        found = find(SESSIONS["opencode" if kind == "inline" else kind], lookup_context(home, **inline))
        assert found is not None
        fresh = await refresher.fresh(found)
        await waits[1]()
        return fresh

    async with world(CODEX, script) as here:
        row = CODEX.row(here.upstream.url, here.deadlines)
        provider = HttpProvider(row, here.http, credential, here.redactor, renew=refresher.after_refusal)
        yield provider, here.upstream, rotation, waits


def shown(upstream: Upstream) -> list[str]:
    return [request.headers["authorization"] for request in upstream.requests]


@pytest.mark.parametrize("kind", ["opencode", "codex", "inline"])
async def test_a_refused_session_is_renewed_once_and_the_request_repeated_once(
    tmp_path: Path, kind: str
) -> None:
    async with signed_in(tmp_path, kind, Script((NO, GOOD))) as (provider, upstream, rotation, _):
        outcome = await ask(provider, question(stream=True))
        assert outcome.answer.text == "The Nile is 6650 km long."
        assert (rotation.rotations, rotation.reuses) == (1, 0)
        assert shown(upstream)[1] == f"Bearer {renewed(1)}" != shown(upstream)[0]
        first, second = upstream.requests
        assert first.body == second.body
        assert (await ask(provider, question(stream=True))).error is None
        assert shown(upstream)[2] == f"Bearer {renewed(1)}", "what was renewed is used from now on"


@pytest.mark.parametrize("kind", ["opencode", "codex", "inline"])
async def test_eight_requests_with_the_same_dead_token_cost_one_refresh(tmp_path: Path, kind: str) -> None:
    script = Script((*(NO,) * 8, GOOD))
    async with signed_in(tmp_path, kind, script) as (provider, upstream, rotation, waits):
        waits[:] = lambda: upstream.received(8), asyncio.Barrier(8).wait
        outcomes = await asyncio.gather(*(ask(provider, question(stream=True)) for _ in range(8)))
        assert [outcome.error for outcome in outcomes] == [None] * 8
        assert (rotation.rotations, rotation.reuses) == (1, 0)
        assert len(upstream.requests) == 16
        assert set(shown(upstream)[8:]) == {f"Bearer {renewed(1)}"}


async def test_a_second_refusal_is_reported_with_advice(tmp_path: Path) -> None:
    async with signed_in(tmp_path, "codex", Script((NO,))) as (provider, upstream, rotation, _):
        outcome = await ask(provider, question(stream=True))
        assert isinstance(outcome.raised, AuthRejected)
        assert "expired" in outcome.raised.message
        assert "Log in with `opencode auth login` or `codex login`." in outcome.raised.message
        assert (len(upstream.requests), rotation.rotations) == (2, 1)


async def test_a_session_that_cannot_be_renewed_has_ended_and_is_not_retried(tmp_path: Path) -> None:
    async with signed_in(tmp_path, "codex", Script((NO,))) as (provider, upstream, rotation, _):
        rotation.revoked = True
        outcome = await ask(provider, question(stream=True))
        assert isinstance(outcome.raised, AuthRejected)
        assert "log in again with `codex login`" in outcome.raised.message
        assert len(upstream.requests) == 1


async def test_a_token_that_another_process_renewed_is_used(tmp_path: Path) -> None:
    async with signed_in(tmp_path, "codex", Script((NO, GOOD))) as (provider, upstream, rotation, _):
        reading = asyncio.create_task(ask(provider, question(stream=True)))
        await upstream.received()
        path = write_session(tmp_path, "codex", "access-other", "refresh-other", LATER)
        assert (await reading).error is None
        assert rotation.rotations == 0
        assert stored_refresh(path) == "refresh-other"


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (ScriptedResponse(403), None),
        (ScriptedResponse(503), Overloaded),
        (replace(GOOD, cut_at=60), Interrupted),
    ],
    ids=["403", "503", "cut"],
)
async def test_other_errors_do_not_renew_the_session(
    tmp_path: Path, first: ScriptedResponse, error: type[Exception] | None
) -> None:
    async with signed_in(tmp_path, "codex", Script((first,))) as (provider, upstream, rotation, _):
        outcome = await ask(provider, question(stream=True))
        assert isinstance(outcome.error, error or Exception)
        assert (len(upstream.requests), rotation.rotations) == (1, 0)


async def test_a_key_that_is_refused_fails_at_once() -> None:
    async with world(case_named("openai"), NO) as here:
        outcome = await here.ask()
        assert isinstance(outcome.raised, AuthRejected)
        assert len(here.upstream.requests) == 1
