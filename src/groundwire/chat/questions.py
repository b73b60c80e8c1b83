"""Questions of users, and the requests that are made of them.

A question keeps the search controls of its user. Complete answers go back to their provider as they were
stored, with their opaque parts; the dialect of another provider turns them into text. Of an incomplete answer
only the text is sent, because half a search would be refused. Function calls are left out, as nothing here
runs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from groundwire.chat.agents import options_of, pick
from groundwire.chat.answers import is_finished
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery
from groundwire.model import (
    Answer,
    Citation,
    JsonObject,
    Location,
    Message,
    Request,
    SearchOptions,
    Text,
    ToolCall,
)
from groundwire.model.value import field_names, replace, value
from groundwire.store.base import Agent, StoredMessage
from groundwire.text.domains import covers_entry, is_domain_entry

EXTRAS = "chat"
LONGEST = 200_000
MOST_DOMAINS = 100
_BETWEEN = re.compile(r"[\s,;]+")
_SCHEME = re.compile(r"^https?://|/+$")


@value
class Controls:
    """Who answers, where to search, and where the user is. Empty fields use the agent and the
    configuration."""

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    country: str = ""
    region: str = ""
    city: str = ""
    timezone: str = ""
    provider: str = ""
    """The provider of this question; empty for the agent's."""
    model: str = ""
    search: str = ""
    """`on` or `off`: whether the web is searched for this question; empty for the agent's setting."""


@value
class ChatQuestion:
    """A question of a user. `replaces` is the id of an earlier question that it replaces."""

    text: str
    owner: str
    session: str = ""
    agent: str = ""
    controls: Controls = Controls()
    replaces: str = ""
    language: str = "en"
    key: str = ""
    """The fingerprint of the user's API key, for the usage."""


class InvalidDomain(InvalidArguments):
    """An entry of a list of sites that is not a domain."""

    code = "INVALID_DOMAIN"

    def __init__(self, domain: str) -> None:
        self.domain = domain[:80]
        super().__init__(f"{self.domain!r} is not a domain; write it like example.org")


class OutsideAgent(InvalidArguments):
    """None of the requested sites is among those that the agent is restricted to."""

    code = "OUTSIDE_AGENT"

    def __init__(self, domains: tuple[str, ...]) -> None:
        self.domain = ", ".join(domains)[:300]
        super().__init__(
            f"this agent searches only {self.domain}; leave the list empty, or choose among them"
        )


def domains_in(text: str) -> tuple[str, ...]:
    """Parse a list of domains, separated by blanks, commas or semicolons; raises `InvalidDomain`."""
    typed = (_SCHEME.sub("", entry.lower()) for entry in _BETWEEN.split(text) if entry)
    entries = tuple(dict.fromkeys(typed))
    for entry in entries:
        if not is_domain_entry(entry):
            raise InvalidDomain(entry)
    if len(entries) > MOST_DOMAINS:
        raise InvalidArguments(f"a list of domains has more than {MOST_DOMAINS} entries")
    return entries


def question_message(question: ChatQuestion) -> Message:
    """The message of a question; raises `InvalidQuery`."""
    if not question.text.strip():
        raise InvalidQuery("the question is empty; ask something")
    if len(question.text) > LONGEST:
        raise InvalidQuery(f"the question is longer than {LONGEST:,} characters")
    controls = _encode_controls(question.controls)
    return Message("user", (Text(question.text),), extras={EXTRAS: controls} if controls else {})


def controls_of(message: Message) -> Controls:
    """The controls of a question; raises `ClientWireError` if the stored message is damaged."""
    fields = Fields(message.extras.get(EXTRAS, {}), ClientWireError)
    return Controls(
        fields.texts("allowed_domains"),
        fields.texts("blocked_domains"),
        *(fields.text(name) for name in field_names(Controls)[2:]),
    )


def readable_controls(message: Message) -> Controls | None:
    """The controls of a stored question; None if they cannot be read."""
    try:
        return controls_of(message)
    except ClientWireError:
        return None


def options_for(controls: Controls, agent: SearchOptions, configured: SearchOptions) -> SearchOptions:
    """Merge search options: those of the user, then of the agent, then of the configuration.

    A user can narrow the restrictions of an agent, not widen them.
    """
    location = Location(controls.country.upper(), controls.region, controls.city, controls.timezone)
    blocked = (*configured.blocked_domains, *agent.blocked_domains, *controls.blocked_domains)
    return replace(
        configured,
        allowed_domains=_allowed(controls, agent) or configured.allowed_domains,
        blocked_domains=tuple(dict.fromkeys(blocked)),
        location=location if location != Location() else agent.location or configured.location,
        max_uses=configured.max_uses if agent.max_uses is None else agent.max_uses,
        context_size=agent.context_size or configured.context_size,
        live=configured.live if agent.live is None else agent.live,
    )


def _allowed(controls: Controls, agent: SearchOptions) -> tuple[str, ...]:
    wanted, outer = controls.allowed_domains, agent.allowed_domains
    if not wanted or not outer:
        return wanted or outer
    inside = tuple(entry for entry in wanted if any(covers_entry(one, entry) for one in outer))
    if not inside:
        raise OutsideAgent(outer)
    return inside


def _encode_controls(controls: Controls) -> JsonObject:
    encoded: JsonObject = {}
    for name in field_names(Controls):
        item = getattr(controls, name)
        if item:
            encoded[name] = list(item) if isinstance(item, tuple) else item
    return encoded


def request_for(
    agent: Agent, turns: Sequence[StoredMessage], language: str, configured: SearchOptions
) -> Request:
    """The request for the last question of a session."""
    prompt = pick(agent.prompt, language)
    last = turns[-1].content
    controls = controls_of(last) if isinstance(last, Message) else controls_of(Message("user", ()))
    return Request(
        tuple(history_messages(turns)),
        system=(Text(prompt),) if prompt.strip() else (),
        search=options_for(controls, options_of(agent), configured) if agent.web_search else None,
        stream=True,
    )


def history_messages(turns: Iterable[StoredMessage]) -> list[Message]:
    """The messages of a session; unanswered questions are left out, except the last."""
    messages: list[Message] = []
    waiting: Message | None = None
    for turn in turns:
        if isinstance(turn.content, Message):
            waiting = _question(turn.content)
        elif waiting is not None and (message := _answer_message(turn.content)).parts:
            messages += (waiting, message)
            waiting = None
    return [*messages, waiting] if waiting is not None else messages


def _question(message: Message) -> Message:
    return replace(message, extras={name: item for name, item in message.extras.items() if name != EXTRAS})


def _answer_message(answer: Answer) -> Message:
    if is_finished(answer):
        parts = tuple(part for part in answer.parts if not isinstance(part, ToolCall))
        return replace(answer.message, parts=parts)
    words = tuple(Text(part.text, part.phase) for part in answer.parts if isinstance(part, Text))
    return Message("assistant", words, tuple(map(_plain, answer.citations)))


def _plain(citation: Citation) -> Citation:
    """The citation without references to search results that are not sent."""
    evidence = (
        replace(item, extras={}, source=replace(item.source, extras={})) for item in citation.evidence
    )
    return replace(citation, evidence=tuple(evidence))
