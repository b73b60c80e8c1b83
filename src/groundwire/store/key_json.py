"""JSON of the rights of API keys, as stores and the key file have it.

Versions before rights existed read only `revoked`. For them, a key with rights of its own is written as
revoked: they refuse it, instead of accepting it without its restrictions. Likewise, a field that this version
does not know makes a key unreadable, and an unreadable key is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject
from groundwire.model.access import MEMBER_RIGHTS, ROLES, KeyLimits, KeyRights, KeyScope
from groundwire.model.value import replace
from groundwire.store.base import ApiKey

RESTRICTED = "restricted"
"""Written as `revoked` for versions that do not know rights."""
_LISTS = ("routes", "providers", "models", "allowed_domains")
_COUNTS = ("requests_per_minute", "tokens_per_minute")
_AMOUNTS = ("usd_per_day", "usd_per_month")
_KNOWN = frozenset({"role", "owner", "expires", *_LISTS, "may_search", *_COUNTS, *_AMOUNTS, "revoked"})


def rights_fields(rights: KeyRights) -> JsonObject:
    """All rights as one flat object. Amounts of money are texts, so that none is rounded."""
    scope, limits = rights.scope, rights.scope.limits
    fields: dict[str, Json] = {"role": rights.role, "owner": rights.owner, "expires": rights.expires}
    fields |= {name: list(getattr(scope, name)) for name in _LISTS}
    fields["may_search"] = scope.may_search
    fields |= {name: getattr(limits, name) for name in _COUNTS}
    fields |= {name: _amount_text(getattr(limits, name)) for name in _AMOUNTS}
    return fields


def decode_rights(body: Mapping[str, Json]) -> KeyRights:
    """The rights of an object with all or some fields; raises `ClientWireError`."""
    fields = Fields(dict(body), ClientWireError)
    if unknown := [name for name in body if name not in _KNOWN]:
        raise ClientWireError(f"unknown field {unknown[0]!r}")
    role = fields.text("role", MEMBER_RIGHTS.role)
    if role not in ROLES:
        raise ClientWireError(f"unknown role {role!r}")
    limits = KeyLimits(
        fields.integer("requests_per_minute"),
        fields.integer("tokens_per_minute"),
        _amount(fields, "usd_per_day"),
        _amount(fields, "usd_per_month"),
    )
    scope = KeyScope(
        _entries(fields, "routes"),
        _entries(fields, "providers"),
        _entries(fields, "models"),
        _entries(fields, "allowed_domains"),
        fields.flag("may_search") is not False,
        limits,
    )
    return KeyRights(role, fields.text("owner"), fields.text("expires"), scope)


def stored_rights(key: ApiKey) -> JsonObject:
    """What is stored of the rights of a key; empty for a key without rights of its own."""
    if key.rights == MEMBER_RIGHTS:
        return {}
    usual = rights_fields(MEMBER_RIGHTS)
    changed = {name: item for name, item in rights_fields(key.rights).items() if item != usual[name]}
    return {**changed, "revoked": key.revoked}


def revoked_for_all(key: ApiKey) -> str:
    """The field `revoked` as every version reads it."""
    return key.revoked or (RESTRICTED if key.rights != MEMBER_RIGHTS else "")


def with_rights(key: ApiKey, stored: Mapping[str, Json]) -> ApiKey:
    """The key with its stored rights; raises `ClientWireError`."""
    if not stored:
        return key
    revoked = stored.get("revoked")
    if not isinstance(revoked, str):
        raise ClientWireError("expected a text", "$.revoked")
    return replace(key, revoked=revoked, rights=decode_rights(stored))


def _entries(fields: Fields, name: str) -> tuple[str, ...]:
    entries = fields.texts(name)
    if len(entries) != len(fields.items(name)):  # an empty list would mean everything
        raise ClientWireError("expected a list of texts", f"$.{name}")
    return entries


def _amount(fields: Fields, name: str) -> Decimal | None:
    text = fields.text(name)
    try:
        amount = Decimal(text) if text else None
    except InvalidOperation:
        raise ClientWireError("expected an amount", f"$.{name}") from None
    if amount is not None and not amount.is_finite():
        raise ClientWireError("expected an amount", f"$.{name}")
    return amount


def _amount_text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")
