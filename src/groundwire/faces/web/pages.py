"""The web application: templates, static files, and the adapter from page handlers to server routes.

Page routes are public for the server and protected here unless `is_public` is set: a visitor without a login
is redirected to `/login`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Hashable, Mapping
from hashlib import sha256
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from groundwire.chat.agents import LANGUAGES, pick
from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.chat.export import footnoted
from groundwire.chat.questions import Controls, readable_controls
from groundwire.chat.turns import Turn
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.faces.web.answers import AnswerView, view_of
from groundwire.faces.web.auth import VisitorAuth, WebVisitor
from groundwire.faces.web.headers import redirect, send_page
from groundwire.faces.web.messages import error_line
from groundwire.model import Answer, Message
from groundwire.model.access import Role
from groundwire.model.value import value
from groundwire.server.asgi import HttpExchange
from groundwire.server.routes import Endpoint, Route
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

HERE = Path(__file__).parent
STATIC = "/static"
PAGE_GROUP = "page"
"""The route group of all pages, for keys that are restricted to groups."""
CONTENT_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_MAX_CACHED_ANSWERS = 500

Texts: TypeAlias = Mapping[str, str]


@value
class StaticFile:
    """A static file. Browsers may cache it for ever: its URL contains a digest of its content."""

    content_type: str
    data: bytes
    tag: str


class Pages:
    """Renders templates, in the language of the visitor."""

    def __init__(self) -> None:
        self.files = {path.name: _static(path) for path in sorted((HERE / "static").iterdir())}
        self.digest = sha256("".join(file.tag for file in self.files.values()).encode()).hexdigest()[:12]
        self.texts: Mapping[str, Texts] = {
            language: MappingProxyType(json.loads((HERE / "locales" / f"{language}.json").read_text("utf-8")))
            for language in LANGUAGES
        }
        self._answer_cache: dict[Hashable, Markup] = {}
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["line"] = one_line
        self._templates.filters["pick"] = pick

    def render(self, name: str, visitor: WebVisitor, **values: object) -> str:
        """Render a template with the common variables and `values`."""
        common: dict[str, object] = {
            "t": self.texts[visitor.language],
            "visitor": visitor,
            "static": f"{STATIC}/{self.digest}",
            **dict.fromkeys(("session", "sessions", "query", "window", "older", "section", "error_text")),
            "path": "/",
        }
        return self._templates.get_template(f"{name}.html").render({**common, **values})

    def question(self, visitor: WebVisitor, message: StoredMessage) -> Markup:
        """HTML of a question in the conversation."""
        content = message.content if isinstance(message.content, Message) else Message("user", ())
        text, controls = sanitise(content.text), readable_controls(content)
        limits = (
            self.texts[visitor.language]["unreadable_controls"] if controls is None else limits_of(controls)
        )
        return Markup(self.render("question", visitor, message=message, text=text, limits=limits))  # noqa: S704  autoescaped

    def answer(self, visitor: WebVisitor, agent: Agent, message: StoredMessage, question: str) -> Markup:
        """HTML of an answer that is not being written. Completed answers are cached: they never change."""
        content = message.content if isinstance(message.content, Answer) else Answer()
        name = pick(agent.name, visitor.language)
        key = (message.id, state_of(content), visitor.language, name, agent.web_search)
        html = self._answer_cache.get(key)
        if html is None:
            view = self.view(visitor, agent, message)
            html = self._answer(
                visitor, agent, view, question=question, footnoted=sanitise(footnoted(content))
            )
            if view.state != "running":
                self._keep(key, html)
        return html

    def turn_start(self, visitor: WebVisitor, turn: Turn) -> Markup:
        """HTML of a question and of its answer, which is still empty."""
        view = self.view(visitor, turn.agent, turn.answer)
        question = self.question(visitor, turn.question)
        return question + self._answer(visitor, turn.agent, view, question=turn.question.id, live=True)

    def view(
        self, visitor: WebVisitor, agent: Agent, message: StoredMessage, *, searching: bool = False
    ) -> AnswerView:
        """The view of an answer for templates."""
        texts = self.texts[visitor.language]
        return view_of(message, texts, searched=agent.web_search, searching=searching)

    def status(self, visitor: WebVisitor, view: AnswerView) -> str:
        """HTML of the status line of an answer in progress."""
        return self.render("status", visitor, view=view, live=True).strip()

    def progress(self, visitor: WebVisitor, view: AnswerView) -> str:
        """HTML of the searches and sources so far."""
        return self.render("progress", visitor, view=view).strip()

    def _keep(self, key: Hashable, html: Markup) -> None:
        while len(self._answer_cache) >= _MAX_CACHED_ANSWERS:
            self._answer_cache.pop(next(iter(self._answer_cache)), None)
        self._answer_cache[key] = html

    def _answer(self, visitor: WebVisitor, agent: Agent, view: AnswerView, **extra: object) -> Markup:
        name = one_line(pick(agent.name, visitor.language))
        values = {"live": False, "footnoted": "", **extra}
        return Markup(self.render("answer", visitor, view=view, who=name, **values))  # noqa: S704  autoescaped


def limits_of(controls: Controls) -> str:
    """The search restrictions of a question, on one line."""
    location = ", ".join(filter(None, (controls.city, controls.region, controls.country, controls.timezone)))
    blocked = (f"−{domain}" for domain in controls.blocked_domains)
    return one_line(" · ".join(filter(None, (*controls.allowed_domains, *blocked, location))))


def _static(path: Path) -> StaticFile:
    data = path.read_bytes()
    return StaticFile(f"{CONTENT_TYPES[path.suffix]}; charset=utf-8", data, sha256(data).hexdigest()[:16])


RECENT_SESSIONS = 40


class WebApp:
    """The web application of one chat."""

    def __init__(self, chat: Chat, clock: Callable[[], float] = time) -> None:
        self.chat = chat
        self.pages = Pages()
        self.auth = VisitorAuth(clock)
        self.clock = clock

    async def send(self, request: PageRequest, name: str, *, status: int = 200, **values: object) -> None:
        """Send a page that includes the list of sessions."""
        visitor = request.visitor
        sessions = await self.chat.sessions(visitor.owner, RECENT_SESSIONS + 1)
        older = sessions[RECENT_SESSIONS - 1].id if len(sessions) > RECENT_SESSIONS else None
        common: dict[str, object] = {
            "sessions": sessions[:RECENT_SESSIONS],
            "older": older,
            "path": request.exchange.path,
        }
        # In a thread: a long page must not block the event loop.
        html = await asyncio.to_thread(self.pages.render, name, visitor, **{**common, **values})
        await send_page(request.exchange, html, status=status, extra=visitor.cookies)

    async def send_error_page(self, request: PageRequest, error: GroundwireError) -> None:
        """Send a page with the message of an error."""
        request.context.outcome = error.code
        html = self.pages.render("error", request.visitor, error_text=self.error_text(request, error))
        await send_page(request.exchange, html, status=error.status_hint, extra=request.visitor.cookies)

    def error_text(self, request: PageRequest, error: GroundwireError) -> str:
        """The message of an error in the visitor's language."""
        return error_line(error, self.pages.texts[request.visitor.language])


