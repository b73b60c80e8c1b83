"""OpenCode's configuration: models for web search, and the options of `geminisearch`.

Files are merged deeply, later ones win, lists are replaced. Only a few values are read, so the merge is not
built: the path of each value is followed through the files in order, which gives the same result.

The order of the files: global `config.json`, `opencode.json`, `opencode.jsonc`; the file named by
`OPENCODE_CONFIG`; the project's `opencode.json(c)` from the root of the git worktree down to the current
directory, nearer ones win (without a worktree from the root of the file system); `.opencode/` directories
from the current directory
*up*, so here the outer one wins, then `~/.opencode` and `OPENCODE_CONFIG_DIR`; `OPENCODE_CONFIG_CONTENT`; and
the managed configuration of an administrator. Configuration that OpenCode fetches over the network is not
read.

A broken file of OpenCode's must not break groundwire: it becomes a warning. A project's file, which another
person may have written, may choose a model, never a key: at most it names a variable that holds a Gemini key
anyway, for users who have set none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from groundwire.config.keys import Path
from groundwire.config.layers import Layer, SettingValue
from groundwire.config.paths import opencode_config_dir, resolved
from groundwire.credentials.secret import is_sendable
from groundwire.errors import ConfigError
from groundwire.files.text_file import read_text
from groundwire.model import Json, JsonObject
from groundwire.model.value import replace, value

INLINE = "OPENCODE_CONFIG_CONTENT"
NAMES = ("opencode.json", "opencode.jsonc")

_MANAGED = {"darwin": "/Library/Application Support/opencode", "win32": r"C:\ProgramData\opencode"}


@value
class ConfigFile:
    """A configuration file of OpenCode, or the variable that replaces one."""

    path: str
    project: bool = False
    inside: str = ""
    """For a project's file: the directory from which it may insert files."""
    named: str = ""
    """The variable that names the file, which should then exist."""
    text: str | None = None
    """The text of a variable; `path` is then the base of relative paths."""

    @property
    def origin(self) -> str:
        """For display."""
        return self.path if self.text is None else f"environment {INLINE}"


def managed_dir(platform: str = sys.platform) -> str:
    """The directory of the managed configuration, which overrides all others."""
    return _MANAGED.get(platform, "/etc/opencode")


def config_files(env: Mapping[str, str], home: str, cwd: str, managed: str) -> list[ConfigFile]:
    """All files that may exist, in the order of merging."""
    own = {file.path for file in _own(env, home, cwd, managed)}
    found: dict[str, ConfigFile] = {}
    for file in _all(env, home, cwd, managed):
        # A directory can be both the user's own and a parent of the current one: then it is the user's.
        trusted = replace(file, project=False) if file.project and file.path in own else file
        found.setdefault(f"{file.path}{INLINE if file.text is not None else ''}", trusted)
    return list(found.values())


def _all(env: Mapping[str, str], home: str, cwd: str, managed: str) -> Iterator[ConfigFile]:
    root = _worktree(cwd)
    above = _above(cwd, root)
    free = env.get("OPENCODE_DISABLE_PROJECT_CONFIG", "").lower() not in ("1", "true")
    yield from _global(env, home, cwd)
    if free:
        for directory in reversed(above):
            yield from _project(directory, root or directory)
        for directory in above:
            yield from _project(os.path.join(directory, ".opencode"), root or directory)
    yield from _directories(env, home, cwd)
    if inline := env.get(INLINE, ""):
        yield ConfigFile(cwd, text=inline)
    yield from (ConfigFile(os.path.join(managed, name)) for name in NAMES)


def _own(env: Mapping[str, str], home: str, cwd: str, managed: str) -> Iterator[ConfigFile]:
    yield from _global(env, home, cwd)
    yield from _directories(env, home, cwd)
    yield from (ConfigFile(os.path.join(managed, name)) for name in NAMES)


