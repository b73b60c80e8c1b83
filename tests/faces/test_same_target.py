"""Every face resolves the same provider and model names to the same target."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.commands.main import parse
from groundwire.commands.runner import run_command
from groundwire.config.load import load
from groundwire.errors import UnknownModel
from groundwire.faces.cli.console import Console
from groundwire.faces.mcp.calls import FetchAllowList, run_tool
from groundwire.model import Source
from groundwire.store.base import Agent
from groundwire.store.open import open_store
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, answer
from groundwire.testing.upstream import Received, Upstream
from groundwire.tools import call_tool
from tests.chat.scripted_chat import answered
from tests.faces.gateway.asgi_client import LOCAL, send_request

pytestmark = pytest.mark.server

QUESTION = "How long is the Nile?"
EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
PATHS = {
    "/v1/messages": "anthropic",
    "/openrouter/responses": "openrouter",
    "/house/chat/completions": "house",
}
DIALECTS = {"anthropic": "anthropic_messages", "openrouter": "openai_responses", "house": "openai_chat"}
SCRIPT = Script(
    (answer("gemini", EVENTS),),
    paths={path: (answer(DIALECTS[name], EVENTS),) for path, name in PATHS.items()},
)


class UserHome(NamedTuple):
    """A user whose providers are all one scripted server."""

    home: Path
    env: Mapping[str, str]

    def client(self) -> Groundwire:
        return Groundwire(load(self.env, str(self.home), str(self.home)), env=self.env)


def user_home(home: Path, url: str) -> UserHome:
    folder = home / ".config" / "groundwire"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f"""
        [aliases]
        quick = "gemini/gemini-9-alias"
        [providers.anthropic]
        base_url = "{url}"
        [providers.gemini]
        base_url = "{url}"
        [providers.openrouter]
        base_url = "{url}/openrouter"
        [providers.house]
        dialect = "openai_chat"
        base_url = "{url}/house"
        model = "house-default"
        """
    )
    keys = {"ANTHROPIC_API_KEY": "k-a", "GEMINI_API_KEY": "k-g", "OPENROUTER_API_KEY": "k-o"}
    return UserHome(home, {"HOME": str(home), **keys})


async def library(user: UserHome, provider: str, model: str) -> None:
    async with user.client() as groundwire:
        await groundwire.asearch(QUESTION, provider=provider, model=model)


async def command_line(user: UserHome, provider: str, model: str) -> None:
    words = ["search", QUESTION, "--provider", provider, "--model", model]
    console = Console(stdout=io.StringIO(), stderr=io.StringIO(), env=user.env, cwd=str(user.home))
    code = await asyncio.to_thread(run_command, "search", parse(words), console)
    assert code == 0, console.stderr


async def tool(user: UserHome, provider: str, model: str) -> None:
    async with user.client() as groundwire:
        arguments = {"query": QUESTION, "provider": provider, "model": model}
        assert (await call_tool(groundwire, "websearch", arguments)).answer.error is None


async def mcp(user: UserHome, provider: str, model: str) -> None:
    async with user.client() as groundwire:
        arguments = {"query": QUESTION, "provider": provider, "model": model}
        found = await run_tool(
            groundwire, FetchAllowList(b"secret"), "websearch", dict(arguments), lambda _: None
        )
        assert not found.failed


async def gateway(user: UserHome, provider: str, model: str) -> None:
    async with user.client() as groundwire:
        name = model if provider == "auto" else f"{provider}/{model}" if model else provider
        body = {"model": name, "input": QUESTION, "tools": [{"type": "web_search"}]}
        headers = {**LOCAL, "content-type": "application/json"}
        app = create_app(groundwire, user.env)
        found = await send_request(app, "POST", "/v1/responses", headers, json.dumps(body).encode())
        assert found.status == 200, found.body


async def chat(user: UserHome, provider: str, model: str) -> None:
    agent = Agent("finder", {"en": "Finder"}, provider=provider, model=model, web_search=True)
    with open_store(f"sqlite:///{user.home}/chat.db") as store:
        async with user.client() as groundwire:
            conversations = Chat(groundwire, store)
            await conversations.save_agent(agent, owner="")
            await answered(conversations, ChatQuestion(QUESTION, owner="", agent="finder"))


FACES: tuple[Callable[[UserHome, str, str], Awaitable[None]], ...] = (
    library,
    command_line,
    tool,
    mcp,
    gateway,
    chat,
)


def target_of(request: Received) -> tuple[str, str]:
    """The provider and the model that a request reached."""
    if found := re.fullmatch(r"/v1beta/models/(.+):\w+", request.path.partition("?")[0]):
        return "gemini", found[1]
    return PATHS[request.path], str(json.loads(request.body)["model"])


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("auto", "gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
        ("auto", "claude-opus-4-8", ("anthropic", "claude-opus-4-8")),
        ("auto", "gemini/gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
        ("auto", "quick", ("gemini", "gemini-9-alias")),
        ("auto", "house", ("house", "house-default")),
        ("auto", "house/other", ("house", "other")),
        ("auto", "meta-llama/llama-4", ("openrouter", "meta-llama/llama-4")),
        ("openrouter", "openai/gpt-5.5", ("openrouter", "openai/gpt-5.5")),
        ("gemini", "gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
        ("house", "claude-opus-4-8", ("house", "claude-opus-4-8")),
    ],
)
async def test_every_face_calls_the_same_target(
    provider: str, model: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    async with Upstream(SCRIPT) as upstream:
        for face in FACES:
            await face(user_home(tmp_path, upstream.url), provider, model)
        reached = {
            face.__name__: target_of(request) for face, request in zip(FACES, upstream.requests, strict=True)
        }
        assert reached == dict.fromkeys(reached, expected)


async def test_every_face_calls_the_first_provider_for_auto_and_for_a_vendor_without_a_key(
    tmp_path: Path,
) -> None:
    async with Upstream(SCRIPT) as upstream:
        for model in ("auto", "gpt-5.5"):
            upstream.requests.clear()
            for face in FACES:
                await face(user_home(tmp_path, upstream.url), "auto", model)
            assert [target_of(request)[0] for request in upstream.requests] == ["anthropic"] * len(FACES)
            assert len({target_of(request) for request in upstream.requests}) == 1


async def test_a_model_whose_vendor_has_no_key_is_answered_with_a_warning(tmp_path: Path) -> None:
    async with Upstream(SCRIPT) as upstream, user_home(tmp_path, upstream.url).client() as groundwire:
        found = await groundwire.asearch(QUESTION, model="gpt-5.5")
        assert [warning.code for warning in found.warnings] == ["model_substituted"]
        assert "gpt-5.5" in found.warnings[0].message
        assert not (await groundwire.asearch(QUESTION, model="claude-opus-4-8")).warnings


async def test_an_unknown_model_is_rejected_before_any_request_is_sent(tmp_path: Path) -> None:
    async with Upstream(SCRIPT) as upstream, user_home(tmp_path, upstream.url).client() as groundwire:
        with pytest.raises(UnknownModel, match="unknown model 'llama'"):
            await groundwire.asearch(QUESTION, model="llama")
        assert not upstream.requests
