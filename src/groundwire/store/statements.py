"""Every statement of the store, once for both databases. Values are named `:so`."""

from __future__ import annotations

from typing import LiteralString

PUT_AGENT: LiteralString = """
INSERT INTO groundwire_agents (id, body, created, updated) VALUES (:id, :body, :created, :updated)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated = excluded.updated
"""
AGENT: LiteralString = "SELECT id, body, created, updated FROM groundwire_agents WHERE id = :id"
AGENTS: LiteralString = "SELECT id, body, created, updated FROM groundwire_agents ORDER BY created, id"
REMOVE_AGENT: LiteralString = "DELETE FROM groundwire_agents WHERE id = :id RETURNING id"

PUT_SESSION: LiteralString = """
INSERT INTO groundwire_sessions (id, agent, owner, title, created, updated)
VALUES (:id, :agent, :owner, :title, :created, :updated)
ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, title = excluded.title, updated = excluded.updated
"""
SESSION: LiteralString = """
SELECT id, agent, owner, title, created, updated FROM groundwire_sessions WHERE id = :id
"""
SESSIONS: LiteralString = """
SELECT id, agent, owner, title, created, updated FROM groundwire_sessions
WHERE owner = :owner AND (:id = '' OR (updated, id) < (:updated, :id))
ORDER BY updated DESC, id DESC LIMIT :limit
"""
REMOVE_SESSION: LiteralString = "DELETE FROM groundwire_sessions WHERE id = :id RETURNING id"
# Also holds off everybody else who adds to this session, until the transaction ends.
TOUCH_SESSION: LiteralString = """
UPDATE groundwire_sessions SET updated = CASE WHEN updated < :updated THEN :updated ELSE updated END
WHERE id = :id RETURNING owner
"""

ADD_MESSAGE: LiteralString = """
INSERT INTO groundwire_messages (id, session, number, body, provider, created)
SELECT :id, :session, coalesce(max(number), 0) + 1, :body, :provider, :created
FROM groundwire_messages WHERE session = :session
ON CONFLICT (id) DO UPDATE SET body = excluded.body, provider = excluded.provider
    WHERE groundwire_messages.session = excluded.session
RETURNING number, created
"""
MESSAGES: LiteralString = """
SELECT id, session, body, provider, created, number FROM groundwire_messages
WHERE session = :session AND number < :until ORDER BY number DESC LIMIT :limit
"""

CUT_MESSAGES: LiteralString = """
DELETE FROM groundwire_messages WHERE session = :session AND number >= :number
"""
ALL_SESSIONS: LiteralString = "SELECT id, owner FROM groundwire_sessions ORDER BY created, id"
# Others may have filled in some of them meanwhile.
WORDLESS: LiteralString = """
SELECT said.id, said.session, said.body, said.provider, said.created, said.number
FROM groundwire_messages AS said
WHERE said.session = :session
    AND NOT EXISTS (SELECT 1 FROM groundwire_words AS kept WHERE kept.message = said.id)
ORDER BY said.number
"""
WORDS_KEPT: LiteralString = """
SELECT coalesce(max(version), 0) FROM groundwire_migrations WHERE component = 'words'
"""
KEPT_WORDS: LiteralString = """
INSERT INTO groundwire_migrations (component, version) VALUES ('words', :version)
ON CONFLICT (component, version) DO NOTHING
"""

ADD_USAGE: LiteralString = """
INSERT INTO groundwire_usage (id, at, owner, provider, model, face, outcome, seconds, input_tokens,
    output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, tool_tokens, searches, fetches, cost)
VALUES (:id, :at, :owner, :provider, :model, :face, :outcome, :seconds, :input_tokens, :output_tokens,
    :cached_tokens, :cache_write_tokens, :reasoning_tokens, :tool_tokens, :searches, :fetches, :cost)
ON CONFLICT (id) DO NOTHING
"""
# Sums of whole numbers are of another type in PostgreSQL.
USAGE: LiteralString = """
SELECT substr(at, 1, 10), provider, model, count(*), sum(CASE WHEN outcome = '' THEN 0 ELSE 1 END),
    CAST(sum(input_tokens) AS bigint), CAST(sum(output_tokens) AS bigint), CAST(sum(cached_tokens) AS bigint),
    CAST(sum(cache_write_tokens) AS bigint), CAST(sum(reasoning_tokens) AS bigint),
    CAST(sum(tool_tokens) AS bigint), CAST(sum(searches) AS bigint), CAST(sum(fetches) AS bigint), sum(cost)
FROM groundwire_usage
WHERE (:since = '' OR at >= :since) AND (:until = '' OR at < :until) AND owner = :owner
GROUP BY substr(at, 1, 10), provider, model
ORDER BY 1, 2, 3
"""
