"""Guarantees of the test session for the programs that tests start."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[1]

_INTERRUPTIBLE = """
import signal, subprocess, sys
import tests.conftest
child = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"]
sys.stdout.write(subprocess.run(child, capture_output=True, text=True, check=True).stdout)
"""


def test_programs_can_be_interrupted_in_a_session_that_ignores_sigint() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    session = subprocess.run(  # noqa: S603  fixed arguments
        [sys.executable, "-c", _INTERRUPTIBLE],
        cwd=PROJECT,
        preexec_fn=ignore,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert session.stdout == "False\n"
