"""The standard library as one thing: where its modules are, and who really defines a public name."""

from __future__ import annotations

import os.path
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from typing import Protocol, cast

from groundwire.engine.knowledge.inventory import DOCUMENTED
from groundwire.engine.knowledge.natives import native_outline
from groundwire.engine.knowledge.outline import Entry, Outline
from groundwire.engine.knowledge.sources import read_outline
from groundwire.model.value import replace

_DEPTH = 6
"""How often a name may come from yet another module."""

# What a public module is really called, where its name is given to it while Python starts.
_FILES = {"os.path": os.path.__name__, "collections.abc": "_collections_abc"}

# Modules whose functions are the methods of one object, bound while they are imported.
_BOUND = {"multiprocessing": ("multiprocessing.context", "BaseContext")}

# Modules that take functions of an inner one under shorter names while they are imported.
_SHORTENED = {"hashlib": ("_hashlib", "openssl_")}


class _Readable(Protocol):
    def get_source(self, name: str) -> str | None: ...


class Library:
    """Outlines of modules, each read once."""

    def __init__(self) -> None:
        self._outlines: dict[str, Outline] = {}

    def outline(self, module: str) -> Outline:
        """What a module says of itself; empty where there is none."""
        if module not in self._outlines:
            self._outlines[module] = _read(_FILES.get(module, module))
        return self._outlines[module]

    def has(self, module: str) -> bool:
        """Is there such a module, with something to read?"""
        outline = self.outline(module)
        return bool(outline.doc or outline.entries or outline.stars)

    def members(self, module: str) -> Iterator[tuple[str, Entry]]:
        """The public names of a module, with what their real home says about them."""
        if module in _BOUND:
            bound = self._resolve(*_BOUND[module])
            yield from bound.members if bound else ()
        if module in _SHORTENED:
            yield from self._shortened(*_SHORTENED[module])
        for name in self._public(module):
            entry = self._resolve(module, name)
            if entry is not None:
                yield name, entry

    def _shortened(self, inner: str, prefix: str) -> Iterator[tuple[str, Entry]]:
        for name, entry in self.outline(inner).entries.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), entry

    def _public(self, module: str, depth: int = _DEPTH) -> dict[str, None]:
        """Names in the order in which they are told, each once."""
        outline = self.outline(module)
        names = dict.fromkeys(outline.exported)
        if not outline.is_open or not depth:
            return names
        for star in outline.stars:
            # What another documented module tells is told there.
            names |= {} if star in DOCUMENTED else self._public(star, depth - 1)
        if not outline.exported:
            told = [*outline.entries]
            told += [name for name, said in outline.aliases.items() if said in outline.entries]
            told += [name for name, (place, _) in outline.imports.items() if _is_private(place)]
            names |= dict.fromkeys(name for name in told if name != "*" and not name.startswith("_"))
        return names

    def _resolve(self, module: str, name: str, depth: int = _DEPTH) -> Entry | None:
        """Whoever documents a name; else whoever defines it."""
        outline = self.outline(module)
        known = outline.entries.get(name)
        if not depth:
            return known
        if known is not None:
            known = self._with_inherited(module, known, depth)
        if known is not None and known.doc:
            return known
        for place, original in _places(outline, module, name):
            found = self._named(place, original, depth - 1)
            if found and known and found.doc:
                return replace(known, doc=found.doc, members=known.members or found.members)
            if found and not known:
                return found
        return known

    def _named(self, module: str, path: str, depth: int) -> Entry | None:
        """What a dotted name means inside a module."""
        name, _, rest = path.partition(".")
        entry = self._resolve(module, name, depth)
        return dict(entry.members).get(rest) if entry and rest else entry

    def _with_inherited(self, module: str, entry: Entry, depth: int) -> Entry:
        """A class with what it has from private bases, which have no page of their own."""
        members = dict(entry.members)
        doc = entry.doc
        for written in entry.bases:
            place, dot, name = written.rpartition(".")
            if not (name.startswith("_") or place.startswith("_")):
                continue
            base = self._resolve(place if dot else module, name, depth - 1)
            if base is not None:
                members = {**dict(base.members), **members}
                doc = doc or base.doc
        return replace(entry, doc=doc, members=tuple(members.items()))


def _places(outline: Outline, module: str, name: str) -> list[tuple[str, str]]:
    """Where else a name may be explained, nearest first."""
    said = outline.aliases.get(name, name)
    head, _, rest = said.partition(".")
    if outline.imports.get(head, ("", "*"))[1] == "":
        return [(outline.imports[head][0], rest)]
    if said != name:
        return [(module, said)]
    if name in outline.imports:
        return [outline.imports[name]]
    return [(star, name) for star in outline.stars]


def _is_private(module: str) -> bool:
    """Is it the inner half of a module?"""
    return module.rpartition(".")[2].startswith("_")


def _read(module: str) -> Outline:
    spec = None if module in sys.builtin_module_names else _located(module)
    if spec is None or spec.loader is None:
        return native_outline(module)
    if not hasattr(spec.loader, "get_source"):
        return Outline()
    source = cast("_Readable", spec.loader).get_source(spec.name)
    if source is None:
        return native_outline(module)
    return read_outline(source, module, is_package=spec.submodule_search_locations is not None)


def _located(module: str) -> ModuleSpec | None:
    """Where a module of the standard library is, found without importing its parents."""
    inner = [path for path in sys.path if path.endswith((".zip", "lib-dynload", "DLLs"))]
    paths: list[str] | None = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *inner]
    spec = None
    name = ""
    for part in module.split("."):
        if paths is None:
            return None
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, paths)
        if spec is None:
            return None
        paths = spec.submodule_search_locations
    return spec
