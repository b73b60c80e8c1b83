"""What an API key may do: its role, owner, routes, providers, models and search options, and how much it may
use."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

from groundwire.model.value import value

Role: TypeAlias = Literal["member", "admin", "owner"]
ROLES: tuple[Role, ...] = ("member", "admin", "owner")
"""From the least rights to the most. Admins and owners manage keys."""

ROUTE_GROUPS = (
    *("messages", "responses", "chat", "gemini", "interactions", "converse", "cohere"),
    *("conversations", "search", "models", "mcp", "page", "keys"),
)
"""The groups of routes that a key can be restricted to."""


@value
class KeyLimits:
    """How much a key may use. None means no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    usd_per_day: Decimal | None = None
    """Calendar days and months are those of UTC."""
    usd_per_month: Decimal | None = None


NO_LIMITS = KeyLimits()


@value
class KeyScope:
    """What a key may do. An empty tuple means everything of that kind; `*` in a pattern matches any text."""

    routes: tuple[str, ...] = ()
    """Names of route groups, such as `messages` or `search`."""
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Patterns of model names, as clients send them or as they are resolved (`provider/model`)."""
    allowed_domains: tuple[str, ...] = ()
    """Searches are restricted to these domains."""
    may_search: bool = True
    limits: KeyLimits = NO_LIMITS


FULL_SCOPE = KeyScope()


@value
class KeyRights:
    """Everything that a key may do, and for how long."""

    role: Role = "member"
    owner: str = ""
    """Name of the tenant. Keys of one owner share sessions, agents and usage; a key without an owner shares
    them with no other key. An admin or owner key without one manages all keys."""
    expires: str = ""
    """RFC 3339 in UTC with seconds (`2027-01-01T00:00:00Z`): the texts sort like the times. Empty: never."""
    scope: KeyScope = FULL_SCOPE


MEMBER_RIGHTS = KeyRights()
OPERATOR_RIGHTS = KeyRights("owner")
"""The rights of the command line, and of every visitor while no key is needed."""


def tenant_id(fingerprint: str, rights: KeyRights) -> str:
    """The owner of the sessions, agents and usage of a key: its fingerprint, unless it has an owner.

    The prefix keeps an owner's name from being the fingerprint of another key.
    """
    return f"owner:{rights.owner}" if rights.owner else fingerprint
