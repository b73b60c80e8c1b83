"""The wheel alone, in a virtual environment of its own, answers a question."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0


def run(*command: str, **environment: str) -> str:
    result = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "HOME": environment.get("HOME", "/nonexistent"),
            "GROUNDWIRE_BUILD_INDEX": "0",
            "GROUNDWIRE_SEMANTIC": "0",
            **environment,
        },
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def built_in(folder: Path) -> Path:
    """The wheel, built from the checkout into a folder."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-index"]
    run(*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("groundwire-*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once."""
    return built_in(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_contains_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name == "groundwire/py.typed" for name in names)
    assert all(name.startswith(("groundwire/", "groundwire-")) for name in names)
    assert not any(name.endswith((".pth", ".pyc")) for name in names)


@pytest.mark.thorough
def test_two_builds_are_identical(wheel: Path, tmp_path: Path) -> None:
    assert built_in(tmp_path).read_bytes() == wheel.read_bytes()


def test_the_wheel_lists_every_pinned_package_in_its_sbom(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/sboms/sbom.cdx.json"))
    bill = {item["name"]: item["version"] for item in json.loads(archive.read(name))["components"]}
    pins = re.findall(
        r"^([a-z0-9.-]+)(?:\[[\w,-]+\])?==(\S+)",
        (ROOT / "requirements" / "all.lock").read_text("utf-8"),
        re.M,
    )
    assert bill == dict(pins)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    needed = re.findall(r"^Requires-Dist: ([A-Za-z0-9.-]+)", archive.read(metadata).decode(), re.M)
    assert set(needed) <= {*bill, "groundwire"}


def test_the_command_that_connect_writes_starts_with_the_base_install(wheel: Path) -> None:
    """`groundwire connect` tells clients to run `groundwire mcp`, so its package is not an extra."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    (needed,) = re.findall(r"^Requires-Dist: mcp\b(.*)$", archive.read(metadata).decode(), re.M)
    assert "extra" not in needed


async def test_a_question_is_answered_by_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # PYTHONPATH gives the dependencies; .pth files there are not followed, so the checkout stays out.
    dependencies = sysconfig.get_path("purelib")

    async def ask() -> str:
        events = answer_events(
            "Der Dom wurde 1880 vollendet.", Source("https://dom.example/", "Der Dom"), query="Dom Köln"
        )
        async with Upstream(answer("gemini", events)) as upstream:
            return await asyncio.to_thread(
                run,
                *(python, "-m", "groundwire", "search", "--provider", "gemini", "--json", "Wann?"),
                HOME=str(tmp_path),
                PYTHONPATH=dependencies,
                GEMINI_API_KEY="not-a-real-key",
                GROUNDWIRE_GEMINI_BASE_URL=upstream.url,
            )

    found = json.loads(await ask())
    assert found["text"] == "Der Dom wurde 1880 vollendet."
    assert [source["url"] for source in found["sources"]] == ["https://dom.example/"]
    assert found["grounded"] is True
