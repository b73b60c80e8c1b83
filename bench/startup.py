"""Start-up time of commands and imports as whole processes, interleaved, compared with other tools.

The MCP server does not exit by itself, so the figure is the time until a client has its responses. Over HTTP,
it is the time of the first requests to a gateway that already listens.

For the comparison, `llm` and `litellm` are installed once into a separate environment in `bench/.cache`. With
`--alone`, nothing is installed and only groundwire is measured.
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
TIMEOUT = 300
CACHE = Path(__file__).parent / ".cache" / "peers"
# Users have compiled modules cached, so this environment must not disable it.
COMPILED = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
SCRIPTS = Path(sysconfig.get_path("scripts"))
CLIENT = "import groundwire; groundwire.Groundwire()"
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
MESSAGES = (
    {"id": 1, "method": "initialize", "params": INITIALIZE},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)
ANSWERS = {"groundwire mcp to initialize": 1, "groundwire mcp to tools/list": 2}
"""The number of responses to wait for."""
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


def peers() -> dict[str, list[str]]:
    """Commands of the peers, in a separate virtual environment; empty if they cannot be installed in time."""
    python, done = CACHE / "bin" / "python", CACHE / "installed"
    try:
        if not done.exists():
            install(python)
            done.touch()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"the peers are not measured: {error}", file=sys.stderr)
        return {}
    return {
        "llm --version": [str(CACHE / "bin" / "llm"), "--version"],
        'python -c "import litellm"': [str(python), "-c", "import litellm"],
    }


def install(python: Path) -> None:
    """Install the peers into the cache, with uv if it is available."""
    uv = SCRIPTS / "uv"
    print(f"installing {' and '.join(PEERS)} into {CACHE}, at most {TIMEOUT} s", file=sys.stderr)
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
        subprocess.run(step, check=True, timeout=TIMEOUT)
    (CACHE / ".gitignore").write_text("*\n")
    print(f"installed in {perf_counter() - begin:.0f} s", file=sys.stderr)


def time_command(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=COMPILED)
    return perf_counter() - start


def time_mcp(count: int) -> float:
    """Seconds until the MCP server has sent so many responses."""
    requests = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in MESSAGES).encode()
    with tempfile.TemporaryDirectory() as data:
        start = perf_counter()
        server = subprocess.Popen(
            [str(SCRIPTS / "groundwire"), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=COMPILED | {"GROUNDWIRE_DATA_DIR": data},
        )
        stdin, stdout = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)
        stdin.write(requests)
        stdin.flush()
        if not all(b'"result"' in stdout.readline() for _ in range(count)):
            sys.exit("groundwire mcp did not answer")
        waited = perf_counter() - start
        server.communicate(timeout=TIMEOUT)
    return waited


def connect(host: str, port: int) -> http.client.HTTPConnection:
    """Connect to a gateway as soon as it listens."""
    client = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    end = perf_counter() + TIMEOUT
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


def time_mcp_over_http(count: int) -> float:
    """Seconds until a new gateway has sent so many MCP responses, without its own start-up time."""
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            [str(SCRIPTS / "groundwire"), "serve", "--port", "0"],
            stderr=subprocess.PIPE,
            env=COMPILED | {"GROUNDWIRE_DATA_DIR": data},
        )
        try:
            lines = iter(cast("IO[bytes]", server.stderr).readline, b"")
            host, port = next(found for line in lines if (found := _ADDRESS.search(line))).groups()
            client = connect(host.decode(), int(port))
            start = perf_counter()
            for message in MESSAGES[: 2 * count - 1]:
                client.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), MCP_HEADERS)
                body = client.getresponse().read()
                if "id" in message and b'"result"' not in body:
                    sys.exit(f"the gateway did not answer {message['method']}: {body!r}")
            return perf_counter() - start
        finally:
            server.terminate()
            server.communicate(timeout=TIMEOUT)


def main() -> None:
    commands = contenders() | ({} if "--alone" in sys.argv[1:] else peers())
    runs: dict[str, Callable[[], float]] = {
        name: partial(time_command, words) for name, words in commands.items()
    }
    runs |= {name: partial(time_mcp, count) for name, count in ANSWERS.items()}
    runs |= {name: partial(time_mcp_over_http, count) for name, count in HTTP_ANSWERS.items()}
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
