"""A process that uses a shared session; lines on its standard input set the time.

`python worker.py HOME KIND URL [apart]`; with the last, a process apart does the refreshing. Each line is an
object with `now`, and perhaps `die`: the name of a system call, which of its calls, and the process kills
itself right before that one. Each answer is an object with `access`, or with `error`.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from groundwire.credentials.lookup import Lookup, LookupContext, find
from groundwire.credentials.session import RefreshInWorker, RefreshTimeouts, ensure_fresh
from groundwire.errors import GroundwireError
from groundwire.providers.openai_session import refresh_process

LOOKUPS = {"opencode": Lookup("opencode", "openai", "oauth"), "codex": Lookup("codex", "tokens", "oauth")}
PACE = RefreshTimeouts(rival=0.2, poll=0.005)


def post(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    """Send a request to the login service, with our process id, so that it can kill us."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        connection.request("POST", parts.path, body, {**headers, "x-process": str(os.getpid())})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


async def send(url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    """`post` in a thread."""
    return await asyncio.to_thread(post, url, headers, body)


def arm(name: str, which: int) -> None:
    """Make the process kill itself right before a system call."""
    real: Callable[..., object] = getattr(os, name)
    calls = 0

    def deadly(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == which:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(os, name, deadly)


async def turn(home: str, kind: str, url: str, now: float, away: RefreshInWorker | None) -> dict[str, str]:
    """Get a valid session, as a search does before its request."""
    credential = find((LOOKUPS[kind],), LookupContext({}, home, home))
    if credential is None:
        return {"error": "no session"}
    try:
        found = await ensure_fresh(credential, send, now, url=url, timeouts=PACE, in_worker=away)
    except GroundwireError as error:
        return {"error": error.message}
    return {"access": found.secret.reveal()}


def main() -> None:
    """Respond to lines until the input ends."""
    home, kind, url, *more = sys.argv[1:]
    away = refresh_process({}) if more else None
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("die"):
            arm(*message["die"])
        answer = asyncio.run(turn(home, kind, url, message["now"], away))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
