"""PostgreSQL: a connection pool with a time limit on every wait, schema migrations, and error mapping.

Several threads may use a pool at the same time; each call has a connection and a transaction of its own.
Every wait is bounded: for a free connection, for a new one, and for the response to a statement.

The pool is psycopg_pool's. Two guarantees it does not give are added here. Its worker connects in the
background and only logs why that failed, so the reason is recorded and raised for the caller who waits. And
it waits seconds after each dead connection that it finds, so dead connections are recognised and replaced
here at once.

An address may name several servers, a primary and its standbys: connections then go to the one that accepts
changes, so that a promoted standby is found without a restart.
"""

from __future__ import annotations

import logging
import os
import select
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from threading import BoundedSemaphore, Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, LiteralString, Self, TypeAlias, TypeVar

from groundwire.errors import ConfigError, GroundwireError
from groundwire.transport.migrations import Migration, is_too_old, oldest_component, oldest_version

try:
    import psycopg
    from psycopg import conninfo, errors
    from psycopg_pool import ConnectionPool, PoolTimeout
except ImportError:
    raise ConfigError("PostgreSQL needs a driver: pip install 'groundwire[postgres]'") from None

if TYPE_CHECKING:
    from psycopg.abc import PQGen

Row: TypeAlias = tuple[object, ...]
REFUSED_VALUES = (psycopg.DataError, psycopg.IntegrityError)
"""What the database raises for a value that it does not accept."""
T = TypeVar("T")

CONNECTIONS = 8
CONNECT_SECONDS = 5
FREE_SECONDS = 5.0
"""How long a call waits for one of the connections."""
ANSWER_SECONDS = 60.0
"""How long the server may be silent during a statement, unless the owner of the pool sets another limit."""

_POLL_SECONDS = 0.05
"""How soon a caller who waits for a new connection learns that it failed."""

# Errors of the pool reach the caller; without a handler Python would print its warnings to stderr as well.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Watchdog:
    """Time limits for blocking reads of sockets: one daemon thread, started with the first deadline.

    A driver waits for ever for a server that accepts bytes and never responds: neither a timeout of the
    server nor TCP keep-alive ends that. At the deadline the socket is shut down, and the driver sees its end.
    """

    def __init__(self) -> None:
        self._reset()
        # A forked process has neither the thread nor the watched sockets.
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
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


_WATCHDOG = Watchdog()


class PostgresConnection(psycopg.Connection[Row]):
    """A connection that is shut down when the server does not respond in time."""

    limit: float | None = ANSWER_SECONDS

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """Connect; `on_failure` is called with the error before it is raised."""
        on_failure: Callable[[psycopg.Error], None] = kwargs.pop("on_failure")
        try:
            return super().connect(conninfo, **kwargs)
        except psycopg.Error as error:
            on_failure(error)
            raise

    def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:
        """Wait as the driver does, within the limit."""
        if self.limit is None:
            return super().wait(gen, *args, **kwargs)
        with _WATCHDOG.limit(self.pgconn.socket, self.limit):
            return super().wait(gen, *args, **kwargs)


# Held while the schema changes: "groundwire" in bytes, as far as they fit.
_SCHEMA_LOCK = int.from_bytes(b"groundwi")


class PostgresPool:
    """Connections to one database, opened when needed and kept for the next call."""

    def __init__(self, address: str, limit: float = ANSWER_SECONDS) -> None:
        self._limit = limit
        self._in_use = BoundedSemaphore(CONNECTIONS)
        self._failures: tuple[int, psycopg.Error | None] = (0, None)
        """How many attempts to connect have failed, and the last error."""
        self._pool = ConnectionPool(
            _complete(address),
            connection_class=PostgresConnection,
            # Without prepared statements a pooler may be in between, and every plan knows its values.
            kwargs={"autocommit": True, "prepare_threshold": None, "on_failure": self._on_failure},
            min_size=0,
            max_size=CONNECTIONS,
            open=True,
            reconnect_timeout=0,  # the next caller tries again
            num_workers=1,
        )

    @contextmanager
    def statements(self, *, limited: bool = True) -> Iterator[PostgresConnection]:
        """A connection on which every statement is a transaction of its own."""
        with self._slot(), _mapped_errors():
            connection = self._take()
            connection.limit = self._limit if limited else None
            try:
                yield connection
            except errors.ReadOnlySqlTransaction:
                connection.close()  # a standby; the next connection may find the primary
                raise
            finally:
                self._pool.putconn(connection)

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[PostgresConnection]:
        """A connection for one transaction, which is committed unless something is raised."""
        with self.statements(limited=limited) as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close idle connections now; those in use when they are returned."""
        self._pool.close()

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Room for one more connection in use."""
        if not self._in_use.acquire(timeout=FREE_SECONDS):
            raise unavailable("all connections to PostgreSQL are in use")
        try:
            yield
        finally:
            self._in_use.release()

    def _take(self) -> PostgresConnection:
        """An idle connection that is alive, or a new one; raises the error that connecting failed with."""
        failed_before, _ = self._failures
        ends = monotonic() + 2 * CONNECT_SECONDS  # the driver itself gives up after one
        while True:
            try:
                connection = self._pool.getconn(timeout=_POLL_SECONDS)
            except PoolTimeout:
                failed, error = self._failures
                if error is not None and failed > failed_before:
                    raise error from None
                if monotonic() >= ends:
                    raise unavailable("PostgreSQL does not respond") from None
                continue
            if _is_alive(connection):
                return connection
            connection.close()
            self._pool.putconn(connection)

    def _on_failure(self, error: psycopg.Error) -> None:
        self._failures = (self._failures[0] + 1, error)


