"""The chat page, on the gateway that serves it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from groundwire.chat.chat import chat_for
from groundwire.faces.gateway.routes import Routes
from groundwire.faces.gateway.usage import Booking
from groundwire.faces.web.routes import routes_for
from groundwire.store.open import StoreProbe, open_store

if TYPE_CHECKING:
    from groundwire.client import Groundwire
    from groundwire.faces.gateway.app import Gateway


def add_page(gateway: Gateway, groundwire: Groundwire) -> None:
    """Serve the page, with its store open until the gateway closes."""
    config = groundwire.config
    store = open_store(config.store or f"sqlite:///{config.data_dir}/groundwire.db")
    booking = gateway.booking = Booking(store)
    gateway.readiness.append(StoreProbe(store).problem)
    gateway.routes = Routes((*gateway.routes.routes, *routes_for(chat_for(groundwire, store))))

    async def close() -> None:
        await booking.aclose()
        await asyncio.to_thread(store.close)

    gateway.at_close.append(close)
