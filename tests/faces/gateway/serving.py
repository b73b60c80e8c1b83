"""A gateway on a loopback socket, in the event loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TypeVar

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config, ProviderSettings
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.http_server import HttpServer
from groundwire.server.response_writer import ResponseTimeouts

T = TypeVar("T")

HOST = "127.0.0.1"
BASES = {"openai_responses": "/v1", "openai_chat": "/v1", "mistral_conversations": "/v1"}
"""Path prefix in the `base_url` of a provider, by dialect."""


@dataclass
class RunningGateway:
    """A running gateway."""

    url: str
    groundwire: Groundwire
    gateway: HttpApp
    server: HttpServer


def provider_at(dialect: str, url: str, *, timeout: float | None = None) -> ProviderSettings:
    """Settings of a custom provider at a URL, without a key."""
    return ProviderSettings(dialect, url + BASES.get(dialect, ""), model="model-1", timeout=timeout)


@asynccontextmanager
async def serving(
    providers: Mapping[str, ProviderSettings],
    *,
    config: Config | None = None,
    timeouts: ResponseTimeouts | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningGateway]:
    """Serve only these providers until the block ends."""
    with TemporaryDirectory() as folder:
        known = {"HOME": folder, "GROUNDWIRE_DATA_DIR": folder, **(env or {})}
        settings = replace(
            config or Config(), providers=dict(providers), order=tuple(providers), data_dir=folder
        )
        async with Groundwire(settings, env=known) as groundwire:
            gateway = create_app(groundwire, known, timeouts=timeouts)
            async with running_server(gateway) as (url, server):
                yield RunningGateway(url, groundwire, gateway, server)


@asynccontextmanager
async def running_server(app: HttpApp, *, drain_delay: float = 0.0) -> AsyncIterator[tuple[str, HttpServer]]:
    """Serve an application on a free port until the block ends; yields its URL and the server."""
    # asyncio sets TCP_NODELAY on accepted sockets only if the protocol is named.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind((HOST, 0))
    server = HttpServer(app, drain=1, drain_delay=drain_delay)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(10):
            while not server.started:
                await asyncio.sleep(0.005)
        yield f"http://{HOST}:{listener.getsockname()[1]}", server
    finally:
        server.should_exit = True
        await running


async def wait_for_open_requests(gateway: HttpApp, count: int) -> None:
    """Wait until the gateway has this many open requests: it notices disconnects with a delay."""
    async with asyncio.timeout(10):
        while gateway.open_requests != count:
            await asyncio.sleep(0.005)


def run(main: Coroutine[None, None, T], *, seconds: float = 60.0) -> T:
    """Run within a time limit; fails if a task is still running at the end."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            result = await main
        remaining = asyncio.all_tasks() - {asyncio.current_task()}
        assert not remaining, f"tasks still running: {remaining}"
        return result

    return asyncio.run(bounded())
