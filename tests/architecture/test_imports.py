"""Import rules, and what importing the core loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import groundwire.model
from groundwire.dialects.registry import DIALECTS
from tests.architecture.tree import PROJECT, SOURCE

pytestmark = pytest.mark.server

BOUND = 120.0
LINTER = Path(sys.executable).with_name("lint-imports")
UNWANTED = ("asyncio", "socket", "ssl", "http", "logging", "urllib.request", "subprocess", "random", "uuid")

PROBE = """
import sys
refused = []
def watch(event, _):
    if event.startswith(("socket.", "subprocess.")):
        refused.append(event)
sys.addaudithook(watch)
sys.path.insert(0, {path!r})
from groundwire.dialects.registry import DIALECTS, dialect
{use}
print(*refused, *(name for name in {unwanted!r} if name in sys.modules))
"""


def test_the_import_contracts_are_kept() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    result = subprocess.run(  # noqa: S603
        [LINTER, "--no-cache"],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", ["", *DIALECTS])
def test_importing_the_core_opens_nothing_and_imports_nothing_heavy(name: str) -> None:
    program = PROBE.format(
        path=str(SOURCE.parent), use=f"dialect({name!r})" if name else "", unwanted=UNWANTED
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


def test_dialects_are_imported_on_first_use() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r})\n"
        "import groundwire.dialects.registry as registry\n"
        "loaded = [name for name in registry.DIALECTS if f'groundwire.dialects.{name}' in sys.modules]\n"
        "assert not loaded, loaded\n"
        "registry.dialect('websearch')\n"
        "loaded = [name for name in registry.DIALECTS if f'groundwire.dialects.{name}' in sys.modules]\n"
        "assert loaded == ['websearch'], loaded\n"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, timeout=BOUND)  # noqa: S603


def test_the_public_names_of_the_model_exist_and_are_sorted() -> None:
    names = groundwire.model.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(groundwire.model, name)] == []
