"""Outlines of the standard library: modules, their public names, docstrings and signatures.

Source files are parsed, not imported. Modules written in C are imported and inspected, if they are in
`inventory.NATIVE_MODULES`. A public name is resolved to the module that documents it.
"""

from __future__ import annotations

import ast
import inspect
import os.path
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Literal, Protocol, TypeAlias, cast

from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES, NATIVE_MODULES
from groundwire.model.value import replace, value

Kind: TypeAlias = Literal["class", "exception", "function", "property", "data"]


@value
class ApiEntry:
    """A class, function, property or other name, with its docstring; a class has members."""

    kind: Kind
    signature: str = ""
    """The parameters in parentheses, as written; empty where there are none to show."""
    doc: str = ""
    members: tuple[tuple[str, ApiEntry], ...] = ()
    bases: tuple[str, ...] = ()
    """The base classes, as written."""


@value
class ModuleOutline:
    """The outline of a module."""

    doc: str = ""
    entries: Mapping[str, ApiEntry] = {}
    imports: Mapping[str, tuple[str, str]] = {}
    """Imported names: the module, and the name there."""
    aliases: Mapping[str, str] = {}
    """Names that mean another name of the module, or a method: `choice` is `Random.choice`."""
    stars: tuple[str, ...] = ()
    """Modules whose public names are taken over as a whole."""
    exported: tuple[str, ...] = ()
    """The literal names of `__all__`."""
    is_open: bool = True
    """Whether there is more than `exported`: no `__all__`, or one that is computed."""


_SIGNATURE = re.compile(r"(?:\w+ = )?[\w.]+\((?:[^()\n]|\([^()\n]*\))*\)(?:[ ]*-+>[ ]*[^\n,]*)?(?:\n|,[ ]|$)")


def summary(doc: str, limit: int = 200) -> str:
    """The first paragraph of a docstring after signatures, on one line, cut at a word."""
    rest = doc.strip()
    while signature := _SIGNATURE.match(rest):
        rest = rest[signature.end() :].strip()
    line = " ".join(rest.partition("\n\n")[0].split())
    if len(line) <= limit:
        return line
    return line[:limit].rpartition(" ")[0] + " …"


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_EXCEPTION_SUFFIXES = ("Error", "Exception", "Warning", "Interrupt", "Exit")


@value
class _Exports:
    names: tuple[str, ...] = ()
    is_open: bool = False


def read_outline(source: str, module: str, *, is_package: bool) -> ModuleOutline:
    """The outline of a source file; empty if it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ModuleOutline()
    entries: dict[str, ApiEntry] = {}
    imports: dict[str, tuple[str, str]] = {}
    stars: list[str] = []
    package = module if is_package else module.rpartition(".")[0]
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef):
            entries.setdefault(node.name, _class(node))
        elif isinstance(node, Function):
            entries.setdefault(node.name, _function(node))
            if node.name == "__getattr__":
                imports |= _imported_late(node, package)
        elif isinstance(node, ast.Import):
            imports |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, package)
            imports |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names}
            stars += [origin for alias in node.names if alias.name == "*"]
    exports = _exports(tree)
    return ModuleOutline(
        doc=ast.get_docstring(tree) or "",
        entries=entries,
        imports=imports,
        aliases=_aliases(tree),
        stars=tuple(stars),
        exported=exports.names if exports else (),
        is_open=exports is None or exports.is_open,
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under conditions and attempts included."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *node.orelse])
            for handler in node.handlers:
                yield from _statements(handler.body)


def _imported_late(function: Function, package: str) -> dict[str, tuple[str, str]]:
    """Names that a module imports lazily in `__getattr__`."""
    return {
        alias.name: (_origin(node, package), alias.name)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _origin(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module a statement imports from."""
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    if not node.level:
        return node.module or ""
    return f"{package}.{node.module}" if node.module else package


