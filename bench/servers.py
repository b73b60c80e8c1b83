"""HTTP servers compared: the same minimal pass-through on each, with the same client towards the upstream.

CPU time is that of the server's process and its children; memory is resident memory. Contenders take turns,
and medians of the rounds are printed. Run with `python bench/servers.py [ROUNDS]`.
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
from gateway.payloads import ENDS, FIRST_TOKEN, MODELS, request_body, request_path
from gateway.processes import BENCH, BenchmarkFailed, Running, WorkerProcess, free_port, started

ROUNDS = 3
SECONDS = 1.0
OPEN = 500
SILENT = 40
SETTLED = 0.5
SETTLES_WITHIN = 10.0
TIMEOUT = 30.0
CHAT = "openai_chat"

CONTENDERS = (
    "uvicorn+asyncio",
    "uvicorn+uvloop",
    "aiohttp+asyncio",
    "aiohttp+uvloop",
    "granian+asyncio",
    "granian+uvloop",
)


def job(port: int, variant: str, kind: str = "ask", *, stream: bool = True, concurrency: int = 1) -> Job:
    url_path = f"/{variant}{request_path(CHAT, MODELS[CHAT], stream=stream)}"
    body = request_body(CHAT, MODELS[CHAT], stream=stream).decode()
    end = ENDS[CHAT].decode() if stream else ""
    seconds = 0.0 if variant == "paced" else SECONDS
    return Job(kind, port, url_path, body, seconds, concurrency, end, 3000, first=FIRST_TOKEN.decode())


WORKLOADS = {
    "unary, 1 concurrent": ("plain", False, 1),
    "unary, 32 concurrent": ("plain", False, 32),
    "150-event burst, 1 concurrent": ("plain", True, 1),
    "150-event burst, 32 concurrent": ("plain", True, 32),
    "150 events 20 ms apart, 32 concurrent": ("paced", True, 32),
}


def costs(server: Running, load: WorkerProcess) -> dict[str, float]:
    """CPU milliseconds per request."""
    found = {}
    for name, (variant, stream, concurrency) in WORKLOADS.items():
        workload = job(server.port, variant, stream=stream, concurrency=concurrency)
        before = server.cpu()
        result = load.run(workload)
        found[f"CPU ms, {name}"] = (server.cpu() - before) / result["requests"] * 1000
    return found


def memory(start: Callable[[], Running], load: WorkerProcess) -> dict[str, float]:
    """Memory when idle, per open stream, and per client that does not read; each in a fresh server."""
    found: dict[str, float] = {}
    for name, variant, kind, count in (
        (f"KB per open stream, of {OPEN}", "hold", "hold", OPEN),
        (f"KB per client that does not read, of {SILENT}", "flood", "ignore", SILENT),
    ):
        server = start()
        load.run(job(server.port, "plain", stream=False))
        load.run(job(server.port, "plain", stream=True))
        before = settled(server)
        found.setdefault("MB idle", before)
        load.run(job(server.port, variant, kind, concurrency=count))
        found[name] = (settled(server) - before) * 1000 / count
        load.run(Job("release"))
    return found


def settled(server: Running) -> float:
    """Wait until the memory no longer changes, and return it."""
    deadline = monotonic() + SETTLES_WITHIN
    last = server.memory()
    while monotonic() < deadline:
        sleep(SETTLED)
        now = server.memory()
        if abs(now - last) < 0.1:
            return now
        last = now
    return last


def measured(name: str, python: Path, folder: Path, upstream: str, load: WorkerProcess) -> dict[str, float]:
    """One round of one server."""
    with ExitStack() as stack:

        def start() -> Running:
            port = free_port()
            command = (str(python), "-m", "gateway.minimal", name, str(port))
            variables = {"PYTHONPATH": str(BENCH), "UPSTREAM": upstream, "PATH": os.environ.get("PATH", "")}
            return stack.enter_context(started(command, variables, folder / "log", port, TIMEOUT))

        found = memory(start, load)
        server = start()
        load.run(job(server.port, "plain", stream=False))
        return {**costs(server, load), **found}


def main(rounds: int) -> None:
    python = environment("servers", *PACKAGES) / "python"
    results: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with TemporaryDirectory() as folder, WorkerProcess("stub") as stub, WorkerProcess("load") as load:
        upstream = f"http://127.0.0.1:{int(stub.read_line())}"
        for _ in range(rounds):
            for name, found in results.items():
                try:
                    found.append(measured(name, python, Path(folder), upstream, load))
                except BenchmarkFailed as failure:
                    print(f"{name}: {failure}", file=sys.stderr)
    show({name: found for name, found in results.items() if found}, rounds)


def show(results: dict[str, list[dict[str, float]]], rounds: int) -> None:
    names = list(results)
    print(f"A minimal pass-through with aiohttp's client on each server, medians of {rounds} rounds\n")
    print(f"| figure | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
    for what in results[names[0]][0]:
        cells = [f"{median(found[what] for found in results[name]):.3g}" for name in names]
        print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
