"""`groundwire backup` and `groundwire restore`, also while a gateway writes."""

from __future__ import annotations

import asyncio
import re
import shlex
import sqlite3
import stat
import subprocess
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from threading import Event, Thread

import aiohttp
import pytest

from groundwire.client import Groundwire
from groundwire.commands.backup import USE_PG_DUMP
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config
from groundwire.engine.index.location import open_configured_index, open_index
from groundwire.engine.pages import Page
from groundwire.model import Message, Text, Usage
from groundwire.server.keys import KeyFile, load_secret
from groundwire.store.base import ApiKey, Session, StoredMessage, UsageRow
from groundwire.store.open import open_store
from groundwire.store.sqlite import copy_sqlite
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.fakes import Bench
from tests.faces.gateway.serving import provider_at, running_server
from tests.memory_folders import tmp_path
from tests.servers.fixtures import postgres, postgres_server
from tests.servers.postgres import PostgresServer

__all__ = ["postgres", "postgres_server", "tmp_path"]

pytestmark = pytest.mark.server

BOUND = 20.0

AT = "2026-01-02T00:00:00Z"


def bench(data: Path) -> Bench:
    return Bench(env={"HOME": str(data), "GROUNDWIRE_DATA_DIR": str(data)}, cwd=str(data.parent))


def store_url(data: Path) -> str:
    return f"sqlite:///{data}/groundwire.db"


def fill(data: Path) -> str:
    """Data of every kind; returns an API key."""
    key, _ = KeyFile(str(data)).create("laptop", 0)
    load_secret(str(data), {})
    with open_store(store_url(data)) as store:
        store.put_session(Session("s1", "", "", "Köln", AT, AT))
        store.add_message(StoredMessage("m1", "s1", Message("user", (Text("Wie alt ist der Dom?"),)), "", AT))
    with open_index(data / "index") as index:
        index.put([Page("https://dom.example/", "Dom", "The cathedral was completed in 1880.")])
    return key


