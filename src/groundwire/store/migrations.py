"""The migrations of the store's schema, for SQLite and PostgreSQL."""

from __future__ import annotations

from typing import LiteralString

from groundwire.transport.migrations import Migration

COMPONENT = "store"

_BOTH = (
    Migration(
        1,
        (
            """
            CREATE TABLE groundwire_agents (
                id text NOT NULL PRIMARY KEY,
                body text NOT NULL,
                created text NOT NULL,
                updated text NOT NULL
            )
            """,
            """
            CREATE TABLE groundwire_sessions (
                id text NOT NULL PRIMARY KEY,
                agent text NOT NULL,
                owner text NOT NULL,
                title text NOT NULL,
                created text NOT NULL,
                updated text NOT NULL
            )
            """,
            "CREATE INDEX groundwire_sessions_recent ON groundwire_sessions (owner, updated, id)",
            """
            CREATE TABLE groundwire_messages (
                id text NOT NULL PRIMARY KEY,
                session text NOT NULL REFERENCES groundwire_sessions (id) ON DELETE CASCADE,
                number bigint NOT NULL,
                body text NOT NULL,
                provider text NOT NULL,
                created text NOT NULL,
                UNIQUE (session, number)
            )
            """,
            """
            CREATE TABLE groundwire_usage (
                id text NOT NULL PRIMARY KEY,
                at text NOT NULL,
                owner text NOT NULL,
                provider text NOT NULL,
                model text NOT NULL,
                face text NOT NULL,
                outcome text NOT NULL,
                seconds double precision NOT NULL,
                input_tokens bigint,
                output_tokens bigint,
                cached_tokens bigint,
                cache_write_tokens bigint,
                reasoning_tokens bigint,
                tool_tokens bigint,
                searches bigint,
                fetches bigint,
                cost double precision
            )
            """,
            "CREATE INDEX groundwire_usage_at ON groundwire_usage (at)",
        ),
    ),
    Migration(2, ("ALTER TABLE groundwire_messages ADD COLUMN words text NOT NULL DEFAULT ''",)),
)

_LEASES = Migration(
    4,
    (
        """
        CREATE TABLE groundwire_leases (
            session text NOT NULL PRIMARY KEY REFERENCES groundwire_sessions (id) ON DELETE CASCADE,
            holder text NOT NULL,
            expires double precision NOT NULL
        )
        """,
    ),
)

_KEYS = Migration(
    5,
    (
        """
        CREATE TABLE groundwire_keys (
            id text NOT NULL PRIMARY KEY,
            fingerprint text NOT NULL UNIQUE,
            body text NOT NULL,
            created text NOT NULL
        )
        """,
        "CREATE TABLE groundwire_revisions (name text NOT NULL PRIMARY KEY, number bigint NOT NULL)",
        """
        CREATE TABLE groundwire_logouts (
            login text NOT NULL PRIMARY KEY,
            expires double precision NOT NULL
        )
        """,
    ),
)

# New columns have defaults: a gateway of an earlier version that is still running can insert rows.
_RIGHTS: tuple[LiteralString, ...] = (
    "ALTER TABLE groundwire_keys ADD COLUMN rights text NOT NULL DEFAULT ''",
    "ALTER TABLE groundwire_usage ADD COLUMN api_key text NOT NULL DEFAULT ''",
    """
    CREATE TABLE groundwire_audit (
        id text NOT NULL PRIMARY KEY,
        at text NOT NULL,
        actor text NOT NULL,
        action text NOT NULL,
        subject text NOT NULL,
        owner text NOT NULL,
        detail text NOT NULL
    )
    """,
    "CREATE INDEX groundwire_audit_at ON groundwire_audit (at, id)",
)

# Nano-USD are exact where sums of floats are not. A gateway of an older version that is still running writes
# `cost` alone.
_SPENDING = Migration(
    7,
    (
        "ALTER TABLE groundwire_usage ADD COLUMN nano_usd bigint",
        """
        CREATE TABLE groundwire_budgets (
            owner text NOT NULL,
            period text NOT NULL,
            spent bigint NOT NULL,
            reserved bigint NOT NULL,
            PRIMARY KEY (owner, period)
        )
        """,
        """
        CREATE TABLE groundwire_reservations (
            id text NOT NULL PRIMARY KEY,
            owner text NOT NULL,
            day text NOT NULL,
            month text NOT NULL,
            amount bigint NOT NULL,
            expires double precision NOT NULL
        )
        """,
        "CREATE INDEX groundwire_reservations_owner ON groundwire_reservations (owner, month)",
    ),
)

