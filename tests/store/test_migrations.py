"""Stores of all earlier versions are migrated without a loss."""

from __future__ import annotations

import json
from functools import partial
from typing import LiteralString, TypeAlias

import pytest

from groundwire.model import Answer, Message, Usage
from groundwire.model.access import MEMBER_RIGHTS, KeyRights, KeyScope
from groundwire.store.base import ApiKey, Store, UsageRow
from groundwire.transport.migrations import Migration
from tests.store.conftest import NEWEST, Row, Statements, StoreOpener, on_sqlite

pytestmark = pytest.mark.server

Tables: TypeAlias = dict[str, list[Row]]

_AGENT = {
    "name": {"en": "Researcher", "de": "Rechercheur"},
    "description": {},
    "prompt": {"en": "Cite."},
    "provider": "anthropic",
    "model": "claude",
    "web_search": True,
    "rest": {"ui": {"theme": "dark"}},
}
_QUESTION = {
    "version": 1,
    "type": "Message",
    "role": "user",
    "parts": [{"type": "Text", "text": "Wann wurde der Kölner Dom vollendet?"}],
}
_ANSWER = {
    "version": 1,
    "type": "Answer",
    "parts": [{"type": "Text", "text": "Er wurde 1880 vollendet. 🏙️"}],
    "citations": [
        {"span": [0, 24], "evidence": [{"source": {"url": "https://dom.example/"}, "quote": "1880"}]}
    ],
    "finish": "stop",
    "model": "claude",
}
_AT = "2026-01-02T00:00:00+00:00"
AGENTS: list[Row] = [("researcher", json.dumps(_AGENT), _AT, _AT)]
SESSIONS: list[Row] = [("s1", "researcher", "", "Köln", _AT, _AT), ("s2", "gone", "somebody", "", _AT, _AT)]
MESSAGES: list[Row] = [
    ("m1", "s1", 1, json.dumps(_QUESTION), "", _AT),
    ("m2", "s1", 2, json.dumps(_ANSWER), "anthropic", _AT),
    ("m3", "s2", 1, json.dumps(_QUESTION), "", _AT),
]
USAGE: list[Row] = [
    ("u1", _AT, "", "anthropic", "claude", "chat", "", 1.5, 10, 20, None, None, None, None, 1, None, 0.25),
    ("u2", _AT, "me", "gemini", "flash", "", "TIMEOUT", 9.0, *[None] * 9),
]
WORDS: list[Row] = [
    ("m1", "oe3b0c44298fc1c149afbf4c8", "wann wurde der kolner dom vollendet"),
    ("m2", "oe3b0c44298fc1c149afbf4c8", "er wurde 1880 vollendet"),
    ("m3", "o729d7d638cef1b476c9ad1d5", "wann wurde der kolner dom vollendet"),
]
KEYS: list[Row] = [
    ("key_1", "f1", '{"name":"laptop","revoked":""}', _AT),
    ("key_2", "f2", '{"name":"old","revoked":"2026-01-03T00:00:00+00:00"}', _AT),
]
_USAGE_COLUMNS: LiteralString = (
    "id, at, owner, provider, model, face, outcome, seconds, input_tokens, output_tokens, cached_tokens, "
    "cache_write_tokens, reasoning_tokens, tool_tokens, searches, fetches, cost"
)
# Rows as each version itself wrote them, not as the current code would write them.
ROWS: dict[int, Tables] = {
    1: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_usage": USAGE,
    },
    2: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created, words)": [
            (*row, "wann wurde der kölner dom vollendet?") for row in MESSAGES
        ],
        "groundwire_usage": USAGE,
    },
    3: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        "groundwire_usage": USAGE,
    },
    4: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        "groundwire_usage": USAGE,
        "groundwire_leases": [("s1", "holder", 0.0)],
    },
    5: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        "groundwire_usage": USAGE,
        "groundwire_keys": KEYS,
        "groundwire_revisions": [("access", 3)],
    },
    6: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        f"groundwire_usage ({_USAGE_COLUMNS})": USAGE,
        "groundwire_keys (id, fingerprint, body, created)": KEYS,
        "groundwire_revisions": [("access", 3)],
    },
    7: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": SESSIONS,
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        f"groundwire_usage ({_USAGE_COLUMNS}, api_key, nano_usd)": [
            (*USAGE[0], "", 250_000_000),
            (*USAGE[1], "", None),
        ],
        "groundwire_budgets": [("f1", "2026-01", 250_000_000, 0)],
    },
    8: {
        "groundwire_agents": AGENTS,
        "groundwire_sessions": [(*SESSIONS[0], 1, "travel"), (*SESSIONS[1], 0, "")],
        "groundwire_messages (id, session, number, body, provider, created)": MESSAGES,
        "groundwire_words (message, owner, words)": WORDS,
        f"groundwire_usage ({_USAGE_COLUMNS}, api_key, nano_usd, cache_hit)": [
            (*USAGE[0], "", 250_000_000, 0),
            (*USAGE[1], "", None, 0),
        ],
        "groundwire_shares": [("share_1", "digest", "s1", "", 2, _AT, "2026-02-02T00:00:00+00:00")],
        "groundwire_ratings": [("m2", "s1", "", 1, _AT)],
    },
}
KEPT: dict[LiteralString, list[Row]] = {
    "SELECT * FROM groundwire_agents ORDER BY id": AGENTS,
    "SELECT id, agent, owner, title, created, updated FROM groundwire_sessions ORDER BY id": SESSIONS,
    "SELECT id, session, number, body, provider, created FROM groundwire_messages ORDER BY id": MESSAGES,
    f"SELECT {_USAGE_COLUMNS} FROM groundwire_usage ORDER BY id": USAGE,  # noqa: S608  ours
}


