"""Configuration layers: the settings of one source (file, environment, command line), checked against the
keys.

A layer maps the path of a key to a `SettingValue`, which knows its origin. Errors name the source, the key
and what to do.

Environment variables: `GROUNDWIRE_<PROVIDER>_BASE_URL` and `GROUNDWIRE_<PROVIDER>_MODEL`, where a provider's
name is in capitals with `_` for every other character (`openai_chat`: `GROUNDWIRE_OPENAI_CHAT_MODEL`). The
vendors' own `*_BASE_URL` variables are never used: clients point them at the gateway, which must not call
itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from groundwire.config.keys import ROOT, Path, SettingKey, SettingTable, dotted, key_at
from groundwire.config.kinds import PROVIDER_NAME, Context
from groundwire.errors import ConfigError
from groundwire.model import Json
from groundwire.model.value import value
from groundwire.providers.installed import installed_providers

_SECRET_NAMES = frozenset({"key", "apikey", "token", "apitoken", "accesstoken", "secret", "password"})


class SettingValue(NamedTuple):
    """A value and its origin."""

    value: Json
    origin: str


Layer: TypeAlias = Mapping[Path, SettingValue]


@value
class SettingSource:
    """A source of settings."""

    origin: str
    """For display: a path, a variable, the command line."""
    where: Callable[[Path], str]
    """The beginning of an error message about a key."""
    own_file: str = ""
    """For a project's file: the path of the user's own file, which may set all keys."""

    def error(self, path: Path, reason: str) -> ConfigError:
        """The error for a key."""
        return ConfigError(f"{self.where(path)}: {reason}")


def read_file(text: str, path: str, context: Context, own_file: str = "") -> tuple[Layer, SettingSource]:
    """Read a TOML file."""
    from groundwire.files.toml import line_of, parse_toml  # noqa: PLC0415  many users have no file

    source = SettingSource(path, lambda key: f"{path}:{line_of(text, key)}: {dotted(key)}", own_file)
    return read_table(parse_toml(text, path), source, context), source


def read_flags(flags: Mapping[str, Json], context: Context) -> tuple[Layer, SettingSource]:
    """Read command-line flags: dotted names, or tables; None is a flag that was not given."""
    body: dict[str, object] = {}
    source = SettingSource("command line", lambda key: f"command line: {dotted(key)}")
    for name, item in flags.items():
        if item is None:
            continue
        *tables, last = name.split(".")
        table = body
        for part in tables:
            inner = table.setdefault(part, {})
            if not isinstance(inner, dict):
                raise source.error(tuple(tables), "given both as a value and as a table")
            table = inner
        table[last] = item
    return read_table(body, source, context), source


def read_table(body: Mapping[str, object], source: SettingSource, context: Context) -> Layer:
    """Read nested tables."""
    return {path: SettingValue(item, source.origin) for path, item in _walk(body, ROOT, (), source, context)}


def _walk(
    body: Mapping[str, object], table: SettingTable, above: Path, source: SettingSource, context: Context
) -> Iterator[tuple[Path, Json]]:
    for name, item in body.items():
        path = (*above, name)
        node = table.member(name)
        if node is None:
            raise source.error(path, _unknown(name, table.members, source))
        if isinstance(node, SettingKey):
            yield path, read_value(node, item, path, source, context)
        elif isinstance(item, dict):
            if above == ("providers",) and not re.fullmatch(PROVIDER_NAME, name):
                raise source.error(path, "a provider's name has only letters, digits, '_', '-' and '.'")
            yield from _walk(item, node, path, source, context)
        else:
            raise source.error(path, f"expected a table; write [{dotted(path)}] and its keys below")


def read_value(key: SettingKey, item: object, path: Path, source: SettingSource, context: Context) -> Json:
    """Check one value; raises `ConfigError`."""
    if source.own_file and key.project == "never":
        raise source.error(
            path,
            "a project's file may not set this, because its author would decide where your keys and data go; "
            f"if you want it, set it in {source.own_file}",
        )
    try:
        found = key.kind.check(item, context)
    except ConfigError as error:
        raise source.error(path, error.message) from None
    if source.own_file and key.project == "off" and found:
        raise source.error(
            path, f"a project's file may only disable a provider; enable it in {source.own_file}"
        )
    return found


def check_providers(layer: Layer, known: Collection[str], source: SettingSource) -> None:
    """Check that every provider in a layer exists: a misspelt one would be ignored silently."""
    for path, name in _named(layer):
        if name not in known and name not in installed():
            raise source.error(path, _unknown_provider(name, known, source))


def _named(layer: Layer) -> Iterator[tuple[Path, str]]:
    for path, entry in layer.items():
        if path[0] == "providers":
            yield path[:2], path[1]
        elif path[0] == "templates" and path[2] == "provider" and entry.value != "auto":
            yield path, str(entry.value)
        elif path == ("order",) and isinstance(entry.value, list):
            yield from ((path, str(name)) for name in entry.value if name != "*")


def defined(layer: Layer) -> set[str]:
    """The providers that a layer defines."""
    return {path[1] for path in layer if path[0] == "providers" and path[2] == "dialect"}


def installed() -> frozenset[str]:
    """Providers of installed packages."""
    return frozenset(installed_providers())


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar known name; empty when none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415  only on the way to an error

    plain = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    found = get_close_matches(name.lower().replace("-", "_"), plain, 1, 0.6)
    return plain[found[0]] if found else ""


def _unknown(name: str, known: Collection[str], source: SettingSource) -> str:
    if "".join(filter(str.isalnum, name.lower())) in _SECRET_NAMES:
        if source.own_file:
            return "a project's file may not hold keys"
        return "this file may not hold keys; put the key into a variable, and name the variable in key_env"
    similar = nearest(name, known)
    return (
        f"unknown key; did you mean {similar}?" if similar else f"unknown key; known are: {', '.join(known)}"
    )


def _unknown_provider(name: str, known: Collection[str], source: SettingSource) -> str:
    similar = nearest(name, known)
    advice = f"did you mean {similar}?" if similar else f"known are: {', '.join(sorted(known))}."
    file = source.own_file or "your configuration"
    return f"there is no provider {name!r}; {advice} To define one, set its dialect and base_url in {file}"


PREFIX = "GROUNDWIRE_"
_PROVIDER_SETTINGS = {"BASE_URL": "base_url", "MODEL": "model"}
_VARIABLE = re.compile(r"GROUNDWIRE_([A-Z0-9_]+)_(BASE_URL|MODEL)")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _names(text: str) -> object:
    return [name.strip() for name in text.split(",") if name.strip()]


def _flag(text: str) -> object:
    return {"0": False, "false": False, "1": True, "true": True}.get(text.strip().lower(), text)


def _unchanged(text: str) -> object:
    return text


_SETTINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "GROUNDWIRE_DATA_DIR": ("data_dir", _unchanged),
    "GROUNDWIRE_STORE": ("store", _unchanged),
    "GROUNDWIRE_REDIS": ("redis", _unchanged),
    "GROUNDWIRE_TIMEOUT": ("timeout", _number),
    "GROUNDWIRE_ORDER": ("order", _names),
    "GROUNDWIRE_BUILD_INDEX": ("build_index", _flag),
}


def variable_name(provider: str, setting: str) -> str:
    """The variable for a setting of a provider."""
    return f"{PREFIX}{_variable_part(provider)}_{setting.upper()}"


def read_environment(
    env: Mapping[str, str], providers: Collection[str], context: Context
) -> tuple[Layer, SettingSource, tuple[str, ...]]:
    """Read the environment; with warnings about variables of unknown providers."""
    names: dict[Path, str] = {}
    for variable, (setting, _) in _SETTINGS.items():
        names[setting,] = variable
    for provider in providers:
        for setting in _PROVIDER_SETTINGS.values():
            names["providers", provider, setting] = variable_name(provider, setting)
    unknown, warnings = _unknown_variables(env, set(names.values()), providers)
    names |= unknown
    source = SettingSource("environment", lambda path: names[path])
    layer: dict[Path, SettingValue] = {}
    for path, variable in names.items():
        text = env.get(variable, "").strip()
        if text:
            convert = _SETTINGS[variable][1] if variable in _SETTINGS else _unchanged
            found = read_value(key_at(path), convert(text), path, source, context)
            layer[path] = SettingValue(found, f"environment {variable}")
    if env.get("ENABLE_WEB_SEARCH", "").strip().lower() in ("0", "false", "no", "off"):
        layer["gateway", "search"] = SettingValue("none", "environment ENABLE_WEB_SEARCH")
    return layer, source, tuple(warnings)


def _unknown_variables(
    env: Mapping[str, str], used: Collection[str], providers: Collection[str]
) -> tuple[dict[Path, str], list[str]]:
    """Variables for providers that are not known: those of installed packages, and misspelt ones."""
    found: dict[Path, str] = {}
    warnings: list[str] = []
    for variable in sorted(env):
        match = _VARIABLE.fullmatch(variable)
        if not match or variable in used or not env[variable].strip():
            continue
        owner = next((name for name in installed() if _variable_part(name) == match[1]), "")
        if owner:
            found["providers", owner, _PROVIDER_SETTINGS[match[2]]] = variable
        else:
            warnings.append(
                "".join(_unknown_variable_warning(variable, match[1].lower(), match[2], providers))
            )
    return found, warnings


def _unknown_variable_warning(
    variable: str, name: str, setting: str, providers: Collection[str]
) -> Iterator[str]:
    yield f"{variable}: there is no provider {name!r}; the variable is ignored"
    if similar := nearest(name, providers):
        yield f"; did you mean {variable_name(similar, setting)}?"


def _variable_part(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", name.upper())
