"""The log and the request log file: a record for each request, never its content, never a key."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.credentials.redact import Redactor
from groundwire.errors import ConfigError
from groundwire.server.access_log import RequestLog, set_up_logging
from groundwire.server.app import HttpApp
from groundwire.server.keys import KeyFile
from tests.faces.gateway.asgi_client import LOCAL, SMALLEST_REQUESTS, app_in, post_json, send_request


@pytest.fixture(autouse=True)
def _loggers_as_they_were() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_every_request_is_one_line_of_json_without_content_or_key(tmp_path: Path) -> None:
    out = io.StringIO()
    set_up_logging("info", out, Redactor().redact)
    gateway = app_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    path, body = SMALLEST_REQUESTS["anthropic_messages"]
    request_body = json.dumps(body).replace("q?", "What about my-secret-question?").encode()
    post_json(gateway, path, request_body, {"x-api-key": key})
    post_json(gateway, path, request_body, {"x-api-key": "sk-wrong-0123456789"})
    asyncio.run(send_request(gateway, "GET", "/nothing/here?token=abcdefgh", LOCAL))
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(item["path"], item["status"], item["outcome"]) for item in records] == [
        ("/v1/messages", 200, "done"),
        ("/v1/messages", 401, "INVALID_KEY"),
        ("", 404, "NOT_FOUND"),
    ]
    assert records[0]["dialect"] == "anthropic_messages"
    assert len(records[0]["key"]) == 8
    for secret in ("my-secret-question", key[6:14], "sk-wrong", "abcdefgh"):
        assert secret not in out.getvalue()


def test_an_unexpected_error_is_logged_redacted_and_not_sent(tmp_path: Path) -> None:
    out = io.StringIO()
    redactor = Redactor()
    redactor.add("canary-secret-0123456789")
    set_up_logging("warning", out, redactor.redact)
    gateway: HttpApp = app_in(tmp_path)

    def broken() -> dict[str, bool]:
        raise RuntimeError("Authorization: Bearer canary-secret-0123456789")

    gateway.groundwire.usable = broken  # type: ignore[method-assign]
    answer = post_json(gateway, *SMALLEST_REQUESTS["openai_chat"])
    assert answer.status == 500
    assert b"canary" not in answer.body
    record = json.loads(out.getvalue())
    assert "RuntimeError" in record["trace"]
    assert answer.headers["x-request-id"] in record["message"]
    assert "canary-secret" not in out.getvalue()


@pytest.mark.parametrize(
    "attack", ["\r\n", "\n", "\x1b[2J", "\x1b]52;c;eA==\x07", "\x9b2J", "\x08\x08", "\x00"]
)
def test_no_request_writes_control_characters_or_a_second_line(tmp_path: Path, attack: str) -> None:
    out = io.StringIO()
    set_up_logging("info", out, Redactor().redact)
    path = tmp_path / "requests.jsonl"
    gateway = app_in(tmp_path, config=Config(gateway=GatewaySettings(request_log=str(path))))
    forged = f'x{attack}{{"message": "forged"}}'
    head = {**LOCAL, "user-agent": forged, "x-request-id": forged, "x-api-key": forged}
    asyncio.run(send_request(gateway, "GET", f"/nothing/{forged}", head))
    body = json.dumps({**SMALLEST_REQUESTS["openai_chat"][1], "model": forged}).encode()
    post_json(gateway, "/v1/chat/completions", body, {"user-agent": forged})
    logging.getLogger("groundwire").warning("the provider answered %s", forged)
    for text, count in ((out.getvalue(), 3), (path.read_text("utf-8"), 2)):
        lines = text.split("\n")[:-1]
        assert len([json.loads(line) for line in lines]) == count
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for line in lines for char in line)


def test_at_level_warning_requests_are_not_logged(tmp_path: Path) -> None:
    out = io.StringIO()
    set_up_logging("warning", out, str)
    post_json(app_in(tmp_path), *SMALLEST_REQUESTS["openai_chat"])
    assert out.getvalue() == ""


def test_the_request_log_is_a_private_file_and_can_be_rotated(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    gateway = app_in(tmp_path, config=Config(gateway=GatewaySettings(request_log=str(path))))
    post_json(gateway, *SMALLEST_REQUESTS["gemini"])
    path.rename(tmp_path / "old.jsonl")
    post_json(gateway, *SMALLEST_REQUESTS["openai_chat"])
    post_json(gateway, *SMALLEST_REQUESTS["openai_responses"])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["dialect"] for line in lines] == ["openai_chat", "openai_responses"]
    assert (
        json.loads((tmp_path / "old.jsonl").read_text())["path"] == "/v1beta/models/{model}:generateContent"
    )
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(ConfigError, match="request_log"):
        RequestLog(str(tmp_path / "missing" / "x"), lambda: 0.0)


def test_nothing_is_written_about_requests_unless_it_is_configured(tmp_path: Path) -> None:
    post_json(app_in(tmp_path), *SMALLEST_REQUESTS["openai_chat"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gateway.secret"]
