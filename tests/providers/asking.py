"""Asking a provider that a scripted upstream plays, and looking at what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.errors import GroundwireError
from groundwire.model import (
    Answer,
    Event,
    Failed,
    Finished,
    Message,
    Request,
    SearchOptions,
    Text,
    assemble,
)
from groundwire.providers.http import HttpProvider
from groundwire.providers.spec import flatten
from groundwire.testing.upstream import Script, ScriptedResponse, Upstream
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Http
from tests.providers.speakers import Speaker, credential

QUERY = "How long is the Nile?"


def question(*, stream: bool = False, search: SearchOptions | None = None, query: str = QUERY) -> Request:
    """A question with web search."""
    return Request((Message("user", (Text(query),)),), search=search or SearchOptions(), stream=stream)


@dataclass
class Outcome:
    """Everything a caller got to see."""

    events: list[Event] = field(default_factory=list)
    raised: GroundwireError | None = None

    @property
    def answer(self) -> Answer:
        return assemble(self.events)

    @property
    def error(self) -> GroundwireError | None:
        """What went wrong, raised before the answer began or told by it."""
        return self.raised or self.answer.error

    @property
    def ends(self) -> list[Event]:
        return [event for event in self.events if isinstance(event, Finished | Failed)]


async def ask(provider: HttpProvider, request: Request) -> Outcome:
    """The whole answer, or the error."""
    outcome = Outcome()
    try:
        async for event in flatten(provider.batches(request)):
            outcome.events.append(event)
    except GroundwireError as error:
        outcome.raised = error
    return outcome


class World:
    """A speaker, the upstream that plays it, and the connections between them."""

    def __init__(self, speaker: Speaker, upstream: Upstream, http: Http) -> None:
        self.speaker = speaker
        self.upstream = upstream
        self.http = http
        self.redactor = Redactor()
        self.deadlines = Deadlines(connect=600, first_byte=600, idle=600, total=600)
        self.clock: Callable[[], float] = lambda: 0.0

    def provider(self, deadlines: Deadlines | None = None) -> HttpProvider:
        async def key() -> Credential | None:
            return credential()

        row = self.speaker.row(self.upstream.url, deadlines or self.deadlines)
        return HttpProvider(row, self.http, key, self.redactor, self.clock)

    async def ask(self, request: Request | None = None, deadlines: Deadlines | None = None) -> Outcome:
        return await ask(self.provider(deadlines), request or question())


@asynccontextmanager
async def world(
    speaker: Speaker, script: Script | ScriptedResponse | list[ScriptedResponse]
) -> AsyncIterator[World]:
    """Everything that is needed for a conversation; at its end all connections are gone."""
    async with Upstream(script) as upstream:
        async with Http({}) as http:
            yield World(speaker, upstream, http)
        await upstream.closed()
