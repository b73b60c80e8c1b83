"""Error responses: classified by the body of the vendor, else by the status, before and inside an answer."""

from __future__ import annotations

import re

import pytest

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
    UpstreamWireError,
)
from groundwire.model import Failed, Json, Started, TextDelta, assemble
from groundwire.model.value import replace
from groundwire.providers.response_reader import seconds_until
from groundwire.routing.error_policy import reaction
from groundwire.testing.answers import encode_answer
from groundwire.testing.script import ScriptedResponse, json_response, text_response
from tests.contracts.amazon_frames import BINARY, as_binary, as_sse
from tests.providers.harness import (
    PROVIDER_CASES,
    STREAMING,
    ProviderCase,
    ProviderOutcome,
    ProviderWorld,
    case_named,
    question,
    sampled,
    world,
)

pytestmark = pytest.mark.server

Kind = type[GroundwireError]

BY_STATUS: dict[int, Kind] = {
    400: Refused,
    401: AuthRejected,
    402: QuotaExhausted,
    403: AuthRejected,
    404: NotFound,
    405: Refused,
    408: TimedOut,
    409: Refused,
    413: Refused,
    422: Refused,
    429: RateLimited,
    500: Overloaded,
    502: Overloaded,
    503: Overloaded,
    504: TimedOut,
    520: Overloaded,
    524: TimedOut,
    529: Overloaded,
    599: Overloaded,
}
PAGE = b"<html><head><title>Just a moment...</title></head><body>Attention required! \x1b[31m</body></html>"


async def errors(
    case: ProviderCase, responses: list[ScriptedResponse], *, stream: bool
) -> list[ProviderOutcome]:
    async with world(case, responses) as here:
        return [await here.ask(question(stream=stream)) for _ in responses]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("body", [b"", PAGE, b"{}", b'{"error":', b"null", b"[]"], ids=repr)
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_without_an_error_body_the_status_decides(
    case: ProviderCase, body: bytes, stream: bool
) -> None:
    responses = [ScriptedResponse(status, {"content-type": "text/html"}, body) for status in BY_STATUS]
    for (status, kind), outcome in zip(
        BY_STATUS.items(), await errors(case, responses, stream=stream), strict=True
    ):
        # A page with status 403 in front of OpenAI's addresses is Cloudflare's, and about the network.
        is_blocked = status == 403 and case.dialect == "openai_responses" and not body.startswith(b"{}")
        error = outcome.raised
        assert type(error) is (Refused if is_blocked else kind), (status, error)
        assert isinstance(error, UpstreamError)
        assert error.status == status
        assert error.message
        assert error.message.isprintable()


def anthropic(kind: str, message: str = "no") -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def openai(code: str | None, kind: str = "invalid_request_error", message: str = "no") -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def google(code: int, status: str, *details: Json) -> Json:
    return {"error": {"code": code, "message": "no", "status": status, "details": list(details)}}


INVALID_KEY: Json = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}

