"""Refreshing a ChatGPT session in a process of its own, which outlives whoever needed the session.

A refresh token is spent by sending it, so whoever is killed before the answer is on disk has lost the
session. A search may be killed at any moment: by a user, a deadline, a container that ends. So

    python -m groundwire.providers.openai_session

reads an errand on its standard input, refreshes, stores, and says on its standard output what went wrong. It
belongs to no terminal, ignores the signals that can be ignored, holds the lock of the store until it is done,
and is done within the time a login service is given. It is told no secret, and tells none.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from groundwire.credentials.refresh import Apart, Errand, Send, run_errand
from groundwire.credentials.refresh_worker import decode_errand, decode_trouble, encode_errand, encode_trouble
from groundwire.errors import GroundwireError
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Call, Http
from groundwire.transport.process import Command, detached

_MODULE = "groundwire.providers.openai_session"
_ROOT = str(Path(__file__).resolve().parents[2])
_PASSED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD", "SYSTEMROOT")
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_DEADLINES = Deadlines(first_byte=30, total=30)


def oauth_sender(http: Http) -> Send:
    """A way to the login service over these connections."""

    async def send(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        async with http.open(Call("POST", url, headers, body), _DEADLINES) as exchange:
            return exchange.status, await exchange.body()

    return send


def refresh_process(env: Mapping[str, str]) -> Apart | None:
    """A way to have errands done by a process apart; None in a program without an interpreter to start."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    passed = {name: text for name, text in env.items() if name in _PASSED or name.lower().endswith("_proxy")}
    # Not from the current directory, in which somebody else's modules may lie.
    argv = (sys.executable, "-P", "-m", _MODULE)

    async def run(errand: Errand, lock: int) -> GroundwireError | None:
        command = Command(argv, {**passed, "PYTHONPATH": _ROOT}, "/", encode_errand(errand))
        return decode_trouble(await detached(command, lock))

    return run


async def _done(errand: Errand) -> GroundwireError | None:
    async with Http(os.environ) as http:
        try:
            await run_errand(errand, oauth_sender(http))
        except GroundwireError as error:
            return error
    return None


def main() -> None:
    """Do one errand."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    try:
        errand = decode_errand(sys.stdin.buffer.read())
    except GroundwireError:
        return  # whoever began to write it was killed, and nothing has been spent
    trouble = asyncio.run(_done(errand))
    with suppress(OSError):  # perhaps nobody is left to hear it
        sys.stdout.buffer.write(encode_trouble(trouble))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
