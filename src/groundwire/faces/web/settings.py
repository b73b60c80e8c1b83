"""Settings: appearance, what answers, how to add a model, shared links, and what `groundwire doctor` checks.

Paths and places of credentials are shown only to users who may manage the server. No secret is ever shown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundwire.client_protocol import SearchClient
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.model.value import value
from groundwire.server.diagnostics import Check, config_files, credentials, data_checks, extras, versions
from groundwire.text.sanitise import one_line

_SECTION = "settings"


@value
class ProviderStatusRow:
    """A provider, and what was found out about it."""

    name: str
    title: str
    usable: bool
    detail: str
    model: str
    checks: tuple[Check, ...] = ()


async def show_settings(web: WebApp, request: PageRequest) -> None:
    """The settings page."""
    visitor = request.visitor
    is_operator = visitor.is_manager or not visitor.keyed
    providers = await asyncio.to_thread(_providers, request, web.clock(), details=is_operator)
    checks = await asyncio.to_thread(_checks, request) if is_operator else {}
    shares = await web.chat.shares.all(visitor.owner)
    await web.send(
        request,
        "settings",
        usable=[row for row in providers if row.usable],
        others=[row for row in providers if not row.usable],
        keyed=[name for name in request.app.groundwire.keyed if name in {row.name for row in providers}],
        checks=checks,
        is_operator=is_operator,
        shares=[
            (one.share.id, one_line(one.session.title), one.session.id, one.share.expires[:10])
            for one in shares
        ],
        section=_SECTION,
    )


def _providers(request: PageRequest, now: float, *, details: bool) -> list[ProviderStatusRow]:
    client = request.app.groundwire
    return [
        ProviderStatusRow(
            status.name,
            one_line(status.title),
            status.usable,
            one_line(status.reason) if details else "",
            one_line(status.model),
            tuple(_found(client, status.name, now)) if details and status.usable else (),
        )
        for status in client.providers()
    ]


def _found(client: SearchClient, name: str, now: float) -> Iterator[Check]:
    """Where the credential of a usable provider was found; other places do not matter then."""
    return (check for check in credentials(client.findings(name), now) if check.state == "ok")


def _checks(request: PageRequest) -> Mapping[str, list[Check]]:
    config = request.app.groundwire.config
    return {
        "versions": list(versions()),
        "configuration": list(config_files(os.environ, str(Path.home()), str(Path.cwd()))),
        "extras": list(extras(config.store, config.redis)),
        "data": data_checks(config, os.environ),
    }


PAGES: tuple[PageRoute, ...] = (PageRoute("GET", "/settings", show_settings, about="The settings page."),)