FAMILY: list[tuple[int, Json, Kind]] = [
    (400, openai("unsupported_parameter"), Refused),
    (400, openai("context_length_exceeded"), Refused),
    (401, openai("invalid_api_key"), AuthRejected),
    (404, openai("model_not_found"), NotFound),
    (429, openai("rate_limit_exceeded", "tokens"), RateLimited),
    (429, openai("insufficient_quota", "insufficient_quota"), QuotaExhausted),
    (500, openai(None, "server_error"), Overloaded),
    (503, openai("server_is_overloaded", "server_error"), Overloaded),
    (402, {"error": {"code": 402, "message": "no credits"}}, QuotaExhausted),
    (429, {"error": {"code": 429, "message": "no", "metadata": {"provider_name": "x"}}}, RateLimited),
]
BY_WORDS: dict[str, list[tuple[int, Json, Kind]]] = {
    "anthropic_messages": [
        (400, anthropic("invalid_request_error"), Refused),
        (401, anthropic("authentication_error"), AuthRejected),
        (402, anthropic("billing_error"), QuotaExhausted),
        (403, anthropic("permission_error"), AuthRejected),
        (404, anthropic("not_found_error"), NotFound),
        (413, anthropic("request_too_large"), Refused),
        (429, anthropic("rate_limit_error"), RateLimited),
        (500, anthropic("api_error"), Overloaded),
        (504, anthropic("timeout_error"), TimedOut),
        (529, anthropic("overloaded_error"), Overloaded),
    ],
    "openai_responses": [
        *FAMILY,
        (400, openai("model_not_found"), NotFound),
        (400, {"detail": "Stream must be set to true"}, Refused),
        (401, {"detail": "Unauthorized"}, AuthRejected),
        (429, {"error": {"type": "usage_limit_reached", "resets_in_seconds": 99}}, QuotaExhausted),
        (404, {"error": {"type": "usage_limit_reached", "message": "no"}}, QuotaExhausted),
    ],
    "openai_chat": [
        *FAMILY,
        (422, {"detail": [{"msg": "field required"}]}, Refused),
        (500, {"error": "x"}, Overloaded),
    ],
    "gemini": [
        (400, google(400, "INVALID_ARGUMENT"), Refused),
        (400, google(400, "INVALID_ARGUMENT", INVALID_KEY), AuthRejected),
        (403, google(403, "PERMISSION_DENIED"), AuthRejected),
        (404, google(404, "NOT_FOUND"), NotFound),
        (429, google(429, "RESOURCE_EXHAUSTED"), RateLimited),
        (429, [google(429, "RESOURCE_EXHAUSTED")], RateLimited),
        (500, google(500, "INTERNAL"), Overloaded),
        (503, google(503, "UNAVAILABLE"), Overloaded),
        (504, google(504, "DEADLINE_EXCEEDED"), TimedOut),
    ],
    "gemini_interactions": [
        (400, {"error": {"code": "invalid_request", "message": "no"}}, Refused),
        (400, google(400, "INVALID_ARGUMENT", INVALID_KEY), AuthRejected),
        (404, {"error": {"code": "not_found", "message": "no"}}, NotFound),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "no"}}, RateLimited),
        (503, google(503, "UNAVAILABLE"), Overloaded),
    ],
    "bedrock_converse": [
        (400, {"__type": "ValidationException", "message": "no"}, Refused),
        (403, {"__type": "AccessDeniedException", "message": "no"}, AuthRejected),
        (429, {"__type": "com.amazon#ThrottlingException", "message": "no"}, RateLimited),
    ],
    "cohere_chat": [
        (400, {"id": "e1", "message": "invalid request"}, Refused),
        (401, {"id": "e1", "message": "invalid api token"}, AuthRejected),
        (404, {"id": "e1", "message": "model 'x' not found"}, NotFound),
        (429, {"message": "You are limited to 40 API calls / minute"}, RateLimited),
        (429, {"message": "You are limited to 1000 API calls / month"}, QuotaExhausted),
        (498, {"message": "invalid token"}, AuthRejected),
        (503, {"message": "no"}, Overloaded),
    ],
    "mistral_conversations": [
        (400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model"}, NotFound),
        (401, {"detail": "Unauthorized"}, AuthRejected),
        (422, {"detail": [{"loc": ["body", "inputs"], "msg": "missing"}]}, Refused),
        (429, {"object": "error", "message": "no", "type": "rate_limited", "code": "1300"}, RateLimited),
        (503, {"object": "error", "message": "no", "type": "service_unavailable"}, Overloaded),
    ],
    "websearch": [],
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_the_error_body_of_the_vendor_decides(case: ProviderCase, stream: bool) -> None:
    table = BY_WORDS[case.dialect]
    # With `alt=sse` Google names its bare JSON an event stream.
    content_type = "text/event-stream" if case.dialect == "gemini" else "application/json"
    responses = [json_response(body, status, {"content-type": content_type}) for status, body, _ in table]
    outcomes = await errors(case, responses, stream=stream) if table else []
    for (status, body, kind), outcome in zip(table, outcomes, strict=True):
        assert type(outcome.raised) is kind, (status, body, outcome.raised)


def event(body: Json, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {dump_json(body)}\n\n"


def failed(code: str) -> str:
    response: Json = {"status": "failed", "error": {"code": code, "message": "no"}}
    return event({"type": "response.failed", "response": response}, "response.failed")


SPENT: Json = {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no"}
STOPPED: Json = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}

IN_STREAM: dict[str, list[tuple[str, Kind]]] = {
    "anthropic_messages": [(event(anthropic("overloaded_error"), "error"), Overloaded)],
    "openai_responses": [
        (event({"type": "error", "error": SPENT}, "error") + failed("insufficient_quota"), QuotaExhausted),
        (event({"type": "error", "code": "rate_limit_exceeded", "message": "no"}), RateLimited),
        (failed("server_error"), Overloaded),
    ],
    "openai_chat": [
        (event({"error": {"message": "no", "type": "server_error"}}), Overloaded),
        (event({"id": "1", "choices": [STOPPED], "error": {"code": 429, "message": "no"}}), RateLimited),
    ],
    "gemini": [(event(google(503, "UNAVAILABLE")), Overloaded)],
    "gemini_interactions": [
        (event({"event_type": "error", "error": {"code": "too_many_requests", "message": "no"}}), RateLimited)
    ],
    "cohere_chat": [
        (
            event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "no"}}, "message-end"),
            Overloaded,
        ),
        (event({"type": "message-end", "delta": {"finish_reason": "TIMEOUT"}}, "message-end"), TimedOut),
    ],
    "mistral_conversations": [
        (event({"type": "conversation.response.error", "message": "no", "code": 429}), RateLimited),
        (event({"type": "conversation.response.error", "message": "no", "code": 503}), Overloaded),
    ],
    "bedrock_converse": [
        (event({"message": "no"}, "throttlingException"), RateLimited),
        (event({"message": "no"}, "validationException"), Refused),
    ],
}


