"""Access control: Host, Origin and API keys on every route, client addresses, limits for wrong keys."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import ConfigError, TurnedAway, UpstreamError
from groundwire.model.access import (
    MEMBER_RIGHTS,
    OPERATOR_RIGHTS,
    KeyLimits,
    KeyRights,
    KeyScope,
    tenant_id,
)
from groundwire.server import auth
from groundwire.server.asgi import AsgiMessage, HttpExchange
from groundwire.server.auth import (
    MAX_WRONG_KEYS,
    MAX_WRONG_LOGINS,
    THROTTLE_SECONDS,
    AccessControl,
    ClientAddresses,
    KeyThrottle,
    check_bind,
)
from groundwire.server.keys import METRICS_KEY_NAME, KeyFile, access_keys, new_key
from groundwire.server.response_writer import retry_after_header
from groundwire.store.base import ApiKey
from tests.faces.gateway.asgi_client import LOCAL, app_in, send_request
from tests.figures import Figures

ANYWHERE = "0.0.0.0"  # noqa: S104  a configured value, not bound
NAMED = Config(gateway=GatewaySettings(hosts=("gw.example",), origins=("https://app.example",)))

# Host, Origin (None: not sent), and the status of a gateway on 127.0.0.1 that is also gw.example.
TABLE: tuple[tuple[str, str | None, int], ...] = (
    ("127.0.0.1:8484", None, 200),
    ("127.0.0.1", None, 200),
    ("127.0.0.1:1", None, 200),
    ("localhost:8484", None, 200),
    ("LOCALHOST:8484", None, 200),
    ("LocalHost", None, 200),
    ("[::1]:8484", None, 200),
    ("[::1]", None, 200),
    ("gw.example", None, 200),
    ("GW.Example:443", None, 200),
    ("", None, 421),
    (" ", None, 421),
    ("evil.example", None, 421),
    ("evil.example:8484", None, 421),
    ("localhost.evil.example", None, 421),
    ("evil-localhost", None, 421),
    ("localhost.", None, 421),
    ("127.0.0.1.evil.example", None, 421),
    ("127.0.0.1.", None, 421),
    ("127.1", None, 421),
    ("2130706433", None, 421),
    ("0x7f.1", None, 421),
    ("0.0.0.0:8484", None, 421),
    ("127.0.0.2", None, 421),
    ("::1", None, 421),
    ("[::1", None, 421),
    ("::1]", None, 421),
    ("[::]", None, 421),
    ("[::ffff:127.0.0.1]", None, 421),
    ("[::1%25lo]", None, 421),
    ("localhost:8484:8484", None, 421),
    ("localhost:", None, 421),
    ("localhost:http", None, 421),
    ("localhost:-1", None, 421),
    ("localhost:8484x", None, 421),
    ("localhost:888888", None, 421),
    ("user@localhost:8484", None, 421),
    ("localhost@evil.example", None, 421),
    ("localhost/?x=", None, 421),
    ("a/?x=", None, 421),
    ("localhost#evil", None, 421),
    ("localhost\\evil", None, 421),
    ("localhost,evil.example", None, 421),
    ("localhost evil.example", None, 421),
    ("http://localhost", None, 421),
    ("*", None, 421),
    ("l\xf6calhost", None, 421),
    ("gw.example.evil.example", None, 421),
    ("notgw.example", None, 421),
    ("localhost:8484", "http://localhost:8484", 200),
    ("localhost:8484", "HTTP://LOCALHOST:8484", 200),
    ("localhost:8484", "https://localhost:8484", 200),
    ("localhost:8484", "https://app.example", 200),
    ("localhost:8484", "null", 403),
    ("localhost:8484", "", 403),
    ("localhost:8484", "http://localhost:3000", 403),
    ("localhost:8484", "http://127.0.0.1:8484", 403),
    ("localhost:8484", "http://localhost", 403),
    ("localhost:8484", "http://evil.example", 403),
    ("localhost:8484", "http://localhost:8484.evil.example", 403),
    ("localhost:8484", "http://evil.example/http://localhost:8484", 403),
    ("localhost:8484", "http://user@localhost:8484", 403),
    ("localhost:8484", "https://app.example.evil.example", 403),
    ("localhost:8484", "https://notapp.example", 403),
    ("localhost:8484", "http://app.example", 403),
    ("localhost:8484", "https://app.example:444", 403),
    ("localhost:8484", "file://", 403),
    ("localhost:8484", "chrome-extension://abcdef", 403),
    ("[::1]:8484", "http://[::1]:8484", 200),
    ("[::1]:8484", "http://[::1]", 403),
    ("evil.example", "http://evil.example", 421),
)


@pytest.mark.parametrize("with_key", [False, True], ids=["no key needed", "key shown"])
@pytest.mark.parametrize("path", ["/healthz", "/v1/models"])
async def test_only_the_hosts_and_origins_of_the_table_are_accepted(
    tmp_path: Path, path: str, with_key: bool, figures: Figures
) -> None:
    gateway = app_in(tmp_path, config=NAMED)
    key = KeyFile(str(tmp_path)).create("me", 0)[0] if with_key else "anything"

    async def ask() -> list[tuple[str, str | None, int]]:
        responses = []
        for host, origin, _ in TABLE:
            head = {"host": host, "authorization": f"Bearer {key}"}
            answer = await send_request(
                gateway, "GET", path, head | ({} if origin is None else {"origin": origin})
            )
            shared = answer.headers.get("access-control-allow-origin")
            assert shared == (origin if origin == "https://app.example" else None)
            responses.append((host, origin, answer.status))
        return responses

    assert len(TABLE) >= 60
    assert await ask() == list(TABLE)
    figures.add("S10", "hosts and origins, all as in the table", len(TABLE), part=f"{path} {with_key}")


async def test_two_hosts_or_none_are_refused(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    twice = [("host", "evil.example"), ("host", "localhost")]
    assert (await send_request(gateway, "GET", "/healthz", twice)).status == 421
    assert (await send_request(gateway, "GET", "/healthz", [])).status == 421
    origins = [("host", "localhost"), ("origin", "http://evil.example"), ("origin", "http://localhost")]
    assert (await send_request(gateway, "GET", "/healthz", origins)).status == 403


async def test_a_preflight_of_a_configured_origin_gets_the_allowed_methods_and_headers(
    tmp_path: Path,
) -> None:
    gateway = app_in(tmp_path, config=NAMED)
    head = {
        "host": "localhost",
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "Authorization, content-type",
    }
    answer = await send_request(gateway, "OPTIONS", "/v1/messages", head)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    same = head | {"origin": "http://localhost"}
    assert (await send_request(gateway, "OPTIONS", "/v1/messages", same)).status == 405


@pytest.mark.parametrize("host", [ANYWHERE, "::", "192.168.1.5", "gateway.internal", ""])
def test_without_keys_the_gateway_does_not_listen_on_a_public_address(host: str) -> None:
    with pytest.raises(ConfigError, match="groundwire keys create"):
        check_bind(host, has_keys=False)
    check_bind(host, has_keys=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    check_bind(host, has_keys=False)


async def test_on_a_public_address_any_host_is_accepted_but_a_key_is_required(tmp_path: Path) -> None:
    gateway = app_in(tmp_path, host=ANYWHERE)
    head = {"host": "gateway.internal:8484", "authorization": "Bearer anything"}
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 401
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    head["authorization"] = f"Bearer {key}"
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 200


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("authorization", "Bearer {}"),
        ("authorization", "bearer  {}"),
        ("x-api-key", "{}"),
        ("x-goog-api-key", "{}"),
    ],
)
async def test_a_key_is_accepted_in_the_header_of_every_vendor(tmp_path: Path, name: str, form: str) -> None:
    gateway = app_in(tmp_path)
    key, made = KeyFile(str(tmp_path)).create("me", 0)
    head = {"host": "localhost", name: form.format(key)}
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 200
    for wrong in (key[:-1], key + "x", key.upper(), made.fingerprint, made.id, "", key[::-1]):
        head[name] = form.format(wrong)
        assert (await send_request(gateway, "GET", "/v1/models", head)).status == 401


async def test_a_key_next_to_the_key_of_a_vendor_is_found(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    head = {"host": "localhost", "authorization": "Bearer of-a-vendor", "x-api-key": key}
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 200
    only_query = await send_request(gateway, "GET", f"/v1/models?key={key}", {"host": "localhost"})
    assert only_query.status == 401


async def test_a_revoked_key_is_refused_at_once_and_the_last_one_closes_the_gateway(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    file = KeyFile(str(tmp_path))
    key, made = file.create("me", 0)
    head = {"host": "localhost", "x-api-key": key}
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 200
    file.revoke(made.id, 1)
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 401
    assert (await send_request(gateway, "GET", "/v1/models", {"host": "localhost"})).status == 401


async def test_with_a_key_file_that_cannot_be_trusted_every_request_is_refused(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    file = KeyFile(str(tmp_path))
    key, _ = file.create("me", 0)
    head = {"host": "localhost", "x-api-key": key}
    file.path.chmod(0o644)
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 401
    file.path.chmod(0o600)
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 200
    file.path.write_text("{")
    assert (await send_request(gateway, "GET", "/v1/models", head)).status == 401


def exchange_from(address: str, **headers: str) -> HttpExchange:
    """A request from a client address."""

    async def receive() -> AsgiMessage:
        return {"type": "http.request"}

    async def send(_: AsgiMessage) -> None:
        return None

    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope: dict[str, Any] = {"method": "GET", "path": "/v1/models", "headers": pairs, "client": (address, 1)}
    return HttpExchange(scope, receive, send)


def tried(guessing: KeyThrottle, address: str, count: int, first: int = 0) -> list[int]:
    """The statuses of requests with different wrong keys."""
    found = []
    for number in range(first, first + count):
        try:
            guessing.add_key(address, f"key-{number}")
            found.append(401)
        except TurnedAway as error:
            found.append(error.status_hint)
    return found


def test_an_address_may_try_few_keys_in_a_minute(figures: Figures) -> None:
    now = [0.0]
    guessing = KeyThrottle(lambda: now[0])
    assert tried(guessing, "192.0.2.1", 15) == [401] * MAX_WRONG_KEYS + [429] * (15 - MAX_WRONG_KEYS)
    assert tried(guessing, "192.0.2.2", 5, first=100) == [401] * 5
    now[0] = THROTTLE_SECONDS
    assert tried(guessing, "192.0.2.1", 5, first=200) == [401] * 5
    figures.add("S17", "wrong keys that an address may try in a minute", MAX_WRONG_KEYS)


def test_a_repeated_wrong_key_counts_once_but_has_its_own_limit() -> None:
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
def test_clients_are_distinguished_by_what_they_cannot_choose(address: str, counted: str) -> None:
    assert ClientAddresses().client(exchange_from(address)) == counted


def test_only_trusted_proxies_set_the_client_address() -> None:
    addresses = ClientAddresses(["10.0.0.0/8", "::1"])
    forwarded = {"x_forwarded_for": "203.0.113.9, 198.51.100.4, 10.0.0.2", "x_forwarded_proto": "https"}
    proxied, direct = exchange_from("10.0.0.1", **forwarded), exchange_from("203.0.113.1", **forwarded)
    assert addresses.client(proxied) == "198.51.100.4"
    assert addresses.is_https(proxied)
    assert addresses.client(direct) == "203.0.113.1"
    assert not addresses.is_https(direct)
    assert not ClientAddresses().is_https(proxied)
    assert addresses.client(exchange_from("10.0.0.1", x_forwarded_for="junk, ,")) == "10.0.0.1"
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


async def test_guessing_is_limited_and_a_valid_key_is_never_locked_out(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)

    async def ask() -> tuple[list[int], list[int], int]:
        wrong = [
            await _status(gateway, {**LOCAL, "x-api-key": f"sk-gw-{n}"}, peer="192.0.2.1") for n in range(40)
        ]
        right = [await _status(gateway, {**LOCAL, "x-api-key": key}, peer="192.0.2.1") for _ in range(3)]
        return wrong, right, await _status(gateway, {**LOCAL, "x-api-key": "sk-gw-x"}, peer="192.0.2.2")

    assert await ask() == ([401] * MAX_WRONG_KEYS + [429] * 30, [200] * 3, 401)


async def test_metrics_have_their_own_key_except_on_loopback(tmp_path: Path) -> None:
    config = Config(gateway=GatewaySettings(trusted_proxies=("127.0.0.1",)))
    gateway = app_in(tmp_path, config=config)
    assert await _status(gateway, LOCAL, "/metrics", "127.0.0.1") == 200
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
        assert await _status(gateway, {**LOCAL, **headers}, path, peer) == status, (
            headers,
            path,
            peer,
        )


@pytest.mark.parametrize(("wait", "header"), [(1e30, "86400"), (0.0, "1"), (2.6, "3")])
def test_the_retry_delay_that_is_passed_on_is_bounded(wait: float, header: str) -> None:
    assert retry_after_header(UpstreamError("no", retry_after=wait)) == (("retry-after", header),)


@pytest.mark.parametrize("wait", [float("nan"), float("inf"), -5.0])
def test_an_invalid_retry_delay_is_not_passed_on(wait: float) -> None:
    assert retry_after_header(UpstreamError("no", retry_after=wait)) == ()


# Expiry, rights and bursts


def _access(records: list[ApiKey], now: list[float]) -> AccessControl:
    return AccessControl("127.0.0.1", lambda: access_keys(records), clock=lambda: now[0])


def _presenting(key: str) -> HttpExchange:
    async def receive() -> AsgiMessage:
        raise NotImplementedError

    async def send(_: AsgiMessage) -> None:
        raise NotImplementedError

    headers = [(b"host", b"127.0.0.1"), (b"x-api-key", key.encode())]
    return HttpExchange({"method": "GET", "path": "/", "headers": headers}, receive, send)


def test_a_key_is_refused_from_the_second_of_its_expiry_on() -> None:
    key, record = new_key("a", 0, (), KeyRights(expires="2027-01-15T08:00:00Z"))
    now = [1_799_999_999.0]
    access = _access([record], now)
    assert access.check_key(_presenting(key)) == record.fingerprint
    assert access.is_valid(record.fingerprint)
    now[0] = 1_800_000_000.0
    with pytest.raises(TurnedAway, match="expired") as caught:
        access.check_key(_presenting(key))
    assert (caught.value.status_hint, caught.value.code) == (401, "EXPIRED_KEY")
    assert not access.is_valid(record.fingerprint)
    with pytest.raises(TurnedAway):
        access.check_login(_presenting(key), key)


def test_an_expired_key_of_the_metrics_is_refused_too() -> None:
    key, record = new_key(METRICS_KEY_NAME, 0, (), KeyRights(expires="2027-01-15T08:00:00Z"))
    access = _access([record], [1_800_000_000.0])
    with pytest.raises(TurnedAway, match="expired"):
        access.check_metrics_key(_presenting(key))


def test_a_key_that_is_restricted_to_other_paths_does_not_open_the_metrics() -> None:
    free, narrow = (
        new_key("", 0, (), KeyRights(scope=KeyScope(routes=routes))) for routes in ((), ("messages",))
    )
    access = _access([free[1], narrow[1]], [0.0])
    assert access.check_metrics_key(_presenting(free[0])) == free[1].fingerprint
    with pytest.raises(TurnedAway):
        access.check_metrics_key(_presenting(narrow[0]))


def test_the_owner_of_a_key_is_its_fingerprint_unless_it_has_a_name() -> None:
    plain, owned = (new_key("", 0, (), rights)[1] for rights in (KeyRights(), KeyRights(owner="acme")))
    access = _access([plain, owned], [0.0])
    assert access.owner(plain.fingerprint) == plain.fingerprint
    assert access.owner(owned.fingerprint) == "owner:acme"
    # An owner that is called like a fingerprint is another owner.
    assert tenant_id("", KeyRights(owner=plain.fingerprint)) != plain.fingerprint


def test_everybody_is_the_operator_only_while_no_key_exists() -> None:
    assert _access([], [0.0]).rights("") == OPERATOR_RIGHTS
    _, record = new_key("", 0, ())
    access = _access([record], [0.0])
    assert access.rights("") == MEMBER_RIGHTS
    assert access.rights("unknown") == MEMBER_RIGHTS
    assert not access.has_role("", "admin")


def test_the_limits_of_a_key_are_part_of_its_scope() -> None:
    scope = KeyScope(limits=KeyLimits(requests_per_minute=5))
    _, record = new_key("", 0, (), KeyRights(scope=scope))
    access = _access([record], [0.0])
    assert access.scope(record.fingerprint).limits.requests_per_minute == 5
    assert access.scope("other") == KeyScope()


def test_a_burst_is_reported_once_a_window() -> None:
    now = [0.0]
    seen: list[tuple[str, str]] = []
    throttle = KeyThrottle(lambda: now[0], lambda what, address: seen.append((what, address)))

    def attack() -> None:
        for number in range(3 * MAX_WRONG_KEYS):
            with suppress(TurnedAway):
                throttle.add_login("a")
            with suppress(TurnedAway):
                throttle.add_key("b", f"k{number}")

    attack()
    assert sorted(seen) == [("keys", "b"), ("logins", "a")]
    now[0] = THROTTLE_SECONDS
    attack()
    assert len(seen) == 4
