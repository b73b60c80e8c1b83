"""The web page on a loopback socket, with scripted providers and a store in a folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from groundwire.chat.chat import Chat, chat_for
from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config, ProviderSettings
from groundwire.faces.web.app import add_pages
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.store.base import Store
from groundwire.store.open import StoreProbe, open_store
from tests.faces.gateway.serving import running_server


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
            gateway = create_app(groundwire, env, store=store)
            gateway.readiness_checks.append(StoreProbe(store).problem)
            add_pages(gateway, chat)
            async with running_server(gateway) as (url, _):
                yield RunningPage(url, chat, store, gateway)
