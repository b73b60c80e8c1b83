"""Export of sessions as Markdown with footnotes and as JSON, in chunks, because they may be long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.chat.agents import pick
from groundwire.chat.answers import AnswerState, state_of, web_link
from groundwire.chat.turns import SessionReader, SessionTurns
from groundwire.dialects.json import dump_json
from groundwire.model import Answer, JsonObject, Message
from groundwire.model.json import encode
from groundwire.store.base import StoredMessage, Texts
from groundwire.text.annotate import NumberWriter, annotate_numbers, paragraph_breaks
from groundwire.text.markdown import to_markdown
from groundwire.text.sanitise import escape_invisible_json, sanitise
from groundwire.text.sources import label_of, number_answer
from groundwire.text.urls import shown_address

_MARKUP = re.compile(r"([\\`*_\[\]<>])")
VERSION = 1

_STATES: dict[AnswerState, Texts] = {
    "running": {"en": "running", "de": "läuft"},
    "stopped": {"en": "stopped", "de": "angehalten"},
    "interrupted": {"en": "interrupted", "de": "abgebrochen"},
    "failed": {"en": "failed", "de": "fehlgeschlagen"},
}


def footnoted(answer: Answer, prefix: str = "") -> str:
    """The text as Markdown, with `[^1]` where sources are cited, and the footnotes below."""
    answer = to_markdown(answer)
    if not answer.citations:
        return answer.text
    numbering = number_answer(answer)

    writer = NumberWriter(numbering.number, lambda number: f"[^{prefix}{number}]")
    breaks = paragraph_breaks(answer, after=(object,))
    body = annotate_numbers(answer.text, answer.citations, writer, breaks, strip=True).text
    notes = []
    for number, source in enumerate(numbering.sources, 1):
        link = web_link(source.url)
        name = _MARKUP.sub(r"\\\1", label_of(source))
        address = f" <{link.href}>" if link else f" `{shown}`" if (shown := shown_address(source.url)) else ""
        notes.append(f"[^{prefix}{number}]: {name}{address}")
    return "\n".join([body, "", *notes])


def session_as_markdown(session_turns: SessionTurns | SessionReader, language: str = "en") -> Iterator[str]:
    """A session as Markdown, turn by turn, sanitised: the file may be shown in a terminal."""
    return map(sanitise, _markdown(session_turns, language))


def _markdown(session_turns: SessionTurns | SessionReader, language: str) -> Iterator[str]:
    name = pick(session_turns.agent.name, language)
    yield f"# {' '.join(session_turns.session.title.split())}\n\n"
    for turn in session_turns.turns:
        if isinstance(turn.content, Message):
            yield "".join(f"> {line}\n" for line in turn.content.text.split("\n")) + "\n"
            continue
        state = state_of(turn.content)
        text = footnoted(turn.content, f"{turn.number}-")
        yield f"**{name}**" + ("" if state == "done" else f" ({pick(_STATES[state], language)})")
        yield f"\n\n{text}\n\n"


def session_as_json(session_turns: SessionTurns | SessionReader) -> Iterator[str]:
    """A session with all stored fields as JSON, turn by turn.

    Invisible characters are kept, and escaped.
    """
    return map(escape_invisible_json, _json(session_turns))


def _json(session_turns: SessionTurns | SessionReader) -> Iterator[str]:
    session = session_turns.session
    head: JsonObject = {
        "version": VERSION,
        "id": session.id,
        "title": session.title,
        "agent": session.agent,
        "created": session.created,
        "updated": session.updated,
    }
    yield dump_json(head)[:-1] + ', "messages": ['
    for index, turn in enumerate(session_turns.turns):
        yield (", " if index else "") + dump_json(_message(turn))
    yield "]}"


def _message(turn: StoredMessage) -> JsonObject:
    return {
        "id": turn.id,
        "number": turn.number,
        "created": turn.created,
        "provider": turn.provider,
        "content": encode(turn.content),
    }
