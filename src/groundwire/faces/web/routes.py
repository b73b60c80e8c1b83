"""The page as rows for the table of the gateway."""

from __future__ import annotations

from groundwire.chat.chat import Chat
from groundwire.faces.gateway.routes import Route
from groundwire.faces.web import agents, chat, exports, login, usage
from groundwire.faces.web.app import Face, Page, route

PAGES: tuple[Page, ...] = (
    *chat.PAGES,
    *exports.PAGES,
    *agents.PAGES,
    *usage.PAGES,
    *login.PAGES,
)


def routes_for(chat: Chat) -> tuple[Route, ...]:
    """All ways to the page of a chat."""
    face = Face(chat)
    return tuple(route(face, page) for page in PAGES)