def on_wire(dialect: str, text: str) -> bytes:
    """Frames as the dialect frames them."""
    return as_binary(text.encode()) if dialect in BINARY else text.encode()


@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_an_error_at_the_beginning_of_a_stream_is_raised_once(case: ProviderCase) -> None:
    table = IN_STREAM[case.dialect]
    responses = [replace(text_response(text), body=on_wire(case.dialect, text)) for text, _ in table]
    for (text, kind), outcome in zip(table, await errors(case, responses, stream=True), strict=True):
        assert type(outcome.error) is kind, (text, outcome.error)
        assert len(outcome.ends) + (outcome.raised is not None) == 1


@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_an_error_inside_a_stream_keeps_the_text_before_it(case: ProviderCase) -> None:
    table = IN_STREAM[case.dialect]
    begun = encode_answer(case.dialect, [Started("1", "m"), TextDelta(0, "So far. ")]).stream
    begun = _until_text(case.dialect, begun, "So far. ")
    responses = [
        ScriptedResponse(
            headers={"content-type": "text/event-stream"},
            body=begun + on_wire(case.dialect, text),
            framing="chunked",
        )
        for text, _ in table
    ]
    for (text, kind), outcome in zip(table, await errors(case, responses, stream=True), strict=True):
        assert outcome.answer.text == "So far. "
        assert isinstance(outcome.events[-1], Failed)
        assert type(outcome.error) is kind, (text, outcome.error)
        assert len(outcome.ends) == 1


