"""Fixture: a home, a project and an administrator's directory for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.machine import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """An empty machine."""
    made = Machine(tmp_path)
    monkeypatch.setattr("groundwire.config.opencode.managed_dir", lambda: str(made.managed))
    return made
