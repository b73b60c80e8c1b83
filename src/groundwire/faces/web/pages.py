"""The web application: templates, static files, and the adapter from page handlers to server routes.

Page routes are public for the server and protected here unless `is_public` is set: a visitor without a login
is redirected to `/login`.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, TypeAlias

from markupsafe import Markup

from groundwire.chat.agents import pick
from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.chat.export import footnoted
from groundwire.chat.questions import Controls, readable_controls
from groundwire.chat.shares import LIFETIMES
from groundwire.chat.turns import Turn
from groundwire.chat.verification import checked_at
from groundwire.client_protocol import SearchClient
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.faces.web.answers import AnswerView, view_of
from groundwire.faces.web.auth import THEMES, VisitorAuth, WebVisitor, notice_cookie
from groundwire.faces.web.bibliographies import BIBLIOGRAPHIES
from groundwire.faces.web.headers import redirect, send_page
from groundwire.faces.web.locales import Texts, load_locales
from groundwire.faces.web.messages import error_line, translated
from groundwire.faces.web.session_list import folders_of, group_sessions, zone_named
from groundwire.model import Answer, Message
from groundwire.model.access import Role
from groundwire.model.value import value
from groundwire.server.asgi import HttpExchange
from groundwire.server.routes import Endpoint, Route
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from jinja2 import Environment

    from groundwire.server.app import HttpApp, RequestContext

HERE = Path(__file__).parent
STATIC = "/static"
PAGE_GROUP = "page"
"""The route group of all pages, for keys that are restricted to groups."""
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json; charset=utf-8",
}

STYLES = {"system": "style.css", "light": "style-light.css", "dark": "style-dark.css"}
"""The style sheet of each theme."""
_MAX_CACHED_ANSWERS = 500


@value
class StaticFile:
    """A static file. Browsers may cache it for ever: its URL contains a digest of its content."""

    content_type: str
    data: bytes
    tag: str
    compressed: bytes = b""
    """The data in gzip; empty if that is not smaller."""


class Pages:
    """Renders templates, in the language of the visitor."""

    def __init__(self, *, can_verify: bool = True, data_dir: str = "") -> None:
        self._can_verify = can_verify
        self.files = {path.name: _static(path) for path in sorted((HERE / "static").iterdir())}
        sheets = [self.files[name].data.decode() for name in _SHEETS]
        self.files |= {name: _style(sheets, theme) for theme, name in STYLES.items()}
        self.digest = sha256("".join(file.tag for file in self.files.values()).encode()).hexdigest()[:12]
        self.texts: Mapping[str, Texts] = load_locales(data_dir)
        self._answer_cache: dict[Hashable, Markup] = {}

    @cached_property
    def _templates(self) -> Environment:
        # Imported with the first page: a gateway for programs shows none.
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

        templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        templates.filters["line"] = one_line
        templates.filters["pick"] = pick
        templates.filters["usd"] = usd
        templates.filters["number"] = with_separators
        templates.filters["say"] = lambda message, texts: translated(one_line(message), texts)
        return templates

    def render(self, name: str, visitor: WebVisitor, **values: object) -> str:
        """Render a template with the common variables and `values`."""
        common: dict[str, object] = {
            "t": self.texts[visitor.language],
            "visitor": visitor,
            "static": f"{STATIC}/{self.digest}",
            "can_verify": self._can_verify,
            "bibliographies": [(name, form.title) for name, form in BIBLIOGRAPHIES.items()],
            "languages": [(code, texts["language_name"]) for code, texts in self.texts.items()],
            "themes": THEMES,
            "styles": STYLES,
            "lifetimes": tuple(LIFETIMES),
            "folders": (),
            "targets": (),
            "readonly": False,
            "in_header": False,
            **dict.fromkeys(
                ("session", "session_groups", "query", "window", "older", "section", "error_text")
            ),
            "path": "/",
        }
        return self._templates.get_template(f"{name}.html").render({**common, **values})

    def question(self, visitor: WebVisitor, message: StoredMessage, *, readonly: bool = False) -> Markup:
        """HTML of a question in the conversation; `readonly` leaves out what only its owner can do."""
        content = message.content if isinstance(message.content, Message) else Message("user", ())
        text, controls = sanitise(content.text), readable_controls(content)
        texts = self.texts[visitor.language]
        limits = texts["unreadable_controls"] if controls is None else limits_of(controls, texts)
        values: dict[str, object] = {"message": message, "text": text, "limits": limits, "readonly": readonly}
        return Markup(self.render("question", visitor, **values))  # noqa: S704  autoescaped

    def answer(
        self,
        visitor: WebVisitor,
        agent: Agent,
        message: StoredMessage,
        question: str,
        *,
        readonly: bool = False,
    ) -> Markup:
        """HTML of an answer that is not being written. Completed answers are cached: they change only when
        they are verified."""
        content = message.content if isinstance(message.content, Answer) else Answer()
        name = pick(agent.name, visitor.language)
        key = (message.id, state_of(content), checked_at(content), visitor.language, name, readonly)
        html = self._answer_cache.get(key)
        if html is None:
            view = self.view(visitor, message)
            html = self._answer(
                visitor,
                agent,
                view,
                question=question,
                footnoted="" if readonly else sanitise(footnoted(content)),
                readonly=readonly,
            )
            if view.state != "running":
                self._keep(key, html)
        return html

    def turn_start(self, visitor: WebVisitor, turn: Turn, view: AnswerView) -> Markup:
        """HTML of a question and of its answer so far."""
        question = self.question(visitor, turn.question)
        return question + self._answer(visitor, turn.agent, view, question=turn.question.id, live=True)

    def view(self, visitor: WebVisitor, message: StoredMessage, *, searching: bool = False) -> AnswerView:
        """The view of an answer for templates."""
        texts = self.texts[visitor.language]
        return view_of(message, texts, searching=searching)

    def status(self, visitor: WebVisitor, view: AnswerView) -> str:
        """HTML of the status line of an answer in progress."""
        return self.render("status", visitor, view=view, live=True).strip()

    def progress(self, visitor: WebVisitor, view: AnswerView) -> str:
        """HTML of the searches and sources so far."""
        return self.render("progress", visitor, view=view, live=True).strip()

    def _keep(self, key: Hashable, html: Markup) -> None:
        while len(self._answer_cache) >= _MAX_CACHED_ANSWERS:
            self._answer_cache.pop(next(iter(self._answer_cache)), None)
        self._answer_cache[key] = html

    def _answer(self, visitor: WebVisitor, agent: Agent, view: AnswerView, **extra: object) -> Markup:
        name = one_line(pick(agent.name, visitor.language))
        values = {"live": False, "footnoted": "", **extra}
        return Markup(self.render("answer", visitor, view=view, who=name, **values))  # noqa: S704  autoescaped


def with_separators(number: int, texts: Texts) -> str:
    """A number with the separators of the language."""
    return f"{number:,}".replace(",", texts["thousands"])


def usd(amount: float, free: str = "$0") -> str:
    """An amount of US dollars; `free` if it is nothing."""
    if amount == 0:
        return free
    return f"${amount:.4f}" if amount >= 0.0001 else "<$0.0001"


def limits_of(controls: Controls, texts: Texts) -> str:
    """What was chosen for a question, on one line: whether and where to search."""
    search = texts[f"search_{controls.search}"] if controls.search else ""
    location = ", ".join(filter(None, (controls.city, controls.region, controls.country, controls.timezone)))
    blocked = (f"−{domain}" for domain in controls.blocked_domains)
    return one_line(" · ".join(filter(None, (search, *controls.allowed_domains, *blocked, location))))


def _static(path: Path) -> StaticFile:
    return _file(path.suffix, path.read_bytes())


def _file(suffix: str, data: bytes) -> StaticFile:
    compressed = gzip.compress(data, mtime=0)
    smaller = compressed if len(compressed) < len(data) else b""
    return StaticFile(CONTENT_TYPES[suffix], data, sha256(data).hexdigest()[:16], smaller)


_DARK = "@media (prefers-color-scheme: dark)"
_SHEETS = ("style.css", "shell.css")


def _style(sheets: Sequence[str], theme: str) -> StaticFile:
    """All style sheets as one. With a theme other than the system's, its dark parts hold always or never."""
    css = "\n".join(sheets)
    if theme != THEMES[0]:
        css = css.replace(_DARK, "@media all" if theme == "dark" else "@media not all")
        css = css.replace("color-scheme: light dark", f"color-scheme: {theme}")
    return _file(".css", css.encode())


