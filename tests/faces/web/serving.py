"""The web page on a loopback socket, with scripted providers and a store in a folder."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from groundwire.chat.chat import Chat, chat_for
from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config, ProviderSettings
from groundwire.faces.web.app import routes_for
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.http_server import HttpServer
from groundwire.server.routes import RouteTable
from groundwire.store.base import Store
from groundwire.store.open import StoreProbe, open_store

HOST = "127.0.0.1"


@dataclass
class RunningPage:
    """A running server with the page."""

    url: str
    chat: Chat
    store: Store
    gateway: HttpApp


@asynccontextmanager
async def running_page(
    folder: Path,
    providers: Mapping[str, ProviderSettings],
    config: Config | None = None,
    address: str = "",
) -> AsyncIterator[RunningPage]:
    """Serve the page until the block ends, over a store in the folder or at an address."""
    env = {"HOME": str(folder), "GROUNDWIRE_DATA_DIR": str(folder)}
    settings = replace(
        config or Config(), providers=dict(providers), order=(*providers, "local"), data_dir=str(folder)
    )
    with open_store(address or f"sqlite:///{folder}/chat.db") as store:
        async with Groundwire(settings, env=env) as groundwire:
            chat = chat_for(groundwire, store)
            gateway = create_app(groundwire, env)
            gateway.readiness_checks.append(StoreProbe(store).problem)
            gateway.routes = RouteTable((*gateway.routes.routes, *routes_for(chat)))
            listener = socket.socket(proto=socket.IPPROTO_TCP)
            listener.bind((HOST, 0))
            server = HttpServer(gateway, drain=1)
            running = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                async with asyncio.timeout(10):
                    while not server.started:
                        await asyncio.sleep(0.005)
                yield RunningPage(f"http://{HOST}:{listener.getsockname()[1]}", chat, store, gateway)
            finally:
                server.should_exit = True
                await running
