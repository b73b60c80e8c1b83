"""Pages about Python's standard library: one for each documented module, class, function and method."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

from groundwire.engine.data_files import data_table
from groundwire.engine.knowledge.inventory import BASE_URL, CONTENTS_URL, member_url, module_url
from groundwire.engine.knowledge.library import ApiEntry, StandardLibrary, summary
from groundwire.engine.pages import Page

COLLECTION = "python"
_FOLDER = Path(__file__).parent


@cache
def knowledge_table(name: str) -> dict[str, str]:
    """A table of `data/<name>.txt`, such as purposes, synopses or concepts."""
    return data_table(_FOLDER, name)


def module_pages(library: StandardLibrary, module: str) -> Iterator[Page]:
    """The pages of a module's documented members, then its own; none if this Python has no such module."""
    members = list(library.members(module))
    doc = library.outline(module).doc
    if not doc and not members:
        return
    for name, entry in members:
        yield from _member_pages(module, name, entry)
    yield python_page(module_url(module), titled(module, module), _module_text(module, doc, members))


def contents_page(modules: tuple[str, ...]) -> Page:
    """The table of contents; its title has the version of Python."""
    version = sys.version.partition(" ")[0]
    names = ", ".join(sorted(modules))
    text = f"The standard library of Python {version} has {len(modules)} documented modules: {names}."
    return Page(
        CONTENTS_URL,
        f"The Python {version} Standard Library — Python documentation",
        text,
        language="en",
        collection=COLLECTION,
    )


def python_page(url: str, subject: str, text: str) -> Page:
    """A page of Python's documentation."""
    return Page(url, f"{subject} — Python documentation", text, language="en", collection=COLLECTION)


def qualified(module: str, name: str) -> str:
    """The name as it is written in code: built-in names have no module."""
    return name if module == "builtins" else f"{module}.{name}"


def _member_pages(module: str, name: str, entry: ApiEntry) -> Iterator[Page]:
    documented = [(method, item) for method, item in entry.members if item.doc]
    is_exception = entry.kind == "exception"
    full = qualified(module, name)
    if entry.doc or documented:
        text = _class_text(full, entry) if entry.kind in ("class", "exception") else _text(full, entry)
        url = member_url(module, name, is_exception=is_exception)
        yield python_page(url, titled(full, module), text)
    for method, item in documented:
        url = member_url(module, f"{name}.{method}", is_exception=is_exception)
        yield python_page(url, titled(f"{full}.{method}", module), _text(f"{full}.{method}", item))


def titled(name: str, module: str) -> str:
    """A name with its purpose, or else that of its module: pages are searched by purpose too."""
    purposes, synopses = knowledge_table("purposes"), knowledge_table("synopses")
    if name in purposes:
        return f"{name} — {purposes[name].replace('; ', ', ')}"
    has_purpose = module in synopses and (module != "builtins" or name == module)
    return f"{name} — {synopses[module]}" if has_purpose else name


def _text(full: str, entry: ApiEntry) -> str:
    return f"{full}{entry.signature}\n\n{entry.doc}"


def _class_text(full: str, entry: ApiEntry) -> str:
    parts = [f"class {full}{entry.signature}", entry.doc, _listed(full, entry.members)]
    return "\n\n".join(filter(None, parts))


def _module_text(module: str, doc: str, members: list[tuple[str, ApiEntry]]) -> str:
    prefix = "" if module == "builtins" else module
    parts = [f"module {module}", doc, _listed(prefix, members)]
    return "\n\n".join(filter(None, parts))


def _listed(prefix: str, members: list[tuple[str, ApiEntry]] | tuple[tuple[str, ApiEntry], ...]) -> str:
    """A list of the members with their summaries."""
    dot = f"{prefix}." if prefix else ""
    summaries = ((name, summary(entry.doc)) for name, entry in members)
    return "\n".join(f"- {dot}{name}: {line}" for name, line in summaries if line)


_UNDERLINE = re.compile(r"^([*=\-~^])\1{3,}\n", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<head>(?:(?:str|object|class)\.\w+\([^\n]*\)\n(?:\S[^\n]*\n)*)+)\n"
    r"(?P<body>(?:[ ]{3}[^\n]*\n|\n)+)",
    re.MULTILINE,
)


def topic_pages() -> Iterator[Page]:
    """The topics of the language reference, and a page for each method that they explain."""
    from pydoc_data.topics import topics  # noqa: PLC0415  nearly a megabyte, needed once for an index

    for page, labels in knowledge_table("topic_pages").items():
        for label in labels.split():
            if label in topics:
                yield from _pages(f"{BASE_URL}{page}.html", label, topics[label])


def _pages(page: str, label: str, text: str) -> Iterator[Page]:
    text = _UNDERLINE.sub("", text + "\n")
    title = text.partition("\n")[0].strip()
    for entry in _ENTRY.finditer(text):
        first = entry["head"].partition("(")[0]
        yield python_page(
            f"{page}#{first}", titled(first, "builtins"), f"{entry['head']}\n{dedent(entry['body'])}".strip()
        )
    rest = _ENTRY.sub("", text).strip()
    if rest != title:
        purpose = knowledge_table("topics").get(label, "")
        yield python_page(f"{page}#{label}", f"{title} — {purpose}" if purpose else title, rest)