# What users do with sessions: pin and file them, share them, rate their answers.
_FILING = Migration(
    8,
    (
        "ALTER TABLE groundwire_sessions ADD COLUMN pinned bigint NOT NULL DEFAULT 0",
        "ALTER TABLE groundwire_sessions ADD COLUMN folder text NOT NULL DEFAULT ''",
        "CREATE INDEX groundwire_sessions_filed ON groundwire_sessions (owner, pinned, folder)",
        """
        CREATE TABLE groundwire_shares (
            id text NOT NULL PRIMARY KEY,
            digest text NOT NULL UNIQUE,
            session text NOT NULL REFERENCES groundwire_sessions (id) ON DELETE CASCADE,
            owner text NOT NULL,
            last bigint NOT NULL,
            created text NOT NULL,
            expires text NOT NULL
        )
        """,
        "CREATE INDEX groundwire_shares_owner ON groundwire_shares (owner, created)",
        "CREATE INDEX groundwire_shares_session ON groundwire_shares (session)",
        """
        CREATE TABLE groundwire_ratings (
            message text NOT NULL PRIMARY KEY REFERENCES groundwire_messages (id) ON DELETE CASCADE,
            session text NOT NULL,
            owner text NOT NULL,
            rating bigint NOT NULL,
            rated text NOT NULL
        )
        """,
        "CREATE INDEX groundwire_ratings_session ON groundwire_ratings (session)",
        "CREATE INDEX groundwire_ratings_owner ON groundwire_ratings (owner, rated)",
        "ALTER TABLE groundwire_usage ADD COLUMN cache_hit bigint NOT NULL DEFAULT 0",
    ),
)

# Answers that go on after their request.
_RESPONSES = Migration(
    9,
    (
        """
        CREATE TABLE groundwire_responses (
            name text NOT NULL PRIMARY KEY,
            owner text NOT NULL,
            body text NOT NULL,
            final bigint NOT NULL,
            stopping bigint NOT NULL,
            saved double precision NOT NULL
        )
        """,
        """
        CREATE TABLE groundwire_response_events (
            name text NOT NULL REFERENCES groundwire_responses (name) ON DELETE CASCADE,
            start bigint NOT NULL,
            size bigint NOT NULL,
            data text NOT NULL,
            PRIMARY KEY (name, start)
        )
        """,
    ),
)

# Words are stored apart from messages. Existing messages are indexed when the store is opened.
_NO_COLUMN: LiteralString = "ALTER TABLE groundwire_messages DROP COLUMN words"

ON_SQLITE = (
    *_BOTH,
    Migration(
        3,
        (
            _NO_COLUMN,
            """
            CREATE TABLE groundwire_words (
                place integer PRIMARY KEY,
                message text NOT NULL UNIQUE REFERENCES groundwire_messages (id) ON DELETE CASCADE,
                owner text NOT NULL,
                words text NOT NULL
            )
            """,
            # The words are folded already. Characters unknown to this version of Unicode count as letters.
            """
            CREATE VIRTUAL TABLE groundwire_found USING fts5 (
                owner, words, content = 'groundwire_words', content_rowid = 'place',
                tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co Cn'"
            )
            """,
        ),
        breaking=True,
    ),
    _LEASES,
    _KEYS,
    Migration(
        6,
        (
            *_RIGHTS,
            """
            CREATE TRIGGER groundwire_audit_kept BEFORE DELETE ON groundwire_audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
            """,
            """
            CREATE TRIGGER groundwire_audit_unchanged BEFORE UPDATE ON groundwire_audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
            """,
        ),
    ),
    _SPENDING,
    _FILING,
    _RESPONSES,
)
ON_POSTGRES = (
    *_BOTH,
    Migration(
        3,
        (
            _NO_COLUMN,
            """
            CREATE TABLE groundwire_words (
                place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                message text NOT NULL UNIQUE REFERENCES groundwire_messages (id) ON DELETE CASCADE,
                owner text NOT NULL,
                words text NOT NULL,
                lexemes tsvector NOT NULL
                    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED
            )
            """,
            "CREATE INDEX groundwire_words_recent ON groundwire_words (owner, place)",
            "CREATE INDEX groundwire_words_lexemes ON groundwire_words USING gin (lexemes)",
        ),
        breaking=True,
    ),
    _LEASES,
    _KEYS,
    Migration(
        6,
        (
            *_RIGHTS,
            "CREATE RULE groundwire_audit_kept AS ON DELETE TO groundwire_audit DO INSTEAD NOTHING",
            "CREATE RULE groundwire_audit_unchanged AS ON UPDATE TO groundwire_audit DO INSTEAD NOTHING",
        ),
    ),
    _SPENDING,
    _FILING,
    _RESPONSES,
)
WORDS_SINCE = 3
"""The version that introduced the full-text index."""
