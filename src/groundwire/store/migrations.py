"""The schema, step by step. SQLite and PostgreSQL understand every word of it, and mean the same."""

from __future__ import annotations

from groundwire.transport.steps import Step

COMPONENT = "store"

STEPS = (
    Step(
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
    Step(2, ("ALTER TABLE groundwire_messages ADD COLUMN words text NOT NULL DEFAULT ''",)),
)