def _class(node: ast.ClassDef) -> ApiEntry:
    functions = [item for item in _statements(node.body) if isinstance(item, Function)]
    makers = {item.name: item for item in reversed(functions) if item.name in ("__init__", "__new__")}
    maker = makers.get("__init__") or makers.get("__new__")
    members: dict[str, ApiEntry] = {}
    for item in functions:
        if not item.name.startswith("_") and not _is_variant(item):
            members.setdefault(item.name, _function(item, is_method=True))
    doc = ast.get_docstring(node) or ""
    made = (ast.get_docstring(makers["__init__"]) or "") if "__init__" in makers else ""
    return ApiEntry(
        kind=_class_kind(node),
        signature=_signature(maker, is_method=True) if maker else "",
        doc="\n\n".join(filter(None, (doc, made))),
        members=tuple(members.items()),
        bases=tuple(map(ast.unparse, node.bases)),
    )


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Other names for what is there: `insort = insort_right`, `choice = _inst.choice`; and whose docstring is
    taken: `splitext.__doc__ = genericpath._splitext.__doc__`."""
    makers: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for node in _statements(tree.body):
        if not isinstance(node, ast.Assign):
            continue
        name = _dotted(node.targets[0]).removesuffix(".__doc__")
        if isinstance(node.value, ast.Call):
            makers[name] = _dotted(node.value)
        elif alias := _dotted(node.value).removesuffix(".__doc__"):
            head, dot, rest = alias.partition(".")
            aliases.setdefault(name, f"{makers.get(head, head)}{dot}{rest}")
    return aliases


def _class_kind(node: ast.ClassDef) -> Kind:
    bases = [ast.unparse(base) for base in node.bases]
    return "exception" if any(base.endswith(_EXCEPTION_SUFFIXES) for base in bases) else "class"


def _function(node: Function, *, is_method: bool = False) -> ApiEntry:
    names = {name.rpartition(".")[2] for name in map(_dotted, node.decorator_list)}
    doc = ast.get_docstring(node) or ""
    if is_method and names & {"property", "cached_property", "abstractproperty", "DynamicClassAttribute"}:
        return ApiEntry("property", doc=doc)
    return ApiEntry("function", _signature(node, is_method=is_method and "staticmethod" not in names), doc)


def _is_variant(node: Function) -> bool:
    """Is it the setter of a property, or one of several typings of a function?"""
    return any(
        name.endswith((".setter", ".deleter", "overload")) for name in map(_dotted, node.decorator_list)
    )


def _dotted(node: ast.expr) -> str:
    """The dotted name of an expression; empty if it is not a plain name."""
    called = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(called) if isinstance(called, ast.Name | ast.Attribute) else ""


def _signature(node: Function, *, is_method: bool) -> str:
    """The parameters as written, a method's without the instance."""
    text = ast.unparse(node.args)
    if is_method and not text.startswith("*"):
        text = text.partition(",")[2].lstrip().removeprefix("/").removeprefix(", ")
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({text}){returned}"


def _exports(tree: ast.Module) -> _Exports | None:
    """The names of `__all__`; None if it is not defined."""
    values = [_names(part) for node in _statements(tree.body) for part in _all_values(node)]
    if not values:
        return None
    names = tuple(name for part in values for name in part.names)
    return _Exports(names, any(part.is_open for part in values))


