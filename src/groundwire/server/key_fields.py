"""The fields of an API key as users write them: in JSON, in a form, or as arguments.

Each field has one parser. A field that is null or empty means no restriction of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import TypeAlias

from groundwire.config.kinds import format_time
from groundwire.errors import RequestError
from groundwire.model import Json
from groundwire.model.access import ROLES, ROUTE_GROUPS, KeyLimits, KeyRights, KeyScope, Role
from groundwire.model.value import field_names, replace
from groundwire.text.domains import is_domain_entry

LONGEST_NAME = 100
_LONGEST_ENTRY = 200
_MOST_ENTRIES = 100
_MOST = 10**12
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_KEY_ID = re.compile(r"key_[0-9a-f]+")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f]+")
_SPAN = re.compile(r"(\d{1,5})([hdwmy])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_NEVER = ("", "never")

Parser: TypeAlias = Callable[[str, Json], object]


class KeyFieldParser:
    """Parses fields. `providers` are the known providers; None accepts any name."""

    def __init__(self, now: float, providers: Collection[str] | None = None) -> None:
        self._now = now
        self._providers = providers
        self._parsers: Mapping[str, Parser] = {
            "role": _role,
            "owner": _owner,
            "expires": self._expires,
            "routes": lambda name, item: _known(name, item, ROUTE_GROUPS),
            "providers": self._provider_names,
            "models": _models,
            "allowed_domains": _domains,
            "may_search": _flag,
            "requests_per_minute": _count,
            "tokens_per_minute": _count,
            "usd_per_day": _amount,
            "usd_per_month": _amount,
        }

    def rights(self, fields: Mapping[str, Json], before: KeyRights) -> KeyRights:
        """The rights with the given fields changed; raises `RequestError` for a field that is not valid."""
        if unknown := sorted(fields.keys() - self._parsers.keys()):
            raise RequestError(_unknown("field", unknown[0], self._parsers))
        parsed = {name: self._parsers[name](name, item) for name, item in fields.items()}

        def of(kind: type) -> dict[str, object]:
            return {name: parsed[name] for name in field_names(kind) if name in parsed}

        scope = replace(before.scope, **of(KeyScope), limits=replace(before.scope.limits, **of(KeyLimits)))
        return replace(before, **of(KeyRights), scope=scope)

    def _expires(self, name: str, item: Json) -> str:
        text = _text(name, item).strip()
        if text.lower() in _NEVER:
            return ""
        try:
            moment = self._moment(text)
        except (ValueError, OverflowError):
            raise RequestError(f"{name}: {text[:40]!r} is not a time; write 30d, 12h or 2027-01-01") from None
        if moment.timestamp() <= self._now:
            raise RequestError(f"{name}: {text[:40]} is in the past")
        return format_time(moment.timestamp())

    def _moment(self, text: str) -> datetime:
        if span := _SPAN.fullmatch(text):
            return datetime.fromtimestamp(self._now, UTC) + timedelta(days=int(span[1]) * _DAYS[span[2]])
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def _provider_names(self, name: str, item: Json) -> tuple[str, ...]:
        return _entries(name, item) if self._providers is None else _known(name, item, self._providers)


def checked_name(name: str) -> str:
    """The name of a key; raises `RequestError`."""
    if len(name) > LONGEST_NAME:
        raise RequestError(f"name: at most {LONGEST_NAME} characters")
    if _KEY_ID.fullmatch(name):
        raise RequestError("name: it looks like the id of a key; choose another one")
    return name


def _text(name: str, item: Json) -> str:
    if item is None:
        return ""
    if not isinstance(item, str):
        raise RequestError(f"{name}: expected a text")
    return item


def _role(name: str, item: Json) -> Role:
    role = _text(name, item) or ROLES[0]
    if role not in ROLES:
        raise RequestError(_unknown(name, role, ROLES))
    return role


def _owner(name: str, item: Json) -> str:
    owner = _text(name, item)
    if owner and not _OWNER.fullmatch(owner):
        raise RequestError(f"{name}: use up to 64 letters, digits, `.`, `_`, `@` and `-`")
    return owner


def _entries(name: str, item: Json) -> tuple[str, ...]:
    listed = [] if item is None else item
    if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
        raise RequestError(f"{name}: expected a list of texts")
    entries = tuple(dict.fromkeys(str(entry).strip() for entry in listed))
    if not all(0 < len(entry) <= _LONGEST_ENTRY for entry in entries):
        raise RequestError(f"{name}: an entry is empty, or longer than {_LONGEST_ENTRY} characters")
    if len(entries) > _MOST_ENTRIES:
        raise RequestError(f"{name}: at most {_MOST_ENTRIES} entries")
    return entries


def _known(name: str, item: Json, known: Collection[str]) -> tuple[str, ...]:
    entries = _entries(name, item)
    for entry in entries:
        if entry not in known:
            raise RequestError(_unknown(name, entry, known))
    return entries


def _models(name: str, item: Json) -> tuple[str, ...]:
    entries = _entries(name, item)
    for entry in entries:
        if not _MODEL.fullmatch(entry):
            raise RequestError(f"{name}: {entry[:40]!r} is not a model name or pattern, such as gemini-*")
    return entries


def _domains(name: str, item: Json) -> tuple[str, ...]:
    entries = _entries(name, item)
    for entry in entries:
        if not is_domain_entry(entry):
            raise RequestError(f"{name}: {entry[:80]!r} is not a domain; write it like example.org")
    return entries


def _flag(name: str, item: Json) -> bool:
    if item is not None and not isinstance(item, bool):
        raise RequestError(f"{name}: expected true or false")
    return item is not False


def _count(name: str, item: Json) -> int | None:
    if item is None:
        return None
    if isinstance(item, bool) or not isinstance(item, int) or not 1 <= item <= _MOST:
        raise RequestError(f"{name}: expected a whole number from 1")
    return item


def _amount(name: str, item: Json) -> Decimal | None:
    if item is None:
        return None
    try:
        amount = Decimal(str(item)) if isinstance(item, int | float | str) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    exponent = amount.as_tuple().exponent
    is_plain = isinstance(exponent, int) and -6 <= exponent <= 12
    if isinstance(item, bool) or not is_plain or not 0 < amount <= _MOST:
        raise RequestError(f"{name}: expected an amount of US dollars above 0, such as 2.50")
    return amount


def _unknown(kind: str, given: str, known: Collection[str]) -> str:
    near = get_close_matches(given, sorted(known), 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
    return f"{kind}: unknown {given[:60]!r}; {hint}"
