"""Shared by all tests: where the recordings are, how properties are searched, and what is collected when."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# A change must not turn red by chance: the same cases in every run, new ones in `make test-all`.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("searching" if os.environ.get("GROUNDWIRE_TEST_SEARCH") else "steady")

# A shell starts background jobs with SIGINT ignored, and programs inherit that: the ones that tests start and
# interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay for the whole run: looking through them for garbage is a third of the cost."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded provider traffic; tests that need it are reported as not run without it."""
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings are not on this machine: not run")
    return RECORDINGS
