"""Admin page: API keys with their usage, requests in progress, health of the providers, audit log.

It exists only for keys with the role admin or owner. One whose key has an owner sees the keys, requests and
log entries of that owner; without one, everything.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from groundwire.chat.usage import searches_of, tokens_of
from groundwire.errors import ConfigError, GroundwireError, RequestError
from groundwire.faces.web.auth import read_form
from groundwire.faces.web.headers import redirect
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp, usd
from groundwire.model import Json
from groundwire.model.access import ROLES, ROUTE_GROUPS, KeyLimits, KeyRights, tenant_id
from groundwire.model.cost import from_nano
from groundwire.model.value import replace, value
from groundwire.server.auth import is_expired
from groundwire.server.key_manager import KeyActor, KeyManager
from groundwire.server.live_requests import MAX_LIVE, LiveRequest, live_requests
from groundwire.store.base import ApiKey, BudgetState, KeyUsageTotal
from groundwire.store.key_json import rights_fields

if TYPE_CHECKING:
    from groundwire.client_protocol import Quota
    from groundwire.server.app import HttpApp

T = TypeVar("T")

_SECTION = "admin"
_USAGE_DAYS = 30
_LOG_LINES = 50
_OWN_PATHS = frozenset({"/admin", "/admin/keys"})
"""The page does not list the request that shows it."""
_BETWEEN = re.compile(r"[\s,;]+")
_LISTS = ("routes", "providers", "models", "allowed_domains")
_COUNTS = ("requests_per_minute", "tokens_per_minute")
_TEXTS = ("role", "expires", "usd_per_day", "usd_per_month")


@value
class KeySpend:
    """What a key has used in the last days."""

    requests: int = 0
    tokens: int = 0
    searches: int = 0
    usd: str = ""


@value
class BudgetRow:
    """What is left of the budget of a day or a month."""

    period: str
    """Name of a text."""
    left: str
    limit: str


@value
class KeyRow:
    """One row of the table of keys."""

    key: ApiKey
    state: str
    """Name of a text: `key_valid`, `key_expired` or `key_revoked`."""
    limits: tuple[tuple[str, str], ...]
    """Names of texts, and values."""
    spend: KeySpend
    budget: tuple[BudgetRow, ...] = ()


@value
class ProviderRow:
    """The health of one provider."""

    name: str
    state: str
    """Name of a text."""
    failures: int
    error: str
    seconds: int
    wait: int = 0
    """Seconds that the provider asked to wait."""
    quotas: tuple[Quota, ...] = ()


def spend_of(total: KeyUsageTotal) -> KeySpend:
    """What a key has used."""
    cost = total.usage.cost
    shown = "" if cost is None else usd(cost)
    return KeySpend(total.requests, int(tokens_of(total)), int(searches_of(total)), shown)


def budget_left(limits: KeyLimits, state: BudgetState) -> tuple[BudgetRow, ...]:
    """What is left of the budgets of a key, after what is spent and reserved."""
    periods = (
        ("budget_day", limits.usd_per_day, state.day),
        ("budget_month", limits.usd_per_month, state.month),
    )
    return tuple(
        BudgetRow(
            name,
            _dollars(max(Decimal(0), limit - from_nano(period.spent + period.reserved))),
            _dollars(limit),
        )
        for name, limit, period in periods
        if limit is not None
    )


def _dollars(amount: Decimal) -> str:
    """Rounded down to hundredths: what is left is never shown as more than it is."""
    return f"${amount.quantize(Decimal('0.01'), ROUND_DOWN):,}"


async def show_admin(web: WebApp, request: PageRequest) -> None:
    """All sections of the page."""
    await _send(web, request)


async def create_key(web: WebApp, request: PageRequest) -> None:
    """Create a key, and show it once."""
    form = await read_form(request.visitor, request.exchange)
    try:
        name, fields = form.get("name", "").strip(), _fields(form)
        if owner := form.get("owner", "").strip():
            fields["owner"] = owner
        shown, _ = await _managed(request, lambda manager, actor: manager.create(actor, name, fields))
    except RequestError as error:
        await _send(web, request, form=form, error=error)
        return
    await _send(web, request, created=shown)


async def show_key(web: WebApp, request: PageRequest) -> None:
    """The form to change a key."""
    key = await _managed(request, lambda manager, actor: manager.get(actor, request.params["id"]))
    await _send_key(web, request, key, form_of(key.rights))


async def change_key(web: WebApp, request: PageRequest) -> None:
    """Change a key."""
    form = await read_form(request.visitor, request.exchange)
    key_id = request.params["id"]
    key = await _managed(request, lambda manager, actor: manager.get(actor, key_id))
    try:
        fields = _fields(form)
        await _managed(request, lambda manager, actor: manager.change(actor, key_id, fields))
    except RequestError as error:
        await _send_key(web, request, key, form, error)
        return
    await redirect(request.exchange, "/admin")


async def revoke_key(_: WebApp, request: PageRequest) -> None:
    """Revoke a key."""
    await read_form(request.visitor, request.exchange)
    await _managed(request, lambda manager, actor: manager.revoke(actor, request.params["id"]))
    await redirect(request.exchange, "/admin")


def form_of(rights: KeyRights) -> Mapping[str, str]:
    """The rights of a key as the fields of the form."""
    fields = rights_fields(rights)
    return {
        **{name: ", ".join(map(str, item)) for name, item in fields.items() if isinstance(item, list)},
        **{name: "" if (item := fields[name]) is None else str(item) for name in (*_TEXTS, *_COUNTS)},
        "no_search": "" if rights.scope.may_search else "on",
    }


def _fields(form: Mapping[str, str]) -> dict[str, Json]:
    """The fields of a key in a form; an empty one means no restriction."""
    fields: dict[str, Json] = {name: form.get(name, "").strip() or None for name in _TEXTS}
    for name in _LISTS:
        fields[name] = [entry for entry in _BETWEEN.split(form.get(name, "")) if entry]
    for name in _COUNTS:
        text = form.get(name, "").strip()
        fields[name] = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else text or None
    fields["may_search"] = form.get("no_search") != "on"
    return fields


async def _managed(request: PageRequest, call: Callable[[KeyManager, KeyActor], T]) -> T:
    """Call the manager for the visitor's key, in a thread: it reads and writes files or the store."""
    manager = request.app.key_manager
    if manager is None:
        raise ConfigError("this gateway does not manage keys")
    return await asyncio.to_thread(call, manager, request.app.actor(request.visitor.key))


