"""Where OpenCode's configuration lies, in the order in which it is merged; later wins.

Global `config.json`, `opencode.json`, `opencode.jsonc`; the file named by `OPENCODE_CONFIG`; the project's
`opencode.json(c)` from the root of the git worktree down to the current directory, nearer wins (without a
worktree from the root of the file system); `.opencode/` directories from the current directory *up*, so
that here the outer one wins, then `~/.opencode` and `OPENCODE_CONFIG_DIR`; `OPENCODE_CONFIG_CONTENT`; and
what an administrator manages. What OpenCode fetches over the network is not read.

A project's files are those that come with a directory somebody else may have written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from groundwire.config.paths import opencode_config_dir, resolved
from groundwire.model.value import replace, value

INLINE = "OPENCODE_CONFIG_CONTENT"
NAMES = ("opencode.json", "opencode.jsonc")

_MANAGED = {"darwin": "/Library/Application Support/opencode", "win32": r"C:\ProgramData\opencode"}


@value
class Place:
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


def places(env: Mapping[str, str], home: str, cwd: str, managed: str) -> list[Place]:
    """Every place that may hold something, in the order of merging."""
    theirs = {place.path for place in _own(env, home, cwd, managed)}
    found: dict[str, Place] = {}
    for place in _all(env, home, cwd, managed):
        # A directory can be both the user's own and above the current one: then it is the user's.
        trusted = replace(place, project=False) if place.project and place.path in theirs else place
        found.setdefault(f"{place.path}{INLINE if place.text is not None else ''}", trusted)
    return list(found.values())


def _all(env: Mapping[str, str], home: str, cwd: str, managed: str) -> Iterator[Place]:
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
        yield Place(cwd, text=inline)
    yield from (Place(os.path.join(managed, name)) for name in NAMES)


def _own(env: Mapping[str, str], home: str, cwd: str, managed: str) -> Iterator[Place]:
    yield from _global(env, home, cwd)
    yield from _directories(env, home, cwd)
    yield from (Place(os.path.join(managed, name)) for name in NAMES)


def _global(env: Mapping[str, str], home: str, cwd: str) -> Iterator[Place]:
    directory = opencode_config_dir(env, home)
    yield from (Place(os.path.join(directory, name)) for name in ("config.json", *NAMES))
    if named := env.get("OPENCODE_CONFIG", ""):
        yield Place(resolved(named, cwd, home), named="OPENCODE_CONFIG")


def _directories(env: Mapping[str, str], home: str, cwd: str) -> Iterator[Place]:
    directories = [os.path.join(home, ".opencode")]
    if named := env.get("OPENCODE_CONFIG_DIR", ""):
        directories.append(resolved(named, cwd, home))
    yield from (Place(os.path.join(directory, name)) for directory in directories for name in NAMES)


def _project(directory: str, inside: str) -> Iterator[Place]:
    yield from (Place(os.path.join(directory, name), project=True, inside=inside) for name in NAMES)


def _worktree(cwd: str) -> str:
    """The root of the git worktree; a submodule's or a linked worktree's `.git` is a file. Empty without."""
    return next((path for path in _above(cwd, "") if os.path.exists(os.path.join(path, ".git"))), "")


def _above(cwd: str, root: str) -> list[str]:
    """The directory itself and those above it, up to a root."""
    found = [os.path.normpath(cwd)]
    while found[-1] != root and os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found
