"""Wrong keys: how many may be tried, by whom, and that nobody else feels it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import ConfigError, TurnedAway, UpstreamError
from groundwire.server import auth
from groundwire.server.asgi import AsgiMessage, HttpExchange
from groundwire.server.auth import (
    MAX_WRONG_KEYS,
    MAX_WRONG_LOGINS,
    THROTTLE_SECONDS,
    ClientAddresses,
    KeyThrottle,
)
from groundwire.server.keys import METRICS_KEY_NAME, KeyFile
from groundwire.server.response_writer import retry_after_header
from tests.faces.gateway.calling import LOCAL, gateway_in


def inbound_from(address: str, **headers: str) -> HttpExchange:
    """The head of a request from an address."""

    async def receive() -> AsgiMessage:
        return {"type": "http.request"}

    async def send(_: AsgiMessage) -> None:
        return None

    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope: dict[str, Any] = {"method": "GET", "path": "/v1/models", "headers": pairs, "client": (address, 1)}
    return HttpExchange(scope, receive, send)


def tried(guessing: KeyThrottle, address: str, count: int, first: int = 0) -> list[int]:
    """The statuses of so many different wrong keys."""
    found = []
    for number in range(first, first + count):
        try:
            guessing.add_key(address, f"key-{number}")
            found.append(401)
        except TurnedAway as error:
            found.append(error.status_hint)
    return found


def test_an_address_may_try_few_keys_in_a_minute() -> None:
    now = [0.0]
    guessing = KeyThrottle(lambda: now[0])
    assert tried(guessing, "192.0.2.1", 15) == [401] * MAX_WRONG_KEYS + [429] * (15 - MAX_WRONG_KEYS)
    assert tried(guessing, "192.0.2.2", 5, first=100) == [401] * 5
    now[0] = THROTTLE_SECONDS
    assert tried(guessing, "192.0.2.1", 5, first=200) == [401] * 5


def test_the_same_wrong_key_is_not_another_guess_but_has_its_limit() -> None:
    guessing = KeyThrottle(lambda: 0.0)
    for _ in range(auth.MAX_KEY_REPEATS):
        guessing.add_key("192.0.2.1", "old")
    assert tried(guessing, "192.0.2.1", MAX_WRONG_KEYS - 1) == [401] * (MAX_WRONG_KEYS - 1)
    with pytest.raises(TurnedAway) as refused:
        guessing.add_key("192.0.2.9", "old")
    assert refused.value.status_hint == 429


def test_logins_are_limited_by_address() -> None:
    guessing = KeyThrottle(lambda: 0.0)
    for _ in range(MAX_WRONG_LOGINS):
        guessing.add_login("192.0.2.1")
    with pytest.raises(TurnedAway) as refused:
        guessing.add_login("192.0.2.1")
    assert refused.value.retry_after == THROTTLE_SECONDS
    guessing.add_login("192.0.2.2")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_MAX_COUNTERS", 100)
    guessing = KeyThrottle(lambda: 0.0)
    for number in range(1000):
        guessing.add_key(f"10.0.{number // 250}.{number % 250}", f"key-{number}")
    assert len(guessing) <= 100


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("not an address", ""),
    ],
)
def test_clients_are_told_apart_by_what_they_cannot_choose(address: str, counted: str) -> None:
    assert ClientAddresses().client(inbound_from(address)) == counted


def test_only_trusted_proxies_say_who_the_client_is() -> None:
    addresses = ClientAddresses(["10.0.0.0/8", "::1"])
    told = {"x_forwarded_for": "203.0.113.9, 198.51.100.4, 10.0.0.2", "x_forwarded_proto": "https"}
    behind, stranger = inbound_from("10.0.0.1", **told), inbound_from("203.0.113.1", **told)
    assert addresses.client(behind) == "198.51.100.4"
    assert addresses.is_https(behind)
    assert addresses.client(stranger) == "203.0.113.1"
    assert not addresses.is_https(stranger)
    assert not ClientAddresses().is_https(behind)
    assert addresses.client(inbound_from("10.0.0.1", x_forwarded_for="junk, ,")) == "10.0.0.1"
    with pytest.raises(ConfigError):
        ClientAddresses(["proxy.example"])


async def _status(gateway: Any, headers: dict[str, str], path: str = "/v1/models", peer: str = "") -> int:
    pairs = [(name.encode(), text.encode()) for name, text in headers.items()]
    scope: dict[str, object] = {"type": "http", "method": "GET", "path": path, "headers": pairs}
    if peer:
        scope["client"] = (peer, 1)
    sent: list[Any] = []

    async def receive() -> AsgiMessage:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    await gateway(scope, receive, send)
    if sent[0]["status"] == 429:
        assert int(dict(sent[0]["headers"])[b"retry-after"]) >= 1
    return int(sent[0]["status"])


def test_guessing_is_limited_and_a_valid_key_is_never_locked_out(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)

    async def ask() -> tuple[list[int], list[int], int]:
        wrong = [
            await _status(gateway, {**LOCAL, "x-api-key": f"sk-gw-{n}"}, peer="192.0.2.1") for n in range(40)
        ]
        right = [await _status(gateway, {**LOCAL, "x-api-key": key}, peer="192.0.2.1") for _ in range(3)]
        return wrong, right, await _status(gateway, {**LOCAL, "x-api-key": "sk-gw-x"}, peer="192.0.2.2")

    assert asyncio.run(ask()) == ([401] * MAX_WRONG_KEYS + [429] * 30, [200] * 3, 401)


def test_metrics_have_a_key_of_their_own_except_on_this_machine(tmp_path: Path) -> None:
    config = Config(gateway=GatewaySettings(trusted_proxies=("127.0.0.1",)))
    gateway = gateway_in(tmp_path, config=config)
    assert asyncio.run(_status(gateway, LOCAL, "/metrics", "127.0.0.1")) == 200
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    scraper, _ = KeyFile(str(tmp_path)).create(METRICS_KEY_NAME, 0)
    far, here = "192.0.2.1", "127.0.0.1"
    wanted = [
        ({}, "/metrics", here, 401),
        ({"x-api-key": key}, "/metrics", here, 200),
        ({"x-api-key": key, "x-forwarded-for": far}, "/metrics", here, 401),
        ({"x-api-key": key}, "/metrics", far, 401),
        ({"x-api-key": scraper}, "/metrics", far, 200),
        ({"x-api-key": scraper}, "/v1/models", here, 401),
        ({"x-api-key": key}, "/v1/models", far, 200),
    ]
    for headers, path, peer, status in wanted:
        assert asyncio.run(_status(gateway, {**LOCAL, **headers}, path, peer)) == status, (
            headers,
            path,
            peer,
        )


@pytest.mark.parametrize(("wait", "told"), [(1e30, "86400"), (0.0, "1"), (2.6, "3")])
def test_the_wait_that_is_passed_on_is_bounded(wait: float, told: str) -> None:
    assert retry_after_header(UpstreamError("no", retry_after=wait)) == (("retry-after", told),)


@pytest.mark.parametrize("wait", [float("nan"), float("inf"), -5.0])
def test_a_wait_that_means_nothing_is_not_passed_on(wait: float) -> None:
    assert retry_after_header(UpstreamError("no", retry_after=wait)) == ()
