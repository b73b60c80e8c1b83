"""Entry points of packages that are really on the path."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from groundwire.providers.installed import installed_providers


def put_package(folder: Path, package: str, *names: str) -> None:
    """Put what an installer writes of a package with these providers."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {package}:SPEC" for name in names]
    (info / "entry_points.txt").write_text("\n".join(["[groundwire.providers]", *lines, ""]))


def test_an_installed_package_is_found_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "acme" not in installed_providers()
    put_package(tmp_path, "acme", "acme", "acme_eu")
    os.utime(tmp_path, ns=(0, 1))  # installed later than within one tick of the clock
    assert installed_providers()["acme"].value == "acme:SPEC"
    assert installed_providers()["acme_eu"].value == "acme:SPEC"


def test_of_two_packages_the_first_on_the_path_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("second", "first"):
        folder = tmp_path / package
        folder.mkdir()
        put_package(folder, package, "acme")
        monkeypatch.syspath_prepend(str(folder))
    assert installed_providers()["acme"].value == "first:SPEC"


def test_packages_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_providers()
    monkeypatch.setattr(metadata, "entry_points", lambda **_: pytest.fail("searched again"))
    assert "acme" not in installed_providers()