def write(statements: Statements, tables: Tables) -> None:
    for table, rows in tables.items():
        for row in rows:
            marks = ", ".join("?" * len(row))
            statements(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608  ours
    if any(table.startswith("groundwire_words") for table in tables) and is_sqlite(statements):
        # FTS5 reads its words from an external content table.
        statements("INSERT INTO groundwire_found (groundwire_found) VALUES ('rebuild')", ())


def is_sqlite(statements: Statements) -> bool:
    return isinstance(statements, partial) and statements.func is on_sqlite


def test_every_earlier_version_has_sample_rows() -> None:
    assert sorted(ROWS) == list(range(1, NEWEST))


@pytest.mark.parametrize("version", sorted(ROWS))
def test_a_store_of_an_earlier_version_keeps_all_rows(
    version: int, open_at: StoreOpener, statements: Statements
) -> None:
    open_at(version).close()
    write(statements, ROWS[version])
    store = open_at()
    assert {statement: statements(statement, ()) for statement in KEPT} == KEPT
    turns = store.messages("s1")
    assert [type(turn.content) for turn in turns] == [Message, Answer]
    assert [turn.number for turn in turns] == [1, 2]
    assert turns[1].content.citations[0].evidence[0].source.url == "https://dom.example/"
    assert [agent.web_search for agent in store.agents()] == [True]
    assert [(total.provider, total.errors) for total in store.usage("")] == [("anthropic", 0)]
    assert [(total.provider, total.errors) for total in store.usage("me")] == [("gemini", 1)]


def test_a_gateway_of_an_older_version_that_still_runs_can_write_usage(
    open_at: StoreOpener, statements: Statements
) -> None:
    """Its statements name the columns that it knows; what it writes is part of the sums."""
    store = open_at()
    for number, row in enumerate((USAGE[0], (f"new-{USAGE[0][0]}", *USAGE[0][1:]))):
        marks = ", ".join("?" * len(row))
        statements(f"INSERT INTO groundwire_usage ({_USAGE_COLUMNS}) VALUES ({marks})", row)  # noqa: S608
        (total,) = store.usage("")
        assert total.usage.cost == 0.25 * (number + 1)
    store.add_usage([UsageRow("n", _AT, "anthropic", "claude", Usage(cost=0.1), "")])
    assert [total.usage.cost for total in store.usage("")] == [0.6]


@pytest.mark.parametrize("version", sorted(ROWS))
def test_messages_of_an_earlier_version_are_found(
    version: int, open_at: StoreOpener, statements: Statements
) -> None:
    open_at(version).close()
    write(statements, ROWS[version])
    store = open_at()
    assert [turn.id for turn in store.find_messages("kolner DOM", "")] == ["m1"]
    assert [turn.id for turn in store.find_messages("1880", "")] == ["m2"]
    assert [turn.id for turn in store.find_messages("dom", "somebody")] == ["m3"]


def test_keys_of_an_earlier_version_stay_valid_and_get_no_more_rights(
    open_at: StoreOpener, statements: Statements
) -> None:
    open_at(5).close()
    write(statements, ROWS[5])
    store = open_at()
    assert [(key.name, bool(key.revoked), key.rights) for key in store.api_keys()] == [
        ("laptop", False, MEMBER_RIGHTS),
        ("old", True, MEMBER_RIGHTS),
    ]


def test_a_gateway_of_the_version_before_works_on_and_refuses_keys_that_it_cannot_restrict(
    open_at: StoreOpener, statements: Statements
) -> None:
    store = open_at()
    store.put_key(ApiKey("key_1", "plain", "f1", _AT))
    store.put_key(ApiKey("key_2", "narrow", "f2", _AT, rights=KeyRights(scope=KeyScope(providers=("p",)))))
    # The statements of version 5.
    bodies = statements("SELECT body FROM groundwire_keys ORDER BY id", ())
    assert [bool(json.loads(str(body))["revoked"]) for (body,) in bodies] == [False, True]
    statements(
        "INSERT INTO groundwire_keys (id, fingerprint, body, created) VALUES (?, ?, ?, ?)",
        ("key_3", "f3", KEYS[0][2], _AT),
    )
    columns = "id, at, owner, provider, model, face, outcome, seconds, input_tokens, output_tokens"
    statements(f"INSERT INTO groundwire_usage ({columns}) VALUES ({', '.join('?' * 10)})", USAGE[1][:10])  # noqa: S608
    assert [(key.id, key.revoked) for key in store.api_keys()] == [
        ("key_1", ""),
        ("key_2", ""),
        ("key_3", ""),
    ]
    assert [total.key for total in store.usage_by_key()] == ["me"]


def test_opening_a_migrated_store_again_changes_nothing(open_at: StoreOpener, statements: Statements) -> None:
    open_at(1).close()
    write(statements, ROWS[1])
    first = _dump(open_at())
    assert _dump(open_at()) == first
    assert statements(
        "SELECT version FROM groundwire_migrations WHERE component = 'store' ORDER BY 1", ()
    ) == [(version,) for version in range(1, NEWEST + 1)]


def _dump(store: Store) -> list[object]:
    messages = [store.messages(name) for name in ("s1", "s2")]
    owned = [(store.sessions(owner), store.usage(owner)) for owner in ("", "somebody", "me")]
    return [store.agents(), messages, owned]


@pytest.mark.parametrize("broken", range(2, NEWEST + 1))
def test_a_failed_migration_leaves_the_version_before_it(
    broken: int, open_at: StoreOpener, statements: Statements
) -> None:
    open_at(1).close()
    write(statements, ROWS[1])
    with pytest.raises(Exception, match="nonsense"):
        open_at(broken - 1, more=[Migration(broken, ("DELETE FROM groundwire_usage", "SELECT nonsense"))])
    assert statements("SELECT max(version) FROM groundwire_migrations WHERE component = 'store'", ()) == [
        (broken - 1,)
    ]
    open_at()
    assert {statement: statements(statement, ()) for statement in KEPT} == KEPT
