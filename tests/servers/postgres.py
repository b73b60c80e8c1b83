"""A PostgreSQL server of the tests' own, with a new database for whoever asks."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from tests.servers.process import Server, own_folder, program, run

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
# Nothing here outlives the run: the disk need not be waited for.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "64MB",
}


class PostgresServer:
    """Reached by a socket in its own folder, so there is no port to collide on."""

    def __init__(self) -> None:
        self._folder = own_folder("postgres")
        self._numbers = count(1)
        data = str(self._folder / "data")
        options = ["--username=tests", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        run([program("initdb", _FOLDERS, "postgresql"), *options, "-D", data])
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        server = program("postgres", _FOLDERS, "postgresql")
        self._command = [server, "-D", data, "-k", str(self._folder), *settings]
        self._server = Server(self._command, self._answers, signal.SIGINT)

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"tests_{next(self._numbers)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._address(name)

    def restart(self, meanwhile: Callable[[], object]) -> None:
        """Go away, let something happen, and come back."""
        self._server.close()
        meanwhile()
        self._server = Server(self._command, self._answers, signal.SIGINT)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Accept connections and bytes, and answer nothing, for as long as the block lasts."""
        self._server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.signal(signal.SIGCONT)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Be killed, and come back when the block ends."""
        self._server.kill()
        try:
            yield
        finally:
            self._server = Server(self._command, self._answers, signal.SIGINT)

    def die(self) -> None:
        """Be killed, with no time for goodbyes, and come back."""
        self._server.kill()
        self._server = Server(self._command, self._answers, signal.SIGINT)

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
