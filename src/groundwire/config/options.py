"""Search options of API callers, checked like the configuration and the command line.

Obvious forms are converted (a string is one domain, `7d` is a week ago, a list is a tuple); anything else is
refused with the name of the option and the expected form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from groundwire.config.keys import SEARCH, SettingKey
from groundwire.config.kinds import Context, format_time
from groundwire.errors import ConfigError, InvalidArguments
from groundwire.model import Location, SearchOptions
from groundwire.model.value import field_names, replace
from groundwire.providers.policy import check_domains

_LISTS = ("allowed_domains", "blocked_domains")
_SCALARS = ("language", "since", "until", "max_uses", "max_sources", "context_size", "live")
_LOCATION = ("country", "region", "city", "timezone")


def checked_options(options: object, now: float) -> SearchOptions:
    """Normalise options for the providers; raises `InvalidArguments`."""
    if not isinstance(options, SearchOptions):
        raise InvalidArguments(f"options: expected SearchOptions, found {type(options).__name__}")
    if options == SearchOptions():
        return options
    context = Context("", "", now)
    found: dict[str, object] = {name: _domains(name, getattr(options, name)) for name in _LISTS}
    found |= {name: _checked(name, getattr(options, name), context) for name in _SCALARS}
    found["location"] = _location(options.location, context)
    checked = replace(options, **found)
    if checked.since and not checked.until:
        # Some providers need both ends of a period.
        checked = replace(checked, until=format_time(now))
    if checked.since and checked.since > checked.until:
        raise InvalidArguments(f"since: {checked.since} is later than until, {checked.until}")
    check_domains(checked)
    return checked


def _domains(name: str, item: object) -> tuple[str, ...]:
    entries = [item] if isinstance(item, str) else [*item] if isinstance(item, Iterable) else [item]
    if not all(isinstance(entry, str) for entry in entries):
        raise InvalidArguments(f"{name}: expected a list of bare hosts such as example.com")
    return tuple(dict.fromkeys(str(entry).strip() for entry in entries))


def _location(item: object, context: Context) -> Location | None:
    if item is None:
        return None
    if not isinstance(item, Location):
        raise InvalidArguments(
            f"location: expected Location(country, region, city, …), found {type(item).__name__}"
        )
    return replace(item, **{name: _checked(name, getattr(item, name), context) for name in _LOCATION})


def _checked(name: str, item: object, context: Context) -> object:
    """The normalised value; unset options keep their default."""
    if item is None or item == "":
        return getattr(_DEFAULTS[name], name)
    try:
        return cast("SettingKey", SEARCH.members[name]).kind.check(item, context)
    except ConfigError as error:
        raise InvalidArguments(f"{name}: {error.message}{_shown(item, error.message)}") from None


def _shown(item: object, message: str) -> str:
    """The invalid text; for configuration files it is never quoted, because it may be a key."""
    if isinstance(item, str) and ("found this text" in message or "found" not in message):
        return f": {item[:60]!r}"
    return ""


_DEFAULTS: dict[str, object] = {
    **dict.fromkeys(field_names(SearchOptions), SearchOptions()),
    **dict.fromkeys(_LOCATION, Location()),
}
