"""Refreshes a ChatGPT session in a detached process, which outlives the process that needed the session.

A refresh token is used up by sending it: a process that is killed before the response is on disk has lost the
session. A search may be killed at any time: by the user, a deadline, or a container that ends. So

    python -m groundwire.providers.openai_session

reads a refresh job on its standard input, refreshes and stores the session, and writes the error, if any, to
its standard output. It has no terminal, ignores the signals that can be ignored, holds the lock of the store
until it is done, and ends within the deadline of a login request. No secret is passed to it or from it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from groundwire.credentials.refresh_worker import decode_outcome, decode_task, encode_outcome, encode_task
from groundwire.credentials.session import RefreshInWorker, RefreshTask, SendRefresh, run_refresh_task
from groundwire.errors import GroundwireError
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.process import ProcessCommand, run_detached

_MODULE = "groundwire.providers.openai_session"
_ROOT = str(Path(__file__).resolve().parents[2])
_PASSED_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD", "SYSTEMROOT")
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_DEADLINES = Deadlines(first_byte=30, total=30)


def oauth_sender(http: Http) -> SendRefresh:
    """Sends requests to the login service over the given HTTP client."""

    async def send(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        async with http.open(HttpRequest("POST", url, headers, body), _DEADLINES) as response:
            return response.status, await response.body()

    return send


def refresh_process(env: Mapping[str, str]) -> RefreshInWorker | None:
    """Runs refresh jobs in a detached process; None in a program without a Python interpreter (frozen)."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    passed = {
        name: text
        for name, text in env.items()
        if name in _PASSED_VARIABLES or name.lower().endswith("_proxy")
    }
    # -P: do not import from the current directory, which is not trusted.
    argv = (sys.executable, "-P", "-m", _MODULE)

    async def run(task: RefreshTask, lock: int) -> GroundwireError | None:
        command = ProcessCommand(argv, {**passed, "PYTHONPATH": _ROOT}, "/", encode_task(task))
        return decode_outcome(await run_detached(command, lock))

    return run


async def _refresh(task: RefreshTask) -> GroundwireError | None:
    async with Http(os.environ) as http:
        try:
            await run_refresh_task(task, oauth_sender(http))
        except GroundwireError as error:
            return error
    return None


def main() -> None:
    """Run one refresh job."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    try:
        task = decode_task(sys.stdin.buffer.read())
    except GroundwireError:
        return  # the parent was killed while writing; no token was sent
    error = asyncio.run(_refresh(task))
    with suppress(OSError):  # the parent may have ended
        sys.stdout.buffer.write(encode_outcome(error))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
