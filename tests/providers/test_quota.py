"""Rate limits of providers: read from the headers of their responses, shown in health and metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.faces.cli.output import SearchQuestion, as_json
from groundwire.model import Answer
from groundwire.model.value import replace
from groundwire.providers.quota import Quota, QuotaBoard, read_quota
from groundwire.testing.answers import answer_events
from groundwire.testing.script import json_response
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.raw import fetch, request_of
from tests.faces.gateway.serving import provider_at, serving

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "4000",
    "anthropic-ratelimit-requests-remaining": "3999",
    "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:30Z",
    "anthropic-ratelimit-input-tokens-remaining": "79000",
}
OPENAI = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-remaining-tokens": "29999",
    "x-ratelimit-reset-tokens": "1h6m0.5s",
}


def test_the_headers_of_vendors_are_read() -> None:
    assert read_quota(ANTHROPIC, NOW) == (
        Quota("requests", 3999, 4000, 30.0),
        Quota("input-tokens", 79000),
    )
    assert read_quota(OPENAI, NOW) == (
        Quota("requests", 499, 500, 0.12),
        Quota("tokens", 29999, None, 3960.5),
    )


@pytest.mark.parametrize("number", ["", "-1", "many", "1e9", "٣", "9" * 40])
@pytest.mark.parametrize(
    "reset", ["", "-1", "soon", "2027-01-15T08:00:30", "9" * 30 + "d", "9999-01-01T00:00:00Z"]
)
def test_nonsense_is_ignored(number: str, reset: str) -> None:
    assert read_quota({"x-ratelimit-remaining-requests": number}, NOW) == ()
    known = read_quota({"x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": reset}, NOW)
    assert known == (Quota("requests", 7),)


def test_what_was_reported_ages_until_it_is_reset() -> None:
    now = [NOW]
    board = QuotaBoard(lambda: now[0])
    board.record("a", {"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "10s"})
    now[0] += 4
    assert board.of("a") == (Quota("requests", 3, None, 6.0),)
    now[0] += 7
    assert board.of("a") == board.of("b") == ()


def test_recorded_headers_are_read(recordings: Path) -> None:
    heads = [
        json.loads(path.read_text()).get("response_headers", {}) for path in recordings.rglob("*.meta.json")
    ]
    written = [
        head["x-ratelimit-remaining-tokens"] for head in heads if "x-ratelimit-remaining-tokens" in head
    ]
    read = [quota for head in heads for quota in read_quota(head, NOW) if quota.kind == "tokens"]
    assert [str(quota.remaining) for quota in read] == [text for text in written if text.isdigit()]
    assert len(read) >= 5
    assert all(quota.reset is not None and quota.limit for quota in read)


@pytest.mark.server
async def test_the_gateway_knows_the_limits_and_waits_of_its_providers() -> None:
    told = replace(
        answer("openai_chat", answer_events("Yes.")),
        headers={"content-type": "text/event-stream", **OPENAI, "x-ratelimit-reset-requests": "1h"},
    )
    busy = json_response({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, 429)
    busy = replace(busy, headers={**busy.headers, "retry-after": "77"})
    async with (
        Upstream((told, busy)) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
    ):
        data = request_of("openai_chat", "mine/m", stream=True)
        assert (await fetch(here.url, data)).status == 200
        assert [quota.remaining for quota in here.groundwire.health()["mine"].quotas] == [499, 29999]
        metrics = await fetch(
            here.url, b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
        )
        assert b'groundwire_provider_remaining{kind="tokens",provider="mine"} 29999.0' in metrics.body
        assert (await fetch(here.url, data)).status == 429
        health = here.groundwire.health()["mine"]
        assert health.error == "UPSTREAM_RATE_LIMITED"
        assert health.retry_after is not None
        assert 70 < health.retry_after <= 77


def test_the_json_of_an_answer_has_the_limits_of_its_provider() -> None:
    question = SearchQuestion("how long?", "mine")
    assert "rate_limits" not in json.loads(as_json(Answer(), question))
    written = json.loads(as_json(Answer(), question, [Quota("requests", 3, 10, 6.0)]))
    assert written["rate_limits"] == [{"kind": "requests", "remaining": 3, "limit": 10, "reset": 6.0}]
