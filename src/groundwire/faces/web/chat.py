"""Pages of sessions: the chat page, the stream of an answer, history search, and exports.

The stream has server-sent events with HTML that is rendered here: `turn` when the question is stored, `body`
when blocks have changed (the first `keep` blocks stay), `status` for the status line, `progress` for new
searches and sources, and `done` with the final answer. An error before the stream has an HTTP status; later
it is the event `refused`.

Long sessions are shown one window of turns at a time: the last few questions with their answers, or those
from a given turn on. A question and its answer have consecutive numbers; the first question has number 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import islice
from typing import NamedTuple

from groundwire.chat.agents import target_for
from groundwire.chat.answers import extract, is_unreadable
from groundwire.chat.export import session_as_json, session_as_markdown
from groundwire.chat.questions import ChatQuestion, Controls, domains_in, readable_controls
from groundwire.chat.turns import SessionTurns, Turn
from groundwire.client_protocol import SearchClient
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, ConfigError, ForbiddenForKey, GroundwireError
from groundwire.faces.web.answers import AnswerView
from groundwire.faces.web.auth import MAX_FORM_BYTES, WebVisitor, check_token, read_form
from groundwire.faces.web.headers import PRIVATE, SECURITY, redirect, send_error, sse_event
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.model import Json, Message
from groundwire.model.value import value
from groundwire.server.asgi import HttpExchange, cancel_on_disconnect
from groundwire.server.response_writer import StreamingResponse
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line

LAST_WINDOW_TURNS = 5
"""Questions in the last window, which is shown first: few, but enough to fill a screen."""
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


TOKEN_HEADER = "x-groundwire-token"  # noqa: S105  the name of a header
_STREAM_HEADERS = (("content-type", "text/event-stream; charset=utf-8"), ("x-accel-buffering", "no"))
_RENDER_PAUSE = 4.0
"""Seconds of pause for each second of rendering: long answers are rendered less often."""


async def show_start(web: WebApp, request: PageRequest) -> None:
    """The page of a new session."""
    agents = await web.chat.agents(request.visitor.owner)
    chosen = next((agent for agent in agents if agent.id == request.exchange.query_param("agent")), agents[0])
    unavailable = _unavailable(request.app.groundwire, agents)
    await web.send(
        request, "chat", agents=agents, mute=unavailable, agent=chosen, turns=(), controls=Controls()
    )


async def show_session(web: WebApp, request: PageRequest) -> None:
    """The page of a session."""
    visitor = request.visitor
    turns_to_load = turn_range(request.exchange.query_param("at"))
    conversation = await web.chat.open(visitor.owner, request.params["id"], *turns_to_load)
    agents = await web.chat.agents(request.visitor.owner)
    if conversation.agent.id not in {agent.id for agent in agents}:
        agents.append(conversation.agent)
    window = window_of(conversation.turns, turns_to_load)
    # In a thread: rendering long answers must not block the event loop.
    articles = await asyncio.to_thread(_render_turns, web, visitor, conversation.agent, window.turns)
    await web.send(
        request,
        "chat",
        agents=agents,
        mute=_unavailable(request.app.groundwire, agents),
        session=conversation.session,
        agent=conversation.agent,
        turns=articles,
        window=window,
        controls=_last_controls(conversation),
    )


def _unavailable(client: SearchClient, agents: Sequence[Agent]) -> set[str]:
    """Ids of agents without web search for which there is no model."""
    offline = (agent for agent in agents if not agent.web_search)
    return {agent.id for agent in offline if not _has_target(agent, client)}


def _has_target(agent: Agent, client: SearchClient) -> bool:
    try:
        target_for(agent, client)
    except (ConfigError, ForbiddenForKey):
        return False
    return True


async def ask(web: WebApp, request: PageRequest) -> None:
    """Send a question, and stream the answer until it is complete or the browser disconnects."""
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
    if not await cancel_on_disconnect(request.exchange, _stream(web, request, body)):
        request.context.outcome = "left"


async def rename(web: WebApp, request: PageRequest) -> None:
    """Rename a session."""
    form = await read_form(request.visitor, request.exchange)
    session = await web.chat.rename(request.visitor.owner, request.params["id"], form.get("title", ""))
    await redirect(request.exchange, f"/chat/{session.id}")


async def remove(web: WebApp, request: PageRequest) -> None:
    """Delete a session."""
    await read_form(request.visitor, request.exchange)
    await web.chat.remove(request.visitor.owner, request.params["id"])
    await redirect(request.exchange, "/")


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


async def _stream(web: WebApp, request: PageRequest, body: Json) -> None:
    headers = (*_STREAM_HEADERS, *SECURITY, *PRIVATE)
    with StreamingResponse(
        request.exchange, lambda: headers, lambda: b": \n\n", request.app.timeouts
    ) as response:
        try:
            question = _decode_question(request.visitor, Fields.of(body, ClientWireError))
            async with aclosing(_answer_stream(web, request, question)) as chunks:
                async for chunk in chunks:
                    await response.write(chunk)
        except GroundwireError as error:
            request.context.outcome = error.code
            if not request.exchange.response_started:
                await send_error(request.exchange, error, web.error_text(request, error))
                return
            await response.write(sse_event("refused", {"message": web.error_text(request, error)}))
        await response.write(b"", more=False)


async def _answer_stream(
    web: WebApp, request: PageRequest, question: ChatQuestion
) -> AsyncGenerator[bytes, None]:
    visitor, pages, clock = request.visitor, web.pages, asyncio.get_running_loop().time
    before: AnswerView | None = None
    turn: Turn | None = None
    app = request.app
    async with aclosing(web.chat.ask(question, app.batches, app.groundwire)) as turns:
        async for turn in turns:
            if before is None:
                before = pages.view(visitor, turn.agent, turn.answer)
                yield sse_event("turn", _turn_event(web, request, turn, before))
                continue
            began = clock()
            render_view = partial(pages.view, visitor, turn.agent, turn.answer, searching=turn.searching)
            view = await asyncio.to_thread(render_view)
            if (status := pages.status(visitor, view)) != pages.status(visitor, before):
                yield sse_event("status", {"html": status})
            if (view.searches_made, view.found) != (before.searches_made, before.found):
                yield sse_event("progress", {"html": pages.progress(visitor, view)})
            if view.blocks != before.blocks:
                yield sse_event("body", _changed_blocks(before.blocks, view.blocks))
            before = view
            await asyncio.sleep((clock() - began) * _RENDER_PAUSE)
    if turn is not None:
        request.context.provider = turn.answer.provider
        html = await asyncio.to_thread(pages.answer, visitor, turn.agent, turn.answer, turn.question.id)
        yield sse_event("done", {"html": str(html)})


def _turn_event(web: WebApp, request: PageRequest, turn: Turn, view: AnswerView) -> Json:
    session, visitor = turn.session, request.visitor
    return {
        "html": str(web.pages.turn_start(visitor, turn)),
        "actions": web.pages.render("actions", visitor, session=session),
        "session": session.id,
        "title": one_line(session.title),
        "question": turn.question.id,
        "answer": view.id,
    }


def _changed_blocks(old: tuple[str, ...], new: tuple[str, ...]) -> Json:
    keep = 0
    while keep < min(len(old), len(new)) and old[keep] == new[keep]:
        keep += 1
    return {"keep": keep, "blocks": list(new[keep:])}


def _decode_question(visitor: WebVisitor, fields: Fields) -> ChatQuestion:
    controls = Controls(
        domains_in(fields.text("allowed_domains")),
        domains_in(fields.text("blocked_domains")),
        *(fields.text(name).strip()[:100] for name in ("country", "region", "city", "timezone")),
    )
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


_EXPORT_BATCH = 10
"""Turns that are written together."""


async def export_markdown(web: WebApp, request: PageRequest) -> None:
    """Download a session as Markdown."""
    conversation = await web.chat.read_session(request.visitor.owner, request.params["id"])
    chunks = session_as_markdown(conversation, request.visitor.language)
    await _send_export(request.exchange, f"{conversation.session.id}.md", "text/markdown", chunks)


async def export_json(web: WebApp, request: PageRequest) -> None:
    """Download a session as JSON."""
    conversation = await web.chat.read_session(request.visitor.owner, request.params["id"])
    chunks = session_as_json(conversation)
    await _send_export(request.exchange, f"{conversation.session.id}.json", "application/json", chunks)


async def _send_export(exchange: HttpExchange, name: str, content_type: str, chunks: Iterator[str]) -> None:
    """Stream a download. It is written in a thread, some turns at a time, so that the event loop keeps
    serving."""
    headers = (
        ("content-type", f"{content_type}; charset=utf-8"),
        ("content-disposition", f'attachment; filename="{name}"'),
        *SECURITY,
        *PRIVATE,
    )

    def next_batch() -> bytes:
        return "".join(islice(chunks, _EXPORT_BATCH)).encode("utf-8", "replace")

    data = await asyncio.to_thread(next_batch)
    await exchange.start_response(200, headers)
    while data:
        await exchange.write(data)
        data = await asyncio.to_thread(next_batch)
    await exchange.write(b"", more=False)


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/", show_start, about="The chat page."),
    PageRoute("POST", "/chat/ask", ask, about="Sends a question, and streams the answer."),
    PageRoute("GET", "/chat/{id}", show_session, about="A session."),
    PageRoute("POST", "/chat/{id}/rename", rename, about="Renames a session."),
    PageRoute("POST", "/chat/{id}/delete", remove, about="Deletes a session."),
    PageRoute("GET", "/find", find, about="Searches the history."),
    PageRoute("GET", "/chat/{id}/export.md", export_markdown, about="A session as Markdown."),
    PageRoute("GET", "/chat/{id}/export.json", export_json, about="A session as JSON."),
)
