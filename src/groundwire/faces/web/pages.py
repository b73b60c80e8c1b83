"""Templates, texts and files of the page, read once."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from groundwire.chat.agents import LANGUAGES, pick
from groundwire.chat.answers import state_of
from groundwire.chat.export import footnoted
from groundwire.chat.questions import Controls, readable_controls
from groundwire.chat.turns import Turn
from groundwire.faces.web.answers import AnswerView, view_of
from groundwire.faces.web.auth import Visit
from groundwire.model import Answer, Message
from groundwire.model.value import value
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.sanitise import one_line, sanitise

HERE = Path(__file__).parent
STATIC = "/static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_MOST_KEPT = 500
"""Answers whose HTML is kept."""

Texts: TypeAlias = Mapping[str, str]


@value
class StaticFile:
    """A file that browsers may keep for ever: its address changes with it."""

    kind: str
    data: bytes
    tag: str


class Pages:
    """Renders."""

    def __init__(self) -> None:
        self.files = {path.name: _static(path) for path in sorted((HERE / "static").iterdir())}
        self.digest = sha256("".join(file.tag for file in self.files.values()).encode()).hexdigest()[:12]
        self.texts: Mapping[str, Texts] = {
            language: MappingProxyType(json.loads((HERE / "locales" / f"{language}.json").read_text("utf-8")))
            for language in LANGUAGES
        }
        self._kept: dict[Hashable, Markup] = {}
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["line"] = one_line
        self._templates.filters["pick"] = pick

    def render(self, name: str, visit: Visit, **values: object) -> str:
        """A template with all that it speaks of."""
        usual: dict[str, object] = {
            "t": self.texts[visit.language],
            "visit": visit,
            "static": f"{STATIC}/{self.digest}",
            **dict.fromkeys(("session", "sessions", "wanted", "window", "older", "place", "trouble")),
            "path": "/",
        }
        return self._templates.get_template(f"{name}.html").render({**usual, **values})

    def question(self, visit: Visit, message: StoredMessage) -> Markup:
        """A question in the log."""
        content = message.content if isinstance(message.content, Message) else Message("user", ())
        text, controls = sanitise(content.text), readable_controls(content)
        limits = (
            self.texts[visit.language]["unreadable_controls"] if controls is None else limits_of(controls)
        )
        return Markup(self.render("question", visit, message=message, text=text, limits=limits))  # noqa: S704  ours

    def answer(self, visit: Visit, agent: Agent, message: StoredMessage, question: str) -> Markup:
        """An answer in the log, when nobody writes it any more. Answers that ended never change."""
        content = message.content if isinstance(message.content, Answer) else Answer()
        name = pick(agent.name, visit.language)
        key = (message.id, state_of(content), visit.language, name, agent.web_search)
        html = self._kept.get(key)
        if html is None:
            view = self.view(visit, agent, message)
            html = self._answer(visit, agent, view, question=question, footnoted=sanitise(footnoted(content)))
            if view.state != "running":
                self._keep(key, html)
        return html

    def beginning(self, visit: Visit, turn: Turn) -> Markup:
        """A question, and the answer to it that begins."""
        view = self.view(visit, turn.agent, turn.answer)
        question = self.question(visit, turn.question)
        return question + self._answer(visit, turn.agent, view, question=turn.question.id, live=True)

    def view(
        self, visit: Visit, agent: Agent, message: StoredMessage, *, searching: bool = False
    ) -> AnswerView:
        """What is shown of an answer."""
        texts = self.texts[visit.language]
        return view_of(message, texts, searched=agent.web_search, searching=searching)

    def status(self, visit: Visit, view: AnswerView) -> str:
        """What is being done, while it is."""
        return self.render("status", visit, view=view, live=True).strip()

    def progress(self, visit: Visit, view: AnswerView) -> str:
        """What was searched for and found so far."""
        return self.render("progress", visit, view=view).strip()

    def _keep(self, key: Hashable, html: Markup) -> None:
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[key] = html

    def _answer(self, visit: Visit, agent: Agent, view: AnswerView, **more: object) -> Markup:
        name = one_line(pick(agent.name, visit.language))
        values = {"live": False, "footnoted": "", **more}
        return Markup(self.render("answer", visit, view=view, who=name, **values))  # noqa: S704  escaped there


def limits_of(controls: Controls) -> str:
    """Where was searched, on one line."""
    place = ", ".join(filter(None, (controls.city, controls.region, controls.country, controls.timezone)))
    blocked = (f"−{domain}" for domain in controls.blocked_domains)
    return one_line(" · ".join(filter(None, (*controls.allowed_domains, *blocked, place))))


def _static(path: Path) -> StaticFile:
    data = path.read_bytes()
    return StaticFile(f"{KINDS[path.suffix]}; charset=utf-8", data, sha256(data).hexdigest()[:16])
