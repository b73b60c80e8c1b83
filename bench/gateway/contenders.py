"""The contenders: how each one is started, and how requests to it look."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from gateway.environments import LITELLM, environment, nginx
from gateway.load import Job
from gateway.payloads import ENDS, FIRST_TOKEN, MODELS, VARIANTS, provider, request_body, request_path
from gateway.processes import BENCH, Running, free_port, started
from gateway.workloads import WORKERS_WORKLOAD, Workload

LEAST_BYTES_OF_A_DELTA = 20
START_SECONDS = 1.0
"""Paced streams are started over this time."""
KEY = f"sk-{token_hex(24)}"
"""API key of the clients: LiteLLM does not start without one."""

LIVE = "x-groundwire-citations: live\r\n"
"""Send text at once: without it, text is held until its citations are known, and nothing is paced."""

Command = Callable[[Path, int, int], tuple[list[str], dict[str, str]]]
"""Returns the command and its environment, for a working folder, a port and the port of the upstream."""


class Contender(NamedTuple):
    """A server to measure: one column of the tables."""

    name: str
    command: Command | None
    """With None, requests go directly to the upstream, and the CPU time of the client is measured."""
    translates: bool
    copies: bool = True
    by_model: bool = False
    """Whether the model name selects the upstream; otherwise the path does."""
    most_streams: int = 10_000
    """Paced streams at the same time; with more, it does not finish in reasonable time."""
    paced_headers: str = ""
    pinned: bool = True
    """Whether it has one core for itself, which the load generator and the upstream do not use."""
    only: str = ""
    """The title of the only workload that it runs, at its highest concurrency."""
    proof: str = ""
    """A header of the responses that it made itself; without it, the workload is not its own."""
    start_timeout: float = 30.0

    def can(self, workload: Workload, concurrency: int = 1) -> bool:
        if workload.variant == "paced" and concurrency > self.most_streams:
            return False
        if self.only and self.only != workload.title:
            return False
        return self.copies if workload.same else self.translates

    def job(self, workload: Workload, port: int, concurrency: int, seconds: float) -> Job:
        """The workload as a job for this contender."""
        model = MODELS[workload.upstream_dialect]
        if self.by_model:
            named = f"{provider(workload.upstream_dialect, workload.variant)}/{model}"
            url_path = request_path(workload.client_dialect, named, stream=workload.stream)
        else:
            named, url_path = model, f"/{workload.variant}"
            url_path += "" if workload.same else f"/{workload.upstream_dialect}"
            url_path += request_path(workload.client_dialect, model, stream=workload.stream)
        paced = workload.variant == "paced"
        return Job(
            "pace" if paced else "ask",
            port,
            url_path,
            request_body(workload.client_dialect, named, stream=workload.stream).decode(),
            seconds,
            concurrency,
            ENDS[workload.client_dialect].decode() if workload.stream else "",
            VARIANTS[workload.variant].deltas * LEAST_BYTES_OF_A_DELTA,
            KEY,
            FIRST_TOKEN.decode(),
            self.paced_headers if paced else "",
            START_SECONDS if paced else 0.0,
        )

    @contextmanager
    def running(self, folder: Path, upstream: int) -> Iterator[Running]:
        """Run the contender in a new folder."""
        if self.command is None:
            yield Running(0, upstream)
            return
        folder.mkdir()
        port = free_port()
        command, variables = self.command(folder, port, upstream)
        plain = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LANG": "C.UTF-8"}
        environment = {**plain, **variables}
        log, timeout = folder / "log", self.start_timeout
        with started(command, environment, log, port, timeout, pinned=self.pinned) as server:
            yield server


def _nginx(folder: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(f"""
        daemon off; worker_processes 1; pid {folder}/pid; error_log stderr warn;
        events {{ worker_connections 4096; }}
        http {{
          access_log off; {temporary}
          upstream stub {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000; }}
          server {{
            listen 127.0.0.1:{port}; keepalive_requests 1000000;
            location / {{
              proxy_pass http://stub; proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_buffering off;
            }}
          }}
        }}
    """)
    return [nginx(), "-e", "stderr", "-p", str(folder), "-c", str(config)], {}


def _minimal(_: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    command = [sys.executable, "-m", "gateway.minimal", "uvicorn", str(port)]
    return command, {"PYTHONPATH": str(BENCH), "UPSTREAM": f"http://127.0.0.1:{upstream}"}


def _raw(_: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    command = [sys.executable, "-m", "gateway.raw", str(port), str(upstream)]
    return command, {"PYTHONPATH": str(BENCH)}


def _two_workers(folder: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    return _groundwire(folder, port, upstream, "--workers", "2")


def _groundwire(folder: Path, port: int, upstream: int, *more: str) -> tuple[list[str], dict[str, str]]:
    lines: list[str] = []
    for variant in VARIANTS:
        for dialect_name, model in MODELS.items():
            own_version = dialect_name in ("anthropic_messages", "gemini")
            base = f"http://127.0.0.1:{upstream}/{variant}" + ("" if own_version else "/v1")
            lines += (
                f"[providers.{provider(dialect_name, variant)}]",
                f'dialect = "{dialect_name}"',
                f'base_url = "{base}"',
                f'model = "{model}"',
            )
    config = folder / "groundwire.toml"
    config.write_text("\n".join(lines) + "\n")
    # No contender writes an access log.
    command = [sys.executable, "-m", "groundwire", "serve", "--port", str(port), "--log-level", "error"]
    command += more
    # With PYTHONPATH, another checkout than the installed one can be measured. A new data directory has no
    # index, and building one in the background would be measured, too.
    return command, {
        "GROUNDWIRE_CONFIG": str(config),
        "GROUNDWIRE_BUILD_INDEX": "0",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


_PREFIXES = {
    "openai_chat": ("openai/", "/v1"),
    "openai_responses": ("openai/", "/v1"),
    "anthropic_messages": ("anthropic/", ""),
    "gemini": ("gemini/", "/v1beta"),
}
"""LiteLLM's model prefix for the provider of a dialect, and the path to add to the base URL."""

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOG": "ERROR",
    "LITELLM_TELEMETRY": "False",
    "DISABLE_ADMIN_UI": "True",
    "NO_PROXY": "127.0.0.1",
}


