"""All pages of the web application, as routes of the server."""

from __future__ import annotations

from groundwire.chat.chat import Chat
from groundwire.faces.web import admin, agents, chat, login, usage
from groundwire.faces.web.pages import PageRoute, WebApp, page_route
from groundwire.server.routes import Route

PAGES: tuple[PageRoute, ...] = (
    *chat.PAGES,
    *agents.PAGES,
    *usage.PAGES,
    *admin.PAGES,
    *login.PAGES,
)


def routes_for(chat: Chat) -> tuple[Route, ...]:
    """The routes of the web page for a chat."""
    web = WebApp(chat)
    return tuple(page_route(web, page) for page in PAGES)
