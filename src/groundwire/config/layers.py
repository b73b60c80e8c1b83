"""Settings from one place: a file, the environment or the command line, checked against the table of keys.

A layer maps the path of a key to an `Entry`, which knows where it came from. Whatever is wrong is told with
the place, the key and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from groundwire.config.keys import ROOT, Key, Path, Table, dotted, key_at
from groundwire.config.kinds import PROVIDER_NAME, Context
from groundwire.errors import ConfigError
from groundwire.model import Json
from groundwire.model.value import value

_SECRET_NAMES = frozenset({"key", "apikey", "token", "apitoken", "accesstoken", "secret", "password"})


class Entry(NamedTuple):
    """A value, and the place it came from."""

    value: Json
    origin: str


Layer: TypeAlias = Mapping[Path, Entry]


@value
class Source:
    """A place that settings come from."""

    origin: str
    """For people: a path, a variable, the command line."""
    where: Callable[[Path], str]
    """How an error about a key begins."""
    own_file: str = ""
    """For a project's file: where the user's own is, which may set what this one may not."""

    def error(self, path: Path, reason: str) -> ConfigError:
        """What is wrong with a key."""
        return ConfigError(f"{self.where(path)}: {reason}")


def read_file(text: str, path: str, context: Context, own_file: str = "") -> tuple[Layer, Source]:
    """The settings of a TOML file."""
    from groundwire.files.toml import line_of, parse_toml  # noqa: PLC0415  many users have no file

    source = Source(path, lambda key: f"{path}:{line_of(text, key)}: {dotted(key)}", own_file)
    return read_table(parse_toml(text, path), source, context), source


def read_flags(flags: Mapping[str, Json], context: Context) -> tuple[Layer, Source]:
    """The settings of the command line: dotted names, or tables; None is a flag that was not given."""
    body: dict[str, object] = {}
    source = Source("command line", lambda key: f"command line: {dotted(key)}")
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


def read_table(body: Mapping[str, object], source: Source, context: Context) -> Layer:
    """The settings of nested tables."""
    return {path: Entry(item, source.origin) for path, item in _walk(body, ROOT, (), source, context)}


def _walk(
    body: Mapping[str, object], table: Table, above: Path, source: Source, context: Context
) -> Iterator[tuple[Path, Json]]:
    for name, item in body.items():
        path = (*above, name)
        node = table.member(name)
        if node is None:
            raise source.error(path, _unknown(name, table.members, source))
        if isinstance(node, Key):
            yield path, read_value(node, item, path, source, context)
        elif isinstance(item, dict):
            if above == ("providers",) and not re.fullmatch(PROVIDER_NAME, name):
                raise source.error(path, "a provider's name has only letters, digits, '_', '-' and '.'")
            yield from _walk(item, node, path, source, context)
        else:
            raise source.error(path, f"expected a table; write [{dotted(path)}] and its keys below")


def read_value(key: Key, item: object, path: Path, source: Source, context: Context) -> Json:
    """One value, checked."""
    if source.own_file and key.project == "never":
        raise source.error(
            path,
            "a project's file may not set this, or whoever writes the project would decide where your keys "
            f"and data go; if you want it, set it in {source.own_file}",
        )
    try:
        found = key.kind.check(item, context)
    except ConfigError as error:
        raise source.error(path, error.message) from None
    if source.own_file and key.project == "off" and found:
        raise source.error(
            path, f"a project's file may switch a provider off, never on; switch it on in {source.own_file}"
        )
    return found


def check_providers(layer: Layer, known: Collection[str], source: Source) -> None:
    """Every provider that is named must exist: a misspelt one would be passed over in silence."""
    for path, name in _named(layer):
        if name not in known and name not in installed():
            raise source.error(path, _unknown_provider(name, known, source))


def _named(layer: Layer) -> Iterator[tuple[Path, str]]:
    for path, entry in layer.items():
        if path[0] == "providers":
            yield path[:2], path[1]
        elif path == ("order",) and isinstance(entry.value, list):
            yield from ((path, str(name)) for name in entry.value if name != "*")


def defined(layer: Layer) -> set[str]:
    """The providers that a layer describes in full."""
    return {path[1] for path in layer if path[0] == "providers" and path[2] == "dialect"}


def installed() -> frozenset[str]:
    """Providers that installed packages bring along."""
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and needed by few

    return frozenset(entry_points(group="groundwire.providers").names)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty when none is near."""
    from difflib import get_close_matches  # noqa: PLC0415  only on the way to an error

    plain = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    found = get_close_matches(name.lower().replace("-", "_"), plain, 1, 0.6)
    return plain[found[0]] if found else ""


