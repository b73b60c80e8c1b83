"""Runs OpenCode."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.clients.packages import OPENCODE
from tests.clients.pages import QUESTION
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import RunningGateway

QUIET = {
    **dict.fromkeys(
        (
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_SHARE",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            "OPENCODE_DISABLE_EMBEDDED_WEB_UI",
        ),
        "1",
    ),
    "npm_config_fetch_retries": "0",
}
PACKAGES = {
    "anthropic_messages": ("@ai-sdk/anthropic", "/v1"),
    "openai_responses": ("@ai-sdk/openai", "/v1"),
    "openai_chat": ("@ai-sdk/openai-compatible", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}
"""The package that OpenCode uses for a dialect, and the path prefix of its base URL."""


def write_config(
    gateway: RunningGateway, home: Path, dialect: str, model: str, options: Mapping[str, Any] | None = None
) -> None:
    """Configure the gateway as the only provider, in the folder in which OpenCode runs."""
    package, path = PACKAGES[dialect]
    name = {"name": model, **({"options": options} if options else {})}
    provider = {
        "npm": package,
        "options": {"baseURL": gateway.url + path, "apiKey": "dummy-key"},
        "models": {model: name},
    }
    config = {
        "$schema": "https://opencode.ai/config.json",
        "provider": {"gw": provider},
        "enabled_providers": ["gw"],
        "model": f"gw/{model}",
        "small_model": f"gw/{model}",
        "permission": {"*": "allow"},
        "autoupdate": False,
    }
    work = home / "work"
    work.mkdir(exist_ok=True)
    (work / "opencode.json").write_text(json.dumps(config), "utf-8")


def ask_opencode(home: Path, more: Mapping[str, str] | None = None, words: Sequence[str] = ()) -> ClientRun:
    """Ask the question without a terminal."""
    # Each word is an argument: OpenCode quotes arguments with spaces, which would make a phrase query.
    arguments = ["run", "--format", "json", *words, *QUESTION.split()]
    return run_client(OPENCODE, arguments, home, {**QUIET, **(more or {})})


def parts_of(run: ClientRun, kind: str) -> list[dict[str, Any]]:
    """The parts of one kind that were printed."""
    lines = [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]
    return [line["part"] for line in lines if line["type"] == kind]


def printed_by(run: ClientRun) -> str:
    """The text of the model that was printed."""
    return "\n".join(str(part["text"]) for part in parts_of(run, "text"))
