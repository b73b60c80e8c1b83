"""PostgreSQL: connections that are kept and renewed, migrations that happen once, errors in our words.

Several threads may ask at the same time; each call has a connection and a transaction of its own. Every wait
is bounded: for a free connection, for a new one, and for the answer to a statement.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from threading import BoundedSemaphore, Condition, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, TypeVar

from groundwire.errors import ConfigError, GroundwireError
from groundwire.transport.migrations import Migration

if TYPE_CHECKING:
    from psycopg.abc import PQGen


class Watchdog:
    """One daemon thread for any number of sockets, started with the first deadline."""

    def __init__(self) -> None:
        self._begin()
        # A worker that was forked has neither the thread nor the sockets that were watched.
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._changed = Condition()
        self._due: dict[object, tuple[float, int]] = {}
        self._thread: Thread | None = None

    @contextmanager
    def limit(self, fileno: int, seconds: float) -> Iterator[None]:
        """Shut the socket down if the block lasts longer. It must not be closed inside the block."""
        entry = object()
        with self._changed:
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="groundwire-watchdog", daemon=True)
                self._thread.start()
            self._due[entry] = (monotonic() + seconds, fileno)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(entry, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = monotonic()
                for entry, (due, fileno) in tuple(self._due.items()):
                    if due <= now:
                        del self._due[entry]
                        _shut_down(fileno)
                nearest = min((due for due, _ in self._due.values()), default=inf)
                self._changed.wait(None if nearest == inf else max(0.0, nearest - monotonic()))


def _shut_down(fileno: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(fileno)) as copy:
        copy.shutdown(socket.SHUT_RDWR)


try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError:
    raise ConfigError("PostgreSQL needs a driver: pip install 'groundwire[postgres]'") from None


Row: TypeAlias = tuple[object, ...]
PostgresConnection: TypeAlias = psycopg.Connection[Row]
REFUSED_VALUES = (psycopg.DataError, psycopg.IntegrityError)
"""What the database raises for a value that it does not take."""
T = TypeVar("T")

CONNECTIONS = 8
CONNECT_SECONDS = 5
FREE_SECONDS = 5.0
"""How long a call waits for one of the connections."""
ANSWER_SECONDS = 60.0
"""How long the server may be silent during a statement, unless the user of the connections says otherwise."""

_WATCHDOG = Watchdog()


class _LimitedConnection(psycopg.Connection[Row]):
    """A connection that is shut down when the server does not answer in time."""

    limit: float | None = ANSWER_SECONDS

    def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:
        """Wait as the driver does, within the limit."""
        if self.limit is None:
            return super().wait(gen, *args, **kwargs)
        with _WATCHDOG.limit(self.pgconn.socket, self.limit):
            return super().wait(gen, *args, **kwargs)


# Held while the schema changes, by whoever changes it: "groundwire" in bytes, as far as they go in.
_SCHEMA_LOCK = int.from_bytes(b"groundwi")


class PostgresPool:
    """Connections to one database, opened when needed and kept for the next call."""

    def __init__(self, address: str, limit: float = ANSWER_SECONDS) -> None:
        self._address = _complete(address)
        self._limit = limit
        self._idle: list[_LimitedConnection] = []
        self._lock = Lock()
        self._room = BoundedSemaphore(CONNECTIONS)

    @contextmanager
    def statements(self, *, limited: bool = True) -> Iterator[PostgresConnection]:
        """A connection on which every statement is a transaction of its own."""
        with self._free(), _told():
            connection = self._taken() or self._opened()
            connection.limit = self._limit if limited else None
            try:
                yield connection
            finally:
                self._returned(connection)

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[PostgresConnection]:
        """A connection for the time of one transaction, which is committed unless something is raised."""
        with self.statements(limited=limited) as connection, connection.transaction():
            yield connection

    @contextmanager
    def _free(self) -> Iterator[None]:
        """Room for one more connection in use."""
        if not self._room.acquire(timeout=FREE_SECONDS):
            raise unavailable("all connections to PostgreSQL are in use")
        try:
            yield
        finally:
            self._room.release()

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _taken(self) -> _LimitedConnection | None:
        """An idle connection on which the server has not hung up meanwhile."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if _is_alive(connection):
                    return connection
                connection.close()
        return None

    def _opened(self) -> _LimitedConnection:
        # Without prepared statements a pooler may stand between, and every plan knows its values.
        return _LimitedConnection.connect(self._address, autocommit=True, prepare_threshold=None)

    def _returned(self, connection: _LimitedConnection) -> None:
        if not _is_alive(connection):
            connection.close()
            return
        with self._lock:
            self._idle.append(connection)


@contextmanager
def closed_on_error(connections: PostgresPool) -> Iterator[None]:
    """Whoever cannot be made keeps nothing open."""
    with ExitStack() as undo:
        undo.callback(connections.close)
        yield
        undo.pop_all()


def migrate(connections: PostgresPool, component: str, steps: Sequence[Migration]) -> int:
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


def _apply(connections: PostgresPool, component: str, step: Migration) -> None:
    # Without a limit: a large table takes its time, and others wait here until it is done.
    with connections.transaction(limited=False) as connection:
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


def _version(connection: PostgresConnection, component: str) -> int:
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


def _is_alive(connection: PostgresConnection) -> bool:
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
    if isinstance(error, psycopg.OperationalError):
        return unavailable(f"PostgreSQL failed: {said}", 507 if isinstance(error, _FULL) else 503)
    return GroundwireError(f"PostgreSQL failed: {said}")


def unavailable(message: str, status: int = 503) -> GroundwireError:
    """The database does not answer now; later it may."""
    failure = GroundwireError(message)
    failure.code, failure.status_hint, failure.retryable = "STORE_UNAVAILABLE", status, True
    return failure
