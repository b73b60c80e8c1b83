"""The open-loop load client against the scripted upstream."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.load import LoadPlan, LoadReport, Sample, main, send_load
from groundwire.testing.script import Script, json_response
from groundwire.testing.upstream import Upstream, answer

BODY = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
PATH = "/v1/chat/completions"


def test_times_are_regular_or_random_with_the_same_rate() -> None:
    plan = LoadPlan("http://127.0.0.1/", rate=100, seconds=20)
    regular = list(plan.due_times())
    assert regular[:3] == [0.0, 0.01, 0.02]
    random = list(replace(plan, seed=7).due_times())
    assert random == list(replace(plan, seed=7).due_times())
    assert random != list(replace(plan, seed=8).due_times())
    assert len(random) == pytest.approx(len(regular), rel=0.1)


async def test_requests_are_sent_although_none_is_answered() -> None:
    never = replace(answer("openai_chat", answer_events("Yes.")), delay=float("inf"))
    async with Upstream(never) as upstream:
        plan = LoadPlan(upstream.url + PATH, BODY, rate=100, seconds=0.1, timeout=1.0)
        report = await send_load(plan)
        assert len(upstream.requests) == len(report.samples) == 10
    assert report.outcomes == {"timeout": 10}
    assert report.percentiles("seconds") == {}


async def test_a_streamed_answer_is_read_to_its_end() -> None:
    async with Upstream(answer("openai_chat", answer_events("Yes."))) as upstream:
        plan = LoadPlan(upstream.url + PATH, BODY, {"Authorization": "Bearer k"}, rate=50, seconds=0.1)
        report = await send_load(plan)
        assert upstream.requests[0].headers["authorization"] == "Bearer k"
        assert upstream.requests[0].body == BODY
    assert report.outcomes == {"200": 5}
    assert set(report.percentiles("first_byte")) == {"p50", "p90", "p99", "p100"}


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_response_that_is_cut_off_is_incomplete(framing: str) -> None:
    cut = replace(json_response({"text": "x" * 1000}), cut_at=100, cut="fin", framing=framing)
    async with Upstream(cut) as upstream:
        report = await send_load(LoadPlan(upstream.url + "/", rate=10, seconds=0.1))
    assert report.outcomes == {"incomplete": 1}


async def test_a_closed_port_is_refused_and_too_many_at_once_are_skipped() -> None:
    async with Upstream(Script((), port_state="closed")) as upstream:
        report = await send_load(LoadPlan(upstream.url + "/", rate=10, seconds=0.1))
    assert report.outcomes == {"refused": 1}
    never = replace(json_response({}), delay=float("inf"))
    async with Upstream(never) as upstream:
        report = await send_load(LoadPlan(upstream.url, rate=100, seconds=0.1, timeout=0.5, most=4))
    assert (len(report.samples), report.skipped) == (4, 6)


def test_percentiles_are_of_the_answered_requests() -> None:
    samples = (*(Sample("200", seconds=n / 100) for n in range(1, 101)), Sample("timeout", seconds=30))
    report = LoadReport(samples)
    assert report.percentiles("seconds") == {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p100": 1.0}
    assert report.outcomes == {"200": 100, "timeout": 1}


async def test_the_program_prints_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:

    (tmp_path / "body.json").write_bytes(BODY)
    async with Upstream(json_response({})) as upstream:
        words = [
            upstream.url,
            "--body",
            str(tmp_path / "body.json"),
            "--header",
            "x-a: b",
            "--seconds",
            "0.1",
        ]
        assert await asyncio.to_thread(main, words) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"200": 1}
    assert await asyncio.to_thread(main, [upstream.url, "--seconds", "0.1"]) == 1
    with pytest.raises(SystemExit):
        main(["ftp://a.example"])
