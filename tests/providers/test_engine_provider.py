"""An engine as a provider: parts of a question and follow-up questions."""

from __future__ import annotations

from groundwire.engine.pages import EngineResult, Passage, page_passages
from groundwire.model import Answer, Assembler, Message, Request, SearchOptions, Text
from groundwire.providers.catalog import CATALOG
from groundwire.providers.engine_factory import EngineSpec
from groundwire.providers.engine_provider import EngineProvider
from groundwire.providers.registry import load_registered
from tests.engine.sample_handbook import guide


class Handbook:
    """An engine that finds every passage of the guide."""

    name = "handbook"
    honours: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        self.queries.append(query)
        found: tuple[Passage, ...] = tuple(page_passages(guide()))
        return EngineResult(found, (query,))


async def ask(engine: Handbook, *questions: str, searches_parts: bool = True) -> Answer:
    assembler = Assembler()
    messages = tuple(Message("user", (Text(question),)) for question in questions)
    async for batch in EngineProvider(engine, searches_parts=searches_parts).batches(Request(messages)):
        for event in batch:
            assembler.feed(event)
    return assembler.answer()


async def test_the_parts_of_a_question_are_searched_and_answered_one_by_one() -> None:
    engine = Handbook()
    answer = await ask(engine, "How do I install the client and what is the rate for Wien?")
    assert engine.queries == ["How do I install the client", "what is the rate for Wien?"]
    assert answer.text.startswith("How do I install the client?\n\nThe client needs")
    assert "\n\nWhat is the rate for Wien?\n\n" in answer.text
    assert answer.usage.searches == 2


async def test_a_search_that_may_cost_money_is_made_once() -> None:
    engine = Handbook()
    question = "How do I install the client and what is the rate for Wien?"
    answer = await ask(engine, question, searches_parts=False)
    assert engine.queries == [question]
    assert "\n\nWhat is the rate for Wien?\n\n" in answer.text
    assert answer.usage.searches == 1


async def test_a_follow_up_question_carries_the_topic_of_the_question_before() -> None:
    engine = Handbook()
    await ask(engine, "How do I roll back a release?", "and for how many days?")
    assert engine.queries == ["and for how many days? roll back release"]


async def test_a_second_follow_up_question_still_has_the_topic() -> None:
    engine = Handbook()
    await ask(engine, "How do I roll back a release?", "and for how many days?", "and on Windows?")
    assert engine.queries == ["and on Windows? days roll back release"]


async def test_a_topic_ends_with_the_next_one() -> None:
    engine = Handbook()
    await ask(engine, "How do I roll back a release?", "What is the daily rate for Paris?", "and for Wien?")
    assert engine.queries == ["and for Wien? daily rate Paris"]


async def test_a_new_question_carries_nothing() -> None:
    engine = Handbook()
    await ask(engine, "How do I roll back a release?", "What is the daily rate for Paris?")
    assert engine.queries == ["What is the daily rate for Paris?"]


async def test_a_later_part_may_refer_to_the_first() -> None:
    engine = Handbook()
    answer = await ask(engine, "How do I install the client? How do I undo that?")
    assert engine.queries == ["How do I install the client?", "How do I undo that? install client"]
    assert "How do I undo that?\n\n" in answer.text


def test_only_the_embedded_engine_searches_each_part() -> None:
    specs = [load_registered(entry.name) for entry in CATALOG if entry.kind == "engine"]
    assert [spec.name for spec in specs if isinstance(spec, EngineSpec) and spec.searches_parts] == ["local"]
