"""Outlines of the standard library: modules, their public names, docstrings and where these are written.

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
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from textwrap import dedent
from types import ModuleType
from typing import Literal, Protocol, TypeAlias, cast

from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES, NATIVE_MODULES
from groundwire.model.value import replace, value

Kind: TypeAlias = Literal["class", "exception", "function", "property", "data"]


@value
class ApiEntry:
    """A class, function, property or other name, with its docstring; a class has members."""

    kind: Kind
    header: str = ""
    """The `def` or `class` statement up to its colon, as written; of a compiled one, name and parameters."""
    doc: str = ""
    members: tuple[tuple[str, ApiEntry], ...] = ()
    bases: tuple[str, ...] = ()
    """The base classes, as written."""
    constructor: str = ""
    """The header and the docstring of a class's `__init__` or `__new__`."""
    file: str = ""
    """The source file that has these words, relative to the library's folder; empty if there is none."""
    line: int = 0
    """The line of the statement in it."""


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
    file: str = ""
    """The source file that has the docstring, relative to the library's folder; empty if there is none."""
    line: int = 0
    """The line of the docstring in it."""


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
    reader = _SourceReader(source, module.replace(".", "/") + ("/__init__.py" if is_package else ".py"))
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef):
            entries.setdefault(node.name, reader.class_entry(node))
        elif isinstance(node, Function):
            entries.setdefault(node.name, reader.function_entry(node))
            if node.name == "__getattr__":
                imports |= _imported_late(node, package)
        elif isinstance(node, ast.Import):
            imports |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, package)
            imports |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names}
            stars += [origin for alias in node.names if alias.name == "*"]
    exports = _exports(tree)
    doc = reader.docstring(tree)
    return ModuleOutline(
        doc=doc.text,
        entries=entries,
        imports=imports,
        aliases=_aliases(tree),
        stars=tuple(stars),
        exported=exports.names if exports else (),
        is_open=exports is None or exports.is_open,
        file=doc.file,
        line=doc.line,
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


def _nested_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements at any depth. Expressions, most of the nodes, are left out: they have no statements."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, field, ())


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


@value
class Docstring:
    """A docstring, and where its words are written."""

    text: str = ""
    file: str = ""
    """Empty if no file has these words, as when a literal is put together from several."""
    line: int = 0


class _SourceReader:
    """Reads the entries of one source file."""

    def __init__(self, source: str, file: str) -> None:
        self._file = file
        self._lines = source.splitlines()

    def class_entry(self, node: ast.ClassDef) -> ApiEntry:
        """A class with its public methods and properties."""
        functions = [item for item in _statements(node.body) if isinstance(item, Function)]
        makers = {item.name: item for item in reversed(functions) if item.name in ("__init__", "__new__")}
        maker = makers.get("__init__") or makers.get("__new__")
        members: dict[str, ApiEntry] = {}
        for item in functions:
            if not item.name.startswith("_") and not _is_variant(item):
                members.setdefault(item.name, self.function_entry(item, is_method=True))
        doc = self.docstring(node)
        made = self.docstring(maker) if maker else doc
        constructor = (self._header(maker), made.text) if maker else ()
        return ApiEntry(
            kind=_class_kind(node),
            header=self._header(node),
            doc=doc.text,
            members=tuple(members.items()),
            bases=tuple(map(ast.unparse, node.bases)),
            constructor="\n\n".join(filter(None, constructor)),
            file=doc.file and made.file,
            line=node.lineno,
        )

    def function_entry(self, node: Function, *, is_method: bool = False) -> ApiEntry:
        """A function, a method or a property."""
        names = {name.rpartition(".")[2] for name in map(_dotted, node.decorator_list)}
        is_property = is_method and not names.isdisjoint(_PROPERTIES)
        doc = self.docstring(node)
        kind: Kind = "property" if is_property else "function"
        return ApiEntry(kind, self._header(node), doc.text, file=doc.file, line=node.lineno)

    def docstring(self, node: Function | ast.ClassDef | ast.Module) -> Docstring:
        """The docstring of a statement: its value, or the literal as written if that has escapes."""
        doc = ast.get_docstring(node)
        if not doc:
            return Docstring(file=self._file)
        literal = node.body[0]
        lines = self._lines[literal.lineno - 1 : literal.end_lineno]
        if _squeezed(doc) in _squeezed("\n".join(lines)):
            return Docstring(doc, self._file, literal.lineno)
        lines[0] = lines[0].encode()[literal.col_offset :].decode()
        written = _LITERAL.fullmatch("\n".join(lines).rstrip())
        if written is None:
            return Docstring(doc)
        return Docstring(inspect.cleandoc(written["text"].removeprefix("\\\n")), self._file, literal.lineno)

    def _header(self, node: Function | ast.ClassDef) -> str:
        """The lines of a statement up to its colon, without their indentation and the body."""
        within = node.bases if isinstance(node, ast.ClassDef) else [*ast.walk(node.args), node.returns]
        last = max([node.lineno, *(getattr(item, "end_lineno", None) or 0 for item in within)])
        body = node.body[0]
        while last < body.lineno - 1 and not self._code(last).endswith(":"):
            last += 1
        lines = self._lines[node.lineno - 1 : last]
        if body.lineno == last:
            lines[-1] = lines[-1].encode()[: body.col_offset].decode()
        return dedent("\n".join(lines)).strip()

    def _code(self, line: int) -> str:
        return self._lines[line - 1].partition("#")[0].rstrip()


def _squeezed(text: str) -> str:
    return " ".join(text.split())


_LITERAL = re.compile(r"[rRuU]?(?P<quotes>\"\"\"|'''|\"|')(?P<text>.*)(?P=quotes)", re.DOTALL)
_PROPERTIES = frozenset(("property", "cached_property", "abstractproperty", "DynamicClassAttribute"))


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
    # Which of several conditions holds is only known when the module runs.
    conditional = Counter(
        _dotted(item.targets[0])
        for node in _nested_statements(tree)
        if isinstance(node, ast.If)
        for item in node.body
        if isinstance(item, ast.Assign)
    )
    return {name: original for name, original in aliases.items() if conditional[name] < 2}


def _class_kind(node: ast.ClassDef) -> Kind:
    bases = [ast.unparse(base) for base in node.bases]
    return "exception" if any(base.endswith(_EXCEPTION_SUFFIXES) for base in bases) else "class"


def _is_variant(node: Function) -> bool:
    """Is it the setter of a property, or one of several typings of a function?"""
    return any(
        name.endswith((".setter", ".deleter", "overload")) for name in map(_dotted, node.decorator_list)
    )


def _dotted(node: ast.expr) -> str:
    """The dotted name of an expression; empty if it is not a plain name."""
    called = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(called) if isinstance(called, ast.Name | ast.Attribute) else ""


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
        header = _native_header(f"class {name}", item)
        return ApiEntry(_native_class_kind(item), header, _doc(item), tuple(members))
    if callable(item):
        return ApiEntry("function", _native_header(name, item), _doc(item))
    return ApiEntry("data")


def _member(name: str, item: object) -> ApiEntry:
    if isinstance(item, classmethod | staticmethod):
        item = item.__func__
    if inspect.isroutine(item):
        return ApiEntry("function", _native_header(name, item), _doc(item))
    if inspect.isdatadescriptor(item):
        return ApiEntry("property", doc=_doc(item))
    return ApiEntry("data")


def _native_class_kind(item: type) -> Kind:
    return "exception" if issubclass(item, BaseException) else "class"


def _doc(item: object) -> str:
    doc = getattr(item, "__doc__", None)
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


def _native_header(name: str, item: object) -> str:
    """A C function with its parameters; empty if only its docstring has them."""
    text = getattr(item, "__text_signature__", None)
    return name + _INSTANCE.sub("(", text) if isinstance(text, str) else ""


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
            if found and known and found.doc and found.file:
                # The parameters of another function would be wrong, those of this one are written elsewhere.
                return replace(found, header="", members=known.members or found.members)
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
        written = entry
        for name_of_base in entry.bases:
            owner, dot, name = name_of_base.rpartition(".")
            if not (name.startswith("_") or owner.startswith("_")):
                continue
            base = self._resolve(owner if dot else module, name, depth - 1)
            if base is not None:
                members = {**dict(base.members), **members}
                written = base if base.doc and not written.doc else written
        return replace(written, kind=entry.kind, bases=entry.bases, members=tuple(members.items()))


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