def _until_text(name: str, stream: bytes, text: str) -> bytes:
    """The events up to the one that completes a text."""
    frames = as_sse(stream) if name in BINARY else stream
    for end in re.finditer(rb"\r?\n\r?\n", frames):
        begun = frames[: end.end()]
        begun = as_binary(begun) if name in BINARY else begun
        if assemble(dialect(name).decoder().feed(begun)).text == text:
            return begun
    raise AssertionError(stream)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_a_successful_status_with_an_error_body_is_an_error(case: ProviderCase, stream: bool) -> None:
    table = [(body, kind) for _, body, kind in BY_WORDS[case.dialect] if isinstance(body, dict)]
    table = [(body, kind) for body, kind in table if "error" in body]
    responses = [json_response(body) for body, _ in table]
    for (body, kind), outcome in zip(table, await errors(case, responses, stream=stream), strict=True):
        assert outcome.error is not None, body
        assert outcome.answer.text == ""
        known = {RateLimited, AuthRejected, QuotaExhausted}
        if kind in known:
            assert type(outcome.error) is kind, (body, outcome.error)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_a_redirect_is_refused_with_advice(case: ProviderCase, status: int) -> None:
    moved = ScriptedResponse(status, {"location": "http://evil.example/steal"})
    async with world(case, moved) as here:
        outcome = await here.ask()
        assert type(outcome.raised) is Refused
        assert "base_url" in outcome.raised.message
        assert len(here.upstream.requests) == 1


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_an_error_is_known_by_its_status_even_if_its_body_never_ends(case: ProviderCase) -> None:
    hostile = [
        ScriptedResponse(401, body=b'{"error"', stall_at=4),
        ScriptedResponse(429, body=b'{"error"', cut_at=4),
        ScriptedResponse(503, body=b"x", repeat=b"y" * 65536),
    ]

    async with world(case, hostile) as here:
        here.deadlines = replace(here.deadlines, idle=0.1)
        kinds = [type((await here.ask()).raised) for _ in hostile]
        assert kinds == [AuthRejected, RateLimited, Overloaded]


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_a_very_long_explanation_is_cut(case: ProviderCase) -> None:
    body = json_response({"error": {"message": "x" * 100_000, "type": "t"}, "type": "error"}, 400)

    async with world(case, body) as here:
        error = (await here.ask()).raised
        assert error is not None
        assert len(str(error)) <= 2000


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_a_server_that_does_not_speak_http_is_reported_as_such(case: ProviderCase) -> None:
    outcome = (await errors(case, [ScriptedResponse(raw=b"SSH-2.0-OpenSSH_9.2\r\n")], stream=False))[0]
    assert type(outcome.raised) is UpstreamWireError


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


async def error_of(here: ProviderWorld) -> UpstreamError:
    error = (await here.ask()).raised
    assert isinstance(error, UpstreamError)
    return error


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_retry_headers_are_in_seconds_in_milliseconds_or_a_date(case: ProviderCase) -> None:
    async with world(case, [ScriptedResponse(429, headers) for headers, _ in HEADERS]) as here:
        here.clock = lambda: NOON_SECONDS
        for headers, expected in HEADERS:
            error = await error_of(here)
            assert isinstance(error, RateLimited)
            assert error.retry_after == expected, headers


def test_a_retry_date_is_relative_to_the_current_time() -> None:
    assert seconds_until({"retry-after": NOON}, NOON_SECONDS) == 0.0
    assert seconds_until({"retry-after": NOON}, NOON_SECONDS - 10) == 10.0


def google_retry_info(*details: Json) -> Json:
    return {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED", "details": list(details)}}


BODIES: list[tuple[str, Json, float]] = [
    (
        "gemini",
        google_retry_info({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}),
        48.0,
    ),
    (
        "gemini",
        google_retry_info({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}),
        34.4,
    ),
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
async def test_retry_delays_in_error_bodies_are_read(name: str, body: Json, expected: float) -> None:
    case = case_named(name)

    async with world(case, json_response(body, 429)) as here:
        assert (await error_of(here)).retry_after == pytest.approx(expected)


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_a_provider_may_declare_an_error_retryable(case: ProviderCase) -> None:
    table = [(503, "", "retry"), (503, "false", "next"), (409, "true", "retry"), (409, "", "stop")]

    responses = [
        ScriptedResponse(status, {"x-should-retry": word} if word else {}) for status, word, _ in table
    ]
    async with world(case, responses) as here:
        assert [reaction(await error_of(here)) for _ in table] == [expected for *_, expected in table]
