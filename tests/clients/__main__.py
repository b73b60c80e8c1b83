"""`python -m tests.clients`: install missing clients, then run every proof in a network namespace."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.clients.network_namespace import INSIDE, isolated, raise_loopback
from tests.clients.packages import PACKAGES, NotInstalled, install, install_types

_PROOFS = ("-o", "python_files=proof_*.py", "-p", "no:cacheprovider", "tests/clients")


def main(words: list[str]) -> int:
    """Install the clients and run the proofs; inside the namespace, only run them."""
    if os.environ.get(INSIDE):
        raise_loopback()
        return _run([sys.executable, "-m", "pytest", *_PROOFS, *words], {})
    try:
        for package in PACKAGES:
            install(package)
        install_types()
    except NotInstalled as error:
        sys.stderr.write(f"{error}\n")
        return 1
    command = [sys.executable, "-m", "tests.clients", *words]
    inside = isolated(command)
    if inside == command:
        return _run([sys.executable, "-m", "pytest", *_PROOFS, *words], {})
    return _run(inside, {INSIDE: "1"})


def _run(command: list[str], more: dict[str, str]) -> int:
    return subprocess.run(command, env={**os.environ, **more}, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
