"""PostgreSQL: connections that are kept and renewed, migrations that happen once, errors in our words.

Several threads may ask at the same time; each call has a connection and a transaction of its own.
"""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import BoundedSemaphore, Lock
from typing import LiteralString, TypeAlias

from groundwire.errors import ConfigError, GroundwireError
from groundwire.transport.steps import Step

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError:
    raise ConfigError("PostgreSQL needs a driver: pip install 'groundwire[postgres]'") from None

Row: TypeAlias = tuple[object, ...]
Connection: TypeAlias = psycopg.Connection[Row]

CONNECTIONS = 8
CONNECT_SECONDS = 10

# Held while the schema changes, by whoever changes it: "groundwire" in bytes, as far as they go in.
_SCHEMA_LOCK = int.from_bytes(b"groundwi")


class Connections:
    """Connections to one database, opened when needed and kept for the next call."""

    def __init__(self, address: str) -> None:
        self._address = _complete(address)
        self._idle: list[Connection] = []
        self._lock = Lock()
        self._room = BoundedSemaphore(CONNECTIONS)

    @contextmanager
    def statements(self) -> Iterator[Connection]:
        """A connection on which every statement is a transaction of its own."""
        with self._room, _told():
            connection = self._taken() or self._opened()
            try:
                yield connection
            finally:
                self._returned(connection)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection for the time of one transaction, which is committed unless something is raised."""
        with self.statements() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _taken(self) -> Connection | None:
        """An idle connection on which the server has not hung up meanwhile."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if _is_alive(connection):
                    return connection
                connection.close()
        return None

    def _opened(self) -> Connection:
        # Without prepared statements a pooler may stand between, and every plan knows its values.
        return psycopg.connect(self._address, autocommit=True, prepare_threshold=None)

    def _returned(self, connection: Connection) -> None:
        if not _is_alive(connection):
            connection.close()
            return
        with self._lock:
            self._idle.append(connection)


@contextmanager
def closed_on_error(connections: Connections) -> Iterator[None]:
    """Whoever cannot be made keeps nothing open."""
    with ExitStack() as undo:
        undo.callback(connections.close)
        yield
        undo.pop_all()


def migrate(connections: Connections, component: str, steps: Sequence[Step]) -> int:
    """Bring a component's tables to the newest version, and say which that is.

    Any number of processes may try at once: one does it, the others wait and find it done.
    """
    newest = steps[-1].version
    with connections.transaction() as connection:
        done = _version(connection, component)
    if done > newest:
        raise ConfigError(
            f"the database holds version {done} of the {component}, this groundwire knows version {newest}: "
            "use a newer groundwire"
        )
    for step in steps:
        if step.version > done:
            _apply(connections, component, step)
    return newest


def _apply(connections: Connections, component: str, step: Step) -> None:
    with connections.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_SCHEMA_LOCK])
        connection.execute(_RECORDS)
        if _version(connection, component) >= step.version:
            return
        for statement in step.statements:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO groundwire_migrations (component, version) VALUES (%s, %s)",
            [component, step.version],
        )


_RECORDS: LiteralString = """
CREATE TABLE IF NOT EXISTS groundwire_migrations (
    component text NOT NULL,
    version integer NOT NULL,
    applied timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (component, version)
)
"""


def _version(connection: Connection, component: str) -> int:
    exists = connection.execute("SELECT to_regclass('groundwire_migrations') IS NOT NULL").fetchone()
    if exists != (True,):
        return 0
    row = connection.execute(
        "SELECT coalesce(max(version), 0) FROM groundwire_migrations WHERE component = %s", [component]
    ).fetchone()
    return int(str(row[0])) if row else 0


def _complete(address: str) -> str:
    """The address with what it leaves open; a mistake in it is told without showing it: it may hold a key."""
    try:
        given = conninfo.conninfo_to_dict(address)
        return conninfo.make_conninfo(
            "", **{"connect_timeout": CONNECT_SECONDS, "application_name": "groundwire", **given}
        )
    except psycopg.ProgrammingError:
        raise ConfigError("the address of the PostgreSQL database cannot be read") from None


def _is_alive(connection: Connection) -> bool:
    """Nobody hung up: on an idle connection there is something to read only when the server said goodbye."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP)
    return not poll.poll(0)


_CONFIGURATION = (
    errors.InvalidAuthorizationSpecification,
    errors.InvalidPassword,
    errors.InvalidCatalogName,
    errors.InsufficientPrivilege,
    errors.UndefinedFile,
)
_FULL = (errors.DiskFull,)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the database in the project's words; what it says holds neither statements nor passwords."""
    try:
        yield
    except psycopg.Error as error:
        raise _translated(error) from error


def _translated(error: psycopg.Error) -> GroundwireError:
    said = error.diag.message_primary or str(error).strip().splitlines()[0]
    if isinstance(error, _CONFIGURATION):
        return ConfigError(f"PostgreSQL refuses: {said}")
    failure = GroundwireError(f"PostgreSQL failed: {said}")
    if isinstance(error, psycopg.OperationalError):
        failure.code = "STORE_UNAVAILABLE"
        failure.status_hint = 507 if isinstance(error, _FULL) else 503
        failure.retryable = True
    return failure
