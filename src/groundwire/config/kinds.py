"""Types of settings: validation, normalisation and JSON schema.

`read` returns the normalised value, None if it is invalid, or raises `ConfigError` with a better reason than
"expected …". Reasons never quote a text: it may be a key in the wrong field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from groundwire.config.paths import resolved
from groundwire.errors import ConfigError
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

Edge: TypeAlias = Literal["start", "end"]

_AGO = re.compile(r"([1-9][0-9]{0,4})([hdwmy])")
_UNIT_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME_EXPECTED = "a time such as 7d (h, d, w, m, y), 2026-01-31 or 2026-01-31T12:00:00Z"


def parse_time(text: str, now: float, edge: Edge = "start") -> str:
    """Parse `7d`, `2026-01-31` or RFC 3339; returns RFC 3339 in UTC.

    A day means its first second, or with `edge="end"` its last.
    """
    try:
        return _parse_time(text.strip(), now, edge)
    except (ValueError, OverflowError):
        raise ConfigError(f"expected {TIME_EXPECTED}") from None


def format_time(now: float) -> str:
    """A timestamp as RFC 3339 in UTC."""
    from datetime import UTC, datetime  # noqa: PLC0415  few requests have a time

    return datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _parse_time(text: str, now: float, edge: Edge) -> str:
    from datetime import UTC, datetime, time, timedelta  # noqa: PLC0415  few requests have a time

    if ago := _AGO.fullmatch(text):
        found = datetime.fromtimestamp(now, UTC) - timedelta(seconds=int(ago[1]) * _UNIT_SECONDS[ago[2]])
    else:
        found = datetime.fromisoformat(text)
    if _DAY.fullmatch(text) and edge == "end":
        found = datetime.combine(found, time(23, 59, 59))
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")


MAX_DOMAINS = 100
PROVIDER_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_COUNTRY = r"[A-Za-z]{2}"
_DOMAIN = r"[^\s:/@?#]+(?:/[^\s@?#]*)?"
_SEARCH = r"native|none|engine:[A-Za-z0-9_.-]+"
_COLLECTOR = r"https?://[^\s?#@]+"
_STORE = r"(?:sqlite:///|postgres(?:ql)?://)\S+"
_REDIS = r"rediss?://(?:[^\s/@]*@)?[^\s/@]+(?:/[^\s@]*)?"
_LOOPBACK = r"localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|::1"


class Context(NamedTuple):
    """What the meaning of a value depends on."""

    base: str
    """The base directory of relative paths."""
    home: str
    now: float


Read: TypeAlias = Callable[[object, Context], Json]


@value
class Kind:
    """A type of setting."""

    expects: str
    schema: JsonObject
    read: Read

    def check(self, item: object, context: Context) -> Json:
        """The normalised value; raises `ConfigError` if it is invalid."""
        found = self.read(item, context)
        if found is None:
            raise ConfigError(f"expected {self.expects}{_found(item)}")
        return found


def _found(item: object) -> str:
    """Describe an invalid value without quoting a text."""
    if isinstance(item, bool):
        return ", found true or false"
    if isinstance(item, int | float):
        return f", found {item:.6g}" if isinstance(item, float) or abs(item) < 10**9 else ", found a number"
    nouns: tuple[tuple[type, str], ...] = ((str, "this text"), (list, "a list"), (dict, "a table"))
    return f", found {next((noun for kind, noun in nouns if isinstance(item, kind)), 'a date or time')}"


def _text(item: object, _: Context) -> Json:
    if not isinstance(item, str) or not item.isprintable():
        return None
    return item.strip() or None


INPUT = "{input}"
"""Where the question goes in the prompt of a template."""


def _prompt(item: object, _: Context) -> Json:
    if not isinstance(item, str) or not item.replace("\n", "").replace("\t", "").isprintable():
        return None
    if INPUT not in item:
        raise ConfigError(f"a prompt needs {INPUT}, where the question goes")
    return item.strip()


def _pattern(pattern: str) -> Read:
    def read(item: object, _: Context) -> Json:
        return item if isinstance(item, str) and re.fullmatch(pattern, item) else None

    return read


def _country(item: object, _: Context) -> Json:
    return item.upper() if isinstance(item, str) and re.fullmatch(_COUNTRY, item) else None


def _listed(pattern: str, most: int) -> Read:
    def read(item: object, _: Context) -> Json:
        if not isinstance(item, list) or len(item) > most:
            return None
        fits = all(isinstance(entry, str) and re.fullmatch(pattern, entry) for entry in item)
        return list(dict.fromkeys(item)) if fits else None

    return read


def _order(item: object, context: Context) -> Json:
    return _listed(rf"\*|{PROVIDER_NAME}", 1000)(item, context) or None


def _seconds(item: object, _: Context) -> Json:
    if isinstance(item, bool) or not isinstance(item, int | float):
        return None
    return item if 0 < item < math.inf else None


def _seconds_or_none(item: object, context: Context) -> Json:
    return 0 if type(item) in (int, float) and item == 0 else _seconds(item, context)


def _amount(item: object, _: Context) -> Json:
    if not isinstance(item, int | float) or isinstance(item, bool):
        return None
    return item if 0 <= item < math.inf else None


def _count(item: object, _: Context) -> Json:
    return item if isinstance(item, int) and not isinstance(item, bool) and item > 0 else None


def _flag(item: object, _: Context) -> Json:
    return item if isinstance(item, bool) else None


def _path(item: object, context: Context) -> Json:
    if not isinstance(item, str) or not item.strip() or "\0" in item:
        return None
    return resolved(item, context.base, context.home)


def _time(edge: Edge) -> Read:
    def read(item: object, context: Context) -> Json:
        # TOML has date and time values.
        text = item.isoformat() if hasattr(item, "isoformat") else item
        return parse_time(text, context.now, edge) if isinstance(text, str) else None

    return read


def _base_url(item: object, _: Context) -> Json:
    if not isinstance(item, str):
        return None
    from urllib.parse import urlsplit  # noqa: PLC0415  few set an address

    text = item.strip()
    if not text.isascii() or not text.isprintable() or any(char in text for char in ' \\"<>'):
        raise ConfigError("an address has no blanks, backslashes or letters beyond ASCII")
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError("this is not a valid address") from None
    if parts.scheme not in ("http", "https") or not host:
        return None
    if "@" in parts.netloc:
        raise ConfigError(
            "an address holds no user name or password; name the variable of the key in key_env"
        )
    if "?" in text or "#" in text:
        raise ConfigError('an address to add a path to has no "?" and no "#"; leave that part out')
    if parts.scheme == "http" and not re.fullmatch(_LOOPBACK, host):
        raise ConfigError(
            "http:// would send your key in the clear; use https:// "
            "(http:// is for this machine only: localhost, 127.0.0.1, [::1])"
        )
    return text


def choice(*words: str) -> Kind:
    """One of several values."""

    def read(item: object, _: Context) -> Json:
        return item if isinstance(item, str) and item in words else None

    return Kind(f"one of {', '.join(words)}", {"type": "string", "enum": list(words)}, read)


_STRING: JsonObject = {"type": "string", "minLength": 1}

TEXT = Kind("a text that is not blank", _STRING, _text)
PROMPT = Kind(
    f"a text with {INPUT}, where the question goes", {"type": "string", "pattern": r"\{input\}"}, _prompt
)
COUNTRY = Kind(
    "a country as two letters, such as DE", {"type": "string", "pattern": f"^{_COUNTRY}$"}, _country
)
DOMAINS = Kind(
    f"a list of bare hosts such as example.com, at most {MAX_DOMAINS}",
    {
        "type": "array",
        "items": {"type": "string", "pattern": f"^{_DOMAIN}$"},
        "maxItems": MAX_DOMAINS,
    },
    _listed(_DOMAIN, MAX_DOMAINS),
)
ORDER = Kind("a list of provider names", {"type": "array", "items": _STRING, "minItems": 1}, _order)
STORE = Kind(
    "sqlite:///PATH or postgresql://HOST/DATABASE",
    {"type": "string", "pattern": f"^{_STORE}$"},
    _pattern(_STORE),
)
REDIS = Kind(
    "redis://HOST:PORT/DATABASE, or rediss:// for TLS",
    {"type": "string", "pattern": f"^{_REDIS}$"},
    _pattern(_REDIS),
)
NAMES = Kind(
    "a list of texts without blanks", {"type": "array", "items": _STRING}, _listed(r"[^\s]+", MAX_DOMAINS)
)
SECONDS = Kind("a positive number of seconds", {"type": "number", "exclusiveMinimum": 0}, _seconds)
SECONDS_OR_NONE = Kind(
    "a number of seconds, 0 for not at all", {"type": "number", "minimum": 0}, _seconds_or_none
)
AMOUNT = Kind("a number from 0", {"type": "number", "minimum": 0}, _amount)
COUNT = Kind("a whole number from 1", {"type": "integer", "minimum": 1}, _count)
FLAG = Kind("true or false", {"type": "boolean"}, _flag)
PATH = Kind("the path of a directory", _STRING, _path)
SINCE = Kind(TIME_EXPECTED, _STRING, _time("start"))
UNTIL = Kind(TIME_EXPECTED, _STRING, _time("end"))
BASE_URL = Kind(
    "an address that starts with https://", {"type": "string", "pattern": "^https?://[^?#@]+$"}, _base_url
)
COLLECTOR = Kind(
    "an address such as http://127.0.0.1:4318",
    {"type": "string", "pattern": f"^{_COLLECTOR}$"},
    _pattern(_COLLECTOR),
)
VARIABLE = Kind(
    "the name of an environment variable, not the key itself",
    {"type": "string", "pattern": f"^{_VARIABLE}$"},
    _pattern(_VARIABLE),
)
SEARCH = Kind(
    "native, none or engine:NAME",
    {"type": "string", "pattern": f"^({_SEARCH})$"},
    _pattern(_SEARCH),
)
