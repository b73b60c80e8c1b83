"""Pages about Python's standard library: one for each docstring.

The text of a page is what is written at its address. Words that only help to find it are in its title.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from groundwire.engine.data_files import data_table
from groundwire.engine.knowledge.addresses import (
    CONTENTS_URL,
    PYTHON_VERSION,
    local_address,
    source_address,
)
from groundwire.engine.knowledge.library import ApiEntry, StandardLibrary
from groundwire.engine.pages import Page

COLLECTION = "python"
_FOLDER = Path(__file__).parent


@cache
def knowledge_table(name: str) -> dict[str, str]:
    """A table of `data/<name>.txt`, such as purposes, synopses or concepts."""
    return data_table(_FOLDER, name)


def module_pages(library: StandardLibrary, module: str, taken: set[str]) -> Iterator[Page]:
    """The pages of a module's documented members and its own; none if this Python has no such module.

    `taken` are the addresses of pages so far: a second name of what is at a line has a local address.
    """
    documented = [*_documented(library, module)]
    # `random.choice` is a better name than `random.Random.choice` for what is at the same line.
    for name, entry in sorted(documented, key=lambda item: item[0].count(".")):
        for address in (source_address(entry.file, entry.line), local_address(name)):
            if address and address not in taken:
                taken.add(address)
                yield python_page(address, titled(name, module), _text(entry))
                break


def contents_page(modules: tuple[str, ...], edition: str) -> Page:
    """The table of contents; its title has the version of Python."""
    names = ", ".join(sorted(modules))
    text = f"The index has {len(modules)} modules of Python's standard library: {names}.\n\n{edition}"
    return python_page(CONTENTS_URL, "Modules of the standard library", text)


def python_page(url: str, subject: str, text: str) -> Page:
    """A page about this version of Python."""
    return Page(url, f"{subject} — Python {PYTHON_VERSION}", text, language="en", collection=COLLECTION)


def qualified(module: str, name: str) -> str:
    """The name as it is written in code: built-in names have no module."""
    return name if module == "builtins" else f"{module}.{name}"


def _documented(library: StandardLibrary, module: str) -> Iterator[tuple[str, ApiEntry]]:
    """Everything of a module that has a docstring, and classes with documented methods."""
    for name, entry in library.members(module):
        full = qualified(module, name)
        methods = [(method, item) for method, item in entry.members if item.doc]
        if entry.doc or entry.constructor or (methods and entry.header):
            yield full, entry
        yield from ((f"{full}.{method}", item) for method, item in methods)
    outline = library.outline(module)
    if outline.doc:
        yield module, ApiEntry("data", doc=outline.doc, file=outline.file, line=outline.line)


def titled(name: str, module: str) -> str:
    """A name with its purpose, or else that of its module: pages are searched by purpose too."""
    purposes, synopses = knowledge_table("purposes"), knowledge_table("synopses")
    if name in purposes:
        return f"{name} — {purposes[name].partition('; ')[0]}"
    has_purpose = module in synopses and (module != "builtins" or name == module)
    return f"{name} — {synopses[module]}" if has_purpose else name


def _text(entry: ApiEntry) -> str:
    return "\n\n".join(filter(None, (entry.header, entry.doc, entry.constructor)))
