"""Pages of sessions: the chat page, the stream of an answer, and history search.

The stream has server-sent events with HTML that is rendered here: `turn` with the question and the answer so
far, `body` when blocks have changed (the first `keep` blocks stay), `status` for the status line, `progress`
for new searches and sources, and `done` with the final answer. An error before the stream has an HTTP status;
later it is the event `refused`.

An answer goes on when its reader leaves. `follow` streams it again, to any number of readers: it begins with
the present state, so no reader has to say what it has seen.

Long sessions are shown one window of turns at a time: the last few questions with their answers, or those
from a given turn on. A question and its answer have consecutive numbers; the first question has number 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from groundwire.chat.agents import answering_target, model_provider, target_for
from groundwire.chat.answers import extract, is_unreadable
from groundwire.chat.indexed import EMBEDDED
from groundwire.chat.questions import ChatQuestion, Controls, domains_in, readable_controls
from groundwire.chat.turns import SessionTurns, Turn
from groundwire.client_protocol import SearchClient
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.engine.knowledge.background import read_status
from groundwire.errors import ClientWireError, GroundwireError, TurnedAway
from groundwire.faces.web.answers import AnswerView, changed_blocks
from groundwire.faces.web.auth import MAX_FORM_BYTES, WebVisitor, check_token, notice_cookie, read_form
from groundwire.faces.web.headers import (
    PRIVATE,
    SECURITY,
    STREAM_HEADERS,
    TOKEN_HEADER,
    redirect,
    send_error,
    send_json,
    sse_event,
)
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.model import Json, Message
from groundwire.model.value import replace, value
from groundwire.server.asgi import cancel_on_disconnect
from groundwire.server.response_writer import StreamingResponse
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line

LAST_WINDOW_TURNS = 2
"""Questions in the last window, which is shown first: few, because the first paint waits for them. Earlier
ones are loaded right after it."""
WINDOW_TURNS = 20
"""Questions in every other window."""


class TurnRange(NamedTuple):
    """Turns to load: the last `limit` before the number `until`, or the last of all if it is 0."""

    until: int
    limit: int


@value
class TurnWindow:
    """The turns that are shown, and the first turns of the windows before and after; 0 if there is none."""

    turns: tuple[StoredMessage, ...]
    earlier: int = 0
    later: int = 0


def turn_range(at: str) -> TurnRange:
    """The turns to load for the window that begins at turn `at`, or for the last window.

    It has one turn more on each side: an answer needs its question, and a turn after the window shows that
    there is a next one.
    """
    number = int(at) if at.isascii() and at.isdecimal() and len(at) < 10 else 0
    return (
        TurnRange(number + 2 * WINDOW_TURNS + 1, 2 * WINDOW_TURNS + 2)
        if number
        else TurnRange(0, 2 * LAST_WINDOW_TURNS)
    )


def window_of(turns: Sequence[StoredMessage], loaded: TurnRange) -> TurnWindow:
    """The window of turns that were loaded."""
    size = 2 * WINDOW_TURNS if loaded.until else 2 * LAST_WINDOW_TURNS
    first = next((index for index, turn in enumerate(turns) if _begins_window(turn, loaded)), 0)
    shown = tuple(turns[first : first + size])
    number = shown[0].number if shown else 0
    later = turns[first + size].number if len(turns) > first + size else 0
    return TurnWindow(shown, max(1, number - 2 * WINDOW_TURNS) if number > 1 else 0, later)


def _begins_window(turn: StoredMessage, loaded: TurnRange) -> bool:
    content = turn.content
    # The type of a damaged row is unknown; questions have odd numbers.
    damaged = not isinstance(content, Message) and is_unreadable(content) and turn.number % 2 == 1
    return (isinstance(content, Message) or damaged) and turn.number >= loaded.until - loaded.limit


_RENDER_PAUSE = 4.0
"""Seconds of pause for each second of rendering: long answers are rendered less often."""


async def show_start(web: WebApp, request: PageRequest) -> None:
    """The page of a new session."""
    client = request.app.groundwire
    agents = await web.chat.agents(request.visitor.owner, client)
    chosen = next((agent for agent in agents if agent.id == request.exchange.query_param("agent")), agents[0])
    provider, model = await asyncio.to_thread(answering_target, chosen, client)
    await web.send(
        request,
        "chat",
        agents=agents,
        mute=_unavailable(client, agents),
        agent=chosen,
        turns=(),
        controls=Controls(),
        answering=" · ".join(filter(None, (provider, model))),
        has_model=bool(model_provider(client)),
    )


async def show_session(web: WebApp, request: PageRequest) -> None:
    """The page of a session."""
    visitor = request.visitor
    turns_to_load = turn_range(request.exchange.query_param("at"))
    client = request.app.groundwire
    conversation = await web.chat.open(visitor.owner, request.params["id"], *turns_to_load, client)
    agents = await web.chat.agents(visitor.owner, client)
    if conversation.agent.id not in {agent.id for agent in agents}:
        agents.append(conversation.agent)
    window = window_of(conversation.turns, turns_to_load)
    # In a thread: rendering long answers must not block the event loop.
    articles = await asyncio.to_thread(_render_turns, web, visitor, conversation.agent, window.turns)
    await web.send(
        request,
        "chat",
        agents=agents,
        mute=_unavailable(client, agents),
        session=conversation.session,
        agent=conversation.agent,
        turns=articles,
        window=window,
        controls=_last_controls(conversation),
    )


def _unavailable(client: SearchClient, agents: Sequence[Agent]) -> set[str]:
    """Ids of agents for which there is no model that answers without a search."""
    return {agent.id for agent in agents if not _has_target(replace(agent, web_search=False), client)}


def _has_target(agent: Agent, client: SearchClient) -> bool:
    try:
        target_for(agent, client)
    except GroundwireError:  # nothing is configured, the key does not allow it, the model is not known
        return False
    return True


async def ask(web: WebApp, request: PageRequest) -> None:
    """Send a question, and stream the answer. It goes on if the browser disconnects."""
    try:
        check_token(request.visitor, request.exchange.headers.get(TOKEN_HEADER, ""))
        request.app.check_capacity()
        await request.app.check_rate(request.context, MAX_FORM_BYTES)
        body = load_json(await request.exchange.read_json(MAX_FORM_BYTES), ClientWireError)
    except GroundwireError as error:
        # The script of the page shows the message above the question, which stays in the form.
        request.context.outcome = error.code
        await send_error(request.exchange, error, web.error_text(request, error))
        return
    await _send_stream(web, request, _start(web, request, body))


async def follow(web: WebApp, request: PageRequest) -> None:
    """Stream the last turn of a session: its present state, and what is added to it."""
    await web.chat.session(request.visitor.owner, request.params["id"])
    await _send_stream(web, request, web.chat.follow(request.visitor.owner, request.params["id"]))


async def stop(web: WebApp, request: PageRequest) -> None:
    """Stop the answer that is being written in a session."""
    try:
        check_token(request.visitor, request.exchange.headers.get(TOKEN_HEADER, ""))
        await web.chat.stop(request.visitor.owner, request.params["id"])
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_error(request.exchange, error, web.error_text(request, error))
        return
    await send_json(request.exchange, {})


async def rename(web: WebApp, request: PageRequest) -> None:
    """Rename a session."""
    form = await read_form(request.visitor, request.exchange)
    session = await web.chat.rename(request.visitor.owner, request.params["id"], form.get("title", ""))
    await redirect(request.exchange, f"/chat/{session.id}", notice_cookie(request.exchange, "renamed"))


async def remove(web: WebApp, request: PageRequest) -> None:
    """Delete a session."""
    await read_form(request.visitor, request.exchange)
    await web.chat.remove(request.visitor.owner, request.params["id"])
    await redirect(request.exchange, "/", notice_cookie(request.exchange, "deleted"))


async def find(web: WebApp, request: PageRequest) -> None:
    """Search the history, or list older sessions."""
    query = request.exchange.query_param("q")
    owner = request.visitor.owner
    turns = await web.chat.find(owner, query) if query.strip() else []
    found = await asyncio.to_thread(
        lambda: [(session, turn, extract(one_line(turn.content.text), query)) for session, turn in turns]
    )
    listed = []
    if before := request.exchange.query_param("before"):
        listed = await web.chat.sessions(owner, 200, await web.chat.session(owner, before))
    await web.send(request, "find", found=found, listed=listed, query=query)


def _render_turns(
    web: WebApp, visitor: WebVisitor, agent: Agent, turns: Iterable[StoredMessage]
) -> list[str]:
    articles: list[str] = []
    question = ""
    for turn in turns:
        if isinstance(turn.content, Message):
            question = turn.id
            articles.append(web.pages.question(visitor, turn))
        else:
            articles.append(web.pages.answer(visitor, agent, turn, question))
    return articles


async def _start(web: WebApp, request: PageRequest, body: Json) -> AsyncGenerator[Turn, None]:
    """Ask the question, and follow its answer."""
    question = _decode_question(request.visitor, Fields.of(body, ClientWireError))
    running = await web.chat.start(question, request.app.batches, request.app.groundwire)
    async with aclosing(web.chat.states(running)) as turns:
        async for turn in turns:
            yield turn


async def _send_stream(web: WebApp, request: PageRequest, turns: AsyncGenerator[Turn, None]) -> None:
    if not await cancel_on_disconnect(request.exchange, _write_stream(web, request, turns)):
        request.context.outcome = "left"


async def _write_stream(web: WebApp, request: PageRequest, turns: AsyncGenerator[Turn, None]) -> None:
    headers = (*STREAM_HEADERS, *SECURITY, *PRIVATE)
    with StreamingResponse(
        request.exchange, lambda: headers, lambda: b": \n\n", request.app.timeouts
    ) as response:
        try:
            async with aclosing(_events(web, request, turns)) as events:
                async for event in events:
                    await response.write(event)
        except GroundwireError as error:
            request.context.outcome = error.code
            if not request.exchange.response_started:
                await send_error(request.exchange, error, web.error_text(request, error))
                return
            await response.write(sse_event("refused", {"message": web.error_text(request, error)}))
        await response.write(b"", more=False)


async def _events(
    web: WebApp, request: PageRequest, turns: AsyncGenerator[Turn, None]
) -> AsyncGenerator[bytes, None]:
    visitor, pages, clock = request.visitor, web.pages, asyncio.get_running_loop().time
    before: AnswerView | None = None
    turn: Turn | None = None
    has_index = await asyncio.to_thread(_has_index, request.app.groundwire.config.data_dir)
    async with aclosing(turns):
        async for turn in turns:
            began = clock()
            render_view = partial(pages.view, visitor, turn.answer, searching=turn.searching)
            view = await asyncio.to_thread(render_view)
            if not has_index and turn.answer.provider == EMBEDDED and not view.blocks:
                view = replace(view, preparing=True)
            if before is None or view.id != before.id:
                yield sse_event("turn", _turn_event(web, request, turn, view))
                before = view
                continue
            if (status := pages.status(visitor, view)) != pages.status(visitor, before):
                yield sse_event("status", {"html": status})
            if (view.searches_made, view.strip) != (before.searches_made, before.strip):
                yield sse_event("progress", {"html": pages.progress(visitor, view)})
            if view.blocks != before.blocks:
                yield sse_event("body", changed_blocks(before.blocks, view.blocks))
            before = view
            await asyncio.sleep((clock() - began) * _RENDER_PAUSE)
    if turn is not None:
        request.context.provider = turn.answer.provider
        html = await asyncio.to_thread(pages.answer, visitor, turn.agent, turn.answer, turn.question.id)
        yield sse_event("done", {"html": str(html)})


def _has_index(data_dir: str) -> bool:
    """Has the embedded index been searched before? The first search builds its core, which takes seconds."""
    return read_status(Path(data_dir, "index")).phase != "none"


def _turn_event(web: WebApp, request: PageRequest, turn: Turn, view: AnswerView) -> Json:
    session, visitor = turn.session, request.visitor
    return {
        "html": str(web.pages.turn_start(visitor, turn, view)),
        "actions": web.pages.render("actions", visitor, session=session),
        "session": session.id,
        "title": one_line(session.title),
        "question": turn.question.id,
        "answer": view.id,
    }


_CONTROLS = ("country", "region", "city", "timezone", "provider", "model")
_SEARCH_CHOICES = ("on", "off")


def _decode_question(visitor: WebVisitor, fields: Fields) -> ChatQuestion:
    search = fields.text("search")
    texts = [fields.text(name).strip()[:200] for name in _CONTROLS]
    texts.append(search if search in _SEARCH_CHOICES else "")
    allowed, blocked = (domains_in(fields.text(name)) for name in ("allowed_domains", "blocked_domains"))
    controls = Controls(allowed, blocked, *texts)
    return ChatQuestion(
        fields.text("text"),
        visitor.owner,
        fields.text("session"),
        fields.text("agent"),
        controls,
        fields.text("replaces"),
        visitor.language,
        visitor.key,
    )


def _last_controls(conversation: SessionTurns) -> Controls:
    questions = (turn.content for turn in reversed(conversation.turns) if isinstance(turn.content, Message))
    last = next(questions, None)
    return (readable_controls(last) if last is not None else None) or Controls()


async def verify(web: WebApp, request: PageRequest) -> None:
    """Verify the citations of an answer; responds with its new HTML."""
    try:
        check_token(request.visitor, request.exchange.headers.get(TOKEN_HEADER, ""))
        await web.chat.session(request.visitor.owner, request.params["id"])
        request.app.check_capacity()
        await request.app.check_rate(request.context, MAX_FORM_BYTES)
        body = load_json(await request.exchange.read_json(MAX_FORM_BYTES), ClientWireError)
        if request.app.settings.verify == "off":
            raise TurnedAway(status=404, message="verification is switched off here", code="NOT_FOUND")
        number = Fields.of(body, ClientWireError).count("answer") or 0
        work = _verify(web, request, number)
        if not await cancel_on_disconnect(request.exchange, work):
            request.context.outcome = "left"
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_error(request.exchange, error, web.error_text(request, error))


async def _verify(web: WebApp, request: PageRequest, number: int) -> None:
    visitor, session = request.visitor, request.params["id"]
    report = await web.chat.verify(visitor.owner, session, number, request.app.groundwire)
    message, is_stored = await web.chat.store_report(visitor.owner, session, number, report)
    conversation = await web.chat.open(visitor.owner, session, number, 1)
    question = conversation.turns[-1].id if conversation.turns else ""
    html = await asyncio.to_thread(web.pages.answer, visitor, conversation.agent, message, question)
    note = "" if is_stored else web.pages.texts[visitor.language]["verify_not_stored"]
    await send_json(request.exchange, {"html": str(html), "note": note})


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/", show_start, about="The chat page."),
    PageRoute("POST", "/chat/ask", ask, about="Sends a question, and streams the answer."),
    PageRoute("GET", "/chat/{id}", show_session, about="A session."),
    PageRoute("GET", "/chat/{id}/follow", follow, about="Streams the last answer of a session."),
    PageRoute("POST", "/chat/{id}/stop", stop, about="Stops the answer that is being written."),
    PageRoute("POST", "/chat/{id}/rename", rename, about="Renames a session."),
    PageRoute("POST", "/chat/{id}/delete", remove, about="Deletes a session."),
    PageRoute("POST", "/chat/{id}/verify", verify, about="Verifies the citations of an answer."),
    PageRoute("GET", "/find", find, about="Searches the history."),
)
