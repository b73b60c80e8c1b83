"""What we take from OpenCode's configuration: models for web search, and the block of `geminisearch`.

Files are merged deeply, later wins, lists are replaced. Only a handful of texts is read, so the merge is
not built: the way to each of them is walked through the files in order, which comes to the same.

A broken file of OpenCode's must not break groundwire: it becomes a warning. A project's file may choose a
model, never a key: at most it names a variable that holds a Gemini key anyway, for users who set none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from groundwire.config.keys import Path
from groundwire.config.layers import Entry, Layer
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
    """A file of OpenCode's, or the variable that stands for one."""

    path: str
    project: bool = False
    inside: str = ""
    """For a project's file: the directory it may insert files from."""
    named: str = ""
    """The variable that names the file; then it should exist."""
    text: str | None = None
    """The text of a variable; then `path` is where relative paths start."""

    @property
    def origin(self) -> str:
        """For people."""
        return self.path if self.text is None else f"environment {INLINE}"


def managed_dir(platform: str = sys.platform) -> str:
    """Where an administrator puts a configuration that nobody overrides."""
    return _MANAGED.get(platform, "/etc/opencode")


def config_files(env: Mapping[str, str], home: str, cwd: str, managed: str) -> list[ConfigFile]:
    """Every place that may hold something, in the order of merging."""
    theirs = {place.path for place in _own(env, home, cwd, managed)}
    found: dict[str, ConfigFile] = {}
    for place in _all(env, home, cwd, managed):
        # A directory can be both the user's own and above the current one: then it is the user's.
        trusted = replace(place, project=False) if place.project and place.path in theirs else place
        found.setdefault(f"{place.path}{INLINE if place.text is not None else ''}", trusted)
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
    """The root of the git worktree; a submodule's or a linked worktree's `.git` is a file. Empty without."""
    return next((path for path in _above(cwd, "") if os.path.exists(os.path.join(path, ".git"))), "")


def _above(cwd: str, root: str) -> list[str]:
    """The directory itself and those above it, up to a root."""
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
"""OpenCode's providers, and ours that take their model."""

GEMINI_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")

_TOKENS = ("{env:", "{file:")
"""How those begin that a project was not given."""


@value
class OpenCode:
    """What was found, and what has to be said about it."""

    models: Layer
    geminisearch: Mapping[str, Entry]
    warnings: tuple[str, ...]


class Document(NamedTuple):
    """One file, read."""

    origin: str
    body: JsonObject
    project: bool


class _Found(NamedTuple):
    path: Path
    """As far as the way went: less than all of it where something is no object."""
    value: Json
    document: Document


def read_opencode(env: Mapping[str, str], home: str, cwd: str, managed: str = "") -> OpenCode:
    """Everything of OpenCode's that concerns us."""
    warnings: list[str] = []
    documents = list(_documents(config_files(env, home, cwd, managed or managed_dir()), env, home, warnings))
    models: dict[Path, Entry] = {}
    for name, ours in MODELS.items():
        entry = _model(documents, ("provider", name, "options", "websearch", "model"), warnings)
        if entry is not None:
            models |= {("providers", own, "model"): entry for own in ours}
    block: dict[str, Entry] = {}
    options = ("provider", "geminisearch", "options")
    if (key := _key(documents, (*options, "apiKey"), env, warnings)) is not None:
        block["apiKey"] = key
    if (model := _model(documents, (*options, "model"), warnings)) is not None:
        block["model"] = model
    if (raw := _flag(documents, (*options, "groundingMetadata"), warnings)) is not None:
        block["groundingMetadata"] = raw
    return OpenCode(models, block, tuple(dict.fromkeys(warnings)))


def resolve(documents: Iterable[Document], path: Path) -> _Found | None:
    """What stands at a path when all documents are merged; None where nothing does."""
    found = None
    for document in documents:
        stop = _descend(document.body, path)
        if stop is not None:
            found = _Found(*stop, document)
    return None if found is None or found.value is None else found


