"""The gateway of one `Groundwire`, put together."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.faces.gateway.access import Access
from groundwire.faces.gateway.app import Asker, Gateway
from groundwire.faces.gateway.endpoints import CONVERSATIONS
from groundwire.faces.gateway.replies import Patience
from groundwire.faces.gateway.routes import Routes
from groundwire.faces.gateway.secret import secret_in


def gateway_for(
    groundwire: Asker, env: Mapping[str, str], *, host: str = "", patience: Patience | None = None
) -> Gateway:
    """A gateway, ready to be served at an address."""
    config = groundwire.config
    settings = config.gateway
    access = Access(host or settings.host, tuple, hosts=settings.hosts, origins=settings.origins)
    return Gateway(
        groundwire,
        Routes(CONVERSATIONS),
        access,
        secret=secret_in(config.data_dir, env),
        patience=patience,
    )