async def _send(
    web: WebApp,
    request: PageRequest,
    *,
    form: Mapping[str, str] | None = None,
    error: GroundwireError | None = None,
    created: str = "",
) -> None:
    owner = request.app.actor(request.visitor.key).rights.owner
    keys = await _managed(request, lambda manager, actor: manager.visible(actor))
    since = datetime.fromtimestamp(web.clock(), UTC) - timedelta(days=_USAGE_DAYS)
    used = {total.key: spend_of(total) for total in await web.chat.usage_by_key(since.date().isoformat())}
    entries = await _managed(request, lambda manager, _: manager.audit.last(_LOG_LINES, owner or None))
    await web.send(
        request,
        "admin",
        status=error.status_hint if error is not None else 200,
        rows=[await _row(web, key, used.get(key.fingerprint, KeySpend())) for key in keys],
        live=shown_requests(await _live_requests(request.app), owner),
        health=provider_rows(request.app),
        log=entries,
        form=form or {"role": "member" if request.visitor.keyed else "owner"},
        owner=owner,
        created=created,
        error_text=web.error_text(request, error) if error is not None else "",
        days=_USAGE_DAYS,
        **_choices(request),
    )


async def _send_key(
    web: WebApp,
    request: PageRequest,
    key: ApiKey,
    form: Mapping[str, str],
    error: GroundwireError | None = None,
) -> None:
    await web.send(
        request,
        "admin_key",
        status=error.status_hint if error is not None else 200,
        item=key,
        form=form,
        error_text=web.error_text(request, error) if error is not None else "",
        **_choices(request),
    )


def _choices(request: PageRequest) -> dict[str, object]:
    """What the fields of the form can be."""
    return {
        "roles": ROLES,
        "groups": ", ".join(ROUTE_GROUPS),
        "providers": ", ".join(request.app.groundwire.names),
        "section": _SECTION,
    }


async def _row(web: WebApp, key: ApiKey, spend: KeySpend) -> KeyRow:
    now, amounts = web.clock(), key.rights.scope.limits
    budget: tuple[BudgetRow, ...] = ()
    if not key.revoked and (amounts.usd_per_day, amounts.usd_per_month) != (None, None):
        budget = budget_left(amounts, await web.chat.budget(key.fingerprint))
    state = "key_revoked" if key.revoked else "key_expired" if is_expired(key.rights, now) else "key_valid"
    limits = form_of(key.rights)
    shown = (*_LISTS, *_COUNTS, "usd_per_day", "usd_per_month", "expires")
    listed = tuple((f"field_{name}", limits[name]) for name in shown if limits[name])
    return KeyRow(
        key, state, (*listed, *((("no_search", ""),) if limits["no_search"] else ())), spend, budget
    )


async def _live_requests(app: HttpApp) -> list[LiveRequest]:
    """The requests in progress on all gateways that are known here."""
    others = await app.other_live_requests() if app.other_live_requests is not None else ()
    return [*live_requests(app.live_requests), *others]


def shown_requests(requests: Iterable[LiveRequest], owner: str) -> list[LiveRequest]:
    """The requests that the page lists, the longest first; those of one owner if one is named."""
    tenant = tenant_id("", KeyRights(owner=owner)) if owner else ""
    shown = [one for one in requests if (not tenant or one.owner == tenant) and one.path not in _OWN_PATHS]
    return sorted(shown, key=lambda one: -one.seconds)[:MAX_LIVE]


def provider_rows(app: HttpApp) -> Sequence[ProviderRow]:
    """The health of every provider that is usable or was called."""
    client = app.groundwire
    health = client.health()
    rows = []
    for name, usable in client.usable().items():
        known = health.get(name)
        if known is not None:
            state = "provider_paused" if known.is_open else "provider_ok"
            row = ProviderRow(name, state, known.failures, known.error, int(known.seconds))
            rows.append(replace(row, wait=ceil(known.retry_after or 0), quotas=known.quotas))
        elif usable:
            rows.append(ProviderRow(name, "provider_unused", 0, "", 0))
    return rows


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/admin", show_admin, about="The admin page.", role="admin"),
    PageRoute("POST", "/admin/keys", create_key, about="Creates an API key.", role="admin"),
    PageRoute("GET", "/admin/keys/{id}", show_key, about="The form of an API key.", role="admin"),
    PageRoute("POST", "/admin/keys/{id}", change_key, about="Changes an API key.", role="admin"),
    PageRoute("POST", "/admin/keys/{id}/revoke", revoke_key, about="Revokes an API key.", role="admin"),
)
