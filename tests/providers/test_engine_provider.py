"""An engine as a provider: parts of a question and follow-up questions."""

from __future__ import annotations

from groundwire.engine.pages import Engine, EngineResult, Passage, page_passages
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


async def ask(engine: Engine, *questions: str, searches_parts: bool = True) -> Answer:
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


class Glossary:
    """An engine that knows what each thing is, and nothing about two of them."""

    name = "glossary"
    honours: frozenset[str] = frozenset()

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        known = [name for name in ("apron", "basin") if name in query][:1]
        found = tuple(
            Passage(f"https://{name}.example/", name, f"The {name} is made of {name} stuff.", 0)
            for name in known
        )
        return EngineResult(found, (query,), is_answer=bool(found), probability=0.9)


async def test_a_comparison_quotes_something_about_both_things() -> None:
    answer = await ask(Glossary(), "what is the difference between an apron and a basin?")
    assert (
        answer.text == "apron: The apron is made of apron stuff.\n\nbasin: The basin is made of basin stuff."
    )
    assert [source.url for source in answer.sources] == ["https://apron.example/", "https://basin.example/"]
    assert answer.usage.searches == 2


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


class LinkService(Handbook):
    """An engine that can list pages without opening them."""

    async def links(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        found = tuple(
            Passage(f"https://{name}.example/", name, f"About {name}.", 0, score, "2026-01-02")
            for name, score in (("a", 4.0), ("b", 1.0), ("blocked", 0.5))
        )
        return EngineResult(found, (query,), service="service")


async def links_of(engine: Handbook, options: SearchOptions) -> Answer:
    assembler = Assembler()
    request = Request((Message("user", (Text("rate"),)),), search=options, links_only=True)
    async for batch in EngineProvider(engine).batches(request):
        for event in batch:
            assembler.feed(event)
    return assembler.answer()


async def test_links_are_listed_without_an_answer_and_without_opening_pages() -> None:
    engine = LinkService()
    answer = await links_of(engine, SearchOptions(blocked_domains=("blocked.example",)))
    assert (answer.text, answer.finish, answer.usage.searches) == ("", "stop", 1)
    assert [(source.url, source.excerpts, source.date) for source in answer.sources] == [
        ("https://a.example/", ("About a.",), "2026-01-02"),
        ("https://b.example/", ("About b.",), "2026-01-02"),
    ]
    assert [source.extras["engine"] for source in answer.sources] == [
        {"score": 1.0, "service": "service"},
        {"score": 0.25, "service": "service"},
    ]
    assert engine.queries == []


async def test_an_engine_that_cannot_list_pages_finds_each_page_once() -> None:
    answer = await links_of(Handbook(), SearchOptions())
    assert len(answer.sources) == 1
    assert answer.sources[0].excerpts


def test_only_the_embedded_engine_searches_each_part() -> None:
    specs = [load_registered(entry.name) for entry in CATALOG if entry.kind == "engine"]
    assert [spec.name for spec in specs if isinstance(spec, EngineSpec) and spec.searches_parts] == ["local"]
