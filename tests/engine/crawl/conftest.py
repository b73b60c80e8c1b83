"""Fixture: a website on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.crawl.website import Site, website


@pytest.fixture
def site() -> Iterator[Site]:
    with website() as found:
        yield found
