"""Outlines out of source text, by its syntax tree: nothing is imported, nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from groundwire.engine.knowledge.outline import Entry, Kind, Outline
from groundwire.model.value import value

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_FAULTS = ("Error", "Exception", "Warning", "Interrupt", "Exit")


@value
class _Exports:
    names: tuple[str, ...] = ()
    is_open: bool = False


def read_outline(source: str, module: str, *, is_package: bool) -> Outline:
    """What a module says of itself. Source that does not parse says nothing."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return Outline()
    entries: dict[str, Entry] = {}
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
    return Outline(
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
    """What a module imports only when it is asked for, under the names it is asked for."""
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


def _class(node: ast.ClassDef) -> Entry:
    functions = [item for item in _statements(node.body) if isinstance(item, Function)]
    makers = {item.name: item for item in reversed(functions) if item.name in ("__init__", "__new__")}
    maker = makers.get("__init__") or makers.get("__new__")
    members: dict[str, Entry] = {}
    for item in functions:
        if not item.name.startswith("_") and not _is_variant(item):
            members.setdefault(item.name, _function(item, is_method=True))
    doc = ast.get_docstring(node) or ""
    made = (ast.get_docstring(makers["__init__"]) or "") if "__init__" in makers else ""
    return Entry(
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
        elif said := _dotted(node.value).removesuffix(".__doc__"):
            head, dot, rest = said.partition(".")
            aliases.setdefault(name, f"{makers.get(head, head)}{dot}{rest}")
    return aliases


def _class_kind(node: ast.ClassDef) -> Kind:
    bases = [ast.unparse(base) for base in node.bases]
    return "exception" if any(base.endswith(_FAULTS) for base in bases) else "class"


def _function(node: Function, *, is_method: bool = False) -> Entry:
    names = {name.rpartition(".")[2] for name in map(_dotted, node.decorator_list)}
    doc = ast.get_docstring(node) or ""
    if is_method and names & {"property", "cached_property", "abstractproperty", "DynamicClassAttribute"}:
        return Entry("property", doc=doc)
    return Entry("function", _signature(node, is_method=is_method and "staticmethod" not in names), doc)


def _is_variant(node: Function) -> bool:
    """Is it the setter of a property, or one of several typings of a function?"""
    return any(
        name.endswith((".setter", ".deleter", "overload")) for name in map(_dotted, node.decorator_list)
    )


def _dotted(node: ast.expr) -> str:
    """The name of what is called, decorates or is meant; empty if it is no plain name."""
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
    """What is said about `__all__`; nothing if it is not there."""
    said = [_names(part) for node in _statements(tree.body) for part in _said_of_all(node)]
    if not said:
        return None
    names = tuple(name for part in said for name in part.names)
    return _Exports(names, any(part.is_open for part in said))


def _said_of_all(node: ast.stmt) -> list[ast.expr]:
    """What a statement assigns or adds to `__all__`."""
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
