"""What an API key may do: its routes, providers, models and search options, and how much it may use."""

from __future__ import annotations

from decimal import Decimal

from groundwire.model.value import value


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
