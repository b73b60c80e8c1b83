"""A private Redis server for tests, emptied for each of them."""

from __future__ import annotations

import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.process import ServerProcess, free_port, own_folder, program

_FOLDERS = [Path("/usr/bin"), Path("/usr/local/bin")]


class RedisServer:
    """Listens on loopback and keeps no data on disk. `options` are those of `redis-server`."""

    def __init__(self, *options: str, password: str = "") -> None:
        self.port = free_port()
        self._password = password
        self._folder = own_folder("redis")
        self._command = [
            program("redis-server", _FOLDERS, "redis-server"),
            *("--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"),
            *("--dir", str(self._folder)),
            *(("--requirepass", password) if password else ()),
            *options,
        ]
        self._server = self._started()

    @property
    def url(self) -> str:
        """The URL of the server."""
        user = f":{self._password}@" if self._password else ""
        return f"redis://{user}127.0.0.1:{self.port}/0"

    def command(self, *arguments: str) -> bytes:
        """Send one command in the Redis protocol; returns the first line of the reply."""
        words = [("AUTH", self._password)] if self._password else []
        reply = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            lines = connection.makefile("rb")
            for one in (*words, arguments):
                encoded = [f"*{len(one)}\r\n", *(f"${len(item.encode())}\r\n{item}\r\n" for item in one)]
                connection.sendall("".join(encoded).encode())
                reply = lines.readline().rstrip()
        return reply

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
        """Kill the server; it is started again, empty, when the block ends."""
        self._server.kill()
        try:
            yield
        finally:
            self._server = self._started()

    def close(self) -> None:
        """Stop the server, and remove what it kept."""
        self._server.close()
        shutil.rmtree(self._folder)

    def _started(self) -> ServerProcess:
        return ServerProcess(self._command, self._answers, signal.SIGTERM)

    def _answers(self) -> bool:
        try:
            return self.command("PING") == b"+PONG"
        except OSError:
            return False
