"""Pages of the language reference, out of the topics that Python brings along for its `help`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from groundwire.engine.knowledge.inventory import BASE
from groundwire.engine.knowledge.python import python_page
from groundwire.engine.pages import Page

_LABELS = {
    "reference/simple_stmts": (
        "assert assignment augassign break continue del global import nonlocal pass raise return yield"
    ),
    "reference/compound_stmts": "async class for function if try while with",
    "reference/expressions": (
        "atom-identifiers atom-literals attribute-references await binary bitwise booleans calls comparisons "
        "conversions dict exprlists in lambda lists operator-summary power shifting slicings subscriptions "
        "unary"
    ),
    "reference/datamodel": (
        "attribute-access callable-types context-managers customization numeric-types objects sequence-types "
        "types"
    ),
    "reference/lexical_analysis": "floating id-classes identifiers imaginary integers numbers strings",
    "reference/executionmodel": "exceptions naming",
    "library/stdtypes": (
        "bltin-code-objects bltin-ellipsis-object bltin-null-object bltin-type-objects specialattrs "
        "string-methods truth typesfunctions typesmapping typesmethods typesmodules typesseq"
    ),
    "library/string": "formatstrings",
    "library/pdb": "debugger",
}
"""Which page each topic stands in. Topics that only repeat others are not named."""

_UNDERLINE = re.compile(r"^([*=\-~^])\1{3,}\n", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<head>(?:(?:str|object|class)\.\w+\([^\n]*\)\n(?:\S[^\n]*\n)*)+)\n"
    r"(?P<body>(?:[ ]{3}[^\n]*\n|\n)+)",
    re.MULTILINE,
)


def topic_pages() -> Iterator[Page]:
    """The topics, and apart from them the methods that they explain one by one."""
    from pydoc_data.topics import topics  # noqa: PLC0415  nearly a megabyte, read once in an index's life

    for page, labels in _LABELS.items():
        for label in labels.split():
            if label in topics:
                yield from _pages(f"{BASE}{page}.html", label, topics[label])


def _pages(page: str, label: str, text: str) -> Iterator[Page]:
    text = _UNDERLINE.sub("", text + "\n")
    title = text.partition("\n")[0].strip()
    for entry in _ENTRY.finditer(text):
        first = entry["head"].partition("(")[0]
        yield python_page(f"{page}#{first}", first, f"{entry['head']}\n{dedent(entry['body'])}".strip())
    rest = _ENTRY.sub("", text).strip()
    if rest != title:
        yield python_page(f"{page}#{label}", title, rest)
