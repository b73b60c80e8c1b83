"""Every test has a home, a project and an administrator's directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty machine."""
    made = World(tmp_path)
    monkeypatch.setattr("groundwire.config.opencode.managed_dir", lambda: str(made.managed))
    return made
