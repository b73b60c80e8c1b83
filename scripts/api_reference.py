"""Generate docs/api.md: the Python API, from the signatures and docstrings of the public names.

The source is parsed, so that annotations appear as they are written. With `--check`, nothing is written; the
exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args, get_origin

import groundwire
from groundwire import model

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
PACKAGE = ROOT / "src" / "groundwire"
WIDTH = 100

CLIENT = ("search", "asearch", "stream", "Groundwire")
MODEL = {
    "request": "Requests",
    "answer": "Answers",
    "source": "Sources and citations",
    "events": "Events",
    "parts": "Parts of messages and answers",
    "usage": "Usage",
    "extras": "JSON and extras",
}
"""The modules of the model in the order of the page, with their headings."""
NOT_FOR_TESTS = {"main", "Playing", "read_request"}
"""Names of `groundwire.testing` that only its own modules use."""

_HEAD = """\
# Python API

This page lists the public names of the Python package, with their signatures and fields.

```python
import groundwire

answer = groundwire.search("Which Python release removed the GIL?")
print(answer.text)
for citation in answer.citations:
    claim = answer.text[slice(*citation.span)] if citation.span else "the whole answer"
    print(claim, [item.source.url for item in citation.evidence])
```

| task | use |
|---|---|
| ask one question | [`search`](#search), or [`asearch`](#asearch) in an event loop |
| show text, searches and citations as they arrive | [`stream`](#stream) |
| ask many questions over the same connections | [`Groundwire`](#groundwire) |
| restrict the search | [`SearchOptions`](#searchoptions) |
| handle failures | [Errors](#errors), explained in [errors.md](errors.md) |
| translate between vendor APIs | [dialects.md](dialects.md) |
| test without a provider | [Testing](#testing), explained in [testing.md](testing.md) |

The classes of `groundwire.model` are immutable values. They compare by value, and
`groundwire.model.value.replace` returns a changed copy. A `Request` goes in, a stream of `Event` values comes
out, and `assemble` turns the events into an `Answer`. The [glossary](glossary.md) explains the terms.

`scripts/api_reference.py` generates this page from the docstrings.
"""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A top-level name of a module, with the docstring that belongs to it."""

    name: str
    node: ast.stmt
    doc: str


class Module(NamedTuple):
    """A parsed module, and its definitions by name."""

    path: str
    definitions: dict[str, Definition]

    @classmethod
    def parse(cls, *parts: str) -> Module:
        """Read a module of the package."""
        tree = ast.parse(PACKAGE.joinpath(*parts).with_suffix(".py").read_text("utf-8"))
        return cls(".".join(("groundwire", *parts)), {item.name: item for item in _definitions(tree.body)})

    def annotation(self, node: ast.AnnAssign) -> str:
        """The type of a field; a choice of strings that is not itself public is written out."""
        text = ast.unparse(node.annotation)
        for word in {*re.findall(r"\w+", text)} - {*model.__all__}:
            found = getattr(import_module(self.path), word, None)
            if get_origin(found) is Literal:
                text = re.sub(rf"\b{word}\b", " | ".join(map(repr, get_args(found))), text)
        return text

    def default(self, node: ast.expr) -> str:
        """A default as code; a named number or string as its value."""
        found = getattr(import_module(self.path), node.id, None) if isinstance(node, ast.Name) else None
        return repr(found) if isinstance(found, str | int | float) else ast.unparse(node)


def _definitions(body: Sequence[ast.stmt]) -> Iterator[Definition]:
    """Classes, functions, assigned names and attributes; a string after an assignment is its docstring."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | Function):
            yield Definition(node.name, node, ast.get_docstring(node) or "")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            text = after.value if isinstance(after, ast.Expr) else None
            doc = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
            if isinstance(target, ast.Name):
                yield Definition(target.id, node, doc)
            elif isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                yield Definition(target.attr, node, doc)


def render() -> str:
    """Return the page as Markdown."""
    client = Module.parse("client")
    lines = [_HEAD, "## Client", "", "Import these names from `groundwire`.", ""]
    lines += _entries(client, CLIENT, "###")
    lines += ["## Model", "", f"Import these names from `groundwire.model`. {_also()}", ""]
    present = [name for name in MODEL if (PACKAGE / "model" / f"{name}.py").is_file()]
    modules = {name: Module.parse("model", name) for name in present}
    missing = {*model.__all__} - {name for module in modules.values() for name in module.definitions}
    if missing:
        raise SystemExit(f"scripts/api_reference.py does not find {', '.join(sorted(missing))}")
    for name, module in modules.items():
        names = [name for name in module.definitions if name in model.__all__]
        lines += [f"### {MODEL[name]}", "", *_entries(module, names, "####")]
    lines += ["## Errors", "", "Import these names from `groundwire.errors`.", ""]
    lines += [*_error_table(Module.parse("errors")), ""]
    lines += ["## Testing", "", "A scripted provider for tests; see [testing.md](testing.md).", ""]
    for path in sorted((PACKAGE / "testing").glob("[!_]*.py")):
        module = Module.parse("testing", path.stem)
        names = [item.name for item in module.definitions.values() if _is_public(item)]
        if names:
            lines += [f"### `{module.path}`", "", *_entries(module, names, "####")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _also() -> str:
    names = [name for name in groundwire.__all__ if name in model.__all__]
    return (
        f"These are in `groundwire` as well: {', '.join(f'[`{name}`](#{name.lower()})' for name in names)}."
    )


def _is_public(item: Definition) -> bool:
    hidden = item.name.startswith("_") or item.name in NOT_FOR_TESTS
    return isinstance(item.node, ast.ClassDef | Function) and not hidden


def _entries(module: Module, names: Sequence[str], heading: str) -> Iterator[str]:
    for name in names:
        yield from (f"{heading} `{name}`", "", *_entry(module, module.definitions[name]))


def _entry(module: Module, item: Definition) -> Iterator[str]:
    match item.node:
        case ast.ClassDef() as node:
            yield from (_text(item.doc), "")
            yield from _class(module, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
            yield from (*_block(_signature(module, node)), _text(item.doc), "")
        case ast.Assign() | ast.AnnAssign() as node if node.value is not None:
            yield from _block(f"{item.name} = {_alias(node.value)}")
            if item.doc:
                yield from (_text(item.doc), "")


def _class(module: Module, node: ast.ClassDef) -> Iterator[str]:
    functions = [item for item in node.body if isinstance(item, Function)]
    for item in functions:
        if item.name == "__init__":
            yield from _block(
                _signature(module, item).replace("__init__", node.name).removesuffix(" -> None")
            )
    public = [item for item in functions if not item.name.startswith("_")]
    yield from _field_table(module, node, [item for item in public if _is_property(item)])
    methods = [item for item in public if not _is_property(item)]
    if methods:
        yield from ("| method | what it does |", "|---|---|")
        yield from (
            _row(f"`{_signature(module, item, wrap=False)}`", _text(ast.get_docstring(item) or ""))
            for item in methods
        )
        yield ""


def _field_table(module: Module, node: ast.ClassDef, properties: Sequence[Function]) -> Iterator[str]:
    """Fields with their defaults, attributes, properties; without a column of meanings if there are none."""
    rows = [
        (item.name, module.annotation(item.node), _default(module, item.node.value), _text(item.doc))
        for item in _definitions(node.body)
        if isinstance(item.node, ast.AnnAssign)
    ]
    rows += _attributes(node)
    for method in properties:
        returns = ast.unparse(method.returns) if method.returns else ""
        rows.append((method.name, returns, "property", _text(ast.get_docstring(method) or "")))
    if not rows:
        return
    columns = 4 if any(row[3] for row in rows) else 3
    yield _row(*("field", "type", "default", "meaning")[:columns])
    yield "|---" * columns + "|"
    for name, kind, default, meaning in rows:
        yield _row(*(f"`{name}`", f"`{kind}`" if kind else "", default, meaning)[:columns])
    yield ""


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, str, str, str]]:
    """The public attributes that `__init__` sets, with their types as far as the source shows them."""
    for method in node.body:
        if isinstance(method, Function) and method.name == "__init__":
            types = {item.arg: item.annotation for item in (*method.args.args, *method.args.kwonlyargs)}
            for item in _definitions(method.body):
                kind: ast.expr | None = None
                if isinstance(item.node, ast.AnnAssign):
                    kind = item.node.annotation
                elif isinstance(item.node, ast.Assign) and isinstance(item.node.value, ast.Name):
                    kind = types.get(item.node.value.id)
                elif isinstance(item.node, ast.Assign) and isinstance(item.node.value, ast.Constant):
                    kind = ast.Name(type(item.node.value.value).__name__)
                yield item.name, ast.unparse(kind) if kind else "", "attribute", _text(item.doc)


def _default(module: Module, node: ast.expr | None) -> str:
    return "required" if node is None else f"`{module.default(node)}`"


def _is_property(node: Function) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "property" for item in node.decorator_list)


def _error_table(module: Module) -> Iterator[str]:
    yield from (_row("class", "base", "meaning"), "|---|---|---|")
    for item in module.definitions.values():
        if isinstance(item.node, ast.ClassDef):
            base = ", ".join(f"`{ast.unparse(kind)}`" for kind in item.node.bases)
            yield _row(f"`{item.name}`", base, _text(item.doc))


def _signature(module: Module, node: Function, *, wrap: bool = True) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    is_awaited = isinstance(node, ast.AsyncFunctionDef) and "Generator" not in returns
    prefix = "async " if is_awaited else ""
    parameters = list(_parameters(module, node.args))
    line = f"{prefix}{node.name}({', '.join(parameters)}){returns}"
    if not wrap or len(line) <= WIDTH:
        return line
    lines = "".join(f"    {part},\n" for part in parameters)
    return f"{prefix}{node.name}(\n{lines}){returns}"


def _parameters(module: Module, arguments: ast.arguments) -> Iterator[str]:
    """Each parameter except `self`, with `*` before those that must be named."""
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [*(None for _ in named[len(arguments.defaults) :]), *arguments.defaults]
    for argument, default in zip(named, defaults, strict=True):
        if argument.arg not in ("self", "cls"):
            yield _parameter(module, argument, default)
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(module, argument, keyword_default)


def _parameter(module: Module, argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {module.default(default)}" if default is not None else "")


def _alias(node: ast.expr) -> str:
    """The right side of an assignment; forward references without their quotes."""
    is_type = isinstance(node, ast.Constant) and str(node.value).endswith(("]", "None"))
    text = str(node.value) if isinstance(node, ast.Constant) and is_type else ast.unparse(node)
    return text.replace(" | ", "\n    | ") if len(text) > WIDTH else text


def _block(text: str) -> tuple[str, ...]:
    return ("```text", text, "```", "")


def _text(doc: str) -> str:
    """The paragraphs of a docstring, each on one line."""
    return "\n\n".join(" ".join(part.split()) for part in doc.split("\n\n"))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("\n\n", " ").replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    page = render()
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/api_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