RECENT_SESSIONS = 40
_DOCUMENTS_AT_ONCE = 2


class WebApp:
    """The web application of one chat."""

    def __init__(self, chat: Chat, clock: Callable[[], float] = time) -> None:
        self.chat = chat
        config = chat.groundwire.config
        self.pages = Pages(can_verify=config.gateway.verify != "off", data_dir=config.data_dir)
        self.auth = VisitorAuth(clock, self.pages.texts)
        self.clock = clock
        self.reading = asyncio.Semaphore(_DOCUMENTS_AT_ONCE)
        """Limits the documents that are read at the same time."""

    async def send(self, request: PageRequest, name: str, *, status: int = 200, **values: object) -> None:
        """Send a page that includes the list of sessions."""
        visitor = request.visitor
        sessions = await self.chat.sessions(visitor.owner, RECENT_SESSIONS + 1)
        older = sessions[RECENT_SESSIONS - 1].id if len(sessions) > RECENT_SESSIONS else None
        filed = await self.chat.filed_sessions(visitor.owner)
        texts = self.pages.texts[visitor.language]
        common: dict[str, object] = {
            "session_groups": group_sessions(sessions[:RECENT_SESSIONS], filed, self.now(visitor), texts),
            "folders": folders_of(filed),
            "targets": await asyncio.to_thread(_targets, request.app.groundwire) if name == "chat" else (),
            "older": older,
            "path": request.exchange.path,
        }
        # In a thread: a long page must not block the event loop.
        html = await asyncio.to_thread(self.pages.render, name, visitor, **{**common, **values})
        cookies = (*visitor.cookies, *(notice_cookie(request.exchange, "") if visitor.notice else ()))
        await send_page(request.exchange, html, status=status, extra=cookies)

    def now(self, visitor: WebVisitor) -> datetime:
        """The time in the visitor's zone."""
        return datetime.fromtimestamp(self.clock(), zone_named(visitor.zone))

    async def send_error_page(self, request: PageRequest, error: GroundwireError) -> None:
        """Send a page with the message of an error."""
        request.context.outcome = error.code
        html = self.pages.render("error", request.visitor, error_text=self.error_text(request, error))
        await send_page(request.exchange, html, status=error.status_hint, extra=request.visitor.cookies)

    def error_text(self, request: PageRequest, error: GroundwireError) -> str:
        """The message of an error in the visitor's language."""
        return error_line(error, self.pages.texts[request.visitor.language])


def _targets(client: SearchClient) -> list[tuple[str, str]]:
    """The usable providers with their default models, for the choice of who answers."""
    return [(status.name, one_line(status.model)) for status in client.providers() if status.usable]


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
