"""Which server to stand on: the same minimal pass-through on each, with the same client towards the upstream.

CPU time is that of the server's process and its children; memory is what is resident. Contenders take turns,
medians of the rounds are printed. Run with `python bench/servers.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from gateway.environments import SERVERS as PACKAGES
from gateway.environments import environment
from gateway.load import Job
from gateway.payloads import ENDS, FIRST_TOKEN, MODELS, asked, path
from gateway.processes import BENCH, Failed, Running, Talking, free_port, started

ROUNDS = 3
SECONDS = 1.0
OPEN = 500
SILENT = 40
SETTLED = 0.5
SETTLES_WITHIN = 10.0
PATIENCE = 30.0
CHAT = "openai_chat"

CONTENDERS = (
    "uvicorn+asyncio",
    "uvicorn+uvloop",
    "aiohttp+asyncio",
    "aiohttp+uvloop",
    "granian+asyncio",
    "granian+uvloop",
)


def job(port: int, variant: str, kind: str = "ask", *, stream: bool = True, at_once: int = 1) -> Job:
    where = f"/{variant}{path(CHAT, MODELS[CHAT], stream=stream)}"
    body = asked(CHAT, MODELS[CHAT], stream=stream).decode()
    end = ENDS[CHAT].decode() if stream else ""
    seconds = 0.0 if variant == "paced" else SECONDS
    return Job(kind, port, where, body, seconds, at_once, end, 3000, first=FIRST_TOKEN.decode())


WORKS = {
    "unary, 1 at once": ("plain", False, 1),
    "unary, 32 at once": ("plain", False, 32),
    "150-event burst, 1 at once": ("plain", True, 1),
    "150-event burst, 32 at once": ("plain", True, 32),
    "150 events 20 ms apart, 32 at once": ("paced", True, 32),
}


def costs(server: Running, load: Talking) -> dict[str, float]:
    """CPU milliseconds for each request."""
    found = {}
    for name, (variant, stream, at_once) in WORKS.items():
        work = job(server.port, variant, stream=stream, at_once=at_once)
        before = server.cpu()
        done = load.do(work)
        found[f"CPU ms, {name}"] = (server.cpu() - before) / done["requests"] * 1000
    return found


def memory(start: Callable[[], Running], load: Talking) -> dict[str, float]:
    """Idle, for each open stream, and for each client that does not read; each in a fresh server."""
    found: dict[str, float] = {}
    for name, variant, kind, count in (
        (f"KB for each of {OPEN} open streams", "hold", "hold", OPEN),
        (f"KB for each of {SILENT} clients that never read", "flood", "ignore", SILENT),
    ):
        server = start()
        load.do(job(server.port, "plain", stream=False))
        load.do(job(server.port, "plain", stream=True))
        before = settled(server)
        found.setdefault("MB idle", before)
        load.do(job(server.port, variant, kind, at_once=count))
        found[name] = (settled(server) - before) * 1000 / count
        load.do(Job("release"))
    return found


def settled(server: Running) -> float:
    """The memory when it no longer changes."""
    deadline = monotonic() + SETTLES_WITHIN
    last = server.memory()
    while monotonic() < deadline:
        sleep(SETTLED)
        now = server.memory()
        if abs(now - last) < 0.1:
            return now
        last = now
    return last


def measured(name: str, python: Path, folder: Path, upstream: str, load: Talking) -> dict[str, float]:
    """One round of one server."""
    with ExitStack() as stack:

        def start() -> Running:
            port = free_port()
            command = (str(python), "-m", "gateway.minimal", name, str(port))
            variables = {"PYTHONPATH": str(BENCH), "UPSTREAM": upstream, "PATH": os.environ.get("PATH", "")}
            return stack.enter_context(started(command, variables, folder / "log", port, PATIENCE))

        found = memory(start, load)
        server = start()
        load.do(job(server.port, "plain", stream=False))
        return {**costs(server, load), **found}


def main(rounds: int) -> None:
    python = environment("servers", *PACKAGES) / "python"
    results: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with TemporaryDirectory() as folder, Talking("stub") as stub, Talking("load") as load:
        upstream = f"http://127.0.0.1:{int(stub.line())}"
        for _ in range(rounds):
            for name, found in results.items():
                try:
                    found.append(measured(name, python, Path(folder), upstream, load))
                except Failed as failure:
                    print(f"{name}: {failure}", file=sys.stderr)
    show({name: found for name, found in results.items() if found}, rounds)


def show(results: dict[str, list[dict[str, float]]], rounds: int) -> None:
    names = list(results)
    print(f"A minimal pass-through with aiohttp's client on each server, medians of {rounds} rounds\n")
    print(f"| what | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
    for what in results[names[0]][0]:
        cells = [f"{median(found[what] for found in results[name]):.3g}" for name in names]
        print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
