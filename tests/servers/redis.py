"""A private Redis server for tests, emptied for each of them."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from tests.servers.process import ServerProcess, free_port, program

_FOLDERS = [Path("/usr/bin"), Path("/usr/local/bin")]


class RedisServer:
    """Listens on loopback and keeps nothing on disk."""

    def __init__(self) -> None:
        self._port = free_port()
        options = ["--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--appendonly", "no"]
        self._server = ServerProcess(
            [program("redis-server", _FOLDERS, "redis-server"), *options], self._answers, signal.SIGTERM
        )

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"redis://127.0.0.1:{self._port}/0"

    def command(self, *arguments: str) -> bytes:
        """Send one command in the Redis protocol; returns the first line of the reply."""
        encoded = [f"*{len(arguments)}\r\n", *(f"${len(item.encode())}\r\n{item}\r\n" for item in arguments)]
        with socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
            connection.sendall("".join(encoded).encode())
            return connection.makefile("rb").readline().rstrip()

    def close(self) -> None:
        """Stop the server."""
        self._server.close()

    def _answers(self) -> bool:
        try:
            return self.command("PING") == b"+PONG"
        except OSError:
            return False
