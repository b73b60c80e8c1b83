"""The scripted upstream on its own: script files, its command line, its log."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundwire.errors import ConfigError
from groundwire.model import Finished, Started, TextDelta, assemble
from groundwire.model.json import encode
from groundwire.testing.script import Dribble, ScriptedResponse, load_script
from groundwire.testing.upstream import main

pytestmark = pytest.mark.server

FULL = {
    "port_state": "open",
    "responses": [{"status": 404}],
    "paths": {
        "/v1/messages": [
            {"status": 529, "headers": {"Retry-After": "1.5"}, "json": {"type": "error"}},
            {"answer": {"dialect": "anthropic_messages", "text": "Yes.", "sources": ["https://a.example"]}},
        ],
        "/faults": [
            {"sse": "data: 1\n\n", "stall_at": 3, "delay": 0.5, "dribble": [2, 0.1]},
            {"text": "hello", "cut_at": 2, "cut": "rst", "framing": "close"},
            {"base64": "AAEC", "repeat": ": ping\n\n", "every": 1},
            {"raw": "not HTTP"},
        ],
    },
}


def test_a_script_file_can_express_every_script(tmp_path: Path) -> None:
    script = load_script(json.dumps(FULL), tmp_path)
    assert script.responses == (ScriptedResponse(404),)
    refused, answered = script.paths["/v1/messages"]
    assert refused.status == 529
    assert refused.headers == {"content-type": "application/json", "retry-after": "1.5"}
    assert b"Yes." in answered.body
    assert b"https://a.example" in (answered.stream or b"")
    stall, cut, endless, raw = script.paths["/faults"]
    assert (stall.body, stall.stall_at, stall.delay) == (b"data: 1\n\n", 3, 0.5)
    assert stall.dribble == Dribble(2, 0.1)
    assert (cut.body, cut.cut_at, cut.cut, cut.framing) == (b"hello", 2, "rst", "close")
    assert (endless.body, endless.repeat, endless.every) == (b"\0\1\2", b": ping\n\n", 1)
    assert raw.raw == b"not HTTP"


def test_a_body_can_come_from_a_file_next_to_the_script(tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(b"data: \xe2\x80\xa8\r\n\r\n")
    (response,) = load_script('{"responses": [{"file": "a.sse"}]}', tmp_path).responses
    assert response.body == b"data: \xe2\x80\xa8\r\n\r\n"
    assert response.headers["content-type"] == "text/event-stream"


def test_an_answer_can_be_given_as_events(tmp_path: Path) -> None:
    events = [encode(Started("1", "m")), encode(TextDelta(0, "Hi.")), encode(Finished())]
    body = {"responses": [{"answer": {"dialect": "websearch", "events": events}}]}
    (response,) = load_script(json.dumps(body), tmp_path).responses
    assert "Hi." in json.loads(response.body)["llmContent"]
    assert assemble([TextDelta(0, "Hi.")]).text == "Hi."


def test_the_script_in_the_documentation_can_be_served(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    (text,) = re.findall(r"```json script\n(.*?)```", page, re.DOTALL)
    (tmp_path / "recording.sse").write_text("data: 1\n\n")
    script = load_script(text, tmp_path)
    assert [response.status for response in script.paths["/v1/messages"]] == [529, 200, 200]
    assert script.paths["/v1/messages"][1].stall_at == 200


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "malformed JSON"),
        ("[]", "expected an object"),
        ('{"respones": []}', "unknown: respones"),
        ('{"responses": {}}', "$.responses: expected a list"),
        ('{"responses": [{"status": "200"}]}', "$.responses[0].status: expected int"),
        ('{"responses": [{"json": 1, "text": "a"}]}', "one body is enough"),
        ('{"responses": [{"dribble": [0, 1]}]}', "$.responses[0].dribble"),
        ('{"responses": [{"file": "missing.json"}]}', "missing.json"),
        ('{"responses": [{"base64": "?"}]}', "cannot be used"),
        ('{"responses": [{"answer": {"dialect": "klingon"}}]}', "klingon"),
        ('{"responses": [{"answer": {"dialect": "gemini", "events": [{"type": "X"}]}}]}', "expected one of"),
        ('{"port_state": "ajar"}', "$.port_state"),
    ],
)
def test_an_invalid_script_is_reported_with_its_position(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_script(text, tmp_path)
    assert complaint in caught.value.message


@contextmanager
def serving(script: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "groundwire.testing.upstream", "--script", str(script), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()
            process.wait(5)


def test_the_command_prints_its_address_serves_and_stops_on_a_signal(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"responses": [{"json": {"ok": true}}]}')
    log = tmp_path / "log.jsonl"
    with serving(script, "--log", str(log)) as (address, process):
        assert address.startswith("http://127.0.0.1:")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(f"{address}/a", b'{"q": 1}', {"x-key": "k"})  # noqa: S310
        with opener.open(request, timeout=5) as response:
            assert json.load(response) == {"ok": True}
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    (line,) = log.read_text().splitlines()
    logged = json.loads(line)
    assert (logged["method"], logged["target"], logged["status"]) == ("POST", "/a", 200)
    assert logged["body"] == '{"q": 1}'
    assert logged["headers"]["x-key"] == "k"


def test_the_command_reports_what_is_wrong_with_a_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    assert main(["--script", str(script)]) == 2
    assert "cannot be used" in capsys.readouterr().err
    assert main(["--script", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
