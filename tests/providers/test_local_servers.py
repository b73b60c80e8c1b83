"""Model servers on this machine: found by their port, and used with the first model that they list."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.errors import ConfigError, MissingCredential
from groundwire.model import Event, Finished, JsonObject, Message, Request, Started, Text, TextDelta, assemble
from groundwire.model.value import replace
from groundwire.providers import local_servers
from groundwire.providers.local_servers import PortProbe, is_listening
from groundwire.testing.script import Script, answer, json_response
from groundwire.testing.upstream import Upstream

pytestmark = pytest.mark.server

HELLO: list[Event] = [Started(), TextDelta(0, "Hello."), Finished("stop")]
GREETING = Request((Message("user", (Text("Hello?"),)),))


def test_a_port_that_listens_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_listening(f"http://127.0.0.1:{port}/v1")
    assert not is_listening(f"http://127.0.0.1:{port}/v1")
    assert not is_listening("http://127.0.0.1:99999/v1")


def test_ports_are_looked_at_once_in_a_while() -> None:
    now = [0.0]
    looked: list[str] = []

    def listening(address: str) -> bool:
        looked.append(address)
        return address == "up"

    probe = PortProbe({"a": "up", "b": "down"}, listening, lambda: now[0])
    assert "a" not in probe
    probe.look()
    probe.look()
    assert ("a" in probe, "b" in probe, sorted(looked)) == (True, False, ["down", "up"])
    now[0] = 31.0
    probe.look()
    assert len(looked) == 4


def models(*names: str) -> JsonObject:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


def script(*names: str) -> Script:
    chat = {"/v1/chat/completions": (answer("openai_chat", HELLO),)}
    return Script((), paths={"/v1/models": (json_response(models(*names)),), **chat})


def client(home: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Groundwire:
    """A client for which Ollama is at a URL, without any configuration."""
    monkeypatch.setattr(local_servers, "OLLAMA", replace(local_servers.OLLAMA, base_url=f"{url}/v1"))
    off = {name: ProviderSettings(enabled=False) for name in ("vllm", "lmstudio", "llamacpp", "web", "local")}
    config = Config(data_dir=str(home), config_dir=str(home), providers=off)
    return Groundwire(config, env={"HOME": str(home)})


async def text_of(groundwire: Groundwire, provider: str = "auto", model: str = "") -> str:
    events = [event async for event in groundwire.stream(GREETING, provider=provider, model=model)]
    return assemble(events).text


async def test_a_running_server_is_found_and_its_first_chat_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Upstream(script("nomic-embed-text", "llama3:8b", "qwen3:4b")) as upstream:
        async with client(tmp_path, monkeypatch, upstream.url) as groundwire:
            assert not groundwire.usable()["ollama"]
            assert await text_of(groundwire) == "Hello."  # `auto`, where no other model can be used
            assert groundwire.usable()["ollama"]
            await text_of(groundwire, provider="ollama")
            await text_of(groundwire, model="ollama/qwen3:4b")
            status = {status.name: status for status in groundwire.providers()}["ollama"]
            assert status.reason == f"server at {upstream.url}/v1"
        paths = [received.path for received in upstream.requests]
        sent = [received.json for received in upstream.requests if received.path.endswith("completions")]
    assert paths.count("/v1/models") == 1
    assert [body["model"] for body in sent if isinstance(body, dict)] == [
        "llama3:8b",
        "llama3:8b",
        "qwen3:4b",
    ]


async def test_a_server_without_a_model_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Upstream(script("nomic-embed-text")) as upstream,
        client(tmp_path, monkeypatch, upstream.url) as groundwire,
    ):
        with pytest.raises(
            ConfigError, match=r"Ollama has no model: load one, or set providers\.ollama\.model"
        ):
            await text_of(groundwire, provider="ollama")


async def test_searches_do_not_look_for_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Upstream(script("llama")) as upstream:
        async with client(tmp_path, monkeypatch, upstream.url) as groundwire:
            with pytest.raises(MissingCredential):
                await groundwire.asearch("how long?")
        assert upstream.connections == 0


def test_a_server_that_the_user_configured_need_not_be_found(tmp_path: Path) -> None:
    settings = ProviderSettings(model="llama3:8b", search="engine:web")
    config = Config(data_dir=str(tmp_path), config_dir=str(tmp_path), providers={"ollama": settings})
    groundwire = Groundwire(config, env={"HOME": str(tmp_path)})
    assert groundwire.usable()["ollama"]
    assert groundwire.can_search("ollama")
