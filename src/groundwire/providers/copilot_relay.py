"""Inside the sandbox: the only way out, from a port of the sandbox's own to a socket of the outside.

`python -IS copilot_relay.py SOCKET PORT PROGRAM ARGUMENT...` leaves a process behind that passes on whatever
connects to the port, and becomes the program. It runs where nothing of groundwire can be imported.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

_CHUNK = 64 * 1024


def main() -> None:
    """Open the way, and become the program."""
    path, port, *argv = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    if os.fork() == 0:
        _serve(listener, path)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # the interpreter ignores them, and programs inherit that
    os.execv(argv[0], argv)  # noqa: S606  an argument list, given by us


def _serve(listener: socket.socket, path: str) -> None:
    """Until the sandbox ends."""
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
