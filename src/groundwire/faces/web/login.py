"""Login, logout, choice of language and theme, and static files."""

from __future__ import annotations

import asyncio
from collections.abc import Container

from groundwire.errors import TurnedAway
from groundwire.faces.web.auth import (
    LANGUAGE_COOKIE,
    THEME_COOKIE,
    THEMES,
    preference_cookie,
    read_form,
)
from groundwire.faces.web.headers import SECURITY, redirect, send_page
from groundwire.faces.web.pages import STATIC, PageRequest, PageRoute, WebApp, record_action
from groundwire.server.auth import fingerprint
from groundwire.server.response_writer import retry_after_header

_MAX_LOGIN_BYTES = 4096
_IMMUTABLE = ("cache-control", "public, max-age=31536000, immutable")


async def show_login(web: WebApp, request: PageRequest) -> None:
    """The login form."""
    if request.visitor.is_logged_in:
        await redirect(request.exchange, "/")
        return
    await send_page(
        request.exchange, web.pages.render("login", request.visitor), extra=request.visitor.cookies
    )


async def log_in(web: WebApp, request: PageRequest) -> None:
    """Log in with a key."""
    form = await read_form(request.visitor, request.exchange, _MAX_LOGIN_BYTES)
    try:
        cookies = web.auth.log_in(request.app, request.exchange, form.get("key", ""))
    except TurnedAway as error:
        request.context.outcome = error.code
        html = web.pages.render("login", request.visitor, error_text=web.error_text(request, error))
        extra = (*retry_after_header(error), *request.visitor.cookies)
        await send_page(request.exchange, html, status=error.status_hint, extra=extra)
        return
    key = fingerprint(form.get("key", "").strip())
    await asyncio.to_thread(record_action, request.app, "login", key)
    await redirect(request.exchange, "/", cookies)


async def log_out(web: WebApp, request: PageRequest) -> None:
    """Log out."""
    await read_form(request.visitor, request.exchange, _MAX_LOGIN_BYTES)
    await redirect(request.exchange, "/login", await web.auth.log_out(request.app, request.exchange))


async def choose_language(web: WebApp, request: PageRequest) -> None:
    """Store the chosen language in a cookie."""
    await _choose(request, "language", LANGUAGE_COOKIE, web.pages.texts)


async def choose_theme(_: WebApp, request: PageRequest) -> None:
    """Store the chosen theme in a cookie."""
    await _choose(request, "theme", THEME_COOKIE, THEMES)


async def _choose(request: PageRequest, field: str, cookie: str, allowed: Container[str]) -> None:
    form = await read_form(request.visitor, request.exchange)
    chosen = form.get(field, "")
    cookies = preference_cookie(request.exchange, cookie, chosen) if chosen in allowed else ()
    await redirect(request.exchange, _path_of(form.get("back", "/")), cookies)


def _path_of(back: str) -> str:
    """Only a path of this site: a second slash would lead to another host."""
    is_path = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isascii()
    return back if is_path and not any(ord(character) <= 0x20 for character in back) else "/"


async def send_static(web: WebApp, request: PageRequest) -> None:
    """Send a static file."""
    digest, _, name = request.params["name"].partition("/")
    file = web.pages.files.get(name)
    if file is None:
        raise TurnedAway(status=404, message="this file does not exist", code="NOT_FOUND")
    tag = f'"{file.tag}"'
    caching = _IMMUTABLE if digest == web.pages.digest else ("cache-control", "no-cache")
    head = (("etag", tag), caching, ("vary", "accept-encoding"), *SECURITY)
    if request.exchange.headers.get("if-none-match") == tag:
        await request.exchange.respond(304, head, b"")
        return
    head = (("content-type", file.content_type), *head)
    if file.compressed and "gzip" in request.exchange.headers.get("accept-encoding", ""):
        await request.exchange.respond(200, (("content-encoding", "gzip"), *head), file.compressed)
        return
    await request.exchange.respond(200, head, file.data)


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/login", show_login, is_public=True, about="The login form."),
    PageRoute("POST", "/login", log_in, is_public=True, about="Logs in with a key."),
    PageRoute("POST", "/logout", log_out, is_public=True, about="Logs out."),
    PageRoute("POST", "/language", choose_language, is_public=True, about="Sets the language."),
    PageRoute("POST", "/theme", choose_theme, is_public=True, about="Sets the theme."),
    PageRoute("GET", f"{STATIC}/{{name}}", send_static, is_public=True, about="Static files."),
)
