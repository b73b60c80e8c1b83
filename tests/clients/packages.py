"""Installs the published clients in fixed versions, outside of the checkout."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

SECONDS = 300.0
"""Timeout for installing one client; some have half a gigabyte."""


class ClientPackage(NamedTuple):
    """A client in one version."""

    name: str
    version: str
    command: str

    @property
    def label(self) -> str:
        """The name in reports."""
        return f"{self.command} {self.version}"


CLAUDE_OLD = ClientPackage("@anthropic-ai/claude-code", "2.1.197", "claude")
CLAUDE_NEW = ClientPackage("@anthropic-ai/claude-code", "2.1.325", "claude")
GEMINI = ClientPackage("@google/gemini-cli", "0.61.0", "gemini")
CODEX = ClientPackage("@openai/codex", "0.166.0", "codex")
OPENCODE = ClientPackage("opencode-ai", "1.18.33", "opencode")
INSPECTOR = ClientPackage("@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector")
PACKAGES = (CLAUDE_OLD, CLAUDE_NEW, GEMINI, CODEX, OPENCODE, INSPECTOR)


class NotInstalled(RuntimeError):
    """A client could not be installed."""


def folder() -> Path:
    """The folder of the installed clients."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "groundwire-clients"


def program(package: ClientPackage) -> Path:
    """The executable of a client."""
    return _folder(package) / "node_modules" / ".bin" / package.command


def install(package: ClientPackage) -> None:
    """Install a client if it is missing. Raises NotInstalled with the reason."""
    if program(package).exists():
        return
    what = f"{package.name}@{package.version}"
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled(f"{what} could not be installed: npm is missing (it is part of Node 20 or newer)")
    target = _folder(package)
    target.mkdir(parents=True, exist_ok=True)
    words = [npm, "install", "--prefix", str(target), "--no-audit", "--no-fund", "--no-progress", what]
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            words, capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{what} could not be installed: npm took more than {SECONDS:.0f} s") from None
    if done.returncode or not program(package).exists():
        raise NotInstalled(f"{what} could not be installed on {platform.machine()}: {_reason(done.stderr)}")


def _folder(package: ClientPackage) -> Path:
    return folder() / f"{package.name.rpartition('/')[2]}-{package.version}"


def _reason(text: str) -> str:
    errors = [line for line in text.splitlines() if "error" in line.lower()]
    return " ".join(errors[:3]) or text[-300:] or "npm printed nothing"