def _global(env: Mapping[str, str], home: str, cwd: str) -> Iterator[ConfigFile]:
    directory = opencode_config_dir(env, home)
    yield from (ConfigFile(os.path.join(directory, name)) for name in ("config.json", *NAMES))
    if named := env.get("OPENCODE_CONFIG", ""):
        yield ConfigFile(resolved(named, cwd, home), named="OPENCODE_CONFIG")


def _directories(env: Mapping[str, str], home: str, cwd: str) -> Iterator[ConfigFile]:
    directories = [os.path.join(home, ".opencode")]
    if named := env.get("OPENCODE_CONFIG_DIR", ""):
        directories.append(resolved(named, cwd, home))
    yield from (ConfigFile(os.path.join(directory, name)) for directory in directories for name in NAMES)


def _project(directory: str, inside: str) -> Iterator[ConfigFile]:
    yield from (ConfigFile(os.path.join(directory, name), project=True, inside=inside) for name in NAMES)


def _worktree(cwd: str) -> str:
    """The root of the git worktree, empty without one. In submodules and linked worktrees `.git` is a
    file."""
    return next((path for path in _above(cwd, "") if os.path.exists(os.path.join(path, ".git"))), "")


def _above(cwd: str, root: str) -> list[str]:
    """The directory and its parents, up to a root."""
    found = [os.path.normpath(cwd)]
    while found[-1] != root and os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found


MODELS: Mapping[str, tuple[str, ...]] = {
    "google": ("gemini",),
    "openai": ("openai", "openai_oauth"),
    "openrouter": ("openrouter",),
    "anthropic": ("anthropic",),
}
"""OpenCode's providers, and those of ours that use the same model."""

GEMINI_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")

_TOKENS = ("{env:", "{file:")
"""The beginnings of tokens that were not replaced in a project's file."""


@value
class OpenCode:
    """The settings found, with warnings."""

    models: Layer
    geminisearch: Mapping[str, SettingValue]
    warnings: tuple[str, ...]


class ParsedConfig(NamedTuple):
    """One parsed file."""

    origin: str
    body: JsonObject
    project: bool


class _Resolved(NamedTuple):
    path: Path
    """The path as far as it exists: a prefix where a value is not an object."""
    value: Json
    config: ParsedConfig


def read_opencode(env: Mapping[str, str], home: str, cwd: str, managed: str = "") -> OpenCode:
    """Read all settings of OpenCode that groundwire uses."""
    warnings: list[str] = []
    configs = list(_parsed_files(config_files(env, home, cwd, managed or managed_dir()), env, home, warnings))
    models: dict[Path, SettingValue] = {}
    for name, ours in MODELS.items():
        entry = _model(configs, ("provider", name, "options", "websearch", "model"), warnings)
        if entry is not None:
            models |= {("providers", own, "model"): entry for own in ours}
    block: dict[str, SettingValue] = {}
    options = ("provider", "geminisearch", "options")
    if (key := _key(configs, (*options, "apiKey"), env, warnings)) is not None:
        block["apiKey"] = key
    if (model := _model(configs, (*options, "model"), warnings)) is not None:
        block["model"] = model
    if (raw := _flag(configs, (*options, "groundingMetadata"), warnings)) is not None:
        block["groundingMetadata"] = raw
    return OpenCode(models, block, tuple(dict.fromkeys(warnings)))


def resolve(configs: Iterable[ParsedConfig], path: Path) -> _Resolved | None:
    """The value at a path after merging all files; None if there is none."""
    found = None
    for config in configs:
        reached = _descend(config.body, path)
        if reached is not None:
            found = _Resolved(*reached, config)
    return None if found is None or found.value is None else found


def _descend(body: JsonObject, path: Path) -> tuple[Path, Json] | None:
    """Follow a path as far as it exists; None where the file does not set it."""
    node: Json = body
    for depth, name in enumerate(path):
        if not isinstance(node, dict):
            return path[:depth], node
        if name not in node:
            return None
        node = node[name]
    return path, node


