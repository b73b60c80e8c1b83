"""The index in PostgreSQL: concurrent writers, migrations, lost connections, hostile text."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import groundwire
from groundwire.engine.index.base import Stored
from groundwire.engine.index.postgres import PostgresIndex
from groundwire.engine.index.postgres_tables import COMPONENT, STEPS
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError, GroundwireError, RequestError
from groundwire.model import SearchOptions
from groundwire.transport.migrations import Migration
from groundwire.transport.postgres import PostgresPool, migrate
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server

HOSTILE = (
    "'; DROP TABLE groundwire_pages; --",
    "' OR '1'='1",
    "%s %(page)s %%",
    "{0} {page!r}",
    "\\'; SELECT pg_sleep(9) --",
    "$$ $1 \\x00 \x00 \ud800",
    "a:* | !b & (c <-> d) 'e",
    "E'\\\\' U&'\\0061'",
)


def tables(address: str) -> set[str]:
    with psycopg.connect(address) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return {name for (name,) in rows}


def numbered(number: int, version: int = 0) -> Page:
    return Page(
        f"https://example.org/{number}", f"Page {number}", f"It is about topic{number}, version{version}."
    )


def test_concurrent_openers_migrate_a_new_database_once(postgres: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        for index in pool.map(lambda _: PostgresIndex(postgres), range(8)):
            assert index.stats().format == STEPS[-1].version
            index.close()
    with psycopg.connect(postgres) as connection:
        rows = connection.execute(
            "SELECT version FROM groundwire_migrations WHERE component = %s", [COMPONENT]
        ).fetchall()
    assert rows == [(step.version,) for step in STEPS]


def test_a_migration_that_fails_leaves_nothing(postgres: str) -> None:
    good = Migration(1, ("CREATE TABLE one (id int)",))
    bad = Migration(2, ("CREATE TABLE two (id int)", "ALTER TABLE one ADD COLUMN extra int", "SELECT 1 / 0"))
    connections = PostgresPool(postgres)
    with pytest.raises(GroundwireError, match="division by zero"):
        migrate(connections, "test", (good, bad))
    assert tables(postgres) == {"one", "groundwire_migrations"}
    better = Migration(2, ("ALTER TABLE one ADD COLUMN extra int",))
    assert migrate(connections, "test", (good, better)) == 2
    assert migrate(connections, "test", (good, better)) == 2
    connections.close()


def test_a_database_of_a_newer_groundwire_is_refused(postgres: str) -> None:
    PostgresIndex(postgres).close()
    with psycopg.connect(postgres) as connection:
        connection.execute("INSERT INTO groundwire_migrations (component, version) VALUES ('index', 999)")
    with pytest.raises(ConfigError, match="version 999 of the index"):
        PostgresIndex(postgres)


@pytest.mark.parametrize("address", ["postgresql://user:SECRET@[", "host=/nowhere password=SECRET dbname=x"])
def test_an_address_that_does_not_work_is_reported_without_its_password(address: str) -> None:
    with pytest.raises(GroundwireError) as caught:
        PostgresIndex(address)
    assert "SECRET" not in str(caught.value)


def test_an_unreachable_server_is_a_retryable_error(tmp_path: Path) -> None:
    with pytest.raises(GroundwireError) as caught:
        PostgresIndex(f"postgresql://user@/x?host={tmp_path}")
    assert (caught.value.code, caught.value.status_hint, caught.value.retryable) == (
        "STORE_UNAVAILABLE",
        503,
        True,
    )


def test_writers_of_the_same_pages_do_not_disturb_each_other(postgres: str) -> None:
    def write(version: int) -> Stored:
        order = range(40) if version % 2 else range(39, -1, -1)
        with PostgresIndex(postgres) as index:
            return index.put(numbered(number, version) for number in order)

    with ThreadPoolExecutor(4) as pool:
        stored = list(pool.map(write, range(8)))
    assert sum(one.added for one in stored) == 40
    assert sum(one.updated for one in stored) == 7 * 40
    with PostgresIndex(postgres) as index:
        assert (index.stats().pages, index.stats().passages) == (40, 40)
        texts = [found.text for found in index.search("topic*", limit=40)]
        assert len(texts) == 40
        assert len({text.partition("version")[2] for text in texts}) == 1


def test_one_index_serves_many_threads(postgres: str) -> None:
    with PostgresIndex(postgres) as index, ThreadPoolExecutor(16) as pool:
        index.put(numbered(number) for number in range(30))
        found = list(pool.map(lambda number: index.search(f"topic{number % 30}"), range(120)))
    assert [passages[0].url for passages in found] == [f"https://example.org/{n % 30}" for n in range(120)]


def test_connections_that_the_server_closed_are_replaced(postgres: str) -> None:
    with PostgresIndex(postgres) as index:
        index.put([numbered(1)])
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert [found.url for found in index.search("topic1")] == ["https://example.org/1"]


def test_an_index_recovers_after_its_database_restarts() -> None:
    server = PostgresServer()
    try:
        with PostgresIndex(server.database()) as index:
            index.put([numbered(1)])
            server.restart(lambda: _fails(index))
            assert [found.url for found in index.search("topic1")] == ["https://example.org/1"]
    finally:
        server.close()


def _fails(index: PostgresIndex) -> None:
    with pytest.raises(GroundwireError) as caught:
        index.search("topic1")
    assert caught.value.retryable


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_ever_text(postgres: str, text: str) -> None:
    kept = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    page = Page(f"https://example.org/{text}", text, f"Before {text} after", text, text, text)
    with PostgresIndex(postgres) as index:
        assert index.put([numbered(1), page]) == Stored(added=2)
        found = index.page(page.url)
        assert found is not None
        assert (found.title, found.text, found.collection) == (kept, f"Before {kept} after", kept)
        assert [info.title for info in index.pages(collection=kept)] == [kept]
        assert isinstance(index.search(text), list)
        assert isinstance(index.search(f'"{text}" {text}*'), list)
        lists = SearchOptions(allowed_domains=(text, f"a/{text}"), blocked_domains=(text, f"{text}/*{text}"))
        assert index.search("topic1", lists) == []
        assert isinstance(index.search("topic1", SearchOptions(language=text)), list)
        with pytest.raises(RequestError):
            index.search("topic1", SearchOptions(since=text))
        assert index.remove(collection=kept) == 1
        assert index.stats().pages == 1


def test_words_and_addresses_of_any_length_are_taken(postgres: str) -> None:
    long = "x" * 5_000
    page = Page(f"https://example.org/{long}", long, f"{long} {long}.{long} words", published="2024-01-01")
    with PostgresIndex(postgres) as index:
        index.put([page])
        assert index.page(page.url) == page
        assert [found.url for found in index.search("words")] == [page.url]
        assert index.search(long)
        assert isinstance(index.search(" ".join(f"w{n}" for n in range(5_000))), list)


def test_a_rare_word_weighs_more_than_a_common_one(postgres: str) -> None:
    common = [Page(f"https://a.example/{n}", "Notes", f"Notes on harbour number{n}.") for n in range(30)]
    rare = Page("https://b.example/", "Notes", "A lighthouse stands alone.")
    with PostgresIndex(postgres) as index:
        index.put([*common, rare])
        assert index.search("harbour lighthouse")[0].url == rare.url


def test_of_too_many_passages_those_with_the_word_in_the_title_are_ranked(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.engine.index.postgres.MOST_RANKED", 30)
    others = [Page(f"https://a.example/{n}", f"Notes {n}", f"Boats of harbour {n}.") for n in range(60)]
    titled = [Page(f"https://b.example/{n}", f"The harbours {n}", f"Harbour and pier {n}.") for n in range(5)]
    with PostgresIndex(postgres) as index:
        index.put([*others, *titled])
        assert {found.url for found in index.search("harbour", limit=5)} == {page.url for page in titled}
        assert len(index.search("harbour", limit=6)) == 6
        assert index.search("boats harbour", limit=5)[0].url.startswith("https://a.example/")


def test_titles_of_stored_pages_are_indexed_by_the_upgrade(postgres: str) -> None:
    pages = [
        Page("https://a.example/", "Running häuser in JSONDecoder", "Some text. " * 200, language="en"),
        Page("https://b.example/", "Die Häuser am Hafen", "Ein Text."),
        Page("https://c.example/", "", "No title."),
    ]
    titles = "SELECT url, titled::text FROM groundwire_pages ORDER BY url"
    with PostgresIndex(postgres) as index:
        index.put(pages)
    with psycopg.connect(postgres) as connection:
        known = connection.execute(titles).fetchall()
        connection.execute("ALTER TABLE groundwire_pages DROP COLUMN titled, DROP COLUMN outline")
        connection.execute(
            """ALTER TABLE groundwire_passages DROP COLUMN anchor, DROP COLUMN section, DROP COLUMN outline,
            DROP COLUMN vector"""
        )
        connection.execute("DELETE FROM groundwire_migrations WHERE version > 1")
    PostgresIndex(postgres).close()
    with psycopg.connect(postgres) as connection:
        assert connection.execute(titles).fetchall() == known
    assert [bool(words) for _, words in known] == [True, True, False]


def test_every_statement_is_written_out() -> None:
    # Concatenated statements would permit injection; values are parameters.
    folder = Path(groundwire.__file__).parent
    files = [
        path
        for path in folder.rglob("*.py")
        if "psycopg" in path.read_text("utf-8") or "postgres" in path.stem
    ]
    calls = [
        (path.name, node.args[0])
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("execute", "executemany")
    ]
    assert len(calls) > 10
    assert [name for name, text in calls if not isinstance(text, ast.Constant | ast.Name)] == []
