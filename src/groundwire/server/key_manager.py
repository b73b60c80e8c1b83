"""Creates, lists, changes and revokes API keys, for the command line, the HTTP API and the web page.

The actor sees the keys of its own owner, or all keys if it has none; any other id is unknown to it. It may
give, change and take away only rights that its own include. All calls block.

Revoking a key also revokes the keys that it has created, and those that they have created.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from time import time

from groundwire.errors import ForbiddenForKey, RequestError, TurnedAway
from groundwire.model import Json, JsonObject
from groundwire.model.access import MEMBER_RIGHTS, OPERATOR_RIGHTS, KeyRights
from groundwire.model.value import replace, value
from groundwire.server.audit import COMMAND_LINE, LOCAL, AuditLog
from groundwire.server.key_fields import KeyFieldParser, checked_name
from groundwire.server.key_rights import excess, narrow
from groundwire.server.keys import METRICS_KEY_NAME, KeyStore, timestamp
from groundwire.store.base import ApiKey
from groundwire.store.key_json import rights_fields


@value
class KeyActor:
    """Who manages keys: the id of the key that is used, and its rights."""

    id: str
    rights: KeyRights


OPERATOR = KeyActor(COMMAND_LINE, OPERATOR_RIGHTS)
"""A user who can run commands on the machine."""


def actor_for(record: ApiKey | None, rights: KeyRights) -> KeyActor:
    """The actor of a request; without a record, no key is needed."""
    return KeyActor(LOCAL if record is None else record.id, rights)


class KeyManager:
    """Manages the keys of a `KeyStore`."""

    def __init__(
        self,
        keys: KeyStore,
        audit: AuditLog,
        *,
        providers: Callable[[], Collection[str]] | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._keys = keys
        self.audit = audit
        self._providers = providers
        self._clock = clock

    def visible(self, actor: KeyActor) -> Sequence[ApiKey]:
        """The keys that the actor sees, also the revoked ones."""
        return [key for key in self._keys.entries() if _sees(actor, key)]

    def get(self, actor: KeyActor, key_id: str) -> ApiKey:
        """A key; raises 404 if there is none, or the actor does not see it."""
        found = next((key for key in self._keys.entries() if key.id == key_id), None)
        if found is None or not _sees(actor, found):
            raise TurnedAway(status=404, message="there is no such key", code="NOT_FOUND")
        return found

    def create(self, actor: KeyActor, name: str, fields: Mapping[str, Json]) -> tuple[str, ApiKey]:
        """Create a key; returns the key itself and its record. Rights that are not given are the actor's."""
        checked_name(name)
        _check_manager(actor)
        if name == METRICS_KEY_NAME and (actor.rights.owner or actor.rights.scope.routes):
            raise ForbiddenForKey(
                "a key named metrics opens a path that your key does not open for all owners"
            )
        wanted = self._parser().rights(fields, MEMBER_RIGHTS)
        rights = narrow(wanted, actor.rights)
        _check_given(fields, wanted, actor)
        parent = actor.id if actor.id not in (COMMAND_LINE, LOCAL) else ""
        key, record = self._keys.create(name, self._clock(), rights, parent)
        if any(one.id == parent and one.revoked for one in self._keys.entries()):
            # It was revoked after this request was admitted, perhaps too late to find the new key.
            self._end(record)
            raise TurnedAway(status=401, message="the API key is revoked", code="INVALID_KEY")
        self._log("key_created", actor, record, describe_rights(rights))
        return key, record

    def change(self, actor: KeyActor, key_id: str, fields: Mapping[str, Json]) -> ApiKey:
        """Change the rights of a key. Its name and its owner are fixed."""
        _check_manager(actor)
        if "owner" in fields:
            raise ForbiddenForKey("the owner of a key cannot be changed; create a key for the other owner")
        found = self.get(actor, key_id)
        self._check_managed(actor, found)
        if found.revoked:
            raise RequestError("the key is revoked; create a new one")
        parser = self._parser()

        def change(key: ApiKey) -> ApiKey:
            self._check_managed(actor, key)
            wanted = parser.rights(fields, key.rights)
            _check_given(fields, wanted, actor)
            return replace(key, rights=narrow(wanted, actor.rights))

        changed = self._keys.change(key_id, change)
        if changed is None:
            raise TurnedAway(status=404, message="there is no such key", code="NOT_FOUND")
        self._log("key_changed", actor, changed, describe_rights(changed.rights))
        return changed

    def revoke(
        self, actor: KeyActor, key_id: str, *, keep_children: bool = False
    ) -> tuple[ApiKey, Sequence[ApiKey]]:
        """Revoke a key by its id; returns it, and the keys that were revoked with it. Revoking it again
        changes nothing. A key that was given more rights than the actor has stays, with what it created."""
        _check_manager(actor)
        found = self.get(actor, key_id)
        self._check_managed(actor, found)
        revoked = self._end(found)
        if not found.revoked:
            self._log("key_revoked", actor, revoked)
        if keep_children:
            return revoked, ()
        ended = [self._end(key) for key in self._descendants(actor, key_id)]
        for key in ended:
            self._log("key_revoked", actor, key, f"created by {key.parent}")
        return revoked, ended

    def revoke_named(self, actor: KeyActor, which: str, *, keep_children: bool = False) -> Sequence[ApiKey]:
        """Revoke the key with this id, or all keys of this name, that the actor may manage; returns all keys
        that were revoked."""
        named = [key for key in self.visible(actor) if which in (key.id, key.name) and not key.revoked]
        ended: dict[str, ApiKey] = {}
        for key in named:
            revoked, children = self.revoke(actor, key.id, keep_children=keep_children)
            ended |= {one.id: one for one in (revoked, *children)}
        return list(ended.values())

    def _end(self, key: ApiKey) -> ApiKey:
        at = timestamp(self._clock())
        return self._keys.change(key.id, lambda one: replace(one, revoked=one.revoked or at)) or key

    def _descendants(self, actor: KeyActor, key_id: str) -> Sequence[ApiKey]:
        """The valid keys that a key has created, directly or through others, which may be revoked already.
        Those that the actor may not revoke are left out, with what they have created."""
        entries = [key for key in self._keys.entries() if not excess(key.rights, actor.rights)]
        found: list[ApiKey] = []
        parents = {key_id}
        while parents:
            children = [key for key in entries if key.parent in parents and key not in found]
            found += children
            parents = {key.id for key in children}
        return [key for key in found if not key.revoked]

    def reset_hint(self) -> str:
        """What to do to use the gateway without keys again."""
        return self._keys.reset_hint()

    def _parser(self) -> KeyFieldParser:
        return KeyFieldParser(self._clock(), self._providers() if self._providers is not None else None)

    def _check_managed(self, actor: KeyActor, key: ApiKey) -> None:
        if more := excess(key.rights, actor.rights):
            raise ForbiddenForKey(f"this key has rights that yours does not have: {', '.join(more)}")

    def _log(self, action: str, actor: KeyActor, key: ApiKey, detail: str = "") -> None:
        named = f"{key.name!r} {detail}".strip() if key.name else detail
        self.audit.add(action, actor.id, key.id, owner=key.rights.owner, detail=named)


