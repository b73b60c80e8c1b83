"""TCP relay inside the sandbox: forwards a loopback port to the Unix socket of the egress proxy.

`python -IS relay.py SOCKET PORT PROGRAM ARGUMENT...` forks a relay process and then executes the program. It
runs where nothing of groundwire can be imported, so it uses the standard library alone.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

_CHUNK = 64 * 1024


def main() -> None:
    """Fork the relay, and replace this process by the program."""
    path, port, *argv = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    if os.fork() == 0:
        _serve(listener, path)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and the program would inherit that
    os.execv(argv[0], argv)  # noqa: S606  a fixed argument list


def _serve(listener: socket.socket, path: str) -> None:
    """Accept connections until the sandbox ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)  # the program's output ends with the program
    while True:
        inside, _ = listener.accept()
        outside = socket.socket(socket.AF_UNIX)
        try:
            outside.connect(path)
        except OSError:
            inside.close()
            continue
        for pair in ((inside, outside), (outside, inside)):
            threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()


if __name__ == "__main__":
    main()
