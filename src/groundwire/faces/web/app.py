"""All pages of the web application, as routes of the server."""

from __future__ import annotations

from collections.abc import Callable
from time import time

from groundwire.chat.chat import Chat
from groundwire.faces.web import (
    admin,
    agents,
    chat,
    compare,
    documents,
    exports,
    login,
    ratings,
    sessions,
    settings,
    usage,
    viewer,
)
from groundwire.faces.web.headers import send_page
from groundwire.faces.web.pages import PageRoute, WebApp, page_route
from groundwire.server.app import HttpApp, RequestContext
from groundwire.server.routes import Route, RouteTable

PAGES: tuple[PageRoute, ...] = (
    *chat.PAGES,
    *viewer.PAGES,
    *exports.PAGES,
    *sessions.PAGES,
    *ratings.PAGES,
    *documents.PAGES,
    *settings.PAGES,
    *compare.PAGES,
    *agents.PAGES,
    *usage.PAGES,
    *admin.PAGES,
    *login.PAGES,
)


def routes_for(web: WebApp) -> tuple[Route, ...]:
    """The routes of the web application."""
    return tuple(page_route(web, page) for page in PAGES)


def add_pages(app: HttpApp, chat: Chat, clock: Callable[[], float] = time) -> None:
    """Add the pages of a chat to an application, and the page for addresses that do not exist."""
    web = WebApp(chat, clock)
    app.routes = RouteTable((*app.routes.routes, *routes_for(web)))

    async def show_not_found(app: HttpApp, context: RequestContext, status: int) -> None:
        visitor = web.auth.visitor(app, context.exchange)
        html = web.pages.render("not_found", visitor)
        await send_page(context.exchange, html, status=status, extra=visitor.cookies)

    app.not_found_page = show_not_found
    # Answers in progress end before the clients and stores that they use.
    app.on_close.insert(0, chat.aclose)
