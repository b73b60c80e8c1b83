"""Who may come in: Host, Origin and keys, on every route and in every spelling."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import ConfigError
from groundwire.server.auth import check_bind
from groundwire.server.keys import KeyFile
from tests.faces.gateway.calling import called, gateway_in

ANYWHERE = "0.0.0.0"  # noqa: S104  said, not bound
NAMED = Config(gateway=GatewaySettings(hosts=("gw.example",), origins=("https://app.example",)))

# Host, Origin (None: not sent), and what a gateway on 127.0.0.1 that is also known as gw.example says.
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
def test_only_the_hosts_and_origins_of_the_table_come_in(tmp_path: Path, path: str, with_key: bool) -> None:
    gateway = gateway_in(tmp_path, config=NAMED)
    key = KeyFile(str(tmp_path)).create("me", 0)[0] if with_key else "anything"

    async def ask() -> list[tuple[str, str | None, int]]:
        said = []
        for host, origin, _ in TABLE:
            head = {"host": host, "authorization": f"Bearer {key}"}
            answer = await called(gateway, "GET", path, head | ({} if origin is None else {"origin": origin}))
            shared = answer.headers.get("access-control-allow-origin")
            assert shared == (origin if origin == "https://app.example" else None)
            said.append((host, origin, answer.status))
        return said

    assert len(TABLE) >= 60
    assert asyncio.run(ask()) == list(TABLE)


def test_two_hosts_or_none_are_refused(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path)
    twice = [("host", "evil.example"), ("host", "localhost")]
    assert asyncio.run(called(gateway, "GET", "/healthz", twice)).status == 421
    assert asyncio.run(called(gateway, "GET", "/healthz", [])).status == 421
    origins = [("host", "localhost"), ("origin", "http://evil.example"), ("origin", "http://localhost")]
    assert asyncio.run(called(gateway, "GET", "/healthz", origins)).status == 403


def test_a_page_of_a_configured_origin_is_told_what_it_may_send_before_it_sends_it(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path, config=NAMED)
    head = {
        "host": "localhost",
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "Authorization, content-type",
    }
    answer = asyncio.run(called(gateway, "OPTIONS", "/v1/messages", head))
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    same = head | {"origin": "http://localhost"}
    assert asyncio.run(called(gateway, "OPTIONS", "/v1/messages", same)).status == 405


@pytest.mark.parametrize("host", [ANYWHERE, "::", "192.168.1.5", "gateway.internal", ""])
def test_without_keys_the_gateway_does_not_open_to_others(host: str) -> None:
    with pytest.raises(ConfigError, match="groundwire keys create"):
        check_bind(host, has_keys=False)
    check_bind(host, has_keys=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost"])
def test_on_this_machine_no_keys_are_needed(host: str) -> None:
    check_bind(host, has_keys=False)


def test_on_an_open_address_any_host_will_do_but_never_no_key(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path, host=ANYWHERE)
    head = {"host": "gateway.internal:8484", "authorization": "Bearer anything"}
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 401
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    head["authorization"] = f"Bearer {key}"
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 200


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("authorization", "Bearer {}"),
        ("authorization", "bearer  {}"),
        ("x-api-key", "{}"),
        ("x-goog-api-key", "{}"),
    ],
)
def test_a_key_is_taken_from_the_headers_of_every_vendor(tmp_path: Path, name: str, form: str) -> None:
    gateway = gateway_in(tmp_path)
    key, made = KeyFile(str(tmp_path)).create("me", 0)
    head = {"host": "localhost", name: form.format(key)}
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 200
    for wrong in (key[:-1], key + "x", key.upper(), made.fingerprint, made.id, "", key[::-1]):
        head[name] = form.format(wrong)
        assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 401


def test_a_key_beside_the_key_of_a_vendor_is_found(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    head = {"host": "localhost", "authorization": "Bearer of-a-vendor", "x-api-key": key}
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 200
    only_query = asyncio.run(called(gateway, "GET", f"/v1/models?key={key}", {"host": "localhost"}))
    assert only_query.status == 401


def test_a_revoked_key_is_refused_at_once_and_the_last_one_closes_the_gateway(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path)
    file = KeyFile(str(tmp_path))
    key, made = file.create("me", 0)
    head = {"host": "localhost", "x-api-key": key}
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 200
    file.revoke(made.id, 1)
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 401
    assert asyncio.run(called(gateway, "GET", "/v1/models", {"host": "localhost"})).status == 401


def test_a_file_of_keys_that_cannot_be_trusted_lets_nobody_in(tmp_path: Path) -> None:
    gateway = gateway_in(tmp_path)
    file = KeyFile(str(tmp_path))
    key, _ = file.create("me", 0)
    head = {"host": "localhost", "x-api-key": key}
    file.path.chmod(0o644)
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 401
    file.path.chmod(0o600)
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 200
    file.path.write_text("{")
    assert asyncio.run(called(gateway, "GET", "/v1/models", head)).status == 401