def _all_values(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement assigns or adds to `__all__`."""
    if isinstance(node, ast.Assign):
        return [node.value] if any(_is_all(target) for target in node.targets) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.value] if node.value and _is_all(node.target) else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return node.value.args if isinstance(function, ast.Attribute) and _is_all(function.value) else []
    return []


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _names(node: ast.expr) -> _Exports:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _Exports((node.value,))
    if isinstance(node, ast.List | ast.Tuple):
        parts = [_names(item) for item in node.elts]
        return _Exports(tuple(name for part in parts for name in part.names), any(p.is_open for p in parts))
    return _Exports(is_open=True)


_DOCSTRING_SIGNATURE = re.compile(r"(?:\w+\.)?(?P<name>\w+)(?P<parameters>\([^\n]*?\))(?:\s|$)")
_INSTANCE = re.compile(r"\(\$\w+(?:, /)?(?:, )?")


def native_outline(module: str) -> ModuleOutline:
    """The outline of a native module; empty if it is not on the list, or not available."""
    if module not in NATIVE_MODULES:
        return ModuleOutline()
    try:
        loaded = import_module(module)
    except ImportError:
        return ModuleOutline()
    names = [name for name in vars(loaded) if not name.startswith("__")]
    return ModuleOutline(
        doc=inspect.cleandoc(loaded.__doc__ or ""),
        entries={name: _entry(name, getattr(loaded, name)) for name in names},
        exported=tuple(name for name in names if not name.startswith("_") and not _is_second(loaded, name)),
        is_open=False,
    )


def _is_second(module: ModuleType, name: str) -> bool:
    """Is it another name for a class that the module has under its own?"""
    item = getattr(module, name)
    return inspect.isclass(item) and item.__name__ != name and getattr(module, item.__name__, None) is item


def _entry(name: str, item: object) -> ApiEntry:
    if inspect.isclass(item):
        members = [(key, _member(key, vars(item)[key])) for key in vars(item) if not key.startswith("_")]
        return ApiEntry(_native_class_kind(item), _native_signature(name, item), _doc(item), tuple(members))
    if callable(item):
        return ApiEntry("function", _native_signature(name, item) or "(…)", _doc(item))
    return ApiEntry("data")


def _member(name: str, item: object) -> ApiEntry:
    if isinstance(item, classmethod | staticmethod):
        item = item.__func__
    if inspect.isroutine(item):
        return ApiEntry("function", _native_signature(name, item) or "(…)", _doc(item))
    if inspect.isdatadescriptor(item):
        return ApiEntry("property", doc=_doc(item))
    return ApiEntry("data")


def _native_class_kind(item: type) -> Kind:
    return "exception" if issubclass(item, BaseException) else "class"


def _doc(item: object) -> str:
    doc = getattr(item, "__doc__", None)
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


def _native_signature(name: str, item: object) -> str:
    """The parameters of a C function, from its text signature or the start of its docstring."""
    text = getattr(item, "__text_signature__", None)
    if isinstance(text, str):
        return _INSTANCE.sub("(", text)
    signature = _DOCSTRING_SIGNATURE.match(_doc(item))
    return signature["parameters"] if signature and signature["name"] == name else ""


_DEPTH = 6
"""How many imports a name is followed through."""

# Real names of public modules that get their name while Python starts.
_FILES = {"os.path": os.path.__name__, "collections.abc": "_collections_abc"}

# Modules whose functions are the methods of one object, bound while they are imported.
_BOUND = {"multiprocessing": ("multiprocessing.context", "BaseContext")}

# Modules that take functions of an inner one under shorter names while they are imported.
_SHORTENED = {"hashlib": ("_hashlib", "openssl_")}


class _Readable(Protocol):
    def get_source(self, name: str) -> str | None: ...


class StandardLibrary:
    """Outlines of modules, each read once."""

    def __init__(self) -> None:
        self._outlines: dict[str, ModuleOutline] = {}

    def outline(self, module: str) -> ModuleOutline:
        """The outline of a module; empty if there is no such module."""
        if module not in self._outlines:
            self._outlines[module] = _read(_FILES.get(module, module))
        return self._outlines[module]

    def has(self, module: str) -> bool:
        """Is there such a module, with something to read?"""
        outline = self.outline(module)
        return bool(outline.doc or outline.entries or outline.stars)

    def members(self, module: str) -> Iterator[tuple[str, ApiEntry]]:
        """The public names of a module, with the documentation of the module that defines them."""
        if module in _BOUND:
            bound = self._resolve(*_BOUND[module])
            yield from bound.members if bound else ()
        if module in _SHORTENED:
            yield from self._shortened(*_SHORTENED[module])
        for name in self._public(module):
            entry = self._resolve(module, name)
            if entry is not None:
                yield name, entry

    def _shortened(self, inner: str, prefix: str) -> Iterator[tuple[str, ApiEntry]]:
        for name, entry in self.outline(inner).entries.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), entry

    def _public(self, module: str, depth: int = _DEPTH) -> dict[str, None]:
        """Public names in order of definition, each once."""
        outline = self.outline(module)
        names = dict.fromkeys(outline.exported)
        if not outline.is_open or not depth:
            return names
        for star in outline.stars:
            # Names of another documented module have their pages there.
            names |= {} if star in DOCUMENTED_MODULES else self._public(star, depth - 1)
        if not outline.exported:
            candidates = [*outline.entries]
            candidates += [name for name, original in outline.aliases.items() if original in outline.entries]
            candidates += [name for name, (origin, _) in outline.imports.items() if _is_private(origin)]
            names |= dict.fromkeys(name for name in candidates if name != "*" and not name.startswith("_"))
        return names

    def _resolve(self, module: str, name: str, depth: int = _DEPTH) -> ApiEntry | None:
        """The entry that documents a name; else the one that defines it."""
        outline = self.outline(module)
        known = outline.entries.get(name)
        if not depth:
            return known
        if known is not None:
            known = self._with_inherited(module, known, depth)
        if known is not None and known.doc:
            return known
        for origin, original in _origins(outline, module, name):
            found = self._named(origin, original, depth - 1)
            if found and known and found.doc:
                return replace(known, doc=found.doc, members=known.members or found.members)
            if found and not known:
                return found
        return known

    def _named(self, module: str, path: str, depth: int) -> ApiEntry | None:
        """Resolves a dotted name inside a module."""
        name, _, rest = path.partition(".")
        entry = self._resolve(module, name, depth)
        return dict(entry.members).get(rest) if entry and rest else entry

    def _with_inherited(self, module: str, entry: ApiEntry, depth: int) -> ApiEntry:
        """A class with the members of its private bases, which have no page of their own."""
        members = dict(entry.members)
        doc = entry.doc
        for written in entry.bases:
            owner, dot, name = written.rpartition(".")
            if not (name.startswith("_") or owner.startswith("_")):
                continue
            base = self._resolve(owner if dot else module, name, depth - 1)
            if base is not None:
                members = {**dict(base.members), **members}
                doc = doc or base.doc
        return replace(entry, doc=doc, members=tuple(members.items()))


def _origins(outline: ModuleOutline, module: str, name: str) -> list[tuple[str, str]]:
    """Other modules that may document a name, nearest first."""
    original = outline.aliases.get(name, name)
    head, _, rest = original.partition(".")
    if outline.imports.get(head, ("", "*"))[1] == "":
        return [(outline.imports[head][0], rest)]
    if original != name:
        return [(module, original)]
    if name in outline.imports:
        return [outline.imports[name]]
    return [(star, name) for star in outline.stars]


def _is_private(module: str) -> bool:
    """Is it a private module?"""
    return module.rpartition(".")[2].startswith("_")


def _read(module: str) -> ModuleOutline:
    spec = None if module in sys.builtin_module_names else _located(module)
    if spec is None or spec.loader is None:
        return native_outline(module)
    if not hasattr(spec.loader, "get_source"):
        return ModuleOutline()
    source = cast("_Readable", spec.loader).get_source(spec.name)
    if source is None:
        return native_outline(module)
    return read_outline(source, module, is_package=spec.submodule_search_locations is not None)


def _located(module: str) -> ModuleSpec | None:
    """Finds a module of the standard library without importing its parents."""
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