def _descend(body: JsonObject, path: Path) -> tuple[Path, Json] | None:
    """How far a document goes along a path; None when it says nothing about it."""
    node: Json = body
    for depth, name in enumerate(path):
        if not isinstance(node, dict):
            return path[:depth], node
        if name not in node:
            return None
        node = node[name]
    return path, node


def _documents(
    found: Iterable[ConfigFile], env: Mapping[str, str], home: str, warnings: list[str]
) -> Iterator[Document]:
    for place in found:
        try:
            text = read_text(place.path) if place.text is None else place.text
            body = _body(text, place, env, home) if text else {}
        except ConfigError as error:
            warnings.append(f"{error.message} (in OpenCode's configuration; the file is ignored)")
            continue
        if text is None and place.named:
            warnings.append(f"{place.named} names {place.path}, which does not exist")
        yield Document(place.origin, body, place.project)


def _body(text: str, place: ConfigFile, env: Mapping[str, str], home: str) -> JsonObject:
    from groundwire.config.opencode_text import read_body  # noqa: PLC0415  for those who have OpenCode

    return read_body(text, place, env, home)


def _model(documents: list[Document], path: Path, warnings: list[str]) -> Entry | None:
    given = [document for document in documents if not _is_withheld(document, path, warnings)]
    found = resolve(given, path)
    if found is None or _is_broken(found, path, warnings):
        return None
    text = found.value.strip() if isinstance(found.value, str) else ""
    if not text or not text.isprintable():
        warnings.append(
            f"{found.document.origin}: {'.'.join(path)} is not the name of a model; it is ignored, "
            "and the default is used"
        )
        return None
    return Entry(text, found.document.origin)


def _flag(documents: list[Document], path: Path, warnings: list[str]) -> Entry | None:
    found = resolve(documents, path)
    if found is None or _is_broken(found, path, warnings):
        return None
    if not isinstance(found.value, bool):
        warnings.append(f"{found.document.origin}: {'.'.join(path)} must be true or false; it is ignored")
        return None
    return Entry("true" if found.value else "", found.document.origin)


def _key(documents: list[Document], path: Path, env: Mapping[str, str], warnings: list[str]) -> Entry | None:
    """The user's own key; without one, that of a variable which the project names."""
    named = [_named_key(document, path, env, warnings) for document in documents if document.project]
    found = resolve((document for document in documents if not document.project), path)
    if found is None or _is_broken(found, path, warnings):
        return next((entry for entry in reversed(named) if entry is not None), None)
    text = found.value.strip() if isinstance(found.value, str) else None
    if text is None or not is_sendable(text):
        warnings.append(f"{found.document.origin}: {'.'.join(path)} is not a key; it is ignored")
        return None
    return Entry(text, found.document.origin) if text else None


def _named_key(document: Document, path: Path, env: Mapping[str, str], warnings: list[str]) -> Entry | None:
    stop = _descend(document.body, path)
    if stop is None or stop[0] != path or stop[1] is None:
        return None
    for name in GEMINI_VARIABLES:
        if stop[1] == f"{{env:{name}}}":
            text = env.get(name, "").strip()
            return Entry(text, document.origin) if text and is_sendable(text) else None
    warnings.append(
        f"{document.origin}: {'.'.join(path)}: a project's file may not set a key, only name "
        f"{' or '.join(GEMINI_VARIABLES)} as {{env:NAME}}; it is ignored. A key of yours belongs into your "
        "own global configuration of OpenCode, or into GEMINI_API_KEY"
    )
    return None


def _is_broken(found: _Found, path: Path, warnings: list[str]) -> bool:
    if found.path == path:
        return False
    warnings.append(f"{found.document.origin}: {'.'.join(found.path)} is not an object; it is ignored")
    return True


def _is_withheld(document: Document, path: Path, warnings: list[str]) -> bool:
    """Does a project take a model from where it may not? Then what it asked for was never inserted."""
    stop = _descend(document.body, path)
    if not document.project or stop is None or not isinstance(stop[1], str):
        return False
    if not any(token in stop[1] for token in _TOKENS):
        return False
    warnings.append(
        f"{document.origin}: {'.'.join(path)}: a project's file may take a model only from a variable with "
        "MODEL in its name, or from a file inside the project; it is ignored"
    )
    return True
