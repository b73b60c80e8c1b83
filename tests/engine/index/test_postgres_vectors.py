"""Search by meaning in PostgreSQL: with pgvector as next to the embedded index, without it by words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from groundwire.engine.dense import build, packages
from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.encoder import find_encoders
from groundwire.engine.dense.location import open_stage
from groundwire.engine.dense.stage import DenseStage
from groundwire.engine.dense.texts import vector_key
from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.index.postgres import PostgresIndex
from groundwire.engine.pages import Page
from groundwire.engine.read import Document, read
from groundwire.engine.read.document import media_type_of
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions
from groundwire.server.diagnostics import Check, meaning_in_store
from tests.engine.dense.fakes import PHRASES, FakeEncoder
from tests.engine.question_sets import HANDBOOK, load_questions
from tests.servers.fixtures import pgvector, pgvector_server
from tests.servers.postgres import PostgresServer

__all__ = ["pgvector", "pgvector_server"]

pytestmark = pytest.mark.server

ANY = SearchOptions()
HOLIDAYS = Page(
    "https://team.example/holidays", "Time off", "Everybody has 28 vacation days.", "2024-05-01", "en"
)
EXPENSES = Page(
    "https://team.example/expenses", "Travel", "Send your expenses within a month.", "2022-01-01", "en"
)
URLAUB = Page("https://firma.example/urlaub", "Freizeit", "Alle haben 28 Tage Urlaub.", "", "de")
COPY = Page("https://copy.example/", "Time off", HOLIDAYS.text, language="en")
LONG = Page(
    "https://a.example/long",
    "Long",
    "\n\n".join(
        f"{'Vacation. ' * (n + 1)}" + f"{word}. " * 80
        for n, word in enumerate(("harbour", "lantern", "meadow", "orchard", "pebble"))
    ),
)
PAGES = (HOLIDAYS, EXPENSES, URLAUB, COPY, LONG)
ENGLISH, MULTILINGUAL = FakeEncoder("english/1", ("en",)), FakeEncoder("multilingual/1")


def finder(models: Path) -> list[FakeEncoder]:
    return [ENGLISH, MULTILINGUAL]


def stage_of(index: Index) -> DenseStage:
    complete_vectors(index, finder=finder)
    store = index.passage_store()
    assert store is not None
    return DenseStage(store, store.folder, finder)


@pytest.fixture(autouse=True)
def few_phrases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "purpose_phrases", lambda: PHRASES)


@pytest.fixture
def indexes(pgvector: str, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """The embedded index, and the one in PostgreSQL."""
    with ExitStack() as opened:
        yield (
            opened.enter_context(open_index(tmp_path / "index")),
            opened.enter_context(PostgresIndex(pgvector, tmp_path / "other")),
        )


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("how many vacation days do I have", ANY),
        ("Wie viele Ferien habe ich?", ANY),
        ("refund my money", ANY),
        ("vacation", SearchOptions(language="de")),
        ("vacation", SearchOptions(allowed_domains=("team.example",))),
        ("vacation", SearchOptions(allowed_domains=("team.example/expenses",))),
        ("vacation", SearchOptions(blocked_domains=("team.example", "a.example"))),
        ("vacation", SearchOptions(since="2023-01-01")),
    ],
)
def test_the_same_passages_are_found_as_next_to_the_embedded_index(
    indexes: tuple[Index, Index], query: str, options: SearchOptions
) -> None:
    found = []
    for index in indexes:
        index.put(PAGES)
        stage = stage_of(index)
        passages = stage.search(query, options, 10)
        found.append([(item.title, item.text, item.start) for item in passages])
        similarities = stage.similarities(query, passages)
        assert similarities == pytest.approx([item.score for item in passages])
    embedded, in_postgres = found
    assert in_postgres == embedded
    assert embedded


def test_phrases_are_found_too_and_nothing_is_computed_twice(indexes: tuple[Index, Index]) -> None:
    _, index = indexes
    index.put([HOLIDAYS, URLAUB])
    assert complete_vectors(index, finder=finder) == len(PHRASES) * 2 + 3
    assert complete_vectors(index, finder=finder) == 0
    assert dict(index.stats().vectors) == {"english": 1, "multilingual": 2}
    store = index.passage_store()
    assert store is not None
    vectors = store.vector_source(MULTILINGUAL, "phrases").now()
    assert vectors is not None
    best, cosine = vectors.nearest(MULTILINGUAL.encode([PHRASES[1]])[0], 1)[0]
    assert best == vector_key(PHRASES[1])
    assert cosine == pytest.approx(1.0)


def test_vectors_of_removed_pages_and_of_an_earlier_encoder_are_removed(
    indexes: tuple[Index, Index],
) -> None:
    _, index = indexes
    index.put([HOLIDAYS, EXPENSES])
    complete_vectors(index, finder=lambda _: [FakeEncoder("multilingual/0")])
    complete_vectors(index, finder=finder)
    index.remove(urls=[HOLIDAYS.url])
    stage = stage_of(index)
    assert [item.url for item in stage.search("vacation", ANY, 5)] == [EXPENSES.url]
    store = index.passage_store()
    assert store is not None
    assert not store.has_vectors("multilingual/0")
    with store.writing_vectors(MULTILINGUAL, "vectors") as writer:
        assert len(writer.keys()) == 1


def test_pages_that_an_earlier_version_stored_are_found_by_meaning(
    indexes: tuple[Index, Index], pgvector: str
) -> None:
    _, index = indexes
    index.put(PAGES)
    with psycopg.connect(pgvector) as connection:
        connection.execute("UPDATE groundwire_passages SET vector = NULL")
    assert stage_of(index).search("Ferien", ANY, 1)[0].url in {HOLIDAYS.url, URLAUB.url, COPY.url}


def test_one_process_computes_the_vectors(indexes: tuple[Index, Index]) -> None:
    _, index = indexes
    index.put([HOLIDAYS])
    store = index.passage_store()
    assert store is not None
    with store.writing_vectors(MULTILINGUAL, "vectors"):
        assert complete_vectors(index, finder=lambda _: [MULTILINGUAL]) == len(PHRASES)
    assert complete_vectors(index, finder=lambda _: [MULTILINGUAL]) == 1


def test_without_the_extension_words_are_searched_and_doctor_says_so(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.server.diagnostics.encoder_problem", str)
    with PostgresIndex(postgres, tmp_path / "index") as index:
        index.put(PAGES)
        assert complete_vectors(index, finder=finder) == 0
        assert open_stage(index) is None
        assert index.search("vacation")
        assert index.stats().vectors == ()
    (check,) = meaning_in_store(postgres)
    assert check.state == "note"
    assert check.detail.startswith("PostgreSQL does not have the extension `vector` (pgvector), so searches")


def test_doctor_names_the_extension_and_who_may_create_it(
    pgvector: str, pgvector_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.server.diagnostics.encoder_problem", str)
    (check,) = meaning_in_store(pgvector)
    assert (check.state, check.what) == ("ok", "search by meaning")
    assert check.detail.startswith("in PostgreSQL, by pgvector 0.")
    with psycopg.connect(pgvector, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS visitor")
        connection.execute("CREATE ROLE visitor LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO visitor")
    visitor = pgvector.replace("tests@", "visitor@")
    (check,) = meaning_in_store(visitor)
    assert check.state == "note"
    assert "Run `CREATE EXTENSION vector` in it as a superuser" in check.detail
    with PostgresIndex(visitor, Path()) as index:
        assert index.passage_store() is None
    with psycopg.connect(pgvector, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    assert [item.state for item in meaning_in_store(visitor)] == ["ok"]


def test_doctor_reports_a_server_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.server.diagnostics.encoder_problem", str)
    (check,) = meaning_in_store(f"postgresql://user@/x?host={tmp_path}")
    assert (check.state, check.what) == ("problem", "PostgreSQL")
    assert list(meaning_in_store("")) == list[Check]()


@pytest.mark.thorough
def test_the_questions_about_the_handbook_have_the_same_nearest_passages(
    indexes: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(packages.SWITCH, raising=False)

    pages = []
    for path in sorted(HANDBOOK.iterdir()):
        url = f"https://handbook.example/{path.name}"
        reading = read(Document(path.read_bytes(), media_type_of(path.name), url, title=path.name))
        assert reading.page is not None
        pages.append(reading.page)
    stages = []
    for index in indexes:
        index.put(pages)
        store = index.passage_store()
        assert store is not None
        assert find_encoders(store.folder), "no encoder is installed: make .venv/.dev"
        complete_vectors(index)
        stages.append(DenseStage(store, store.folder.parent / "models"))
    questions = [question.text for question in load_questions("tuning", "handbook")]
    assert len(questions) > 20
    same = first = 0
    for text in questions:
        embedded, in_postgres = (
            [(item.url, item.start) for item in stage.search(text, ANY, 10)] for stage in stages
        )
        same += len(set(embedded) & set(in_postgres))
        first += embedded[0] == in_postgres[0]
        assert len(embedded) == len(in_postgres) == 10
        assert find_passages(indexes[1], text, ANY, 10, stages[1]).passages
    # The embedded index rounds the numbers of a vector to bytes.
    assert first >= 0.97 * len(questions)
    assert same >= 0.97 * 10 * len(questions)
