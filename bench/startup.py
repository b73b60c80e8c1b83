"""Starting up: commands and imports as whole processes, interleaved, beside what others cost.

The MCP server is a process that does not end: what counts is how long a client waits for its answers. Over
HTTP the time is that of the first requests to a gateway which listens already.

`llm` and `litellm` are installed into an environment of their own for the comparison, once: it is kept in
`bench/.cache`. With `--alone` nothing is installed and only our own times are measured.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import IO, cast

ROUNDS = 11
PEERS = ("llm", "litellm")
PATIENCE = 300
CACHE = Path(__file__).parent / ".cache" / "peers"
# As users have it: with compiled modules kept, whatever this environment says.
COMPILED = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
SCRIPTS = Path(sysconfig.get_path("scripts"))
CLIENT = "import groundwire; groundwire.Groundwire()"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
TALK = (
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)
ANSWERS = {"groundwire mcp to initialize": 1, "groundwire mcp to tools/list": 2}
"""How many answers are waited for."""
HTTP_ANSWERS = {"first POST /mcp: initialize": 1, "first POST /mcp: initialize, tools/list": 2}
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
_ADDRESS = re.compile(rb"serving at http://([\d.]+):(\d+)")


def contenders() -> dict[str, list[str]]:
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "groundwire --version": [str(SCRIPTS / "groundwire"), "--version"],
        "groundwire search --help": [str(SCRIPTS / "groundwire"), "search", "--help"],
        "import groundwire.client": [sys.executable, "-c", "import groundwire.client"],
        "import groundwire; Groundwire()": [sys.executable, "-c", CLIENT],
    }


def others() -> dict[str, list[str]]:
    """Peers, in a virtual environment of their own; empty if they cannot be installed in time."""
    python, done = CACHE / "bin" / "python", CACHE / "installed"
    try:
        if not done.exists():
            install(python)
            done.touch()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"the others are left out: {error}", file=sys.stderr)
        return {}
    return {
        "llm --version": [str(CACHE / "bin" / "llm"), "--version"],
        'python -c "import litellm"': [str(python), "-c", "import litellm"],
    }


def install(python: Path) -> None:
    """Put the peers into the cache, by uv where it is installed."""
    uv = SCRIPTS / "uv"
    print(f"installing {' and '.join(PEERS)} into {CACHE}, at most {PATIENCE} s", file=sys.stderr)
    begin = perf_counter()
    if uv.exists():
        steps = [
            [str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(CACHE)],
            [str(uv), "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *PEERS],
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", "--clear", str(CACHE)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS],
        ]
    for step in steps:
        subprocess.run(step, check=True, timeout=PATIENCE)
    (CACHE / ".gitignore").write_text("*\n")
    print(f"installed in {perf_counter() - begin:.0f} s", file=sys.stderr)


def taken(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=COMPILED)
    return perf_counter() - start


def answered(count: int) -> float:
    """The time until the MCP server has given so many answers."""
    said = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in TALK).encode()
    with tempfile.TemporaryDirectory() as data:
        start = perf_counter()
        server = subprocess.Popen(
            [str(SCRIPTS / "groundwire"), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=COMPILED | {"GROUNDWIRE_DATA_DIR": data},
        )
        asking, answering = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)
        asking.write(said)
        asking.flush()
        if not all(b'"result"' in answering.readline() for _ in range(count)):
            sys.exit("groundwire mcp did not answer")
        waited = perf_counter() - start
        server.communicate(timeout=PATIENCE)
    return waited


def connected(host: str, port: int) -> http.client.HTTPConnection:
    """A connection to a gateway, as soon as it listens."""
    client = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    end = perf_counter() + PATIENCE
    while perf_counter() < end:
        try:
            client.request("GET", "/healthz")
        except ConnectionRefusedError:
            client.close()
            sleep(0.01)
        else:
            client.getresponse().read()
            return client
    sys.exit("the gateway does not listen")


def answered_over_http(count: int) -> float:
    """The time until a gateway that nobody has sent an MCP request before has given so many answers."""
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            [str(SCRIPTS / "groundwire"), "serve", "--port", "0"],
            stderr=subprocess.PIPE,
            env=COMPILED | {"GROUNDWIRE_DATA_DIR": data},
        )
        try:
            lines = iter(cast("IO[bytes]", server.stderr).readline, b"")
            host, port = next(found for line in lines if (found := _ADDRESS.search(line))).groups()
            client = connected(host.decode(), int(port))
            start = perf_counter()
            for line in TALK[: 2 * count - 1]:
                client.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **line}), MCP_HEADERS)
                body = client.getresponse().read()
                if "id" in line and b'"result"' not in body:
                    sys.exit(f"the gateway did not answer {line['method']}: {body!r}")
            return perf_counter() - start
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)


def main() -> None:
    commands = contenders() | ({} if "--alone" in sys.argv[1:] else others())
    runs: dict[str, Callable[[], float]] = {name: partial(taken, words) for name, words in commands.items()}
    runs |= {name: partial(answered, count) for name, count in ANSWERS.items()}
    runs |= {name: partial(answered_over_http, count) for name, count in HTTP_ANSWERS.items()}
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(run())
    base = median(times["python -c pass"])
    print("| command | ms | ratio to python -c pass |\n|---|--:|--:|")
    for name, measured in times.items():
        print(f"| {name} | {median(measured) * 1000:.0f} | {median(measured) / base:.2f} |")


if __name__ == "__main__":
    main()
