"""Search engine as a provider: the passages it finds become an answer, quoted or written by a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from itertools import cycle, islice
from typing import NamedTuple

from groundwire.engine.compose.answer import (
    Composition,
    QuestionPart,
    compose_comparison,
    compose_parts,
    missing_things,
)
from groundwire.engine.compose.events import SEARCH_ID, composition_events, link_events
from groundwire.engine.compose.synthesis import build_request, verify_answer
from groundwire.engine.pages import Engine, EngineResult, LinkEngine, Passage
from groundwire.engine.retrieve.question import compared_things, complete_question, split_question
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
_LONGEST_CHAIN = 6
"""Questions of a conversation whose topic may be carried on."""
_LINKS = 20
"""Passages of a search whose pages are the result, unless it asks for more."""


class ExtractedAnswer(NamedTuple):
    """What was found for a question, the answer quoted from it, and the number of searches."""

    found: EngineResult
    composition: Composition
    searches: int


class EngineProvider:
    """Answers from an engine's passages. `write` sends requests to the model that writes answers, if any.

    With `searches_parts`, each part of a question is searched on its own; otherwise one search serves all.
    """

    model = ""

    def __init__(
        self, engine: Engine, write: StreamModel | None = None, *, searches_parts: bool = False
    ) -> None:
        self._engine = engine
        self._write = write
        self._searches_parts = searches_parts

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
        if request.links_only:
            yield tuple(islice(link_events(query, await self._links(query, options)), 2, None))
            return
        extracted = await self.extract(query, options, earlier_question(request))
        composition = await self._written(query, extracted.found, extracted.composition)
        events = composition_events(query, extracted.found, composition, searches=extracted.searches)
        yield tuple(islice(events, 2, None))

    async def _links(self, query: str, options: SearchOptions) -> EngineResult:
        """The pages that the engine finds, as many as the options ask for."""
        limit = max(_LINKS, options.max_sources or 0)
        engine = self._engine
        search = engine.links if isinstance(engine, LinkEngine) else engine.find
        return _allowed(await search(query, options, limit), options)

    async def extract(self, query: str, options: SearchOptions, earlier: str = "") -> ExtractedAnswer:
        """Search, and compose an answer of quotations. `earlier` is the question before this one."""
        questions = _questions(query, earlier)
        results = [_allowed(result, options) for result in await self._search(query, questions, options)]
        parts = [
            QuestionPart(
                question,
                result.understood or completed,
                result.passages,
                result.is_answer,
                result.probability,
            )
            for (question, completed), result in zip(questions, cycle(results), strict=False)
        ]
        composition = compose_parts(parts, max_sources=options.max_sources)
        if len(parts) == 1 and self._searches_parts and (things := compared_things(query)):
            found = {
                thing: _allowed(await self._engine.find(thing, options), options)
                for thing in missing_things(composition, things)
            }
            compared = [
                QuestionPart(thing, thing, result.passages, result.is_answer)
                for thing, result in found.items()
            ]
            if compared:
                composition = compose_comparison(composition, compared, max_sources=options.max_sources)
                # The first search has the warnings already, and says what was understood.
                results += (replace(result, warnings=()) for result in found.values())
        return ExtractedAnswer(_merged(results), composition, len(results))

    async def _search(
        self, query: str, questions: Sequence[tuple[str, str]], options: SearchOptions
    ) -> list[EngineResult]:
        """The result for each part of the question, or one for the whole question."""
        if len(questions) > 1 and not self._searches_parts:
            return [await self._engine.find(query, options)]
        return [await self._engine.find(completed, options) for _, completed in questions]

    async def _written(self, query: str, found: EngineResult, extracted: Composition) -> Composition:
        """The answer that the model writes; the extracted one without a model."""
        quotable = tuple(passage for passage in found.passages if passage.text)
        if self._write is None or not quotable:
            return extracted
        try:
            answer = await _assemble(self._write(build_request(query, quotable)))
        except GroundwireError as error:
            note = Warned("not_written", f"the model could not write the answer: {error.message}")
            return replace(extracted, notes=(*extracted.notes, note))
        written = verify_answer(answer.text, quotable)
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


def earlier_question(request: Request) -> str:
    """The user's message before the last one. If that was a follow-up question, it gets the topic of those
    before it: otherwise a second follow-up question would lose it."""
    questions = [message.text for message in request.messages if message.role == "user" and message.text]
    earlier = ""
    for question in questions[-_LONGEST_CHAIN:-1]:
        earlier = complete_question(question, earlier)
    return earlier


def _questions(query: str, earlier: str) -> list[tuple[str, str]]:
    """The parts of a question, each as it was written and complete: a part may refer to the first one, as a
    follow-up question refers to the question before it."""
    first, *rest = split_question(query)
    completed = complete_question(first, earlier)
    return [(first, completed), *((part, complete_question(part, completed)) for part in rest)]


def _merged(results: Sequence[EngineResult]) -> EngineResult:
    """The results of several searches as one: each passage, query and warning once."""
    if len(results) == 1:
        return results[0]
    passages: dict[tuple[str, int], Passage] = {}
    for result in results:
        for passage in result.passages:
            passages.setdefault((passage.url, passage.start), passage)
    return EngineResult(
        tuple(passages.values()),
        tuple(dict.fromkeys(query for result in results for query in result.queries)),
        tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        tuple(dict.fromkeys(warning for result in results for warning in result.advice)),
    )


def _allowed(found: EngineResult, options: SearchOptions) -> EngineResult:
    """The passages that the domain lists admit."""
    kept = tuple(passage for passage in found.passages if admits(options, Source(passage.url)))
    return found if len(kept) == len(found.passages) else replace(found, passages=kept)
