"""Settings from environment variables of our own.

`GROUNDWIRE_<PROVIDER>_BASE_URL` and `GROUNDWIRE_<PROVIDER>_MODEL`, where a provider's name is written in
capitals with `_` for everything else (`openai_chat`: `GROUNDWIRE_OPENAI_CHAT_MODEL`). The vendors' own
`*_BASE_URL` variables are never used: clients point them at us, and we must not call ourselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from groundwire.config.keys import Path, key_at
from groundwire.config.kinds import Context
from groundwire.config.layers import Entry, Layer, Source, installed, nearest, read_value

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
