"""Coming in, choosing a language, and the files of the page."""

from __future__ import annotations

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.response_writer import retry_after
from groundwire.faces.web.app import Face, Page, PageRequest
from groundwire.faces.web.auth import keep_language, read_form
from groundwire.faces.web.headers import SECURITY, send_away, send_page
from groundwire.faces.web.pages import STATIC

_LARGEST_LOGIN = 4096
_FOR_EVER = ("cache-control", "public, max-age=31536000, immutable")


async def ask_for_key(face: Face, request: PageRequest) -> None:
    """The form that asks for a key."""
    if request.visit.is_known:
        await send_away(request.inbound, "/")
        return
    await send_page(request.inbound, face.pages.render("login", request.visit), more=request.visit.cookies)


async def log_in(face: Face, request: PageRequest) -> None:
    """Let somebody in who shows a key."""
    form = await read_form(request.visit, request.inbound, _LARGEST_LOGIN)
    try:
        cookies = face.desk.log_in(request.gateway, request.inbound, form.get("key", ""))
    except TurnedAway as error:
        request.call.outcome = error.code
        html = face.pages.render("login", request.visit, trouble=face.line(request, error))
        more = (*retry_after(error), *request.visit.cookies)
        await send_page(request.inbound, html, status=error.status_hint, more=more)
        return
    await send_away(request.inbound, "/", cookies)


async def leave(face: Face, request: PageRequest) -> None:
    """End a login."""
    await read_form(request.visit, request.inbound, _LARGEST_LOGIN)
    await send_away(request.inbound, "/login", face.desk.log_out(request.gateway, request.inbound))


async def choose_language(_: Face, request: PageRequest) -> None:
    """Speak another language from now on."""
    form = await read_form(request.visit, request.inbound)
    back = form.get("back", "/")
    # Only a path of ours: a second slash would lead to another host.
    path = back if back.startswith("/") and not back.startswith(("//", "/\\")) and back.isascii() else "/"
    path = "/" if any(ord(sign) <= 0x20 for sign in path) else path
    await send_away(request.inbound, path, keep_language(request.inbound, form.get("language", "")))


async def send_static(face: Face, request: PageRequest) -> None:
    """A file of the page."""
    digest, _, name = request.names["name"].partition("/")
    file = face.pages.files.get(name)
    if file is None:
        raise TurnedAway(status=404, message="there is no such file", code="NOT_FOUND")
    tag = f'"{file.tag}"'
    kept = _FOR_EVER if digest == face.pages.digest else ("cache-control", "no-cache")
    head = (("etag", tag), kept, *SECURITY)
    if request.inbound.headers.get("if-none-match") == tag:
        await request.inbound.respond(304, head, b"")
        return
    await request.inbound.respond(200, (("content-type", file.kind), *head), file.data)


PAGES: tuple[Page, ...] = (
    Page("GET", "/login", ask_for_key, is_open=True, about="Asks for a key."),
    Page("POST", "/login", log_in, is_open=True, about="Lets somebody in."),
    Page("POST", "/logout", leave, is_open=True, about="Ends a login."),
    Page("POST", "/language", choose_language, is_open=True, about="Chooses a language."),
    Page("GET", f"{STATIC}/{{name}}", send_static, is_open=True, about="Files of the page."),
)
