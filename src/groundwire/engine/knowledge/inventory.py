"""Which modules of the standard library are documented, and their URLs on docs.python.org.

The lists are data files. A module that this Python does not have is not found when it is looked for.
"""

from __future__ import annotations

from pathlib import Path

from groundwire.engine.data_files import data_table, data_words

_FOLDER = Path(__file__).parent

BASE_URL = "https://docs.python.org/3/"
CONTENTS_URL = f"{BASE_URL}library/index.html"
PART_OF = "part of "
"""Begins the second half of the titles of pages about the modules of a package."""

CORE_MODULES = tuple(data_words(_FOLDER, "core_modules"))
"""What most questions are about: indexed before anything else."""
DOCUMENTED_MODULES = CORE_MODULES + tuple(data_words(_FOLDER, "other_modules"))
NATIVE_MODULES = frozenset(data_words(_FOLDER, "native_modules"))
"""Modules written in C that may be imported to read their docstrings."""

_MODULE_PAGES = data_table(_FOLDER, "module_pages")
_FAMILIES = {
    "wsgiref": "wsgiref",
    "dbm": "dbm",
    "email.mime": "email.mime",
    "multiprocessing": "multiprocessing",
}
"""Packages whose modules share one page."""

_ASYNCIO_PAGES = {
    name: page for page, names in data_table(_FOLDER, "asyncio_pages").items() for name in names.split()
}

_TYPES = frozenset(
    ("list", "tuple", "range", "str", "bytes", "bytearray", "memoryview", "set", "frozenset", "dict")
)
_NUMBERS = frozenset(("int", "float", "complex", "bool"))


def module_url(module: str) -> str:
    """Where a module is documented."""
    page = _page_of(module)
    fragment = "" if page == module.lower() or module == "builtins" else f"#module-{module}"
    return f"{BASE_URL}library/{page}.html{fragment}"


def member_url(module: str, name: str, *, is_exception: bool = False) -> str:
    """Where a class, a function or, with its class before the dot, a method is documented."""
    if module == "builtins":
        return f"{BASE_URL}library/{_builtin_page(name, is_exception=is_exception)}.html#{name}"
    page = _page_of(module)
    if module == "asyncio":
        page = _ASYNCIO_PAGES.get(name.partition(".")[0], "asyncio-eventloop")
    return f"{BASE_URL}library/{page}.html#{module}.{name}"


def _page_of(module: str) -> str:
    if module in _MODULE_PAGES:
        return _MODULE_PAGES[module]
    for family, page in _FAMILIES.items():
        if module == family or module.startswith(f"{family}."):
            return page
    return module.lower()


def _builtin_page(name: str, *, is_exception: bool) -> str:
    owner, _, method = name.partition(".")
    if is_exception:
        return "exceptions"
    return "stdtypes" if owner in _TYPES or (method and owner in _NUMBERS) else "functions"
