"""The servers that other tests rely on start, are real, and do not share data between tests."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.servers.postgres import PostgresServer
from tests.servers.process import program
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.server


def test_postgresql_answers_in_a_database_of_its_own(postgres: str, postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres) as one, psycopg.connect(postgres_server.database()) as other:
        one.execute("CREATE TABLE mine (id int)")
        one.commit()
        row = other.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'mine'").fetchone()
        assert row == (0,)
        assert other.info.server_version >= 130000


def test_redis_answers_and_is_empty(redis: str, redis_server: RedisServer) -> None:
    assert redis == redis_server.url
    assert redis_server.command("DBSIZE") == b":0"
    assert redis_server.command("SET", "key", "value") == b"+OK"
    assert redis_server.command("DBSIZE") == b":1"


def test_redis_is_emptied_between_tests(redis: str, redis_server: RedisServer) -> None:
    assert redis_server.command("DBSIZE") == b":0"


def test_a_missing_program_is_reported_with_the_package_that_contains_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="no-such-server is missing: apt-get install it"):
        program("no-such-server", [tmp_path], "it")
