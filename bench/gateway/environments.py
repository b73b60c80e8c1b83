"""Virtual environments and programs of the contenders: installed once, kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.processes import BenchmarkFailed

LITELLM = "litellm[proxy]==1.108.4"
SERVERS = ("aiohttp==3.14.5", "granian==2.8.7", "httptools==0.9.0", "uvicorn==0.54.0", "uvloop==0.23.0")
INSTALL_TIMEOUT = 900.0
_READY = ".installed"


def cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "groundwire-bench"


def environment(name: str, *requirements: str) -> Path:
    """The bin folder of an environment with these packages, for the running Python version."""
    folder = cache() / name
    wanted = "\n".join((sys.version, *requirements))
    ready = folder / _READY
    if not ready.exists() or ready.read_text() != wanted:
        uv = _uv()
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        # LiteLLM pins a certifi release that mirrors may not have yet. Loopback needs no certificates.
        override = folder.parent / "override.txt"
        override.write_text("certifi\n")
        _run((uv, "venv", "--quiet", "--python", sys.executable, str(folder)))
        into = ("--python", str(folder / "bin" / "python"), "--override", str(override))
        _run((uv, "pip", "install", "--quiet", *into, *requirements))
        ready.write_text(wanted)
    return folder / "bin"


def nginx() -> str:
    """The path of nginx; installs it if it is missing."""
    search_path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    if found := shutil.which("nginx", path=search_path):
        return found
    apt = shutil.which("apt-get")
    if apt is None:
        raise BenchmarkFailed("nginx is missing, and there is no apt-get to install it")
    _run((apt, "update", "-qq"))
    _run((apt, "install", "-y", "-qq", "nginx-light"))
    if found := shutil.which("nginx", path=search_path):
        return found
    raise BenchmarkFailed("nginx is missing: apt-get install nginx-light")


def _uv() -> str:
    scripts = Path(sys.executable).parent
    if found := shutil.which("uv", path=f"{scripts}:{os.environ.get('PATH', '')}"):
        return found
    folder = cache() / "uv"
    _run((sys.executable, "-m", "venv", str(folder)))
    _run((str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"))
    return str(folder / "bin" / "uv")


def _run(command: Sequence[str]) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise BenchmarkFailed(f"{' '.join(command)}: timed out after {INSTALL_TIMEOUT:.0f} s") from None
    if result.returncode:
        raise BenchmarkFailed(f"{' '.join(command)}: {(result.stderr or result.stdout).strip()[-800:]}")
