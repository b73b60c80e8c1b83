"""Metrics: text format, histograms, labels, access; values of several workers."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.model.value import replace
from groundwire.server.app import AccessRecord
from groundwire.server.keys import KeyFile
from groundwire.server.metrics import BUCKETS, Metrics
from tests.faces.gateway.asgi_client import LOCAL, SMALLEST_REQUESTS, app_in, post_json, send_request

pytestmark = pytest.mark.server

RECORD = AccessRecord("POST", "/v1/messages", 200, 0.3, "id-1", "anthropic_messages", "gemini", "done", "")
_SAMPLE = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)*\})? [0-9.e+-]+')


def test_metrics_follow_the_text_format_of_prometheus(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    for path, body in SMALLEST_REQUESTS.values():
        post_json(gateway, path, body)
    post_json(gateway, "/v1/messages", b"[]")
    text = asyncio.run(send_request(gateway, "GET", "/metrics", LOCAL)).body.decode()
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or _SAMPLE.fullmatch(line), line
    wanted = (
        'groundwire_requests_total{dialect="gemini",outcome="done",path="/v1beta/models/{model}:generateContent",'
        'provider="scripted",status="200"} 1.0'
    )
    assert wanted in text or wanted.replace("scripted", "") in text
    assert 'outcome="INVALID_REQUEST_BODY",path="/v1/messages",provider="",status="400"} 1.0' in text
    assert "groundwire_open_requests 1.0" in text.splitlines()


def test_a_histogram_adds_up() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.3, 0.3, 1000.0):
        metrics.observe(replace(RECORD, seconds=seconds))
    lines = [line for line in metrics.text(0).splitlines() if "_bucket" in line]
    counts = [float(line.rpartition(" ")[2]) for line in lines]
    assert len(counts) == len(BUCKETS) + 1
    assert counts == sorted(counts)
    assert (counts[0], counts[-2], counts[-1]) == (2, 4, 5)
    assert 'groundwire_request_seconds_count{dialect="anthropic_messages"} 5.0' in metrics.text(0)


def test_costs_are_summed_and_unknown_ones_counted() -> None:
    metrics = Metrics()
    for usd in (0.25, 0.5, 0.0, None):
        metrics.count_cost("openai", "gpt-5.5", usd)
    lines = metrics.text(0).splitlines()
    assert 'groundwire_cost_usd_total{model="gpt-5.5",provider="openai"} 0.75' in lines
    assert 'groundwire_unpriced_answers_total{model="gpt-5.5",provider="openai"} 1.0' in lines


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.observe(replace(RECORD, provider='a"b\\c\nd'))
    sample = next(
        line for line in metrics.text(0).splitlines() if line.startswith("groundwire_requests_total")
    )
    assert r'provider="a\"b\\c\nd"' in sample
    assert _SAMPLE.fullmatch(sample)


async def test_metrics_need_a_key_if_keys_exist(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    KeyFile(str(tmp_path)).create("me", 0)
    assert (await send_request(gateway, "GET", "/metrics", LOCAL)).status == 401


def test_bucket_bounds_are_written_without_a_trailing_zero() -> None:
    metrics = Metrics()
    metrics.observe(RECORD)
    bounds = re.findall(r'le="([^"]+)"', metrics.text(0))
    assert bounds == [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]


_WORKERS = """
import os, sys
from groundwire.server.metrics import Metrics, mark_worker_dead, share_metrics
from tests.server.test_metrics import RECORD

share_metrics(sys.argv[1])
worker = os.fork()
metrics = Metrics()
metrics.observe(RECORD)
metrics.set_open_requests(5 if worker == 0 else 1)
if worker == 0:
    os._exit(0)
os.waitpid(worker, 0)
print(metrics.text(1))
mark_worker_dead(worker)
print(metrics.text(1))
"""


def test_counters_of_a_dead_worker_stay_and_its_open_requests_do_not(tmp_path: Path) -> None:
    text = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _WORKERS, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r"^groundwire_open_requests (\S+)", text, re.MULTILINE) == ["6.0", "1.0"]
    assert re.findall(r"groundwire_requests_total{[^}]*} (\S+)", text) == ["2.0", "2.0"]
    assert re.findall(r"groundwire_request_seconds_count{[^}]*} (\S+)", text) == ["2.0", "2.0"]
    assert 'le="0.5"} 2.0' in text


def test_the_library_is_not_imported_before_metrics_are_needed() -> None:
    code = "import sys, groundwire.server.app; print('prometheus_client' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"
