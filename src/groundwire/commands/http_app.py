"""The HTTP application of `groundwire serve`: gateway, web page and MCP in one, and the processes that serve
it."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import TYPE_CHECKING

from groundwire.chat.chat import Chat
from groundwire.client import Groundwire
from groundwire.client_protocol import SearchClient
from groundwire.commands.keys import announcer
from groundwire.errors import ConfigError
from groundwire.faces.gateway.count_tokens import COUNT_TOKENS_ROUTES
from groundwire.faces.gateway.docs_site.endpoints import DOCS_ROUTES
from groundwire.faces.gateway.endpoints import DIALECT_ROUTES
from groundwire.faces.gateway.keys import KEY_ROUTES
from groundwire.faces.gateway.meta import HEALTH_ROUTES, OPENAPI_ROUTES
from groundwire.faces.gateway.models import MODEL_ROUTES
from groundwire.faces.gateway.search_apis.shared_path import SEARCH_API_ROUTES
from groundwire.faces.gateway.ui_messages.endpoint import UI_MESSAGE_ROUTES
from groundwire.faces.mcp.http import mcp_app, mcp_route
from groundwire.faces.web.app import add_pages
from groundwire.model.value import value
from groundwire.server.access_log import RequestLog, log_request
from groundwire.server.app import AccessRecord, HttpApp
from groundwire.server.audit import AuditLog
from groundwire.server.auth import AccessControl
from groundwire.server.budgets import Budgets
from groundwire.server.http_server import HttpServer
from groundwire.server.key_manager import KeyManager
from groundwire.server.keys import KeyFile, Keyring, KeyStore, load_secret
from groundwire.server.live_requests import live_requests
from groundwire.server.metrics import share_metrics
from groundwire.server.rate_limits import RateLimiter, SqliteWindows
from groundwire.server.response_writer import ResponseTimeouts
from groundwire.server.routes import Route, RouteTable
from groundwire.server.shared_access import ACCESS_TOPIC, SharedAccess, StoredKeys
from groundwire.server.stored_spool import StoredSpool
from groundwire.server.telemetry import open_telemetry
from groundwire.server.usage import UsageRecorder
from groundwire.server.workers import WorkerProcesses, bind_socket, tune_gc
from groundwire.store.base import Store
from groundwire.store.open import StoreProbe, is_shared, open_store, store_address

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient

GATEWAY_ROUTES: tuple[Route, ...] = (
    *DIALECT_ROUTES,
    *SEARCH_API_ROUTES,
    *UI_MESSAGE_ROUTES,
    *COUNT_TOKENS_ROUTES,
    *MODEL_ROUTES,
    *KEY_ROUTES,
    *HEALTH_ROUTES,
    *OPENAPI_ROUTES,
    *DOCS_ROUTES,
)
_KILL_AFTER = 5.0
"""Seconds after the drain time until a worker is killed."""


def create_app(
    groundwire: SearchClient,
    env: Mapping[str, str],
    *,
    host: str = "",
    timeouts: ResponseTimeouts | None = None,
    shared: SharedAccess | None = None,
    store: Store | None = None,
) -> HttpApp:
    """The application with the routes of the gateway and MCP.

    `shared` has the keys of a shared store. Without a `store`, there is no audit log.
    """
    config = groundwire.config
    settings = config.gateway
    clock = shared.clock if shared is not None else time
    observers: tuple[Callable[[AccessRecord], None], ...] = (log_request,)
    if settings.request_log:
        observers = (*observers, RequestLog(settings.request_log, time))
    secret = load_secret(config.data_dir, env, shared=shared is not None)
    mcp = mcp_app(groundwire, secret=secret)
    app = HttpApp(
        groundwire,
        RouteTable((*GATEWAY_ROUTES, mcp_route(mcp))),
        AccessControl(
            host or settings.host,
            shared or Keyring(KeyFile(config.data_dir)),
            hosts=settings.hosts,
            origins=settings.origins,
            proxies=settings.trusted_proxies,
            clock=clock,
        ),
        secret=secret,
        timeouts=timeouts,
        observers=observers,
    )
    keys: KeyStore = KeyFile(config.data_dir)
    if shared is not None and store is not None:
        keys = StoredKeys(store, _on_key_change(shared, config.redis))
    manager = app.key_manager = KeyManager(
        keys, AuditLog(store, clock), providers=lambda: groundwire.names, clock=clock
    )
    app.access.on_burst = lambda what, address: manager.audit.add_in_background(
        "failed_logins" if what == "logins" else "wrong_keys", address
    )
    app.ended_logins = shared
    app.on_close.insert(0, mcp.aclose)
    return app


def _on_key_change(shared: SharedAccess, redis: str) -> Callable[[], None]:
    """A change applies to this gateway at once, and to the others as soon as they are notified."""
    announce = announcer(redis)

    def changed() -> None:
        shared.refresh()
        announce()

    return changed


def create_service(
    groundwire: Groundwire,
    env: Mapping[str, str],
    *,
    host: str = "",
    timeouts: ResponseTimeouts | None = None,
    workers: Workers | None = None,
) -> HttpApp:
    """The application with all routes, and a store that is open until it closes."""
    config = groundwire.config
    store = open_store(store_address(config.store, config.data_dir))
    shared = SharedAccess(store, on_change=announcer(config.redis)) if is_shared(config.store) else None
    clock = shared.clock if shared is not None else time
    app = create_app(groundwire, env, host=host, timeouts=timeouts, shared=shared, store=store)
    if shared is not None:
        app.responses = StoredSpool(store)
    if config.redis:
        _share_through_redis(app, groundwire, shared, workers)
    elif workers is not None:
        # Not `.db`: the library of the metrics reads all files of that name in the directory.
        windows = SqliteWindows(str(Path(workers.directory) / "limits.sqlite"))
        app.rate_limiter = RateLimiter(windows=windows, processes=workers.count)
    recorder = app.usage_recorder = UsageRecorder(store, clock=clock)
    budgets = groundwire.spending_guard = Budgets(store)
    app.readiness_checks.append(StoreProbe(store).problem)
    if telemetry := open_telemetry(config.gateway, env):
        app.tracer = telemetry
        groundwire.observe_attempts(telemetry.begin_attempt)
        app.on_close.append(telemetry.aclose)
    add_pages(app, Chat(groundwire, store, clock=clock), clock)

    async def close() -> None:
        await recorder.aclose()
        await budgets.aclose()
        if shared is not None:
            await asyncio.to_thread(shared.close)
        await asyncio.to_thread(store.close)

    app.on_close.append(close)
    return app


@value
class Workers:
    """The processes that serve one address, and a directory of theirs that does not outlive them."""

    count: int
    directory: str


def _share_through_redis(
    app: HttpApp, groundwire: Groundwire, shared: SharedAccess | None, workers: Workers | None
) -> None:
    # Imported on demand: the library of Redis is optional, and takes half a second.
    from groundwire.server.shared_live import SharedLiveRequests  # noqa: PLC0415
    from groundwire.server.shared_responses import SharedResponses  # noqa: PLC0415
    from groundwire.server.shared_throttle import SharedThrottle  # noqa: PLC0415
    from groundwire.transport.redis import RedisLink  # noqa: PLC0415

    link = RedisLink(groundwire.config.redis)
    groundwire.share(link)
    app.rate_limiter = RateLimiter(link, processes=workers.count if workers is not None else 1)
    app.idempotency.shared = SharedResponses(link)
    SharedThrottle(link, app.access.throttle)
    app.other_live_requests = SharedLiveRequests(link, lambda: live_requests(app.live_requests)).others
    if shared is not None:
        link.listen(ACCESS_TOPIC, lambda _: shared.wake())
    app.on_start.append(link.start)
    app.on_close.insert(0, link.aclose)
    app.degradations.append(lambda: f"Redis: {link.problem}" if link.problem else "")


@value
class ListenOptions:
    """Address and processes of the service."""

    host: str
    port: int
    workers: int = 1
    drain: float = 30.0
    """Seconds that open requests have to end after a signal."""
    drain_delay: float = 0.0
    """Seconds after a signal in which only readiness fails, before requests are refused."""


def open_socket(options: ListenOptions) -> socket.socket:
    """The listening socket; raises `ConfigError` if the address cannot be used."""
    try:
        first = bind_socket(options.host, options.port)
        if options.workers == 1:
            return first
        # Bound without SO_REUSEPORT first: otherwise another service of this user could share the address.
        port = first.getsockname()[1]
        first.close()
        return bind_socket(options.host, port, shared=True)
    except (OSError, UnicodeError) as error:
        raise ConfigError(_bind_error(options, error)) from None


def _bind_error(options: ListenOptions, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return f"port {options.port} of {options.host} is in use; choose another with --port"
    if number in (errno.EACCES, errno.EPERM):
        return f"you may not bind port {options.port}; choose one above 1023 with --port"
    return f"{options.host} is not an address of this machine; choose another with --host"


def base_url(listener: socket.socket, host: str) -> str:
    """The URL for clients on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    port = listener.getsockname()[1]
    return f"http://[{shown}]:{port}" if ":" in shown and "[" not in shown else f"http://{shown}:{port}"


