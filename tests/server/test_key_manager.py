"""Management of keys: nobody gets, gives, changes or takes away rights that its own key does not include."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.errors import ForbiddenForKey, RequestError, TurnedAway
from groundwire.model import Json
from groundwire.model.access import MEMBER_RIGHTS, KeyRights, KeyScope, Role
from groundwire.server.audit import AuditLog
from groundwire.server.key_manager import OPERATOR, KeyActor, KeyManager, actor_for
from groundwire.server.key_rights import is_subset
from groundwire.server.keys import KeyFile, KeyStore, access_keys
from groundwire.server.shared_access import StoredKeys
from groundwire.store.base import ApiKey
from groundwire.store.key_json import rights_fields
from groundwire.store.open import open_store
from tests.figures import Figures
from tests.server.test_key_rights import RIGHTS

NOW = 1_700_000_000.0  # before all expiries of the strategy


class MemoryKeys:
    """Keys in memory."""

    def __init__(self) -> None:
        self.keys: dict[str, ApiKey] = {}

    def entries(self) -> list[ApiKey]:
        return [*self.keys.values()]

    def create(
        self, name: str, now: float, rights: KeyRights = MEMBER_RIGHTS, parent: str = ""
    ) -> tuple[str, ApiKey]:
        number = len(self.keys)
        record = ApiKey(f"key_{number}", name, f"{number:064x}", "2026", rights=rights, parent=parent)
        self.keys[record.id] = record
        return f"sk-gw-{number}", record

    def change(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        if id not in self.keys:
            return None
        self.keys[id] = change(self.keys[id])
        return self.keys[id]

    def revoke(self, which: str, now: float) -> list[ApiKey]:
        raise NotImplementedError

    def reset_hint(self) -> str:
        return ""


def manager_of(keys: MemoryKeys) -> KeyManager:
    return KeyManager(keys, AuditLog(), clock=lambda: NOW)


def actor(manager: KeyManager, rights: KeyRights) -> KeyActor:
    _, record = manager._keys.create("actor", NOW, rights)
    return actor_for(record, record.rights)


FIELDS = st.builds(rights_fields, RIGHTS).flatmap(
    lambda fields: st.lists(st.sampled_from(sorted(fields)), unique=True).map(
        lambda names: {name: fields[name] for name in names}
    )
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(RIGHTS, st.lists(st.tuples(FIELDS, st.sampled_from(("create", "change", "self"))), max_size=4))
def test_no_sequence_of_requests_gives_more_rights_than_the_first_key_has(
    rights: KeyRights, requests: list[tuple[dict[str, Json], str]]
) -> None:
    keys = MemoryKeys()
    manager = manager_of(keys)
    first = actor(manager, rights)
    for fields, action in requests:
        # Every key that exists may try: the first one, and all that were made from it.
        for record in keys.entries():
            current = actor_for(record, record.rights)
            changed = {name: item for name, item in fields.items() if name != "owner"}
            try:
                if action == "create":
                    if len(keys.keys) < 6:
                        manager.create(current, "child", fields)
                elif action == "self":
                    manager.change(current, record.id, changed)
                else:
                    manager.change(current, keys.entries()[-1].id, changed)
            except (RequestError, TurnedAway):
                pass
            assert all(is_subset(key.rights, first.rights) for key in keys.entries())


@settings(max_examples=40)
@given(RIGHTS, RIGHTS)
def test_keys_of_other_owners_do_not_exist(mine: KeyRights, theirs: KeyRights) -> None:
    manager = manager_of(MemoryKeys())
    me, other = actor(manager, mine), actor(manager, theirs)
    visible = {key.id for key in manager.visible(me)}
    assert (other.id in visible) is (not mine.owner or mine.owner == theirs.owner)
    if other.id in visible:
        return
    calls: list[Callable[[], object]] = [
        lambda: manager.get(me, other.id),
        lambda: manager.revoke(me, other.id),
        lambda: manager.change(me, other.id, {"may_search": False}),
    ]
    for call in calls:
        with pytest.raises((TurnedAway, ForbiddenForKey)) as caught:
            call()
        # A member may not manage anything; everybody else gets the same answer as for an id that is unknown.
        assert mine.role == "member" or caught.value.status_hint == 404
    assert manager.get(OPERATOR, other.id).rights == theirs
    assert not manager.get(OPERATOR, other.id).revoked


@pytest.mark.thorough
def test_none_of_ten_thousand_ids_of_another_owner_is_found(figures: Figures) -> None:
    keys = MemoryKeys()
    manager = manager_of(keys)
    me = actor(manager, KeyRights("owner", "acme"))
    others = [keys.create("", NOW, KeyRights(owner="zeta"))[1] for _ in range(10_000)]
    for other in others:
        with pytest.raises(TurnedAway, match="no such key"):
            manager.get(me, other.id)
        with pytest.raises(TurnedAway, match="no such key"):
            manager.revoke(me, other.id)
    assert keys.entries()[1:] == others
    figures.add("S12", "keys of another owner, none found or revoked", len(others))


def test_rights_that_are_not_given_are_those_of_the_creator() -> None:
    manager = manager_of(MemoryKeys())
    scope = KeyScope(providers=("gemini", "openai"), may_search=False)
    me = actor(manager, KeyRights("admin", "acme", "2027-01-01T00:00:00Z", scope))
    _, made = manager.create(me, "child", {"providers": ["gemini"]})
    assert made.rights == KeyRights(
        "member", "acme", "2027-01-01T00:00:00Z", KeyScope(providers=("gemini",), may_search=False)
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "owner"},
        {"providers": ["gemini", "openai"]},
        {"models": ["*"]},
        {"may_search": True},
        {"requests_per_minute": 11},
        {"expires": "2028-01-01"},
        {"owner": "zeta"},
        {"routes": ["keys", "page"]},
    ],
)
def test_asking_for_more_is_refused_instead_of_giving_less(fields: dict[str, Json]) -> None:
    manager = manager_of(MemoryKeys())
    limits = KeyRights().scope.limits
    scope = KeyScope(("keys",), ("gemini",), ("gemini-*",), (), False, type(limits)(10))
    me = actor(manager, KeyRights("admin", "acme", "2027-01-01T00:00:00Z", scope))
    with pytest.raises(ForbiddenForKey):
        manager.create(me, "child", fields)
    if "owner" not in fields:
        with pytest.raises(ForbiddenForKey):
            manager.change(me, me.id, fields)
    assert len(manager.visible(OPERATOR)) == 1


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_a_key_with_more_rights_can_be_neither_changed_nor_revoked(role: Role) -> None:
    manager = manager_of(MemoryKeys())
    me = actor(manager, KeyRights("admin", "acme", scope=KeyScope(providers=("gemini",))))
    stronger = actor(manager, KeyRights(role, "acme"))
    with pytest.raises(ForbiddenForKey, match="rights that yours does not have"):
        manager.revoke(me, stronger.id)
    with pytest.raises(ForbiddenForKey, match="rights that yours does not have"):
        manager.change(me, stronger.id, {})


def test_the_owner_of_a_key_cannot_be_changed() -> None:
    manager = manager_of(MemoryKeys())
    _, made = manager.create(OPERATOR, "a", {"owner": "acme"})
    with pytest.raises(ForbiddenForKey, match="cannot be changed"):
        manager.change(OPERATOR, made.id, {"owner": "zeta"})


def test_only_who_manages_all_owners_can_make_a_key_for_the_metrics() -> None:
    manager = manager_of(MemoryKeys())
    for rights in (KeyRights("owner", "acme"), KeyRights("owner", scope=KeyScope(routes=("keys",)))):
        with pytest.raises(ForbiddenForKey, match="metrics"):
            manager.create(actor(manager, rights), "metrics", {})
    _, made = manager.create(OPERATOR, "metrics", {})
    assert access_keys([made]).metrics == {made.fingerprint}


def test_every_change_is_in_the_audit_log_without_the_key(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/a.db") as store:
        ticks = count(int(NOW))
        manager = KeyManager(KeyFile(str(tmp_path)), AuditLog(store, lambda: next(ticks)), clock=lambda: NOW)
        shown, made = manager.create(OPERATOR, "ci", {"owner": "acme", "usd_per_day": "2.50"})
        manager.change(OPERATOR, made.id, {"may_search": False})
        manager.revoke(OPERATOR, made.id)
        manager.revoke(OPERATOR, made.id)
        entries = manager.audit.last()
        assert [(entry.action, entry.actor, entry.subject, entry.owner) for entry in reversed(entries)] == [
            (action, "cli", made.id, "acme") for action in ("key_created", "key_changed", "key_revoked")
        ]
        assert "usd_per_day=2.50" in entries[-1].detail
        text = repr(entries)
        assert shown not in text
        assert made.fingerprint not in text
        assert manager.audit.last(owner="zeta") == []


def test_a_key_can_be_revoked_while_the_audit_log_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(f"sqlite:///{tmp_path}/a.db")
    manager = KeyManager(KeyFile(str(tmp_path)), AuditLog(store, lambda: NOW), clock=lambda: NOW)
    _, made = manager.create(OPERATOR, "ci", {})
    store.close()
    assert manager.revoke(OPERATOR, made.id)[0].revoked
    assert "not in the audit log" in caplog.text


@pytest.mark.parametrize("keys", ["memory", "file", "store"])
def test_revoking_a_key_revokes_the_keys_that_it_has_created(tmp_path: Path, keys: str) -> None:
    with open_store(f"sqlite:///{tmp_path}/a.db") as store:
        kinds: dict[str, KeyStore] = {
            "memory": MemoryKeys(),
            "file": KeyFile(str(tmp_path)),
            "store": StoredKeys(store),
        }
        kept = kinds[keys]
        manager = KeyManager(kept, AuditLog(store), clock=lambda: NOW)

        def child(parent: KeyActor, name: str) -> ApiKey:
            return manager.create(parent, name, {"role": "admin"})[1]

        first = child(OPERATOR, "first")
        second = child(actor_for(first, first.rights), "second")
        third = child(actor_for(second, second.rights), "third")
        promoted = child(actor_for(first, first.rights), "promoted")
        manager.change(OPERATOR, promoted.id, {"role": "owner"})
        other = child(OPERATOR, "other")

        def valid() -> set[str]:
            return {key.name for key in kept.entries() if not key.revoked}

        admin = actor_for(other, other.rights)
        manager.revoke(admin, second.id, keep_children=True)
        assert valid() == {"first", "third", "promoted", "other"}
        assert [key.id for key in manager.revoke(admin, first.id)[1]] == [third.id]
        assert valid() == {"promoted", "other"}, "an admin does not revoke an owner"
        assert [key.id for key in manager.revoke(OPERATOR, first.id)[1]] == [promoted.id]
        entry = manager.audit.last()[0]
        assert (entry.action, entry.subject) == ("key_revoked", promoted.id)
        assert f"created by {first.id}" in entry.detail


def test_a_key_that_is_revoked_while_it_creates_a_key_leaves_none_behind() -> None:
    class SlowKeys(MemoryKeys):
        """The creator is revoked while the new key is written."""

        def create(
            self, name: str, now: float, rights: KeyRights = MEMBER_RIGHTS, parent: str = ""
        ) -> tuple[str, ApiKey]:
            if parent:
                manager.revoke(OPERATOR, parent)
            return super().create(name, now, rights, parent)

    keys = SlowKeys()
    manager = manager_of(keys)
    creator = actor(manager, KeyRights("admin"))
    with pytest.raises(TurnedAway, match="revoked"):
        manager.create(creator, "late", {})
    assert all(key.revoked for key in keys.entries())