@value
class PageRequest:
    """A request to a page, with its visitor."""

    app: HttpApp
    context: RequestContext
    params: Mapping[str, str]
    visitor: WebVisitor

    @property
    def exchange(self) -> HttpExchange:
        """The HTTP request and response."""
        return self.context.exchange


PageHandler: TypeAlias = Callable[[WebApp, PageRequest], Awaitable[None]]


@value
class PageRoute:
    """A page: method, path and handler."""

    method: str
    path: str
    handler: PageHandler
    is_public: bool = False
    """Available without a login?"""
    about: str = ""
    role: Role = "member"
    """The least role of the visitor's key. For others the page does not exist."""


def page_route(web: WebApp, page: PageRoute) -> Route:
    """The page as a route of the server."""
    return Route(
        page.method,
        page.path,
        _endpoint(web, page),
        access="public",
        about=page.about,
        group=PAGE_GROUP,
        role=page.role,
    )


def record_action(app: HttpApp, action: str, key: str, subject: str = "") -> None:
    """Append what the user of a key did to the audit log. Blocks."""
    if app.key_manager is not None:
        owner = app.access.rights(key).owner
        app.key_manager.audit.add(action, app.actor(key).id, subject, owner=owner)


def _check_page(app: HttpApp, visitor: WebVisitor, page: PageRoute) -> None:
    if not app.access.has_role(visitor.key, page.role):
        raise TurnedAway(status=404, message="there is nothing at this path", code="NOT_FOUND")
    app.access.check_route(visitor.key, PAGE_GROUP, page.role)


def _endpoint(web: WebApp, page: PageRoute) -> Endpoint:
    async def endpoint(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
        visitor = web.auth.visitor(app, context.exchange)
        context.key, context.owner = visitor.key, visitor.owner
        app.charge(visitor.key)
        allowed = app.restricted_to(app.access.rights(visitor.key).scope)
        request = PageRequest(allowed, context, params, visitor)
        if not visitor.is_logged_in and not page.is_public:
            await redirect(context.exchange, "/login", visitor.cookies)
            return
        try:
            if not page.is_public:
                _check_page(app, visitor, page)
            await page.handler(web, request)
        except GroundwireError as error:
            if context.exchange.response_started:
                raise
            await web.send_error_page(request, error)

    return endpoint