def serve(
    options: ListenOptions,
    listener: socket.socket,
    connect: Callable[[], SearchClient],
    env: Mapping[str, str],
) -> int:
    """Serve until a signal; returns the exit code. Each process creates its own `Groundwire`."""
    _raise_file_limit()
    if options.workers == 1:
        share_metrics("")
        return asyncio.run(_serve(options, listener, connect(), env))
    connect().prepare()  # before the fork, so that the workers share the imported modules
    with TemporaryDirectory(prefix="groundwire-") as directory:
        share_metrics(directory)

        def work(parent_alive: int) -> int:
            own = bind_socket(options.host, listener.getsockname()[1], shared=True)
            workers = Workers(options.workers, directory)
            return asyncio.run(
                _serve(options, own, connect(), env, parent_alive=parent_alive, workers=workers)
            )

        return WorkerProcesses(options.workers, work, options.drain_delay + options.drain + _KILL_AFTER).run()


async def _serve(
    options: ListenOptions,
    listener: socket.socket,
    groundwire: SearchClient,
    env: Mapping[str, str],
    *,
    parent_alive: int | None = None,
    workers: Workers | None = None,
) -> int:
    if isinstance(groundwire, Groundwire):
        app = create_service(groundwire, env, host=options.host, workers=workers)
    else:
        app = create_app(groundwire, env, host=options.host)
    server = HttpServer(app, drain=options.drain, drain_delay=options.drain_delay, sheds_load=True)
    if parent_alive is not None:

        def parent_died() -> None:
            asyncio.get_running_loop().remove_reader(parent_alive)
            server.should_exit = True

        asyncio.get_running_loop().add_reader(parent_alive, parent_died)
    preparing = asyncio.create_task(asyncio.to_thread(_prepare, groundwire))
    preparing.add_done_callback(lambda _: tune_gc())
    await server.serve(sockets=[listener])
    await preparing
    return 1 if server.force_exit else 0


def _prepare(groundwire: SearchClient) -> None:
    groundwire.prepare()
    groundwire.build_index()


def _raise_file_limit() -> None:
    """A stream uses two file descriptors, and many systems start with a limit of 1,024."""
    import resource  # noqa: PLC0415  not available on every system

    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
