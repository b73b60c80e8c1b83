"""How long a provider asks us to wait, in every form in which one says so."""

from __future__ import annotations

import pytest

from groundwire.errors import RateLimited, UpstreamError
from groundwire.model import Json
from groundwire.providers.response_reader import seconds_until
from groundwire.routing.error_policy import reaction
from groundwire.testing.script import ScriptedResponse, json_response
from tests.providers.asking import World, world
from tests.providers.speakers import SPEAKERS, Speaker, speaker_named
from tests.transport.bounded import run

NOON = "Sun, 15 Nov 2026 12:00:00 GMT"
LATER = "Sun, 15 Nov 2026 12:00:45 GMT"
NOON_SECONDS = 1_794_744_000.0

HEADERS: list[tuple[dict[str, str], float | None]] = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0"}, 0.0),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after-ms": "250"}, 0.25),
    ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
    ({"retry-after": LATER}, 45.0),
    ({"retry-after": LATER, "date": "Sun, 15 Nov 2026 12:00:15 GMT"}, 30.0),
    ({"retry-after": "Sunday, 15-Nov-26 12:00:45 GMT"}, 45.0),
    ({"retry-after": "Sun Nov 15 12:00:45 2026"}, 45.0),
    ({"retry-after": "Sun, 15 Nov 2026 13:00:45 +0100"}, 45.0),
    ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, 0.0),
    ({"retry-after": LATER, "date": "yesterday"}, 45.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": ""}, None),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "Sun, 99 Nov 2026 99:99:99 GMT"}, None),
    ({"retry-after": "Sun, 15 Nov 999999999999 12:00:00 GMT"}, None),
    ({}, None),
]


async def error_of(here: World) -> UpstreamError:
    error = (await here.ask()).raised
    assert isinstance(error, UpstreamError)
    return error


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_headers_say_it_in_seconds_in_milliseconds_or_by_date(speaker: Speaker) -> None:
    async def main() -> None:
        async with world(speaker, [ScriptedResponse(429, headers) for headers, _ in HEADERS]) as here:
            here.clock = lambda: NOON_SECONDS
            for headers, expected in HEADERS:
                error = await error_of(here)
                assert isinstance(error, RateLimited)
                assert error.retry_after == expected, headers

    run(main())


def test_noon_is_noon() -> None:
    assert seconds_until({"retry-after": NOON}, NOON_SECONDS) == 0.0
    assert seconds_until({"retry-after": NOON}, NOON_SECONDS - 10) == 10.0


def google(*details: Json) -> Json:
    return {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED", "details": list(details)}}


BODIES: list[tuple[str, Json, float]] = [
    ("gemini", google({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}), 48.0),
    ("gemini", google({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}), 34.4),
    (
        "my_interactions",
        {"error": {"code": "rate_limit_exceeded", "message": "Please retry in 48.94s."}},
        48.94,
    ),
    ("openai", {"error": {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}}, 1.5),
    ("openai", {"error": {"code": "rate_limit_exceeded", "message": "Please try again in 6m0s."}}, 360.0),
    ("openai_chat", {"error": {"code": "rate_limit_exceeded", "message": "Please try again in 20ms."}}, 0.02),
    ("openai_oauth", {"error": {"type": "usage_limit_reached", "resets_in_seconds": 600}}, 600.0),
]


@pytest.mark.parametrize(("name", "body", "expected"), BODIES)
def test_bodies_say_it_in_the_vendors_words(name: str, body: Json, expected: float) -> None:
    speaker = speaker_named(name)

    async def main() -> None:
        async with world(speaker, json_response(body, 429)) as here:
            assert (await error_of(here)).retry_after == pytest.approx(expected)

    run(main())


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_a_provider_may_say_itself_whether_trying_again_makes_sense(speaker: Speaker) -> None:
    table = [(503, "", "retry"), (503, "false", "next"), (409, "true", "retry"), (409, "", "stop")]

    async def main() -> None:
        responses = [
            ScriptedResponse(status, {"x-should-retry": word} if word else {}) for status, word, _ in table
        ]
        async with world(speaker, responses) as here:
            assert [reaction(await error_of(here)) for _ in table] == [expected for *_, expected in table]

    run(main())