def _litellm(folder: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    programs = environment("litellm", LITELLM)
    models = []
    for variant in VARIANTS:
        for dialect_name, model in MODELS.items():
            prefix, version = _PREFIXES[dialect_name]
            base = f"http://127.0.0.1:{upstream}/{variant}{version}"
            settings = {"model": prefix + model, "api_base": base, "api_key": "bench"}
            models.append(
                {"model_name": f"{provider(dialect_name, variant)}/{model}", "litellm_params": settings}
            )
    config = folder / "config.yaml"
    config.write_text(json.dumps({"model_list": models, "litellm_settings": {"telemetry": False}}))
    command = [str(programs / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    return [*command, "--num_workers", "1", "--telemetry", "False"], {**QUIET, "LITELLM_MASTER_KEY": KEY}


def _litellm_rust(folder: Path, port: int, upstream: int) -> tuple[list[str], dict[str, str]]:
    command, variables = _litellm(folder, port, upstream)
    return command, {**variables, "LITELLM_RUST": "1"}


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("direct", None, translates=False),
        Contender("nginx", _nginx, translates=False),
        Contender("raw", _raw, translates=False),
        Contender("raw translator", _raw, translates=True, copies=False),
        Contender("pass-through", _minimal, translates=False),
        Contender("translator", _minimal, translates=True, copies=False),
        Contender("groundwire", _groundwire, translates=True, by_model=True, paced_headers=LIVE),
        Contender(
            "2 workers",
            _two_workers,
            translates=True,
            by_model=True,
            pinned=False,
            only=WORKERS_WORKLOAD.title,
        ),
        Contender("LiteLLM", _litellm, translates=True, by_model=True, most_streams=32, start_timeout=120.0),
        Contender(
            "LiteLLM Rust",
            _litellm_rust,
            translates=True,
            by_model=True,
            most_streams=32,
            proof="x-litellm-rust",
            start_timeout=120.0,
        ),
    )
}
