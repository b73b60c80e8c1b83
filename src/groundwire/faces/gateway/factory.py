"""The gateway of one `Groundwire`, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time
from typing import TYPE_CHECKING, cast

from groundwire.faces.gateway.access import Access
from groundwire.faces.gateway.access_log import RequestLog, tell
from groundwire.faces.gateway.app import Asker, Gateway, Seen
from groundwire.faces.gateway.count_tokens import COUNTING
from groundwire.faces.gateway.endpoints import CONVERSATIONS
from groundwire.faces.gateway.health import HEALTH
from groundwire.faces.gateway.keys import KeyFile, Keyring
from groundwire.faces.gateway.models import MODELS
from groundwire.faces.gateway.openapi import DESCRIPTION
from groundwire.faces.gateway.response_writer import Patience
from groundwire.faces.gateway.routes import Route, Routes
from groundwire.faces.gateway.secret import secret_in
from groundwire.faces.mcp.http import mcp_app
from groundwire.faces.mcp.route import mcp_route

if TYPE_CHECKING:
    from groundwire.faces.mcp.tool_list import Asker as Searcher

ROUTES: tuple[Route, ...] = (*CONVERSATIONS, *COUNTING, *MODELS, *HEALTH, *DESCRIPTION)


def gateway_for(
    groundwire: Asker, env: Mapping[str, str], *, host: str = "", patience: Patience | None = None
) -> Gateway:
    """A gateway, ready to be served at an address."""
    config = groundwire.config
    settings = config.gateway
    keys = Keyring(KeyFile(config.data_dir))
    observers: tuple[Callable[[Seen], None], ...] = (tell,)
    if settings.request_log:
        observers = (*observers, RequestLog(settings.request_log, time))
    secret = secret_in(config.data_dir, env)
    tools = mcp_app(cast("Searcher", groundwire), secret=secret)
    gateway = Gateway(
        groundwire,
        Routes((*ROUTES, mcp_route(tools))),
        Access(
            host or settings.host,
            keys,
            hosts=settings.hosts,
            origins=settings.origins,
            proxies=settings.trusted_proxies,
            metrics=keys.metrics,
        ),
        secret=secret,
        patience=patience,
        observers=observers,
    )
    gateway.at_close.insert(0, tools.aclose)
    return gateway
