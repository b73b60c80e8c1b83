"""Upgrades without downtime: gateways of two versions use one store while migrations only add."""

from __future__ import annotations

import pytest

from groundwire.errors import ConfigError
from groundwire.model import Usage
from groundwire.store.base import ApiKey, UsageRow
from groundwire.transport.migrations import Migration, is_too_old, oldest_version
from tests.store.conftest import NEWEST, Statements, StoreOpener
from tests.store.test_contract import SESSION

pytestmark = pytest.mark.server

ADDS = Migration(
    NEWEST + 1,
    (
        "ALTER TABLE groundwire_keys ADD COLUMN team text NOT NULL DEFAULT 'none'",
        "ALTER TABLE groundwire_usage ADD COLUMN region text NOT NULL DEFAULT ''",
        "CREATE TABLE groundwire_future (id text NOT NULL PRIMARY KEY)",
    ),
)
BREAKS = Migration(NEWEST + 2, ("ALTER TABLE groundwire_usage DROP COLUMN outcome",), breaking=True)
LATER = Migration(NEWEST + 3, ("CREATE TABLE groundwire_later (id text NOT NULL PRIMARY KEY)",))


def test_an_older_gateway_that_runs_goes_on_while_a_newer_one_migrates(open_at: StoreOpener) -> None:
    older = open_at()
    older.put_session(SESSION)
    newer = open_at(more=[ADDS])
    older.put_key(ApiKey("k1", "laptop", "f" * 64, "2026-01-01T00:00:00Z"))
    older.add_usage([UsageRow("u1", "2026-01-01T10:00:00Z", "p", "m", Usage(output_tokens=1), "me")])
    assert [key.id for key in newer.api_keys()] == ["k1"]
    assert [total.model for total in newer.usage("me")] == ["m"]
    assert newer.session("s1") == SESSION


def test_an_older_gateway_starts_on_a_store_that_a_newer_one_has_extended(
    open_at: StoreOpener, statements: Statements
) -> None:
    open_at(more=[ADDS]).put_session(SESSION)
    older = open_at()
    assert older.session("s1") == SESSION
    older.put_key(ApiKey("k1", "laptop", "f" * 64, "2026-01-01T00:00:00Z"))
    assert statements("SELECT team FROM groundwire_keys", ()) == [("none",)]
    assert statements("SELECT max(version) FROM groundwire_migrations WHERE component = 'store'", ()) == [
        (NEWEST + 1,)
    ]


def test_a_gateway_is_refused_only_if_it_is_older_than_the_last_breaking_migration(
    open_at: StoreOpener,
) -> None:
    open_at(more=[ADDS, BREAKS, LATER])
    with pytest.raises(ConfigError, match="use a newer groundwire"):
        open_at()
    with pytest.raises(ConfigError, match="use a newer groundwire"):
        open_at(more=[ADDS])
    open_at(more=[ADDS, BREAKS])


def test_a_newer_version_without_a_record_of_the_oldest_one_is_refused(
    open_at: StoreOpener, statements: Statements
) -> None:
    open_at()
    statements("INSERT INTO groundwire_migrations (component, version) VALUES ('store', ?)", (NEWEST + 1,))
    with pytest.raises(ConfigError, match="use a newer groundwire"):
        open_at()


def test_the_oldest_version_is_that_of_the_last_breaking_migration() -> None:
    steps = (Migration(1, ()), Migration(2, ()), Migration(3, (), breaking=True), Migration(4, ()))
    assert [oldest_version(steps, step.version) for step in steps] == [1, 1, 3, 3]
    assert [is_too_old(known, 4, 3) for known in (1, 2, 3, 4, 5)] == [True, True, False, False, False]
