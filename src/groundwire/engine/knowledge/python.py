"""Pages about Python's standard library: one for each documented module, class, function and method."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from groundwire.engine.knowledge.inventory import CONTENTS, member_address, module_address
from groundwire.engine.knowledge.library import Library
from groundwire.engine.knowledge.outline import Entry, summary
from groundwire.engine.knowledge.purposes import PURPOSES
from groundwire.engine.knowledge.synopses import SYNOPSES
from groundwire.engine.pages import Page

COLLECTION = "python"


def module_pages(library: Library, module: str) -> Iterator[Page]:
    """The pages of a module's documented members, then its own; none if this Python has no such module."""
    members = list(library.members(module))
    doc = library.outline(module).doc
    if not doc and not members:
        return
    for name, entry in members:
        yield from _member_pages(module, name, entry)
    yield python_page(module_address(module), titled(module, module), _module_text(module, doc, members))


def contents_page(modules: tuple[str, ...]) -> Page:
    """What there is; its title tells which Python it was read from."""
    version = sys.version.partition(" ")[0]
    names = ", ".join(sorted(modules))
    text = f"The standard library of Python {version} has {len(modules)} documented modules: {names}."
    return Page(
        CONTENTS,
        f"The Python {version} Standard Library — Python documentation",
        text,
        language="en",
        collection=COLLECTION,
    )


def python_page(url: str, subject: str, text: str) -> Page:
    """A page of Python's documentation."""
    return Page(url, f"{subject} — Python documentation", text, language="en", collection=COLLECTION)


def qualified(module: str, name: str) -> str:
    """As people write it: what is built in has no module."""
    return name if module == "builtins" else f"{module}.{name}"


def _member_pages(module: str, name: str, entry: Entry) -> Iterator[Page]:
    documented = [(method, item) for method, item in entry.members if item.doc]
    is_exception = entry.kind == "exception"
    full = qualified(module, name)
    if entry.doc or documented:
        text = _class_text(full, entry) if entry.kind in ("class", "exception") else _text(full, entry)
        url = member_address(module, name, is_exception=is_exception)
        yield python_page(url, titled(full, module), text)
    for method, item in documented:
        url = member_address(module, f"{name}.{method}", is_exception=is_exception)
        yield python_page(url, titled(f"{full}.{method}", module), _text(f"{full}.{method}", item))


def titled(name: str, module: str) -> str:
    """A name with what it, or else its module, is for: a page is found by its purpose too."""
    if name in PURPOSES:
        return f"{name} — {PURPOSES[name]}"
    has_purpose = module in SYNOPSES and (module != "builtins" or name == module)
    return f"{name} — {SYNOPSES[module]}" if has_purpose else name


def _text(full: str, entry: Entry) -> str:
    return f"{full}{entry.signature}\n\n{entry.doc}"


def _class_text(full: str, entry: Entry) -> str:
    parts = [f"class {full}{entry.signature}", entry.doc, _listed(full, entry.members)]
    return "\n\n".join(filter(None, parts))


def _module_text(module: str, doc: str, members: list[tuple[str, Entry]]) -> str:
    prefix = "" if module == "builtins" else module
    parts = [f"module {module}", doc, _listed(prefix, members)]
    return "\n\n".join(filter(None, parts))


def _listed(prefix: str, members: list[tuple[str, Entry]] | tuple[tuple[str, Entry], ...]) -> str:
    """A list of the members with what they are for."""
    dot = f"{prefix}." if prefix else ""
    said = ((name, summary(entry.doc)) for name, entry in members)
    return "\n".join(f"- {dot}{name}: {line}" for name, line in said if line)
