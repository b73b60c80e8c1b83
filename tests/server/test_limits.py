"""Limits: requests refused before they are read, what that costs, and the error response."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.dialects.json import JsonScan
from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery, TurnedAway
from groundwire.server import asgi
from groundwire.server.app import HttpApp
from groundwire.server.limits import (
    MAX_DEPTH,
    check_document,
    check_domains,
    check_query,
)
from tests.faces.gateway.asgi_client import (
    LOCAL,
    SMALLEST_REQUESTS,
    FixedBackend,
    app_in,
    post_json,
    send_request,
)
from tests.figures import Figures
from tests.growth import LINEAR, growth

HOSTILE: dict[str, tuple[Callable[[], bytes], int]] = {
    "a body beyond the limit": (lambda: b'{"a":"' + b"x" * (10 * 2**20) + b'"}', 413),
    "nested a little too deep": (lambda: b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", 400),
    "nested absurdly deep": (lambda: b"[" * 5_000_000, 400),
    "nested a thousand deep": (lambda: b'{"a":' * 1000 + b"1" + b"}" * 1000, 400),
    "an integer of 5,000 digits": (lambda: b'{"a":' + b"9" * 5000 + b"}", 400),
    "an exponent out of range": (lambda: b'{"max_tokens":1e999}', 400),
    "a million keys": (lambda: b"{" + b",".join(b'"%d":1' % n for n in range(900_000)) + b"}", 413),
    "a million empty lists": (lambda: b'{"a":[' + b",".join([b"[]"] * 1_000_000) + b"]}", 413),
    "not a number": (lambda: b'{"temperature":NaN}', 400),
    "no JSON": (lambda: b"model=auto&messages=x", 400),
    "half of it": (lambda: b'{"model":"auto","mess', 400),
    "nothing": (lambda: b"", 400),
    "a list": (lambda: b"[1,2,3]", 400),
    "a word": (lambda: b'"auto"', 400),
    "no text": (lambda: bytes(range(128, 256)) * 10, 400),
    "a million escapes": (lambda: b'{"a":"' + rb"\n" * 1_000_000 + b'"', 400),
    "a million quotes": (lambda: b'{"a":"' + rb"\"" * 1_000_000 + b"[" * 100 + b'"', 400),
}


@cache
def _body(what: str) -> bytes:
    return HOSTILE[what][0]()


@pytest.mark.parametrize("dialect", SMALLEST_REQUESTS)
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_bodies_are_refused_in_the_format_of_the_dialect(
    tmp_path: Path, dialect: str, what: str, figures: Figures
) -> None:
    gateway, status = app_in(tmp_path), HOSTILE[what][1]
    answer = post_json(gateway, SMALLEST_REQUESTS[dialect][0], _body(what))
    assert answer.status == status, answer.body[:300]
    assert isinstance(answer.json["error"]["message"], str)
    assert len(answer.body) < 1000
    assert isinstance(gateway.groundwire, FixedBackend)
    assert gateway.groundwire.requests == []
    figures.add("S16", "hostile bodies, all refused", 1, part=f"{dialect} {what}")


@pytest.mark.parametrize(
    "unit",
    [b"[", b"[]", b"[],", b'{"a":', b'"a":1,', b'"', rb"\n", rb"\"", b"\\", b'"[', b"def f(x: int):\n"],
)
def test_the_cost_of_scanning_a_body_is_linear(unit: bytes) -> None:
    def look(size: int) -> None:
        with suppress(ClientWireError, TurnedAway):
            check_document(b'{"a":[' + unit * (size // len(unit)))

    assert growth(look, 250_000) < LINEAR


@pytest.mark.parametrize("dialect", SMALLEST_REQUESTS)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-encoding": "gzip"}, 415),
        ({"content-encoding": "br"}, 415),
        ({"x-groundwire-hop": "1"}, 508),
        ({"x-groundwire-citations": "perhaps"}, 400),
    ],
)
def test_bodies_of_another_content_type_are_refused(
    tmp_path: Path, dialect: str, headers: dict[str, str], status: int
) -> None:
    path, body = SMALLEST_REQUESTS[dialect]
    answer = post_json(app_in(tmp_path), path, body, headers)
    assert answer.status == status
    assert "error" in answer.json


async def test_a_body_with_a_too_large_content_length_is_not_read(tmp_path: Path) -> None:
    head = {**LOCAL, "content-length": str(11 * 2**20)}
    answer = await send_request(app_in(tmp_path), "POST", "/v1/messages", head, b"")
    assert answer.status == 413
    assert answer.headers["connection"] == "close"


async def test_a_body_that_arrives_too_slowly_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi, "BODY_SECONDS", 0.2)
    gateway = app_in(tmp_path)
    sent: list[Any] = []

    async def receive() -> asgi.AsgiMessage:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: asgi.AsgiMessage) -> None:
        sent.append(message)

    scope: dict[str, object] = {
        "type": "http",
        "method": "POST",
        "path": "/v1/messages",
        "headers": [(b"host", b"localhost")],
    }
    await asyncio.wait_for(gateway(scope, receive, send), 20)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


def test_requests_beyond_the_concurrency_limit_are_refused(tmp_path: Path) -> None:
    gateway = app_in(tmp_path, config=Config(gateway=GatewaySettings(max_requests=3)))
    gateway.open_requests = 3
    for dialect, (path, body) in SMALLEST_REQUESTS.items():
        answer = post_json(gateway, path, body)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1"), dialect
    assert asyncio.run(send_request(gateway, "GET", "/healthz", LOCAL)).status == 200
    gateway.open_requests = 2
    assert post_json(gateway, *SMALLEST_REQUESTS["openai_chat"]).status == 200


async def test_pages_have_a_limit_too_and_health_has_none(tmp_path: Path) -> None:
    gateway = app_in(tmp_path, config=Config(gateway=GatewaySettings(max_requests=3)))
    for open_now, status in ((3, 200), (300, 503)):
        gateway.open_requests = open_now
        assert (await send_request(gateway, "GET", "/docs", LOCAL)).status == status
        assert (await send_request(gateway, "GET", "/healthz", LOCAL)).status == 200


def test_a_closing_gateway_refuses_all_requests(tmp_path: Path) -> None:
    gateway: HttpApp = app_in(tmp_path)
    gateway.draining = True
    for path, body in SMALLEST_REQUESTS.values():
        answer = post_json(gateway, path, body)
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) >= 1
    assert asyncio.run(send_request(gateway, "GET", "/readyz", LOCAL)).status == 503
    assert asyncio.run(send_request(gateway, "GET", "/healthz", LOCAL)).status == 200


def test_too_many_domains_are_refused_and_a_hundred_are_not(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    path, body = SMALLEST_REQUESTS["anthropic_messages"]

    def status_with_domains(count: int) -> int:
        domains = [f"site{n}.example" for n in range(count)]
        tool = {"type": "web_search_20250305", "name": "web_search", "allowed_domains": domains}
        return post_json(gateway, path, {**body, "tools": [tool]}).status

    assert (status_with_domains(100), status_with_domains(101)) == (200, 400)
    check_domains(["a.example"] * 100, [])
    with pytest.raises(InvalidArguments):
        check_domains([], ["a.example"] * 101)


def test_a_query_may_have_eight_kilobytes() -> None:
    check_query("x" * 8192)
    for long in ("x" * 8193, "ü" * 4097):
        with pytest.raises(InvalidQuery):
            check_query(long)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def test_the_scanned_depth_of_json_is_that_of_its_value() -> None:
    chance = random.Random(7)
    characters = ["[", "]", "{", "}", '"', "\\", "\n", "a", "ü", "\\\\", '\\"']

    def made(depth: int) -> object:
        kind = chance.randrange(3) if depth else 2
        if kind == 0:
            return [made(depth - 1) for _ in range(chance.randrange(3))]
        text = "".join(chance.choices(characters, k=chance.randrange(8)))
        return {text: made(depth - 1)} if kind == 1 else text

    for _ in range(500):
        value = made(chance.randrange(12))
        for escaped in (True, False):
            data = json.dumps(value, ensure_ascii=escaped).encode()
            assert JsonScan().feed(data).deepest == _depth(value)
            pieces = JsonScan()
            for start in range(0, len(data), step := chance.randrange(1, 5)):
                pieces.feed(data[start : start + step])
            assert pieces.deepest == _depth(value)


def test_large_requests_of_real_clients_are_accepted() -> None:
    code = "def f(x: int, y: list[int]) -> dict[str, int]:\n    return {'a': x, 'b': [y[0], 1]}\n" * 10_000
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    tools = [{"name": f"tool_{n}", "input_schema": schema} for n in range(200)]
    data = json.dumps({"tools": tools, "messages": [{"role": "user", "content": code}] * 4}).encode()
    check_document(data)
    check_document(b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}")
    with pytest.raises(ClientWireError):
        check_document(b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}")
    with pytest.raises(TurnedAway):
        check_document(b"1," * 300_000)
