"""What every endpoint of the page has: the chat, the pages, and who visits.

A route of the page is public to the gateway, and closed here unless it says otherwise: whoever is not known
is sent to the login.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import TYPE_CHECKING, TypeAlias

from groundwire.chat.chat import Chat
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.asgi import Inbound
from groundwire.faces.gateway.routes import Endpoint, Route
from groundwire.faces.web.auth import Desk, Visit
from groundwire.faces.web.headers import send_away, send_page
from groundwire.faces.web.messages import error_line
from groundwire.faces.web.pages import Pages
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

RECENT = 40


class Face:
    """The page of one chat."""

    def __init__(self, chat: Chat, clock: Callable[[], float] = time) -> None:
        self.chat = chat
        self.pages = Pages()
        self.desk = Desk(clock)
        self.clock = clock

    async def send(self, request: PageRequest, name: str, *, status: int = 200, **values: object) -> None:
        """A page with the list of sessions beside it."""
        visit = request.visit
        sessions = await self.chat.sessions(visit.owner, RECENT + 1)
        older = sessions[RECENT - 1].id if len(sessions) > RECENT else None
        usual: dict[str, object] = {
            "sessions": sessions[:RECENT],
            "older": older,
            "path": request.inbound.path,
        }
        # Beside the loop: what is shown may be long, and others go on being served.
        html = await asyncio.to_thread(self.pages.render, name, visit, **{**usual, **values})
        await send_page(request.inbound, html, status=status, more=visit.cookies)

    async def refuse(self, request: PageRequest, error: GroundwireError) -> None:
        """A page that says why not."""
        request.call.outcome = error.code
        html = self.pages.render("trouble", request.visit, trouble=self.line(request, error))
        await send_page(request.inbound, html, status=error.status_hint, more=request.visit.cookies)

    def line(self, request: PageRequest, error: GroundwireError) -> str:
        """Why not, in the visitor's language."""
        return error_line(error, self.pages.texts[request.visit.language])


@value
class PageRequest:
    """One request to the page."""

    gateway: Gateway
    call: Call
    names: Mapping[str, str]
    visit: Visit

    @property
    def inbound(self) -> Inbound:
        """The request as it came."""
        return self.call.inbound


Answering: TypeAlias = Callable[[Face, PageRequest], Awaitable[None]]


@value
class Page:
    """A row of the page's table."""

    method: str
    path: str
    answer: Answering
    is_open: bool = False
    """May anybody come?"""
    about: str = ""


def route(face: Face, page: Page) -> Route:
    """The row as the gateway has it."""
    return Route(page.method, page.path, _endpoint(face, page), access="public", about=page.about)


def _endpoint(face: Face, page: Page) -> Endpoint:
    async def endpoint(gateway: Gateway, call: Call, names: Mapping[str, str]) -> None:
        visit = face.desk.visit(gateway, call.inbound)
        call.key = visit.owner
        request = PageRequest(gateway, call, names, visit)
        if not visit.is_known and not page.is_open:
            await send_away(call.inbound, "/login", visit.cookies)
            return
        try:
            await page.answer(face, request)
        except GroundwireError as error:
            if call.inbound.begun:
                raise
            await face.refuse(request, error)

    return endpoint
