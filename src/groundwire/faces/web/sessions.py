"""What can be done with sessions: pin, move, share, the menu of one, and the palette that finds them."""

from __future__ import annotations

import asyncio

from groundwire.chat.turns import missing
from groundwire.errors import GroundwireError
from groundwire.faces.web.auth import notice_cookie, read_form
from groundwire.faces.web.headers import NOT_INDEXED, redirect, send_json, send_page
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.faces.web.session_list import folders_of
from groundwire.model import Json, Message
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line

_FOUND = 8
_SHOWN_TURNS = 400
"""Messages of a shared session that one page shows."""


async def pin(web: WebApp, request: PageRequest) -> None:
    """Pin a session, or unpin it."""
    form = await read_form(request.visitor, request.exchange)
    is_pinned = form.get("pinned") == "on"
    await web.chat.file(request.visitor.owner, request.params["id"], pinned=is_pinned)
    await _back(request, "pinned" if is_pinned else "unpinned")


async def move(web: WebApp, request: PageRequest) -> None:
    """Put a session into a folder, or take it out of its folder."""
    form = await read_form(request.visitor, request.exchange)
    session = await web.chat.file(
        request.visitor.owner, request.params["id"], folder=form.get("folder", "").strip()
    )
    await _back(request, "moved" if session.folder else "moved_out")


async def share(web: WebApp, request: PageRequest) -> None:
    """Make a link that shows a session, and show the link once."""
    form = await read_form(request.visitor, request.exchange)
    session = await web.chat.session(request.visitor.owner, request.params["id"])
    token = await web.chat.shares.create(session, form.get("lifetime", ""))
    await web.send(request, "share_created", session=session, shared_path=f"/shared/{token}")


async def revoke(web: WebApp, request: PageRequest) -> None:
    """Revoke a link."""
    await read_form(request.visitor, request.exchange)
    await web.chat.shares.revoke(request.visitor.owner, request.params["id"])
    await redirect(request.exchange, "/settings#shares", notice_cookie(request.exchange, "revoked"))


async def show_shared(web: WebApp, request: PageRequest) -> None:
    """A shared session, for everybody who has the link, while its owner has a valid key."""
    found = await web.chat.shares.find(request.params["token"])
    share = found.share
    if not request.app.access.has_owner(share.owner):
        raise missing("share")
    conversation = await web.chat.open(share.owner, share.session, share.last + 1, _SHOWN_TURNS)
    articles = await asyncio.to_thread(
        readonly_articles, web, request, conversation.agent, conversation.turns
    )
    html = await asyncio.to_thread(
        web.pages.render,
        "shared",
        request.visitor,
        title=one_line(found.session.title),
        articles=articles,
        expires=share.expires[:10],
    )
    await send_page(request.exchange, html, extra=(*NOT_INDEXED, *request.visitor.cookies))


def readonly_articles(
    web: WebApp, request: PageRequest, agent: Agent, turns: tuple[StoredMessage, ...]
) -> list[str]:
    """The HTML of turns, without what only their owner can do. Blocks."""
    pages, visitor = web.pages, request.visitor
    return [
        pages.question(visitor, turn, readonly=True)
        if isinstance(turn.content, Message)
        else pages.answer(visitor, agent, turn, "", readonly=True)
        for turn in turns
    ]


async def show_menu(web: WebApp, request: PageRequest) -> None:
    """The menu of a session, for the list in the navigation."""
    visitor = request.visitor
    session = await web.chat.session(visitor.owner, request.params["id"])
    folders = folders_of(await web.chat.filed_sessions(visitor.owner))
    html = web.pages.render("session_menu", visitor, session=session, folders=folders)
    await send_json(request.exchange, {"html": html, "title": one_line(session.title)})


async def palette(web: WebApp, request: PageRequest) -> None:
    """Sessions whose title or messages contain what was typed, for the palette."""
    owner, query = request.visitor.owner, request.exchange.query_param("q").strip()[:200]
    try:
        sessions = await web.chat.sessions(owner, 200)
        found = await web.chat.find(owner, query, _FOUND) if query else []
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_json(request.exchange, {"items": []})
        return
    wanted = query.casefold().split()
    named = [one for one in sessions if all(word in one.title.casefold() for word in wanted)][:_FOUND]
    items: list[Json] = [{"title": one_line(one.title), "href": f"/chat/{one.id}"} for one in named]
    seen = {one.id for one in named}
    for session, turn in found:
        if session.id not in seen:
            seen.add(session.id)
            href = f"/chat/{session.id}?at={turn.number}#m-{turn.id}"
            items.append({"title": one_line(session.title), "href": href})
    await send_json(request.exchange, {"items": items})


async def _back(request: PageRequest, notice: str) -> None:
    path = f"/chat/{request.params['id']}"
    await redirect(request.exchange, path, notice_cookie(request.exchange, notice))


PAGES: tuple[PageRoute, ...] = (
    PageRoute("POST", "/chat/{id}/pin", pin, about="Pins a session."),
    PageRoute("POST", "/chat/{id}/move", move, about="Puts a session into a folder."),
    PageRoute("POST", "/chat/{id}/share", share, about="Makes a link to a session."),
    PageRoute("GET", "/chat/{id}/menu", show_menu, about="The menu of a session."),
    PageRoute("POST", "/shares/{id}/revoke", revoke, about="Revokes a link to a session."),
    PageRoute("GET", "/shared/{token}", show_shared, is_public=True, about="A shared session."),
    PageRoute("GET", "/palette", palette, about="Sessions for the palette."),
)
