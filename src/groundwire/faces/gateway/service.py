"""The gateway as a service: its socket, its one or many processes, and how it ends."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from groundwire.client import Groundwire
from groundwire.errors import ConfigError
from groundwire.faces.gateway.app import Asker
from groundwire.faces.gateway.collecting import collect_seldom
from groundwire.faces.gateway.factory import gateway_for
from groundwire.faces.gateway.page import add_page
from groundwire.faces.gateway.server import server_for
from groundwire.faces.gateway.workers import Workers, listener_for
from groundwire.model.value import value

_SLACK = 5.0


@value
class Place:
    """Where to listen, and how."""

    host: str
    port: int
    workers: int = 1
    drain: float = 30.0
    """Seconds in which everything must end."""


class Servant(Asker, Protocol):
    """A `Groundwire` that serves many."""

    def prepare(self) -> None:
        """Import what the first request would wait for."""
        ...


def open_socket(place: Place) -> socket.socket:
    """The socket of the service; raises a sentence where there can be none."""
    try:
        first = listener_for(place.host, place.port)
        if place.workers == 1:
            return first
        # Asked for without sharing first: otherwise another service of ours could be at the address.
        port = first.getsockname()[1]
        first.close()
        return listener_for(place.host, port, shared=True)
    except (OSError, UnicodeError) as error:
        raise ConfigError(_why_not(place, error)) from None


def _why_not(place: Place, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return f"port {place.port} of {place.host} is in use; choose another with --port"
    if number in (errno.EACCES, errno.EPERM):
        return f"port {place.port} is not open to you; choose one above 1023 with --port"
    return f"{place.host} is no address of this machine; choose another with --host"


def address_of(listener: socket.socket, host: str) -> str:
    """How a client of this machine reaches it."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    port = listener.getsockname()[1]
    return f"http://[{shown}]:{port}" if ":" in shown and "[" not in shown else f"http://{shown}:{port}"


def serve(
    place: Place, listener: socket.socket, connect: Callable[[], Servant], env: Mapping[str, str]
) -> int:
    """Serve until asked to end; the result is the exit code. Each process makes its own `Groundwire`."""
    _allow_many_files()
    if place.workers == 1:
        return asyncio.run(_serve(place, listener, connect(), env))
    connect().prepare()  # once for all workers, who inherit it
    with TemporaryDirectory(prefix="groundwire-") as folder:

        def work(life: int) -> int:
            own = listener_for(place.host, listener.getsockname()[1], shared=True)
            return asyncio.run(_serve(place, own, connect(), env, life=life, counts=folder))

        return Workers(place.workers, work, place.drain + _SLACK).run()


async def _serve(
    place: Place,
    listener: socket.socket,
    groundwire: Servant,
    env: Mapping[str, str],
    *,
    life: int | None = None,
    counts: str = "",
) -> int:
    gateway = gateway_for(groundwire, env, host=place.host)
    if isinstance(groundwire, Groundwire):
        add_page(gateway, groundwire)
    server = server_for(gateway, place.host, place.port, drain=place.drain, sheds=True)
    if counts:
        gateway.metrics.share(Path(counts))
    if life is not None:

        def orphaned() -> None:
            asyncio.get_running_loop().remove_reader(life)
            server.should_exit = True

        asyncio.get_running_loop().add_reader(life, orphaned)
    preparing = asyncio.create_task(asyncio.to_thread(groundwire.prepare))
    preparing.add_done_callback(lambda _: collect_seldom())
    await server.serve(sockets=[listener])
    await preparing
    return 1 if server.force_exit else 0


def _allow_many_files() -> None:
    """A stream takes two descriptors, and many systems begin with 1,024."""
    import resource  # noqa: PLC0415  not on every system, and only here

    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