@contextmanager
def closed_on_error(pool: PostgresPool) -> Iterator[None]:
    """Close the pool if the block fails."""
    with ExitStack() as undo:
        undo.callback(pool.close)
        yield
        undo.pop_all()


def migrate(pool: PostgresPool, component: str, steps: Sequence[Migration]) -> int:
    """Migrate a component's tables to the newest version, and return it.

    Any number of processes may try at once: one does it, the others wait and find it done. A schema that
    newer code has migrated is used as it is, if that code has recorded that it may be.
    """
    newest = steps[-1].version
    with pool.transaction() as connection:
        done = _version(connection, component)
        oldest = _version(connection, oldest_component(component, done))
    if is_too_old(newest, done, oldest):
        raise ConfigError(
            f"the database has version {done} of the {component}, this groundwire knows version {newest}: "
            "use a newer groundwire"
        )
    for step in steps:
        if step.version > done:
            _apply(pool, component, step, oldest_version(steps, step.version))
    return newest


def schema_version(pool: PostgresPool, component: str) -> int:
    """The version of a component's tables, which are not migrated; 0 if there are none."""
    with pool.transaction() as connection:
        return _version(connection, component)


def _apply(pool: PostgresPool, component: str, step: Migration, oldest: int) -> None:
    # Without a limit: a large table takes its time, and other processes wait here until it is done.
    with pool.transaction(limited=False) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_SCHEMA_LOCK])
        connection.execute(_RECORDS)
        if _version(connection, component) >= step.version:
            return
        for statement in step.statements:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO groundwire_migrations (component, version) VALUES (%s, %s), (%s, %s)"
            " ON CONFLICT (component, version) DO NOTHING",
            [component, step.version, oldest_component(component, step.version), oldest],
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
    """The address with our defaults. An error does not show it, because it may hold a password."""
    try:
        given = conninfo.conninfo_to_dict(address)
        defaults: dict[str, str | int | None] = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "groundwire",
        }
        if "," in str(given.get("host") or given.get("hostaddr")):
            defaults["target_session_attrs"] = "read-write"
        return conninfo.make_conninfo("", **{**defaults, **given})
    except psycopg.ProgrammingError:
        raise ConfigError("the address of the PostgreSQL database cannot be read") from None


def _is_alive(connection: PostgresConnection) -> bool:
    """Is an idle connection open? There is something to read on it only when the server has closed it."""
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
_STANDBY = (errors.ReadOnlySqlTransaction,)


@contextmanager
def _mapped_errors() -> Iterator[None]:
    """Raise errors of the database as `GroundwireError`; their messages hold no statements or passwords."""
    try:
        yield
    except psycopg.Error as error:
        raise _mapped(error) from error


def _mapped(error: psycopg.Error) -> GroundwireError:
    message = error.diag.message_primary or str(error).strip().splitlines()[0]
    if isinstance(error, _CONFIGURATION):
        return ConfigError(f"PostgreSQL refuses: {message}")
    if isinstance(error, _STANDBY):
        return unavailable("PostgreSQL accepts no changes; its server is a standby")
    if isinstance(error, psycopg.OperationalError):
        return unavailable(f"PostgreSQL failed: {message}", 507 if isinstance(error, _FULL) else 503)
    return GroundwireError(f"PostgreSQL failed: {message}")


def unavailable(message: str, status: int = 503) -> GroundwireError:
    """The database does not respond now; a later attempt may succeed."""
    failure = GroundwireError(message)
    failure.code, failure.status_hint, failure.retryable = "STORE_UNAVAILABLE", status, True
    return failure
