"""Sessions, and the stream of an answer to the page.

The stream tells HTML that was rendered here: `turn` when the question is on disk, `body` when blocks changed
(`keep` of the first stay), `status` when something else is done, `done` with the answer as it will be read
again. `refused` tells why nothing was asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from groundwire.chat.exporting import as_json, as_markdown
from groundwire.chat.questions import Asked, Controls, controls_of, domains_in
from groundwire.chat.turns import Conversation, Turn
from groundwire.dialects.fields import Fields
from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.errors import ClientWireError, GroundwireError
from groundwire.faces.gateway.asgi import attended
from groundwire.faces.gateway.draining import closing
from groundwire.faces.gateway.replies import Outgoing
from groundwire.faces.web.answers import AnswerView
from groundwire.faces.web.face import Face, Page, PageRequest
from groundwire.faces.web.replying import PRIVATE, SECURITY, event, send_away, send_file
from groundwire.faces.web.visible import one_line
from groundwire.faces.web.visits import LARGEST, Visit, check_token, read_form
from groundwire.model import Json, Message

TOKEN = "x-groundwire-token"  # noqa: S105  the name of a header
_HEAD = (("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no"))
_DRAWING = 4.0
"""Seconds of rest for each second of rendering: long answers are drawn less often."""


async def start(face: Face, request: PageRequest) -> None:
    """The page of somebody who has not asked yet."""
    agents = await face.chat.agents()
    chosen = next((agent for agent in agents if agent.id == request.inbound.parameter("agent")), agents[0])
    await face.send(request, "chat", agents=agents, agent=chosen, turns=(), controls=Controls())


async def read(face: Face, request: PageRequest) -> None:
    """A session."""
    visit = request.visit
    conversation = await face.chat.open(visit.owner, request.names["id"])
    agents = await face.chat.agents()
    if conversation.agent.id not in {agent.id for agent in agents}:
        agents.append(conversation.agent)
    # Long sessions are written beside the loop: others go on being served.
    log = await asyncio.to_thread(_log, face, visit, conversation)
    await face.send(
        request,
        "chat",
        session=conversation.session,
        agents=agents,
        agent=conversation.agent,
        turns=log,
        controls=_last_controls(conversation),
    )


async def ask(face: Face, request: PageRequest) -> None:
    """Ask, and stream the answer for as long as somebody reads it."""
    check_token(request.visit, request.inbound.headers.get(TOKEN, ""))
    if request.gateway.draining:
        raise closing()
    body = load_json(await request.inbound.body(LARGEST), ClientWireError)
    if not await attended(request.inbound, _stream(face, request, body)):
        request.call.outcome = "left"


async def rename(face: Face, request: PageRequest) -> None:
    """Give a session another title."""
    form = await read_form(request.visit, request.inbound)
    session = await face.chat.rename(request.visit.owner, request.names["id"], form.get("title", ""))
    await send_away(request.inbound, f"/chat/{session.id}")


async def remove(face: Face, request: PageRequest) -> None:
    """Forget a session."""
    await read_form(request.visit, request.inbound)
    await face.chat.remove(request.visit.owner, request.names["id"])
    await send_away(request.inbound, "/")


async def export_markdown(face: Face, request: PageRequest) -> None:
    """A session as Markdown."""
    conversation = await face.chat.open(request.visit.owner, request.names["id"])
    text = as_markdown(conversation, request.visit.language)
    await send_file(request.inbound, f"{conversation.session.id}.md", "text/markdown", text)


async def export_json(face: Face, request: PageRequest) -> None:
    """A session as JSON."""
    conversation = await face.chat.open(request.visit.owner, request.names["id"])
    text = dump_json(as_json(conversation))
    await send_file(request.inbound, f"{conversation.session.id}.json", "application/json", text)


async def find(face: Face, request: PageRequest) -> None:
    """What was said about something, or the sessions before one."""
    wanted = request.inbound.parameter("q")
    owner = request.visit.owner
    found = [
        (session, message.id, _extract(message.content.text, wanted))
        for session, message in (await face.chat.find(owner, wanted) if wanted.strip() else [])
    ]
    listed = []
    if before := request.inbound.parameter("before"):
        listed = await face.chat.sessions(owner, 200, await face.chat.session(owner, before))
    await face.send(request, "find", found=found, listed=listed, wanted=wanted)


def _log(face: Face, visit: Visit, conversation: Conversation) -> list[str]:
    articles: list[str] = []
    question = ""
    for turn in conversation.turns:
        if isinstance(turn.content, Message):
            question = turn.id
            articles.append(face.pages.question(visit, turn))
        else:
            articles.append(face.pages.answer(visit, conversation.agent, turn, question))
    return articles


async def _stream(face: Face, request: PageRequest, body: Json) -> None:
    head = (*_HEAD, *SECURITY, *PRIVATE)
    with Outgoing(request.inbound, lambda: head, lambda: b": \n\n", request.gateway.patience) as outgoing:
        try:
            asked = _asked(request.visit, Fields.of(body, ClientWireError))
            async with aclosing(_told(face, request, asked)) as pieces:
                async for piece in pieces:
                    await outgoing.write(piece)
        except GroundwireError as error:
            request.call.outcome = error.code
            await outgoing.write(event("refused", {"message": one_line(error.message)}))
        await outgoing.write(b"", more=False)


async def _told(face: Face, request: PageRequest, asked: Asked) -> AsyncGenerator[bytes, None]:
    visit, pages, clock = request.visit, face.pages, asyncio.get_running_loop().time
    before: AnswerView | None = None
    turn: Turn | None = None
    async with aclosing(face.chat.ask(asked, request.gateway.batches)) as turns:
        async for turn in turns:
            if before is None:
                before = pages.view(visit, turn.agent, turn.answer)
                yield event("turn", _beginning(face, request, turn, before))
                continue
            began = clock()
            look = partial(pages.view, visit, turn.agent, turn.answer, searching=turn.searching)
            view = await asyncio.to_thread(look)
            if (status := pages.status(visit, view)) != pages.status(visit, before):
                yield event("status", {"html": status})
            if view.blocks != before.blocks:
                yield event("body", _difference(before.blocks, view.blocks))
            before = view
            await asyncio.sleep((clock() - began) * _DRAWING)
    if turn is not None:
        request.call.provider = turn.answer.provider
        html = await asyncio.to_thread(pages.answer, visit, turn.agent, turn.answer, turn.question.id)
        yield event("done", {"html": str(html)})


def _beginning(face: Face, request: PageRequest, turn: Turn, view: AnswerView) -> Json:
    session, visit = turn.session, request.visit
    return {
        "html": str(face.pages.beginning(visit, turn)),
        "actions": face.pages.render("actions", visit, session=session),
        "session": session.id,
        "title": one_line(session.title),
        "question": turn.question.id,
        "answer": view.id,
    }


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> Json:
    keep = 0
    while keep < min(len(old), len(new)) and old[keep] == new[keep]:
        keep += 1
    return {"keep": keep, "blocks": list(new[keep:])}


def _asked(visit: Visit, fields: Fields) -> Asked:
    controls = Controls(
        domains_in(fields.text("allowed_domains")),
        domains_in(fields.text("blocked_domains")),
        *(fields.text(name).strip()[:100] for name in ("country", "region", "city", "timezone")),
    )
    return Asked(
        fields.text("text"),
        visit.owner,
        fields.text("session"),
        fields.text("agent"),
        controls,
        fields.text("replaces"),
        visit.language,
    )


def _last_controls(conversation: Conversation) -> Controls:
    asked = (turn.content for turn in reversed(conversation.turns) if isinstance(turn.content, Message))
    last = next(asked, None)
    return controls_of(last) if last is not None else Controls()


def _extract(text: str, wanted: str, around: int = 80) -> tuple[str, str, str]:
    """A piece of a text around the first word that was wanted."""
    line = one_line(text)
    word = next(iter(wanted.split()), "")
    at = line.casefold().find(word.casefold())
    if at < 0:
        return line[: 2 * around], "", ""
    start = max(0, at - around)
    end = at + len(word)
    return ("…" if start else "") + line[start:at], line[at:end], line[end : end + around]


PAGES: tuple[Page, ...] = (
    Page("GET", "/", start, about="The chat page."),
    Page("POST", "/chat/ask", ask, about="Asks, and streams the answer to the page."),
    Page("GET", "/chat/{id}", read, about="A session."),
    Page("POST", "/chat/{id}/rename", rename, about="Renames a session."),
    Page("POST", "/chat/{id}/delete", remove, about="Deletes a session."),
    Page("GET", "/chat/{id}/export.md", export_markdown, about="A session as Markdown."),
    Page("GET", "/chat/{id}/export.json", export_json, about="A session as JSON."),
    Page("GET", "/find", find, about="Searches the history."),
)
