"""Topics of follow-up questions, without a model."""

from __future__ import annotations

from groundwire.chat.follow_ups import Topic, topics_of, with_topics
from groundwire.engine.outline import Block, encode_outline
from groundwire.engine.pages import Page
from groundwire.model import Answer, Citation, Evidence, Json, SearchResult, Source, Span, Text
from groundwire.model.json import decode, encode

HANDBOOK = "Handbook\n\nIntroduction\n\nVacation\n\n3. Sick leave:\n\nTell us."


def handbook() -> Page:
    blocks = [
        Block("heading", HANDBOOK.index(words), HANDBOOK.index(words) + len(words), level)
        for words, level in (("Handbook", 1), ("Introduction", 2), ("Vacation", 2), ("3. Sick leave:", 2))
    ]
    return Page("file:///handbook.md", "Handbook — Acme", HANDBOOK, outline=encode_outline(blocks))


def answer_with(*sources: Source) -> Answer:
    cited = Citation(Span(0, 4), (Evidence(sources[0], "So."),))
    text = Text("So.\n\n## How it began\n\nLong ago.")
    return Answer((SearchResult("s", sources), text), (cited,), finish="stop")


def test_topics_are_headings_and_titles_that_say_something_new() -> None:
    cited = Source("file:///handbook.md", "Handbook — Acme", "cited")
    answer = answer_with(cited, Source("https://a.example/", "json.dump — write JSON — Python 3.11"))
    question = "How many days of vacation do I get?"
    assert topics_of(with_topics(answer, question, [handbook()])) == [
        Topic("How it began"),
        Topic("Sick leave", "Handbook"),
        Topic("json.dump"),
    ]
    assert Topic("json.dump").is_name
    assert not Topic("Sick leave").is_name


def test_topics_survive_the_store_and_damaged_ones_are_left_out() -> None:
    answer = with_topics(answer_with(Source("https://a.example/", "A page")), "Why?", [])
    assert topics_of(answer) == [Topic("How it began"), Topic("A page")]
    stored = decode(encode(answer))
    assert isinstance(stored, Answer)
    assert topics_of(stored) == topics_of(answer)
    many: list[Json] = ["x", [1, {"heading": 1}], {"heading": "x"}]
    assert [topics_of(Answer(extras={"chat": {"topics": damaged}})) for damaged in many] == [[], [], []]
