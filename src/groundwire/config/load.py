"""Load the configuration: flags, environment, project, user, OpenCode, defaults; the first one that sets a
key wins.

Every source becomes a layer of checked settings by path, the layers are merged, and the `Config` is built
from the result. Every setting keeps its origin. Nothing here reads the state of the process: environment,
home, current directory and clock are parameters.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping

from groundwire.config import paths
from groundwire.config.keys import SEARCH, Path, dotted
from groundwire.config.kinds import Context
from groundwire.config.layers import (
    Layer,
    SettingValue,
    check_providers,
    defined,
    nearest,
    read_environment,
    read_file,
    read_flags,
)
from groundwire.config.opencode import OpenCode, read_opencode
from groundwire.config.schema import (
    DEFAULT_ORDER,
    KNOWN_PROVIDERS,
    Config,
    ConfiguredPrices,
    GatewaySettings,
    HiddenKey,
    ProviderSettings,
    Setting,
    TemplateSettings,
    VerifySettings,
)
from groundwire.credentials.redact import redact_patterns
from groundwire.credentials.secret import PLACEHOLDER
from groundwire.errors import ConfigError, RequestError
from groundwire.files.text_file import read_text
from groundwire.model import Json, Location, SearchOptions
from groundwire.model.value import field_names, replace

DEFAULT = "default"
_SHORTEST_KEY = 20
_LOCATION = ("country", "region", "city", "timezone")


def load(
    env: Mapping[str, str],
    home: str,
    cwd: str,
    flags: Mapping[str, Json] | None = None,
    now: Callable[[], float] = time.time,
    template: str = "",
) -> Config:
    """Load the configuration. Raises `ConfigError` for errors in our own files, variables and flags.

    The search options of the `template` are used, unless flags set them; raises `RequestError` if there is no
    template of this name.
    """
    context = Context(cwd, home, now())
    known = set(KNOWN_PROVIDERS)
    opencode = read_opencode(env, home, cwd)
    user_file = _user_file(env, home, cwd)
    user = _file(user_file, context, known)
    project_file = os.path.join(cwd, paths.PROJECT_FILE)
    # A user who names the project's file in the environment has made it their own.
    project = {} if _same(project_file, user_file) else _file(project_file, context, known, user_file)
    given, flags_source = read_flags(flags or {}, context)
    known |= defined(given)
    check_providers(given, known, flags_source)
    environment, environment_source, unknown = read_environment(env, known, context)
    check_providers(environment, known, environment_source)
    layers = (_defaults(env, home), opencode.models, user, project, environment)
    merged = {path: entry for layer in layers for path, entry in layer.items()}
    merged |= {**(_template_options(merged, template) if template else {}), **given}
    return _config(merged, opencode, unknown, paths.config_dir(env, home))


def _user_file(env: Mapping[str, str], home: str, cwd: str) -> str:
    named = env.get("GROUNDWIRE_CONFIG", "")
    if not named:
        return os.path.join(paths.config_dir(env, home), paths.USER_FILE)
    path = paths.resolved(named, cwd, home)
    if not os.path.exists(path):
        raise ConfigError(f"GROUNDWIRE_CONFIG names {path}, which does not exist; correct or unset it")
    return path


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _file(path: str, context: Context, known: set[str], own_file: str = "") -> Layer:
    """Read a file; the providers that it defines are added to `known`."""
    text = read_text(path)
    if text is None:
        return {}
    layer, source = read_file(text, path, context._replace(base=os.path.dirname(path)), own_file)
    known |= defined(layer)
    check_providers(layer, known, source)
    return layer


def _defaults(env: Mapping[str, str], home: str) -> Layer:
    return {
        ("order",): SettingValue(list(DEFAULT_ORDER), DEFAULT),
        ("data_dir",): SettingValue(paths.data_dir(env, home), DEFAULT),
        # Machines that run tests and builds are thrown away before a complete index is of use.
        ("build_index",): SettingValue(not env.get("CI"), DEFAULT),
    }


def _template_options(merged: Layer, name: str) -> Layer:
    """The search options of a template, as a layer."""
    table = {path[2]: entry for path, entry in merged.items() if path[:2] == ("templates", name)}
    if not table:
        known = sorted({path[1] for path in merged if path[0] == "templates"})
        similar = nearest(name, known)
        listed = f"known are {', '.join(known)}" if known else "the configuration has no [templates.NAME]"
        raise RequestError(
            f"there is no template {name!r}; " + (f"did you mean {similar}?" if similar else listed)
        )
    return {("search", key): entry for key, entry in table.items() if key in SEARCH.members}


def _config(
    merged: Mapping[Path, SettingValue], opencode: OpenCode, unknown: tuple[str, ...], config_dir: str
) -> Config:
    found = {path: entry.value for path, entry in merged.items()}
    config = Config(
        providers=_providers(found),
        search=_search({path[1]: item for path, item in found.items() if path[0] == "search"}),
        gateway=replace(
            GatewaySettings(),
            **{path[1]: _frozen(item) for path, item in found.items() if path[0] == "gateway"},
        ),
        verify=replace(
            VerifySettings(), **{path[1]: item for path, item in found.items() if path[0] == "verify"}
        ),
        aliases={path[1]: str(item) for path, item in found.items() if path[0] == "aliases"},
        templates={name: _template(table) for name, table in _tables(found, "templates")},
        prices=_prices(found),
        config_dir=config_dir,
        geminisearch=HiddenKey({name: str(entry.value) for name, entry in opencode.geminisearch.items()}),
        settings=_settings(merged, opencode),
        warnings=(*opencode.warnings, *unknown),
    )
    top = {path[0]: _frozen(item) for path, item in found.items() if len(path) == 1}
    return replace(config, **top)


def _providers(found: Mapping[Path, Json]) -> dict[str, ProviderSettings]:
    return {name: replace(ProviderSettings(), **table) for name, table in _tables(found, "providers")}


def _template(table: Mapping[str, Json]) -> TemplateSettings:
    own = {name: item for name, item in table.items() if name in field_names(TemplateSettings)}
    return replace(TemplateSettings(), **own)


def _prices(found: Mapping[Path, Json]) -> dict[str, ConfiguredPrices]:
    return {name: replace(ConfiguredPrices(), **table) for name, table in _tables(found, "prices")}


def _tables(found: Mapping[Path, Json], section: str) -> list[tuple[str, dict[str, Json]]]:
    """The tables of a section by the names that the user chose."""
    tables: dict[str, dict[str, Json]] = {}
    for path, item in found.items():
        if path[0] == section:
            tables.setdefault(path[1], {})[path[2]] = item
    return sorted(tables.items())


def _search(found: Mapping[str, Json]) -> SearchOptions:
    location = {name: item for name, item in found.items() if name in _LOCATION}
    options = {name: _frozen(item) for name, item in found.items() if name not in _LOCATION}
    if location:
        options["location"] = replace(Location(), **location)
    return replace(SearchOptions(), **options)


def _frozen(item: Json) -> object:
    return tuple(item) if isinstance(item, list) else item


def _settings(merged: Mapping[Path, SettingValue], opencode: OpenCode) -> tuple[Setting, ...]:
    """All settings with their origins; secrets are masked."""
    found = [
        Setting(dotted(path), entry.value if entry.origin == DEFAULT else _shown(entry.value), entry.origin)
        for path, entry in merged.items()
    ]
    for name, entry in opencode.geminisearch.items():
        shown = PLACEHOLDER if name == "apiKey" else _shown(entry.value)
        found.append(Setting(f"geminisearch.{name}", shown, entry.origin))
    return tuple(sorted(found, key=lambda setting: setting.name))


_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def _shown(item: Json) -> Json:
    if isinstance(item, str) and _PASSWORD.search(item):
        item = _PASSWORD.sub(PLACEHOLDER, item)  # the credentials of a database URL are not shown
    # A user may write a key into a field for a name; no key is shorter than this, and most names are.
    if isinstance(item, list):
        return [_shown(entry) for entry in item]
    return redact_patterns(item) if isinstance(item, str) and len(item) >= _SHORTEST_KEY else item
