"""Behaviour that every kind of store has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import time

import pytest
from hypothesis import HealthCheck, given, settings

from groundwire.errors import ConfigError, GroundwireError, RateLimited, RequestError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Message,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    Usage,
    Warned,
)
from groundwire.model.access import KeyRights, KeyScope
from groundwire.model.value import replace
from groundwire.store.base import (
    Agent,
    AnswerRating,
    ApiKey,
    AuditEntry,
    Session,
    SessionShare,
    Store,
    StoredMessage,
    UsageRow,
    UsageTotal,
)
from groundwire.transport.migrations import Migration
from tests.figures import Figures
from tests.model.strategies import answers, messages
from tests.store.conftest import NEWEST, Statements, StoreOpener

pytestmark = pytest.mark.server

AGENT = Agent(
    "researcher",
    {"en": "Researcher", "de": "Rechercheur"},
    {"en": "Looks things up"},
    {"en": "Always cite.", "de": "Nenne immer die Quelle."},
    "anthropic",
    "claude-sonnet-5",
    web_search=True,
    rest={"ui": {"theme": "dark"}, "tools": ["webSearch"]},
    created="2026-01-01T00:00:00Z",
    updated="2026-01-01T00:00:00Z",
)
SESSION = Session("s1", "researcher", "", "Köln", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z")
QUESTION = Message("user", (Text("Wann wurde der Dom vollendet?"),))
DOM = Source("https://dom.example/", "Dom", extras={"anthropic_messages": {"encrypted_content": "RXNj"}})
ANSWER = Answer(
    (SearchCall("c1", ("Dom",)), SearchResult("c1", (DOM,)), Text("Der Dom wurde 1880 vollendet. 🏙️")),
    (Citation(Span(0, 29), (Evidence(DOM, "1880 vollendet"),)),),
    Usage(10, 20, searches=1, cost=0.25),
    (Warned("thin_evidence", "one source"),),
    "stop",
    id="msg_1",
    model="claude-sonnet-5",
    extras={"anthropic_messages": {"container": {"id": "x\x00y"}}},
)
HOSTILE = ("'; DROP TABLE groundwire_sessions; --", ":id %(id)s %s ?", "nul\x00 half \ud800", "' OR ''='", "")


def user_message(number: int, session: str = "s1") -> StoredMessage:
    return StoredMessage(
        f"m{number}", session, Message("user", (Text(f"no. {number}"),)), created="2026-01-03"
    )


@pytest.fixture
def store_with_session(store: Store) -> Store:
    store.put_session(SESSION)
    return store


def test_an_agent_is_read_back_unchanged(reopen: Callable[[], Store]) -> None:
    reopen().put_agent(AGENT)
    again = reopen()
    assert again.agent("researcher") == AGENT
    assert again.agents() == [AGENT]
    assert again.agent("unknown") is None


def test_an_agent_is_updated_and_removed(store: Store) -> None:
    store.put_agent(AGENT)
    later = replace(AGENT, model="", web_search=False, updated="2026-02-01T00:00:00Z")
    store.put_agent(later)
    assert store.agents() == [later]
    assert store.remove_agent("researcher")
    assert not store.remove_agent("researcher")
    assert store.agents() == []


def test_sessions_are_listed_by_owner_most_recently_used_first(store: Store) -> None:
    made = [
        Session(f"s{n}", "a", "me" if n % 2 else "you", f"No. {n}", "2026-01-01", f"2026-01-0{n}")
        for n in range(1, 8)
    ]
    for session in made:
        store.put_session(session)
    first = store.sessions("me", limit=3)
    assert [session.id for session in first] == ["s7", "s5", "s3"]
    assert [session.id for session in store.sessions("me", limit=3, before=first[-1])] == ["s1"]
    assert store.sessions("unknown") == []
    assert store.session("s4") == made[3]


def test_sessions_are_pinned_filed_shared_and_rated(store_with_session: Store) -> None:
    store = store_with_session
    store.put_session(replace(SESSION, id="s2", owner="me"))
    store.file_session("s1", pinned=True, folder="")
    store.file_session("s2", pinned=False, folder="Köln \x00")
    store.put_session(replace(SESSION, title="Later", updated="2026-02-01"))
    (filed,) = store.filed_sessions("")
    assert (filed.title, filed.pinned, filed.folder) == ("Later", True, "")
    assert [session.folder for session in store.filed_sessions("me")] == ["Köln \ufffd"]
    share = SessionShare("h1", "d1", "s1", "", 2, "2026-01-03", "2026-01-10")
    store.add_share(share)
    assert (store.share("d1"), store.share("d2"), store.shares("me")) == (share, None, [])
    later = replace(share, id="h2", digest="d2", created="2026-01-11", expires="2026-01-12")
    store.add_share(later)
    assert store.shares("") == [later]
    assert not store.remove_share("h2", "me")
    store.add_message(user_message(1))
    store.add_message(StoredMessage("m2", "s1", ANSWER, "anthropic"))
    for rating in (-1, 1):
        store.put_rating(AnswerRating("m2", "s1", "", rating, "2026-01-03"))
    store.put_rating(AnswerRating("m2", "s2", "me", 1, "2026-01-03"))
    store.put_rating(AnswerRating("gone", "s1", "", 1, "2026-01-03"))
    assert [(rated.message, rated.rating) for rated in store.ratings("", "s1")] == [("m2", 1)]
    assert store.ratings("me") == []
    store.put_rating(AnswerRating("m2", "s1", "", 0))
    assert store.ratings("") == []
    store.put_rating(AnswerRating("m2", "s1", "", 1, "2026-01-03"))
    assert store.remove_session("s1")
    assert (store.shares(""), store.ratings(""), store.filed_sessions("")) == ([], [], [])


def test_updating_a_session_does_not_change_its_owner(store: Store) -> None:
    store.put_session(replace(SESSION, owner="me"))
    store.put_session(replace(SESSION, owner="you", title="New"))
    stored = store.session("s1")
    assert stored is not None
    assert (stored.owner, stored.title) == ("me", "New")


def test_question_and_answer_are_read_back_unchanged(reopen: Callable[[], Store]) -> None:
    store = reopen()
    store.put_session(SESSION)
    question = store.add_message(StoredMessage("m1", "s1", QUESTION, created="2026-01-03T10:00:00Z"))
    answer = store.add_message(StoredMessage("m2", "s1", ANSWER, "anthropic", "2026-01-03T10:00:09Z"))
    assert (question.number, answer.number) == (1, 2)
    stored = reopen().messages("s1")
    assert stored == [question, answer]
    assert isinstance(stored[1].content, Answer)
    assert stored[1].content.message == ANSWER.message
    assert stored[1].content.sources == ANSWER.sources
    assert stored[1].content.searches == ANSWER.searches


def test_a_failed_answer_keeps_its_error(store_with_session: Store) -> None:
    broken = Answer((Text("Der Dom"),), error=RateLimited("too many", status=429, retry_after=3.0))
    store_with_session.add_message(StoredMessage("m1", "s1", broken))
    assert store_with_session.messages("s1")[0].content == broken


@given(content=answers() | messages())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_answer_and_any_message_is_read_back_unchanged(store: Store, content: Answer | Message) -> None:
    store.put_session(SESSION)
    store.add_message(StoredMessage("m1", "s1", content))
    assert store.messages("s1")[0].content == content


def test_a_message_makes_its_session_the_most_recently_used(store_with_session: Store) -> None:
    store_with_session.put_session(replace(SESSION, id="s2", updated="2026-01-02T12:00:00Z"))
    store_with_session.add_message(replace(user_message(1), created="2026-01-03T00:00:00Z"))
    assert [session.id for session in store_with_session.sessions("")] == ["s1", "s2"]


def test_a_message_without_a_session_is_refused(store_with_session: Store) -> None:
    with pytest.raises(RequestError, match="no such session"):
        store_with_session.add_message(user_message(1, "nowhere"))
    assert store_with_session.messages("nowhere") == []


def test_a_message_with_the_same_id_replaces_the_earlier_one(store_with_session: Store) -> None:
    store_with_session.add_message(user_message(1))
    store_with_session.add_message(user_message(2))
    again = store_with_session.add_message(replace(user_message(1), content=ANSWER, created="2026-09-09"))
    assert (again.number, again.created) == (1, "2026-01-03")
    assert [message.content for message in store_with_session.messages("s1")] == [
        ANSWER,
        user_message(2).content,
    ]


def test_a_message_id_of_another_session_is_refused(store_with_session: Store) -> None:
    store_with_session.add_message(user_message(1))
    store_with_session.put_session(replace(SESSION, id="s2"))
    with pytest.raises(RequestError, match="another session"):
        store_with_session.add_message(replace(user_message(1, "s2"), content=ANSWER))
    assert [message.content for message in store_with_session.messages("s1")] == [user_message(1).content]
    assert store_with_session.messages("s2") == []


def test_removing_a_session_removes_its_messages(store_with_session: Store) -> None:
    store_with_session.add_message(user_message(1))
    assert store_with_session.remove_session("s1")
    assert not store_with_session.remove_session("s1")
    assert store_with_session.messages("s1") == []
    store_with_session.put_session(SESSION)
    assert store_with_session.messages("s1") == []


def test_concurrent_writers_get_every_number_once(reopen: Callable[[], Store]) -> None:
    stores = [reopen() for _ in range(3)]
    stores[0].put_session(SESSION)
    with ThreadPoolExecutor(6) as pool:
        added = list(pool.map(lambda number: stores[number % 3].add_message(user_message(number)), range(45)))
    assert sorted(message.number for message in added) == list(range(1, 46))
    assert stores[1].messages("s1") == sorted(added, key=lambda message: message.number)


def test_usage_is_summed_by_day_and_model(store: Store) -> None:
    rows = [
        UsageRow("u1", "2026-01-01T10:00:00Z", "gemini", "flash", Usage(1, 2, searches=1, cost=0.5), "me"),
        UsageRow(
            "u2", "2026-01-01T23:59:59Z", "gemini", "flash", Usage(10, 20), "me", outcome="RATE_LIMITED"
        ),
        UsageRow("u3", "2026-01-02T00:00:00Z", "gemini", "flash", Usage(100), "me", seconds=1.5),
        UsageRow("u6", "2026-01-02T00:00:00Z", "gemini", "flash", Usage(), "me", seconds=0.5, cache_hit=True),
        UsageRow("u4", "2026-01-02T00:00:00Z", "gemini", "flash", Usage(1000), "you"),
        UsageRow("u5", "2026-01-02T00:00:00Z", "gemini", "flash", Usage(10000), ""),
    ]
    store.add_usage(rows)
    store.add_usage(rows[:1])
    first = UsageTotal("2026-01-01", "gemini", "flash", 2, 1, Usage(11, 22, searches=1, cost=0.5))
    second = UsageTotal("2026-01-02", "gemini", "flash", 2, 0, Usage(100), 1.5, 1)
    assert store.usage("me") == [first, second]
    assert store.usage("me", since="2026-01-02") == [second]
    assert store.usage("me", until="2026-01-02") == [first]
    assert [total.usage.input_tokens for total in store.usage("you")] == [1000]
    assert [total.usage.input_tokens for total in store.usage("")] == [10000]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_ever_text(store: Store, text: str, figures: Figures) -> None:
    stored = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    store.put_session(SESSION)
    store.put_session(Session(f"x{text}", text, text, text, "2026-01-01", "2026-01-01"))
    store.put_agent(Agent(f"x{text}", {text: text}, prompt={"en": text}, rest={text: text}))
    store.add_message(StoredMessage(f"x{text}", f"x{text}", Message("user", (Text(text),)), text))
    store.add_usage([UsageRow(f"x{text}", text, text, text, Usage(), text)])
    found = store.session(f"x{text}")
    assert found is not None
    assert (found.owner, found.title) == (stored, stored)
    assert found in store.sessions(text)
    assert [message.provider for message in store.messages(f"x{text}")] == [stored]
    assert [total.model for total in store.usage(owner=text)] == [stored]
    assert store.remove_agent(f"x{text}")
    assert store.remove_session(f"x{text}")
    assert store.session("s1") == SESSION
    part = f"{type(store).__name__} {text!a}"
    figures.add("S13", "hostile texts in every column, all read back unchanged", 1, part=part)


def test_a_migration_is_atomic(open_at: StoreOpener) -> None:
    open_at().put_session(SESSION)
    bad = Migration(
        NEWEST + 1, ("CREATE TABLE half (id text)", "DELETE FROM groundwire_sessions", "SELECT nonsense")
    )
    with pytest.raises(GroundwireError):
        open_at(more=[bad])
    assert open_at().session("s1") == SESSION
    good = Migration(
        NEWEST + 1,
        ("CREATE TABLE half (id text)", "UPDATE groundwire_sessions SET title = 'moved'"),
        breaking=True,
    )
    moved = open_at(more=[good]).session("s1")
    assert moved is not None
    assert moved.title == "moved"
    with pytest.raises(ConfigError, match="use a newer groundwire"):
        open_at()


def test_concurrent_openers_of_a_new_store_migrate_it_once(reopen: Callable[[], Store]) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: reopen(), range(6)))
    stores[0].put_session(SESSION)
    assert [store.session("s1") for store in stores] == [SESSION] * 6


@pytest.mark.parametrize("position", [0, 1, 3])
def test_a_row_that_the_database_rejects_is_dropped_and_the_others_are_stored(
    store: Store, caplog: pytest.LogCaptureFixture, position: int
) -> None:
    rows = [
        UsageRow(f"r{number}", "2026-01-01T10:00:00Z", "p", "m", Usage(output_tokens=1), "me")
        for number in range(4)
    ]
    rows[position] = UsageRow("huge", "2026-01-01T10:00:00Z", "p", "m", Usage(output_tokens=2**63), "me")
    store.add_usage(rows)
    assert [total.requests for total in store.usage("me")] == [3]
    assert "huge" in caplog.text


def test_the_clock_is_that_of_the_database(store: Store) -> None:
    # Databases of tests run on this machine; the one of SQLite counts milliseconds.
    before = time() - 0.001
    assert before <= store.now() <= time() + 0.001


def test_keys_are_kept_and_revoked_by_id_or_name(reopen: Callable[[], Store]) -> None:
    store = reopen()
    keys = [
        ApiKey(f"key_{n}", name, f"{n}" * 64, f"2026-01-0{n}") for n, name in ((1, "a"), (2, "b"), (3, "b"))
    ]
    assert (store.api_keys(), store.access_revision()) == ([], 0)
    for key in keys:
        store.put_key(key)
    store.put_key(replace(keys[0], name="other"))  # an existing key stays as it is
    assert reopen().api_keys() == keys
    before = store.access_revision()
    assert [key.id for key in store.revoke_keys("b", "2026-02-01")] == ["key_2", "key_3"]
    assert store.access_revision() > before
    assert store.revoke_keys("b", "2026-03-01") == []
    assert [key.revoked for key in reopen().api_keys()] == ["", "2026-02-01", "2026-02-01"]


def test_a_damaged_key_is_refused(store: Store, statements: Statements) -> None:
    store.put_key(ApiKey("key_1", "a", "1" * 64, "2026-01-01"))
    statements("UPDATE groundwire_keys SET body = ?", ("{",))
    (key,) = store.api_keys()
    assert key.revoked


# Rights of keys, and the audit log

NARROW = ApiKey(
    "key_2",
    "ci",
    "f2",
    "2026-01-02",
    rights=KeyRights("admin", "acme", "2027-01-01T00:00:00Z", KeyScope(providers=("gemini",))),
)


def test_a_key_is_stored_with_its_rights_and_changed_in_place(reopen: Callable[[], Store]) -> None:
    store = reopen()
    store.put_key(NARROW)
    store.put_key(ApiKey("key_1", "plain", "f1", "2026-01-01"))
    before = store.access_revision()
    changed = store.change_key("key_2", lambda key: replace(key, rights=replace(key.rights, role="member")))
    assert changed == replace(NARROW, rights=replace(NARROW.rights, role="member"))
    assert store.access_revision() > before
    assert reopen().api_keys() == [ApiKey("key_1", "plain", "f1", "2026-01-01"), changed]
    assert store.change_key("key_9", lambda key: key) is None
    assert [key.id for key in store.revoke_keys("ci", "2026-02-02")] == ["key_2"]
    assert reopen().api_keys()[1] == replace(changed, revoked="2026-02-02")


def test_concurrent_changes_of_a_key_are_all_kept(store: Store) -> None:
    store.put_key(NARROW)

    def add(number: int) -> None:
        store.change_key("key_2", lambda key: replace(key, rights=with_model(key.rights, f"m{number}")))

    def with_model(rights: KeyRights, model: str) -> KeyRights:
        return replace(rights, scope=replace(rights.scope, models=(*rights.scope.models, model)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(12)))
    assert sorted(store.api_keys()[0].rights.scope.models) == sorted(f"m{n}" for n in range(12))


def test_the_audit_log_lists_the_newest_first_and_keeps_owners_apart(store: Store) -> None:
    entries = [
        AuditEntry(f"a{number}", f"2026-01-0{number}", "cli", "key_created", HOSTILE[0], owner)
        for number, owner in enumerate(("", "acme", "zeta", "acme"), 1)
    ]
    for entry in entries:
        store.add_audit(entry)
    assert store.audit() == entries[::-1]
    assert store.audit(2) == entries[:1:-1]
    assert store.audit(owner="acme") == [entries[3], entries[1]]
    assert store.audit(owner="nobody") == []


def test_no_statement_changes_or_deletes_an_entry_of_the_audit_log(
    store: Store, statements: Statements
) -> None:
    entry = AuditEntry("a1", "2026-01-01", "cli", "key_created", "key_1")
    store.add_audit(entry)
    for statement in ("DELETE FROM groundwire_audit", "UPDATE groundwire_audit SET actor = 'other'"):
        with suppress(sqlite3.IntegrityError):  # PostgreSQL ignores the statement
            statements(statement, ())
    assert store.audit() == [entry]


def test_usage_is_added_up_by_key(store: Store) -> None:
    row = UsageRow("u1", "2026-01-02T00:00:00Z", "p", "m", Usage(10, 5, searches=1), "owner:acme", key="f1")
    store.add_usage(
        [
            row,
            replace(row, id="u2", outcome="TIMED_OUT"),
            replace(row, id="u3", key="f2"),
            replace(row, id="u4", owner="f3", key=""),
            replace(row, id="u5", at="2025-12-31T00:00:00Z"),
        ]
    )
    totals = {total.key: total for total in store.usage_by_key("2026-01-01")}
    assert {key: (total.requests, total.errors) for key, total in totals.items()} == {
        "f1": (2, 1),
        "f2": (1, 0),
        "f3": (1, 0),
    }
    assert (totals["f1"].usage.input_tokens, totals["f1"].usage.searches) == (20, 2)
    assert sum(total.requests for total in store.usage_by_key()) == 5
