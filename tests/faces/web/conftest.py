"""Fixtures: the browser, and the database of tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faces.web.browsing import Browsing
from tests.memory_folders import tmp_path
from tests.servers.fixtures import postgres, postgres_server

__all__ = ["browsing", "postgres", "postgres_server", "tmp_path"]


@pytest.fixture(scope="session")
def browsing() -> Iterator[Browsing]:
    """One browser for all tests of this process, started on first use."""
    opened = Browsing()
    yield opened
    opened.close()
