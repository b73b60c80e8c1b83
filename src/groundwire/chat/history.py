"""A session as the conversation that a provider is shown.

Finished answers go back as they were kept, with what their provider alone understands: its dialect uses it,
and to another the same turn becomes readable evidence. Of an answer that broke off only the words go back:
half a search would be refused. Calls of functions are left out, as nobody here carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundwire.chat.languages import pick
from groundwire.chat.questions import EXTRAS, controls_of, options_for
from groundwire.chat.search_tools import options_of
from groundwire.chat.states import is_finished
from groundwire.model import Answer, Citation, Message, Request, SearchOptions, Text, ToolCall
from groundwire.model.value import replace
from groundwire.store.base import Agent, StoredMessage


def request_for(
    agent: Agent, turns: Sequence[StoredMessage], language: str, configured: SearchOptions
) -> Request:
    """The request that asks the last question of a session."""
    prompt = pick(agent.prompt, language)
    last = turns[-1].content
    controls = controls_of(last) if isinstance(last, Message) else controls_of(Message("user", ()))
    return Request(
        tuple(conversation(turns)),
        system=(Text(prompt),) if prompt.strip() else (),
        search=options_for(controls, options_of(agent), configured) if agent.web_search else None,
        stream=True,
    )


def conversation(turns: Iterable[StoredMessage]) -> list[Message]:
    """The messages of a session, a question without an answer only at its end."""
    messages: list[Message] = []
    waiting: Message | None = None
    for turn in turns:
        if isinstance(turn.content, Message):
            waiting = _asked(turn.content)
        elif waiting is not None and (said := _said(turn.content)).parts:
            messages += (waiting, said)
            waiting = None
    return [*messages, waiting] if waiting is not None else messages


def _asked(message: Message) -> Message:
    return replace(message, extras={name: item for name, item in message.extras.items() if name != EXTRAS})


def _said(answer: Answer) -> Message:
    if is_finished(answer):
        parts = tuple(part for part in answer.parts if not isinstance(part, ToolCall))
        return replace(answer.message, parts=parts)
    words = tuple(Text(part.text, part.phase) for part in answer.parts if isinstance(part, Text))
    return Message("assistant", words, tuple(map(_plain, answer.citations)))


def _plain(citation: Citation) -> Citation:
    """A citation without what refers to results that are not sent."""
    evidence = (
        replace(item, extras={}, source=replace(item.source, extras={})) for item in citation.evidence
    )
    return replace(citation, evidence=tuple(evidence))
