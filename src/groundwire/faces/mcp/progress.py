"""How far a search is, for clients that wait: what is being done, and a sign of life while nothing changes.

Several clients give a call up after a while without news, and start that while anew with each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from groundwire.config.schema import Config
from groundwire.credentials.secret import Secret
from groundwire.model import Event, Request, SearchCalled, SearchOptions, SearchReturned, TextDelta
from groundwire.providers.spec import ProviderSpec
from groundwire.tools.run import Searcher

Send: TypeAlias = "Callable[[float, float | None, str], Awaitable[None]]"
"""Takes how far it is, how far it will go (nobody knows), and what is being done."""

BEAT = 5.0
_PAUSE = 0.2
_LONGEST = 200


class Progress:
    """Tells a client what happens. Seeing never waits for telling; what is overtaken is not told."""

    def __init__(self, send: Send, beat: float = BEAT) -> None:
        self._send = send
        self._beat = beat
        self._doing = "Asking"
        self._changed = asyncio.Event()
        self._changed.set()
        self._sources = 0

    def see(self, event: Event) -> None:
        """Take notice of an event."""
        match event:
            case SearchCalled(call=call) if call.queries or call.url:
                self._say(f"Searching: {call.queries[0]}" if call.queries else f"Reading: {call.url}")
            case SearchReturned(result=result) if result.sources:
                self._sources += len(result.sources)
                self._say(f"Found {self._sources} source{'s' if self._sources > 1 else ''}")
            case TextDelta():
                self._say("Writing the answer")

    def _say(self, doing: str) -> None:
        if doing != self._doing:
            self._doing = " ".join(doing.split())[:_LONGEST]
            self._changed.set()

    async def run(self) -> None:
        """Tell until cancelled."""
        told = 0
        while True:
            try:
                async with asyncio.timeout(self._beat):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            told += 1
            await self._send(told, None, self._doing)
            await asyncio.sleep(_PAUSE)


class Watched:
    """A searcher whose events are seen on their way."""

    def __init__(self, searcher: Searcher, see: Callable[[Event], None]) -> None:
        self._searcher = searcher
        self._see = see

    @property
    def config(self) -> Config:
        """What is configured."""
        return self._searcher.config

    @property
    def names(self) -> tuple[str, ...]:
        """The providers that are known."""
        return self._searcher.names

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer."""
        asked = self._searcher.stream(query, provider=provider, model=model, options=options)
        async with aclosing(asked) as events:
            async for event in events:
                self._see(event)
                yield event

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """A provider beside the configured ones."""
        self._searcher.add(row, key)
