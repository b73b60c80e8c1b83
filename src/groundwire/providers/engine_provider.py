"""Search engine as a provider: the passages it finds become an answer, quoted or written by a model."""

from __future__ import annotations

from contextlib import aclosing
from itertools import islice

from groundwire.engine.compose.answer import Composition, compose
from groundwire.engine.compose.events import SEARCH_ID, composition_events
from groundwire.engine.compose.synthesis import build_request, verify_answer
from groundwire.engine.pages import Engine, EngineResult
from groundwire.errors import GroundwireError, InvalidQuery
from groundwire.model import (
    Answer,
    Assembler,
    Failed,
    Request,
    SearchOptions,
    SearchStarted,
    Source,
    Started,
    Warned,
)
from groundwire.model.value import replace
from groundwire.providers.engine_factory import StreamModel
from groundwire.providers.policy import Capabilities, engine_capabilities, prepare, refuse_foreign_context
from groundwire.providers.spec import Batches
from groundwire.text.domains import admits

_MAX_QUERY = 1000


class EngineProvider:
    """Answers from an engine's passages. `write` sends requests to the model that writes answers, if any."""

    model = ""

    def __init__(self, engine: Engine, write: StreamModel | None = None) -> None:
        self._engine = engine
        self._write = write

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def capabilities(self) -> Capabilities:
        return engine_capabilities(self._engine.honours)

    async def batches(self, request: Request) -> Batches:
        """One search, and the answer composed of its passages."""
        query = " ".join(request.query.split())[:_MAX_QUERY]
        if not query:
            raise InvalidQuery("the query is empty; ask something")
        refuse_foreign_context(request, self.name)
        prepared = prepare(
            replace(request, search=request.search or SearchOptions()), self.capabilities, self.name
        )
        if prepared.warnings:
            yield prepared.warnings
        options = prepared.request.search or SearchOptions()
        yield (Started(), SearchStarted(0, SEARCH_ID))  # the search may take a while
        found = _allowed(await self._engine.find(query, options), options)
        composition = await self._compose(query, found, options)
        yield tuple(islice(composition_events(query, found, composition), 2, None))

    async def _compose(self, query: str, found: EngineResult, options: SearchOptions) -> Composition:
        extracted = compose(found.understood or query, found.passages, max_sources=options.max_sources)
        if self._write is None or not found.passages:
            return extracted
        try:
            answer = await _assemble(self._write(build_request(query, found.passages)))
        except GroundwireError as error:
            note = Warned("not_written", f"the model could not write the answer: {error.message}")
            return replace(extracted, notes=(*extracted.notes, note))
        written = verify_answer(answer.text, found.passages)
        return written if written.citations else extracted


async def _assemble(batches: Batches) -> Answer:
    assembler = Assembler()
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                if isinstance(event, Failed):
                    raise event.error
                assembler.feed(event)
    return assembler.answer()


def _allowed(found: EngineResult, options: SearchOptions) -> EngineResult:
    """The passages that the domain lists admit."""
    kept = tuple(passage for passage in found.passages if admits(options, Source(passage.url)))
    return found if len(kept) == len(found.passages) else replace(found, passages=kept)