def test_everything_is_restored_elsewhere(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    fill(first)
    assert bench(first).run("backup", "all.tar") == 0
    archive = tmp_path / "all.tar"
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert bench(second).run("restore", str(archive)) == 0
    assert KeyFile(str(second)).entries() == KeyFile(str(first)).entries()
    assert load_secret(str(second), {}) == load_secret(str(first), {})
    with open_store(store_url(second)) as store:
        assert [turn.id for turn in store.find_messages("dom", "")] == ["m1"]
    with open_index(second / "index") as index:
        assert [found.url for found in index.search("cathedral")] == ["https://dom.example/"]
    assert sorted(path.name for path in second.iterdir() if path.name.startswith(".")) == []


def test_the_index_can_be_left_out(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    assert bench(tmp_path / "data").run("backup", "--no-index", "small.tar") == 0
    with tarfile.open(tmp_path / "small.tar") as archive:
        assert archive.getnames() == ["backup.json", "store.db", "keys.json", "gateway.secret"]


def test_data_that_is_there_is_overwritten_only_on_request(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data)
    assert bench(data).run("backup", "all.tar") == 0
    assert bench(data).run("backup", "all.tar") == 4
    with open_store(store_url(data)) as store:
        store.remove_session("s1")
    refused = bench(data)
    assert refused.run("restore", "all.tar") == 4
    assert "--replace" in refused.stderr
    with open_store(store_url(data)) as running:
        assert running.session("s1") is None
        assert bench(data).run("restore", "--replace", "all.tar") == 0
        # A connection that was open sees the restored rows: the file was not replaced under it.
        assert running.session("s1") is not None
    with open_index(data / "index") as index:
        assert index.search("cathedral")


@pytest.mark.parametrize("damage", ["cut", "changed", "text", "missing"])
def test_a_damaged_archive_changes_nothing(tmp_path: Path, damage: str) -> None:
    fill(tmp_path / "first")
    assert bench(tmp_path / "first").run("backup", "all.tar") == 0
    archive = tmp_path / "all.tar"
    data = bytearray(archive.read_bytes())
    at = data.index(b"CREATE TABLE")
    data[at] ^= 1
    broken = {"cut": bytes(data[: len(data) // 2]), "changed": bytes(data), "text": b"no archive"}
    if damage == "missing":
        archive.unlink()
    else:
        archive.write_bytes(broken[damage])
    (tmp_path / "second").mkdir()
    second = bench(tmp_path / "second")
    assert second.run("restore", "all.tar") == (2 if damage == "missing" else 4)
    assert "all.tar" in second.stderr
    assert list((tmp_path / "second").iterdir()) == []


def test_a_member_with_another_name_is_never_written(tmp_path: Path) -> None:
    fill(tmp_path / "first")
    assert bench(tmp_path / "first").run("backup", "all.tar") == 0
    (tmp_path / "evil").write_text("evil")
    with tarfile.open(tmp_path / "all.tar", "a") as archive:
        archive.add(tmp_path / "evil", "../escaped")
        archive.add(tmp_path / "evil", "config.toml")
    (tmp_path / "deep").mkdir()
    assert bench(tmp_path / "deep" / "second").run("restore", str(tmp_path / "all.tar")) == 0
    assert not (tmp_path / "deep" / "escaped").exists()
    assert not (tmp_path / "deep" / "second" / "config.toml").exists()


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data)
    with closing(sqlite3.connect(data / "groundwire.db")) as connection, connection:
        connection.execute("INSERT INTO groundwire_migrations (component, version) VALUES ('store', 999)")
    assert bench(data).run("backup", "all.tar") == 0
    second = bench(tmp_path / "second")
    assert second.run("restore", "all.tar") == 4
    assert "use a newer groundwire" in second.stderr
    assert not (tmp_path / "second" / "groundwire.db").exists()


def test_a_shared_store_is_left_to_the_programs_of_postgresql(tmp_path: Path) -> None:
    run = bench(tmp_path)
    run.console.env = {**run.console.env, "GROUNDWIRE_STORE": "postgresql://user:SECRET@db/groundwire"}
    assert run.run("backup", "all.tar") == 4
    assert "pg_dump" in run.stderr
    assert "SECRET" not in run.stderr


def test_the_documented_commands_copy_a_postgresql_store(
    tmp_path: Path, postgres: str, postgres_server: PostgresServer
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text("utf-8")
    dump, restore = (re.search(rf"`({name} [^`]+)`", page) for name in ("pg_dump", "pg_restore"))
    assert dump
    assert restore
    assert dump[1] in USE_PG_DUMP
    key = ApiKey("k1", "laptop", "f" * 64, AT)
    with open_store(postgres) as store:
        store.put_key(key)
        store.put_session(Session("s1", "", "", "Köln", AT, AT))
        store.add_message(StoredMessage("m1", "s1", Message("user", (Text("Wie alt ist der Dom?"),)), "", AT))
        with open_configured_index(tmp_path, postgres) as index:
            index.put([Page("https://dom.example/", "Dom", "The cathedral was completed in 1880.")])
        other = postgres_server.database()
        for command, database in ((dump[1], postgres), (restore[1], other)):
            words = shlex.split(command.replace("FILE", f"{tmp_path}/dump"))
            words = [word.replace("DATABASE", database) for word in words]
            subprocess.run(words, check=True, capture_output=True, timeout=60)  # noqa: S603  our own page
    with open_store(other) as copy, open_configured_index(tmp_path, other) as index:
        assert list(copy.api_keys()) == [key]
        assert [turn.id for turn in copy.find_messages("dom", "")] == ["m1"]
        assert [found.url for found in index.search("cathedral")] == ["https://dom.example/"]
        copy.add_message(StoredMessage("m2", "s1", Message("user", (Text("Und?"),)), "", AT))
        assert [turn.number for turn in copy.messages("s1")] == [1, 2]


@pytest.mark.parametrize("copies", [3, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_copy_is_the_state_of_one_moment(tmp_path: Path, copies: int) -> None:
    """Each transaction adds two rows: a copy has an even number of them."""
    source = tmp_path / "store.db"
    stop = Event()

    def write() -> None:
        with open_store(f"sqlite:///{source}") as store:
            number = 0
            while not stop.is_set():
                number += 1
                rows = [
                    UsageRow(f"{number}-{part}", AT, "p", "m", Usage(output_tokens=1), "me")
                    for part in (1, 2)
                ]
                store.add_usage(rows)

    open_store(f"sqlite:///{source}").close()
    writer = Thread(target=write)
    writer.start()
    try:
        for number in range(copies):
            copy_sqlite(source, tmp_path / f"{number}.db")
            with open_store(f"sqlite:///{tmp_path}/{number}.db") as copy:
                assert sum(total.requests for total in copy.usage("me")) % 2 == 0
    finally:
        stop.set()
        writer.join(BOUND)


@asynccontextmanager
async def gateway(data: Path, provider: str) -> AsyncIterator[str]:
    """A gateway on this data; yields its URL."""
    env = {"HOME": str(data)}
    config = Config(
        providers={"mine": provider_at("openai_chat", provider)}, order=("mine",), data_dir=str(data)
    )
    groundwire = Groundwire(config, env=env)
    async with running_server(create_service(groundwire, env)) as (url, _):
        yield url


async def ask(client: aiohttp.ClientSession, url: str, key: str) -> int:
    body = {"model": "auto", "messages": [{"role": "user", "content": "?"}], "web_search_options": {}}
    head = {"authorization": f"Bearer {key}"}
    async with client.post(f"{url}/v1/chat/completions", json=body, headers=head) as response:
        await response.read()
        return response.status


async def test_a_running_gateway_is_backed_up_and_another_one_continues_with_its_data(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    key = fill(first)
    async with (
        Upstream(answer("openai_chat", answer_events("Yes."))) as upstream,
        aiohttp.ClientSession() as client,
    ):
        async with gateway(first, upstream.url) as url:
            assert await ask(client, url, key) == 200
            backup = asyncio.create_task(asyncio.to_thread(bench(first).run, "backup", "all.tar"))
            while not backup.done():
                assert await ask(client, url, key) == 200
            assert await backup == 0
        assert bench(second).run("restore", "all.tar") == 0
        async with gateway(second, upstream.url) as url:
            assert await ask(client, url, key) == 200
            assert await ask(client, url, "sk-gw-wrong") == 401
    with open_store(store_url(second)) as store:
        assert store.session("s1") is not None
