"""Features that need POSIX report it on use, not on import."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.server

BOUND = 120
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty")
WITHOUT = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {MODULES!r}:
            raise ImportError("No module named " + name)
sys.meta_path.insert(0, Blocked())
for name in {MODULES!r}:
    sys.modules.pop(name, None)
"""


def run_without_posix(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=False)  # noqa: S603


def test_the_library_its_codecs_and_the_index_are_imported_without_posix() -> None:
    done = run_without_posix(
        "import groundwire\n"
        "from groundwire.dialects.registry import DIALECTS, dialect\n"
        "[dialect(name) for name in DIALECTS]\n"
        "import groundwire.client, groundwire.providers.engine_factory\n"
        "import groundwire.store.sqlite, groundwire.files.lock\n"
        "import groundwire.engine.index.embedded, groundwire.engine.read.worker\n"
        "import groundwire.server.keys\n"
        "groundwire.Groundwire\n"
        "print('imported')"
    )
    assert (done.stdout.strip(), done.stderr) == ("imported", "")


def test_the_command_line_reports_that_it_needs_posix() -> None:
    done = run_without_posix(
        "import sys; sys.argv = ['groundwire', '--help']; import groundwire.__main__ as it; it.main()"
    )
    assert "usage: groundwire" in done.stdout, done.stderr


def test_a_lock_reports_that_it_needs_posix() -> None:
    done = run_without_posix(
        "from pathlib import Path\n"
        "from tempfile import TemporaryDirectory\n"
        "from groundwire.files.lock import locked\n"
        "from groundwire.errors import ConfigError\n"
        "with TemporaryDirectory() as folder:\n"
        "    try:\n"
        "        with locked(Path(folder) / 'lock', 1.0): pass\n"
        "    except ConfigError as error:\n"
        "        print(error.message)"
    )
    assert "POSIX" in done.stdout, done.stderr
