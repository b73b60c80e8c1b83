"""Shared by all tests: nothing but where the recordings are."""

from __future__ import annotations

from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded provider traffic; tests that need it are reported as not run without it."""
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings are not on this machine: not run")
    return RECORDINGS
