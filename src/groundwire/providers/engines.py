"""An engine as a provider: what it finds becomes an answer, by extraction or in the words of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import islice
from typing import TypeAlias

from groundwire.engine.compose.answer import Composition, compose
from groundwire.engine.compose.events import SEARCH_ID, composition_events
from groundwire.engine.compose.synthesis import build_request, verify_answer
from groundwire.engine.pages import Engine, EngineResult
from groundwire.errors import GroundwireError, InvalidQuery
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    Failed,
    Request,
    SearchOptions,
    SearchStarted,
    Source,
    Started,
    Warned,
)
from groundwire.model.value import replace
from groundwire.providers.capabilities import Capabilities, capabilities_of_engine
from groundwire.providers.policy import prepare, refuse_foreign_context
from groundwire.providers.spec import Batches
from groundwire.text.domains import admits

Ask: TypeAlias = Callable[[Request], Batches]

_LONGEST_QUERY = 1000


class EngineProvider:
    """Asks an engine, and answers out of its pages. `write` asks the model that is to write, if one is."""

    model = ""

    def __init__(self, engine: Engine, write: Ask | None = None) -> None:
        self._engine = engine
        self._write = write

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of_engine(self._engine.honours)

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """One search and its answer."""
        query = " ".join(request.query.split())[:_LONGEST_QUERY]
        if not query:
            raise InvalidQuery("the query is empty; ask something")
        refuse_foreign_context(request, self.name)
        prepared = prepare(
            replace(request, search=request.search or SearchOptions()), self.capabilities, self.name
        )
        for warning in prepared.warnings:
            yield warning
        options = prepared.request.search or SearchOptions()
        yield Started()
        yield SearchStarted(0, SEARCH_ID)  # it may take a while
        found = _allowed(await self._engine.find(query, options), options)
        composition = await self._composed(query, found, options)
        for event in islice(composition_events(query, found, composition), 2, None):
            yield event

    async def _composed(self, query: str, found: EngineResult, options: SearchOptions) -> Composition:
        extracted = compose(query, found.passages, max_sources=options.max_sources)
        if self._write is None or not found.passages:
            return extracted
        try:
            answer = await _whole(self._write(build_request(query, found.passages)))
        except GroundwireError as error:
            note = Warned("not_written", f"the model could not write the answer: {error.message}")
            return replace(extracted, notes=(*extracted.notes, note))
        written = verify_answer(answer.text, found.passages)
        return written if written.citations else extracted


async def _whole(batches: Batches) -> Answer:
    assembler = Assembler()
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                if isinstance(event, Failed):
                    raise event.error
                assembler.feed(event)
    return assembler.answer()


def _allowed(found: EngineResult, options: SearchOptions) -> EngineResult:
    """What the domain lists let through."""
    kept = tuple(passage for passage in found.passages if admits(options, Source(passage.url)))
    return found if len(kept) == len(found.passages) else replace(found, passages=kept)
