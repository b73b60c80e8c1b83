"""What goes out: the right address, the key in its one place, the fields that each vendor wants."""

from __future__ import annotations

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.dialects.registry import DIALECTS
from groundwire.errors import ConfigError, MissingCredential
from groundwire.model import Json, JsonObject, Location, Request, SearchOptions, Source
from groundwire.model.value import replace
from groundwire.providers.http import HttpProvider
from groundwire.providers.registry import BUILT_IN, built_in
from groundwire.providers.spec import ProviderSpec
from groundwire.testing.answers import told
from groundwire.testing.script import answer
from groundwire.testing.upstream import Received
from tests.providers.asking import QUERY, ask, question, world
from tests.providers.speakers import (
    CONFIGURED,
    KEY,
    MODEL,
    SPEAKERS,
    STREAMING,
    VENDORS,
    Speaker,
    speaker_named,
)
from tests.transport.bounded import run

EVENTS = told("Long.", Source("https://alpha.example/"), query="nile")
FLAGGED = ("anthropic_messages", "openai_responses", "openai_chat", "gemini_interactions")
"""Dialects whose body says whether the answer is streamed; Gemini's address does."""

SEARCHES: dict[str, JsonObject] = {
    "anthropic_messages": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "openai_responses": {"tools": [{"type": "web_search"}]},
    "openai_chat": {"web_search_options": {}},
    "gemini": {"tools": [{"googleSearch": {}}]},
    "gemini_interactions": {"tools": [{"type": "google_search"}]},
    "websearch": {"query": QUERY},
}
OPENROUTER: JsonObject = {"tools": [{"type": "openrouter:web_search", "parameters": {}}]}


def sent(speaker: Speaker, request: Request) -> Received:
    """The request as the provider received it."""

    async def main() -> Received:
        async with world(speaker, answer(speaker.dialect, EVENTS)) as here:
            outcome = await here.ask(request)
            assert outcome.error is None
            (seen,) = here.upstream.requests
            return seen

    return run(main())


def body_of(seen: Received) -> JsonObject:
    assert isinstance(seen.json, dict)
    return seen.json


def test_the_suite_leaves_nobody_out() -> None:
    rows = {name for name in BUILT_IN if isinstance(built_in(name), ProviderSpec)}
    assert rows == {speaker.name for speaker in VENDORS}
    assert {speaker.dialect for speaker in CONFIGURED} == set(DIALECTS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_a_request_goes_to_its_address_with_the_key_in_its_one_place(speaker: Speaker, stream: bool) -> None:
    seen = sent(speaker, question(stream=stream))
    streamed = stream or speaker.always_streams
    assert seen.method == "POST"
    assert seen.target == speaker.path_for(streamed=streamed)
    assert seen.headers[speaker.auth] == speaker.key_shown
    others = {name: text for name, text in seen.headers.items() if name != speaker.auth}
    assert KEY not in str(others)
    assert KEY not in seen.target
    assert KEY.encode() not in seen.body
    assert speaker.headers.items() <= others.items()
    assert others["content-type"] == "application/json"
    assert others["accept"] == ("text/event-stream" if streamed else "application/json")
    assert others["x-groundwire-hop"] == "1"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_the_body_asks_for_the_form_of_the_answer_in_its_dialects_way(speaker: Speaker, stream: bool) -> None:
    body = body_of(sent(speaker, question(stream=stream)))
    flagged = speaker.dialect in FLAGGED and (stream or speaker.always_streams)
    assert body.get("stream") == (True if flagged else None)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_the_body_declares_the_search_and_says_the_question(speaker: Speaker) -> None:
    seen = sent(speaker, question())
    body = body_of(seen)
    expected = OPENROUTER if speaker.name == "openrouter" else SEARCHES[speaker.dialect]
    assert expected.items() <= body.items()
    assert QUERY in seen.body.decode()


@pytest.mark.parametrize("speaker", STREAMING, ids=str)
def test_a_question_without_search_declares_none(speaker: Speaker) -> None:
    body = body_of(sent(speaker, replace(question(), search=None)))
    assert not {"tools", "web_search_options", "plugins", "include", "tool_choice"} & body.keys()


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_the_model_that_was_asked_for_is_the_one_that_is_sent(speaker: Speaker) -> None:
    seen = sent(speaker, replace(question(), model="some-model-1"))
    if speaker.dialect == "gemini":
        assert "/models/some-model-1:" in seen.target
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
def test_options_are_said_in_the_vendors_words(name: str, options: SearchOptions, expected: Json) -> None:
    speaker = speaker_named(name)
    body = body_of(sent(speaker, question(search=options)))
    assert isinstance(expected, dict)
    assert {key: body.get(key) for key in expected} == expected


def test_openrouter_is_not_asked_for_what_it_refuses() -> None:
    speaker = speaker_named("openrouter")
    body = body_of(sent(speaker, question(search=SearchOptions(max_uses=2))))
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
    speaker = speaker_named("gemini")
    seen = sent(speaker, replace(question(stream=True), model=model))
    assert seen.target == f"/v1beta/models/{segment}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("speaker", CONFIGURED, ids=str)
def test_a_server_that_needs_no_key_is_sent_none(speaker: Speaker) -> None:
    async def nothing() -> Credential | None:
        return None

    async def main() -> None:
        async with world(speaker, answer(speaker.dialect, EVENTS)) as here:
            provider = HttpProvider(speaker.row(here.upstream.url), here.http, nothing, Redactor())
            assert (await ask(provider, question())).error is None
            assert (
                not {"authorization", "x-api-key", "x-goog-api-key"}
                & here.upstream.requests[0].headers.keys()
            )

    run(main())


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_without_its_credential_nothing_is_sent(speaker: Speaker) -> None:
    async def missing() -> Credential | None:
        raise MissingCredential("no key")

    async def main() -> None:
        async with world(speaker, answer(speaker.dialect, EVENTS)) as here:
            provider = HttpProvider(speaker.row(here.upstream.url), here.http, missing, Redactor())
            assert isinstance((await ask(provider, question())).raised, MissingCredential)
            assert here.upstream.connections == 0

    run(main())


def test_a_provider_without_a_model_says_what_to_set() -> None:
    speaker = speaker_named("my_chat")

    async def main() -> None:
        async with world(speaker, answer(speaker.dialect, EVENTS)) as here:
            row = replace(speaker.row(here.upstream.url), model="")

            async def nothing() -> Credential | None:
                return None

            outcome = await ask(HttpProvider(row, here.http, nothing, Redactor()), question())
            assert isinstance(outcome.raised, ConfigError)
            assert "providers.my_chat.model" in outcome.raised.message
            assert here.upstream.connections == 0

    run(main())


def test_a_base_address_may_end_with_a_slash() -> None:
    for speaker in SPEAKERS:
        row = speaker.row("http://h")
        slashed = replace(row, base_url=row.base_url + "/")
        asked = replace(question(), model=MODEL)
        assert slashed.url(slashed.base_url, asked) == row.url(row.base_url, asked)
