"""Pages of the language reference, out of the topics that Python brings along for its `help`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from groundwire.engine.knowledge.inventory import BASE
from groundwire.engine.knowledge.python import python_page, titled
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

_MEANT = """
assert: check an assumption while debugging
async: coroutines, async def, async for and async with
attribute-access: customize how attributes are looked up
break: leave a loop early
class: define a class, inheritance, decorators
comparisons: compare values, equality, identity and membership
context-managers: objects for the with statement
continue: go on with the next round of a loop
customization: special methods such as __init__, __repr__, __eq__
del: delete a variable, an item or a slice
dict: dictionary displays and comprehensions
exceptions: how exceptions are raised and handled
for: loop over the items of a list or any iterable
formatstrings: format numbers, decimal places, alignment and padding in strings
function: define a function, default values, keyword arguments, decorators
global: assign to a global variable inside a function
if: run code if a condition is true, else something else
import: import modules and names
in: check if an item is in a list or a key is in a dictionary
lambda: small anonymous functions
lists: list displays and list comprehensions
naming: scopes, local and global variables
nonlocal: assign to a variable of the enclosing function
objects: identity, type and value of objects, garbage collection
operator-summary: which operator binds stronger
pass: do nothing
raise: raise an exception, throw an error
return: give back a value from a function
slicings: part of a list or string
string-methods: what strings can do
strings: string literals, escape sequences, f-strings
truth: what counts as true or false
try: catch and handle an exception, finally, else
typesmapping: dictionaries, keys and values
typesseq: lists, tuples and ranges
unary: negative numbers, invert bits
while: loop as long as a condition is true
with: close files and release locks whatever happens
yield: generators, functions that produce values one by one
"""
_PURPOSES = dict(line.split(": ", 1) for line in _MEANT.strip().splitlines())
"""What the chapters are about, in the words of somebody who looks for them."""

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
        yield python_page(
            f"{page}#{first}", titled(first, "builtins"), f"{entry['head']}\n{dedent(entry['body'])}".strip()
        )
    rest = _ENTRY.sub("", text).strip()
    if rest != title:
        purpose = _PURPOSES.get(label, "")
        yield python_page(f"{page}#{label}", f"{title} — {purpose}" if purpose else title, rest)
