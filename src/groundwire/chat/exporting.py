"""Sessions to keep elsewhere: Markdown with footnotes, and JSON. Both come in pieces, as they may be long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.chat.languages import pick
from groundwire.chat.links import web_link
from groundwire.chat.paragraphs import breaks_of
from groundwire.chat.states import State, state_of
from groundwire.chat.turns import Conversation, Leaves
from groundwire.dialects.json import dump_json
from groundwire.model import Answer, JsonObject, Message
from groundwire.model.json import encode
from groundwire.store.base import StoredMessage, Texts
from groundwire.text.markers import place_markers, strip_markers
from groundwire.text.plain import in_markdown
from groundwire.text.sanitise import escaped_json, visible
from groundwire.text.sources import label_of, number_answer

_NUMBER = re.compile(r"\[(\d{1,4})\]")
_MARKS = re.compile(r"([\\`*_\[\]<>])")
_HIDDEN = "\ufdd0"
VERSION = 1

_STATES: dict[State, Texts] = {
    "running": {"en": "running", "de": "läuft"},
    "stopped": {"en": "stopped", "de": "angehalten"},
    "interrupted": {"en": "interrupted", "de": "abgebrochen"},
    "failed": {"en": "failed", "de": "fehlgeschlagen"},
}


def footnoted(answer: Answer, prefix: str = "") -> str:
    """The text as Markdown, with `[^1]` where sources are cited, and the footnotes below."""
    answer = in_markdown(answer)
    if not answer.citations:
        return answer.text
    numbering = number_answer(answer)

    def note(match: re.Match[str]) -> str:
        return f"[^{prefix}{match[1]}]"

    # Numbers that stood there before are no notes: they are hidden while ours are placed.
    plain = _NUMBER.sub(lambda match: f"{_HIDDEN}{match[0][1:]}", answer.text)
    placed = place_markers(plain, answer.citations, numbering.number, breaks_of(answer))
    body = strip_markers(_NUMBER.sub(note, placed).replace(_HIDDEN, "["))
    notes = []
    for number, source in enumerate(numbering.sources, 1):
        link = web_link(source.url)
        name = _MARKS.sub(r"\\\1", label_of(source))
        notes.append(f"[^{prefix}{number}]: {name}" + (f" <{link.href}>" if link else ""))
    return "\n".join([body, "", *notes])


def as_markdown(conversation: Conversation | Leaves, language: str = "en") -> Iterator[str]:
    """A session as a text, turn by turn, without what is invisible: the file may be shown in a terminal."""
    return map(visible, _markdown(conversation, language))


def _markdown(conversation: Conversation | Leaves, language: str) -> Iterator[str]:
    name = pick(conversation.agent.name, language)
    yield f"# {' '.join(conversation.session.title.split())}\n\n"
    for turn in conversation.turns:
        if isinstance(turn.content, Message):
            yield "".join(f"> {line}\n" for line in turn.content.text.split("\n")) + "\n"
            continue
        state = state_of(turn.content)
        said = footnoted(turn.content, f"{turn.number}-")
        yield f"**{name}**" + ("" if state == "done" else f" ({pick(_STATES[state], language)})")
        yield f"\n\n{said}\n\n"


def as_json(conversation: Conversation | Leaves) -> Iterator[str]:
    """A session with everything that is kept of it, in the project's own terms, turn by turn.

    Invisible characters are kept, and escaped.
    """
    return map(escaped_json, _json(conversation))


def _json(conversation: Conversation | Leaves) -> Iterator[str]:
    session = conversation.session
    head: JsonObject = {
        "version": VERSION,
        "id": session.id,
        "title": session.title,
        "agent": session.agent,
        "created": session.created,
        "updated": session.updated,
    }
    yield dump_json(head)[:-1] + ', "messages": ['
    for place, turn in enumerate(conversation.turns):
        yield (", " if place else "") + dump_json(_message(turn))
    yield "]}"


def _message(turn: StoredMessage) -> JsonObject:
    return {
        "id": turn.id,
        "number": turn.number,
        "created": turn.created,
        "provider": turn.provider,
        "content": encode(turn.content),
    }
