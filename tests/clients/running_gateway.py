"""A gateway for the proofs: an index, a scripted model, and a `groundwire serve` process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from tests.clients.model import ModelRequest, scripted_model
from tests.clients.pages import BASE, write_pages

GROUNDWIRE = str(Path(sys.executable).with_name("groundwire"))
BOUND = 60.0
_ADDRESS = re.compile(r"serving at (http://\S+)")
_CONFIG = """\
[gateway]
search = "local"

[aliases]
"gemini-3-flash-preview" = "local"

[providers.anthropic]
search = "engine:local"

[providers.openai]
search = "engine:local"

[providers.openai_chat]
search = "engine:local"
"""


@dataclass
class RunningGateway:
    """A running gateway with its index and its scripted model."""

    url: str
    model_requests: list[ModelRequest]
    """Requests that the model received."""
    env: dict[str, str]
    """Environment with which any groundwire process uses the same index and model."""
    log: Path
    script: list[str]
    """The tools that the model calls, in order; if empty, the first search tool that it is offered."""


@contextmanager
def run_gateway() -> Iterator[RunningGateway]:
    """Run the gateway until the block ends."""
    script: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="groundwire-clients-") as name,
        scripted_model(script) as (model, model_requests),
    ):
        folder = Path(name)
        env = environment(folder, model)
        write_pages(folder / "pages")
        add = [GROUNDWIRE, "index", "add", str(folder / "pages"), "--base-url", BASE]
        subprocess.run(add, env=env, check=True, capture_output=True, timeout=BOUND)  # noqa: S603
        log = folder / "gateway.log"
        with log.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603
                [GROUNDWIRE, "serve", "--port", "0"],
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            yield RunningGateway(_address(process, log), model_requests, env, log, script)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


def environment(folder: Path, model: str) -> dict[str, str]:
    """An environment with keys for all vendors; every base URL is that of the scripted model."""
    home = folder / "home"
    home.mkdir()
    config = folder / "config.toml"
    config.write_text(_CONFIG, "utf-8")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GROUNDWIRE_CONFIG": str(config),
        "GROUNDWIRE_DATA_DIR": str(folder / "data"),
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
        "ANTHROPIC_API_KEY": "dummy-anthropic-key",
        "OPENAI_API_KEY": "dummy-openai-key",
        "GEMINI_API_KEY": "dummy-gemini-key",
        "GROUNDWIRE_ANTHROPIC_BASE_URL": model,
        "GROUNDWIRE_OPENAI_BASE_URL": f"{model}/v1",
        "GROUNDWIRE_OPENAI_CHAT_BASE_URL": f"{model}/v1",
        "GROUNDWIRE_GEMINI_BASE_URL": model,
    }


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = monotonic() + BOUND
    while monotonic() < deadline and process.poll() is None:
        if found := _ADDRESS.search(log.read_text("utf-8")):
            return found[1]
        sleep(0.05)
    raise RuntimeError(f"groundwire serve did not start: {log.read_text('utf-8')}")