def describe_rights(rights: KeyRights) -> str:
    """The rights that differ from those of a plain key, on one line."""
    usual = rights_fields(MEMBER_RIGHTS)
    changed = {name: item for name, item in rights_fields(rights).items() if item != usual[name]}
    return " ".join(
        f"{name}={','.join(map(str, item)) if isinstance(item, list) else item}"
        for name, item in changed.items()
    )


def _sees(actor: KeyActor, key: ApiKey) -> bool:
    return not actor.rights.owner or key.rights.owner == actor.rights.owner


def _check_manager(actor: KeyActor) -> None:
    if actor.rights.role == "member":
        raise ForbiddenForKey("only keys with the role admin or owner manage keys")


def _check_given(fields: Mapping[str, Json], wanted: KeyRights, actor: KeyActor) -> None:
    """Refuse a given field that exceeds the actor's rights, instead of silently giving less."""
    more = [name for name in excess(wanted, actor.rights) if fields.get(name)]
    if more:
        raise ForbiddenForKey(f"your API key does not include these rights: {', '.join(more)}")


def key_document(key: ApiKey) -> JsonObject:
    """A key as JSON, for the HTTP API and the command line. It has no fingerprint."""
    return {
        "id": key.id,
        "name": key.name,
        "created": key.created,
        "revoked": key.revoked,
        "created_by": key.parent,
        **rights_fields(key.rights),
    }
