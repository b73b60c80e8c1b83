"""ASGI requests to the application without a socket, and a backend with a fixed answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundwire.client import ProviderStatus
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config
from groundwire.model import Event, Request, Source
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities
from groundwire.server.app import HttpApp
from groundwire.server.asgi import AsgiMessage
from groundwire.testing.answers import answer_events
from tests.stub_client import StubClient

LOCAL = {"host": "127.0.0.1:8484"}


class FixedBackend(StubClient):
    """Answers every request with the same text."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.requests: list[Request] = []

    async def answer(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        self.requests.append(request)
        yield answer_events("Yes, it does.", Source("https://a.example/x", "A"), model=model or "model-1")

    def usable(self) -> Mapping[str, bool]:
        return {"gemini": True, "anthropic": False}

    def providers(self) -> list[ProviderStatus]:
        return [
            ProviderStatus(name, name.title(), ok, "", f"{name}-1", "gemini", "", Capabilities())
            for name, ok in self.usable().items()
        ]


class AsgiResponse(NamedTuple):
    """An ASGI response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def app_in(folder: Path, *, host: str = "", config: Config | None = None) -> HttpApp:
    """An application with a fixed backend and its files in a folder."""
    settings = replace(config or Config(), data_dir=str(folder))
    return create_app(FixedBackend(settings), {}, host=host)


async def send_request(
    gateway: HttpApp,
    method: str,
    path: str,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    body: bytes = b"",
) -> AsgiResponse:
    """Send one request, as an ASGI server would."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    raw, _, query = path.partition("?")
    scope: dict[str, object] = {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [(name.encode("latin-1"), text.encode("latin-1")) for name, text in pairs],
    }
    inbox: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> AsgiMessage:
        if inbox:
            return inbox.pop()
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    async with asyncio.timeout(10):
        await gateway(scope, receive, send)
    reply_headers = {name.decode(): text.decode("latin-1") for name, text in sent[0]["headers"]}
    return AsgiResponse(
        sent[0]["status"], reply_headers, b"".join(item.get("body", b"") for item in sent[1:])
    )


def post_json(
    gateway: HttpApp, path: str, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> AsgiResponse:
    """Send a JSON POST from this machine, without an event loop."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    all_headers = {**LOCAL, "content-type": "application/json", **(headers or {})}
    return asyncio.run(send_request(gateway, "POST", path, all_headers, data))


SMALLEST_REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic_messages": (
        "/v1/messages",
        {"model": "auto", "max_tokens": 100, "messages": [{"role": "user", "content": "q?"}]},
    ),
    "openai_responses": ("/v1/responses", {"model": "auto", "input": "q?"}),
    "openai_chat": (
        "/v1/chat/completions",
        {"model": "auto", "messages": [{"role": "user", "content": "q?"}]},
    ),
    "gemini": ("/v1beta/models/auto:generateContent", {"contents": [{"parts": [{"text": "q?"}]}]}),
    "gemini_interactions": ("/v1beta/interactions", {"model": "auto", "input": "q?"}),
}
"""The path and the smallest body of each dialect."""
