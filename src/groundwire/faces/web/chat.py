"""Sessions, and the stream of an answer to the page.

The stream tells HTML that was rendered here: `turn` when the question is on disk, `body` when blocks changed
(`keep` of the first stay), `status` when something else is done, `progress` when more was found, `done` with
the answer as it will be read again. Why nothing was asked is told with the status of an error, or, if the
stream has begun, by `refused`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial

from groundwire.chat.agents import target_for
from groundwire.chat.answers import extract
from groundwire.chat.questions import ChatQuestion, Controls, domains_in, readable_controls
from groundwire.chat.turns import SessionTurns, Turn
from groundwire.client import Groundwire
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, ConfigError, GroundwireError
from groundwire.faces.gateway.asgi import cancel_on_disconnect
from groundwire.faces.gateway.response_writer import Outgoing
from groundwire.faces.web.answers import AnswerView
from groundwire.faces.web.app import Face, Page, PageRequest
from groundwire.faces.web.auth import LARGEST, Visit, check_token, read_form
from groundwire.faces.web.headers import PRIVATE, SECURITY, event, send_away, send_refusal
from groundwire.faces.web.windows import reach_of, window_of
from groundwire.model import Json, Message
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line

TOKEN = "x-groundwire-token"  # noqa: S105  the name of a header
_HEAD = (("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no"))
_DRAWING = 4.0
"""Seconds of rest for each second of rendering: long answers are drawn less often."""


async def start(face: Face, request: PageRequest) -> None:
    """The page of somebody who has not asked yet."""
    agents = await face.chat.agents(request.visit.owner)
    chosen = next((agent for agent in agents if agent.id == request.inbound.parameter("agent")), agents[0])
    mute = _mute(face, agents)
    await face.send(request, "chat", agents=agents, mute=mute, agent=chosen, turns=(), controls=Controls())


async def read(face: Face, request: PageRequest) -> None:
    """A session."""
    visit = request.visit
    reach = reach_of(request.inbound.parameter("at"))
    conversation = await face.chat.open(visit.owner, request.names["id"], *reach)
    agents = await face.chat.agents(request.visit.owner)
    if conversation.agent.id not in {agent.id for agent in agents}:
        agents.append(conversation.agent)
    window = window_of(conversation.turns, reach)
    # Long answers are written beside the loop: others go on being served.
    log = await asyncio.to_thread(_log, face, visit, conversation.agent, window.turns)
    await face.send(
        request,
        "chat",
        agents=agents,
        mute=_mute(face, agents),
        session=conversation.session,
        agent=conversation.agent,
        turns=log,
        window=window,
        controls=_last_controls(conversation),
    )


def _mute(face: Face, agents: Sequence[Agent]) -> set[str]:
    """Agents that do not search, and have nobody to ask without."""
    silent = (agent for agent in agents if not agent.web_search)
    return {agent.id for agent in silent if not _is_answered(agent, face.chat.groundwire)}


def _is_answered(agent: Agent, groundwire: Groundwire) -> bool:
    try:
        target_for(agent, groundwire)
    except ConfigError:
        return False
    return True


async def ask(face: Face, request: PageRequest) -> None:
    """Ask, and stream the answer for as long as somebody reads it."""
    try:
        check_token(request.visit, request.inbound.headers.get(TOKEN, ""))
        request.gateway.check_room()
        body = load_json(await request.inbound.body(LARGEST), ClientWireError)
    except GroundwireError as error:
        # Told to a script: the page it belongs to shows it above the question, which stays there.
        request.call.outcome = error.code
        await send_refusal(request.inbound, error, face.line(request, error))
        return
    if not await cancel_on_disconnect(request.inbound, _stream(face, request, body)):
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


async def find(face: Face, request: PageRequest) -> None:
    """What was said about something, or the sessions before one."""
    wanted = request.inbound.parameter("q")
    owner = request.visit.owner
    turns = await face.chat.find(owner, wanted) if wanted.strip() else []
    found = await asyncio.to_thread(
        lambda: [(held, turn, extract(one_line(turn.content.text), wanted)) for held, turn in turns]
    )
    listed = []
    if before := request.inbound.parameter("before"):
        listed = await face.chat.sessions(owner, 200, await face.chat.session(owner, before))
    await face.send(request, "find", found=found, listed=listed, wanted=wanted)


def _log(face: Face, visit: Visit, agent: Agent, turns: Iterable[StoredMessage]) -> list[str]:
    articles: list[str] = []
    question = ""
    for turn in turns:
        if isinstance(turn.content, Message):
            question = turn.id
            articles.append(face.pages.question(visit, turn))
        else:
            articles.append(face.pages.answer(visit, agent, turn, question))
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
            if not request.inbound.begun:
                await send_refusal(request.inbound, error, face.line(request, error))
                return
            await outgoing.write(event("refused", {"message": face.line(request, error)}))
        await outgoing.write(b"", more=False)


async def _told(face: Face, request: PageRequest, asked: ChatQuestion) -> AsyncGenerator[bytes, None]:
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
            if (view.searches_made, view.found) != (before.searches_made, before.found):
                yield event("progress", {"html": pages.progress(visit, view)})
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


def _asked(visit: Visit, fields: Fields) -> ChatQuestion:
    controls = Controls(
        domains_in(fields.text("allowed_domains")),
        domains_in(fields.text("blocked_domains")),
        *(fields.text(name).strip()[:100] for name in ("country", "region", "city", "timezone")),
    )
    return ChatQuestion(
        fields.text("text"),
        visit.owner,
        fields.text("session"),
        fields.text("agent"),
        controls,
        fields.text("replaces"),
        visit.language,
    )


def _last_controls(conversation: SessionTurns) -> Controls:
    asked = (turn.content for turn in reversed(conversation.turns) if isinstance(turn.content, Message))
    last = next(asked, None)
    return (readable_controls(last) if last is not None else None) or Controls()


PAGES: tuple[Page, ...] = (
    Page("GET", "/", start, about="The chat page."),
    Page("POST", "/chat/ask", ask, about="Asks, and streams the answer to the page."),
    Page("GET", "/chat/{id}", read, about="A session."),
    Page("POST", "/chat/{id}/rename", rename, about="Renames a session."),
    Page("POST", "/chat/{id}/delete", remove, about="Deletes a session."),
    Page("GET", "/find", find, about="Searches the history."),
)