def _unknown(name: str, known: Collection[str], source: Source) -> str:
    if "".join(filter(str.isalnum, name.lower())) in _SECRET_NAMES:
        return (
            "keys do not stand in a project's file"
            if source.own_file
            else "keys do not stand in this file; put it into a variable, and name the variable in key_env"
        )
    meant = nearest(name, known)
    return f"unknown key; did you mean {meant}?" if meant else f"unknown key; known are: {', '.join(known)}"


def _unknown_provider(name: str, known: Collection[str], source: Source) -> str:
    meant = nearest(name, known)
    advice = f"did you mean {meant}?" if meant else f"known are: {', '.join(sorted(known))}."
    file = source.own_file or "your configuration"
    return (
        f"there is no provider {name!r}; {advice} "
        f"To describe one of your own, give it dialect and base_url in {file}"
    )


PREFIX = "GROUNDWIRE_"
_OF_PROVIDER = {"BASE_URL": "base_url", "MODEL": "model"}
_VARIABLE = re.compile(r"GROUNDWIRE_([A-Z0-9_]+)_(BASE_URL|MODEL)")


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _names(text: str) -> object:
    return [name.strip() for name in text.split(",") if name.strip()]


def _as_it_is(text: str) -> object:
    return text


_SETTINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "GROUNDWIRE_DATA_DIR": ("data_dir", _as_it_is),
    "GROUNDWIRE_STORE": ("store", _as_it_is),
    "GROUNDWIRE_TIMEOUT": ("timeout", _number),
    "GROUNDWIRE_ORDER": ("order", _names),
}


def variable_name(provider: str, setting: str) -> str:
    """The variable for a setting of a provider."""
    return f"{PREFIX}{_capitals(provider)}_{setting.upper()}"


def read_environment(
    env: Mapping[str, str], providers: Collection[str], context: Context
) -> tuple[Layer, Source, tuple[str, ...]]:
    """The settings, and warnings about variables that mean nobody."""
    names: dict[Path, str] = {}
    for variable, (setting, _) in _SETTINGS.items():
        names[setting,] = variable
    for provider in providers:
        for setting in _OF_PROVIDER.values():
            names["providers", provider, setting] = variable_name(provider, setting)
    strays, warnings = _strays(env, set(names.values()), providers)
    names |= strays
    source = Source("environment", lambda path: names[path])
    layer: dict[Path, Entry] = {}
    for path, variable in names.items():
        text = env.get(variable, "").strip()
        if text:
            convert = _SETTINGS[variable][1] if variable in _SETTINGS else _as_it_is
            found = read_value(key_at(path), convert(text), path, source, context)
            layer[path] = Entry(found, f"environment {variable}")
    if env.get("ENABLE_WEB_SEARCH", "").strip().lower() in ("0", "false", "no", "off"):
        layer["gateway", "search"] = Entry("none", "environment ENABLE_WEB_SEARCH")
    return layer, source, tuple(warnings)


def _strays(
    env: Mapping[str, str], used: Collection[str], providers: Collection[str]
) -> tuple[dict[Path, str], list[str]]:
    """Variables of our form that name none of the known providers: installed ones, and misspelt ones."""
    found: dict[Path, str] = {}
    warnings: list[str] = []
    for variable in sorted(env):
        match = _VARIABLE.fullmatch(variable)
        if not match or variable in used or not env[variable].strip():
            continue
        owner = next((name for name in installed() if _capitals(name) == match[1]), "")
        if owner:
            found["providers", owner, _OF_PROVIDER[match[2]]] = variable
        else:
            warnings.append("".join(_nobody(variable, match[1].lower(), match[2], providers)))
    return found, warnings


def _nobody(variable: str, name: str, setting: str, providers: Collection[str]) -> Iterator[str]:
    yield f"{variable}: there is no provider {name!r}; the variable is ignored"
    if meant := nearest(name, providers):
        yield f"; did you mean {variable_name(meant, setting)}?"


def _capitals(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", name.upper())