def _parsed_files(
    found: Iterable[ConfigFile], env: Mapping[str, str], home: str, warnings: list[str]
) -> Iterator[ParsedConfig]:
    for file in found:
        try:
            text = read_text(file.path) if file.text is None else file.text
            body = _body(text, file, env, home) if text else {}
        except ConfigError as error:
            warnings.append(f"{error.message} (in OpenCode's configuration; the file is ignored)")
            continue
        if text is None and file.named:
            warnings.append(f"{file.named} names {file.path}, which does not exist")
        yield ParsedConfig(file.origin, body, file.project)


def _body(text: str, file: ConfigFile, env: Mapping[str, str], home: str) -> JsonObject:
    from groundwire.config.opencode_text import read_body  # noqa: PLC0415  only for users of OpenCode

    return read_body(text, file, env, home)


def _model(configs: list[ParsedConfig], path: Path, warnings: list[str]) -> SettingValue | None:
    given = [config for config in configs if not _is_withheld(config, path, warnings)]
    found = resolve(given, path)
    if found is None or _is_broken(found, path, warnings):
        return None
    text = found.value.strip() if isinstance(found.value, str) else ""
    if not text or not text.isprintable():
        warnings.append(
            f"{found.config.origin}: {'.'.join(path)} is not the name of a model; it is ignored, "
            "and the default is used"
        )
        return None
    return SettingValue(text, found.config.origin)


def _flag(configs: list[ParsedConfig], path: Path, warnings: list[str]) -> SettingValue | None:
    found = resolve(configs, path)
    if found is None or _is_broken(found, path, warnings):
        return None
    if not isinstance(found.value, bool):
        warnings.append(f"{found.config.origin}: {'.'.join(path)} must be true or false; it is ignored")
        return None
    return SettingValue("true" if found.value else "", found.config.origin)


def _key(
    configs: list[ParsedConfig], path: Path, env: Mapping[str, str], warnings: list[str]
) -> SettingValue | None:
    """The user's own key; without one, the key in a variable that the project names."""
    named = [_named_key(config, path, env, warnings) for config in configs if config.project]
    found = resolve((config for config in configs if not config.project), path)
    if found is None or _is_broken(found, path, warnings):
        return next((entry for entry in reversed(named) if entry is not None), None)
    text = found.value.strip() if isinstance(found.value, str) else None
    if text is None or not is_sendable(text):
        warnings.append(f"{found.config.origin}: {'.'.join(path)} is not a key; it is ignored")
        return None
    return SettingValue(text, found.config.origin) if text else None


def _named_key(
    config: ParsedConfig, path: Path, env: Mapping[str, str], warnings: list[str]
) -> SettingValue | None:
    reached = _descend(config.body, path)
    if reached is None or reached[0] != path or reached[1] is None:
        return None
    for name in GEMINI_VARIABLES:
        if reached[1] == f"{{env:{name}}}":
            text = env.get(name, "").strip()
            return SettingValue(text, config.origin) if text and is_sendable(text) else None
    warnings.append(
        f"{config.origin}: {'.'.join(path)}: a project's file may not set a key, only name "
        f"{' or '.join(GEMINI_VARIABLES)} as {{env:NAME}}; it is ignored. Put your key into your "
        "global configuration of OpenCode, or into GEMINI_API_KEY"
    )
    return None


def _is_broken(found: _Resolved, path: Path, warnings: list[str]) -> bool:
    if found.path == path:
        return False
    warnings.append(f"{found.config.origin}: {'.'.join(found.path)} is not an object; it is ignored")
    return True


def _is_withheld(config: ParsedConfig, path: Path, warnings: list[str]) -> bool:
    """Does a project's file take a model from a source that is not allowed? Its token was not replaced
    then."""
    reached = _descend(config.body, path)
    if not config.project or reached is None or not isinstance(reached[1], str):
        return False
    if not any(token in reached[1] for token in _TOKENS):
        return False
    warnings.append(
        f"{config.origin}: {'.'.join(path)}: a project's file may take a model only from a variable with "
        "MODEL in its name, or from a file inside the project; it is ignored"
    )
    return True
