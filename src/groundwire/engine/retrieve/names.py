"""Names of code in a question."""

from __future__ import annotations

import re
from functools import cache

from groundwire.engine.knowledge.addresses import documentation_link, documented_names, local_address
from groundwire.engine.words import code_names, ignored_words, word_list

_DOTTED = re.compile(r"(?<![\w.])[a-z_]\w*(?:\.\w+)+")
_PLAIN_WORD = re.compile(r"(?<![\w.])[^\W\d_][^\W_]*(?!\w|\.\w)")
_MARKED = re.compile(r"\b([A-Za-z_][\w.]*)\(|@([A-Za-z_][\w.]*)|`([A-Za-z_][\w.]*)`")
_ASKED = re.compile(
    r"\W*(?:(?:what|how) (?:does|is)|explain|was (?:ist|macht|bedeutet|tut)|wie funktioniert|wofür ist"
    r"|wozu ist|erkläre?) (?:python'?s )?(?P<name>[a-z_]\w*)"
    r"(?: (?:function|method|module|keyword|funktion|methode|modul))?"
    r"(?: (?:do|mean|work|for|used for|gut|da))?(?: in python)?\W*",
    re.IGNORECASE,
)
"""A question about one word, without an article: if it is a documented name, then about that."""


def mentioned_names(query: str) -> list[str]:
    """The names that a question writes as code: dotted, called, decorated, in backticks or in camel case; or
    the documented name that is all it asks about: `what does enumerate do`; or those of a module that it
    names, `asyncio gather`. Names of files are none."""
    marked = ["".join(groups) for groups in _MARKED.findall(query)]
    asked = _ASKED.fullmatch(query)
    documented = [asked["name"]] if asked and is_documented(asked["name"]) else []
    found = dict.fromkeys((*marked, *documented, *code_names(query), *_of_modules(query)))
    return [name for name in found if not _is_file(name)]


def _of_modules(query: str) -> list[str]:
    """The documented names of which the question has the module and the last part as words. A module that is
    an everyday word, such as `time`, may be none."""
    words = dict.fromkeys(word.casefold() for word in _PLAIN_WORD.findall(query))
    modules = [word for word in words if is_module(word) and not _everyday_words() & {word}]
    names = (f"{module}.{word}" for module in modules for word in words if word != module)
    return [documented_names()[name] for name in names if name in documented_names()] if modules else []


@cache
def _everyday_words() -> frozenset[str]:
    return word_list("common_words") | ignored_words()


def is_module(name: str) -> bool:
    """Is it a documented module?"""
    return documentation_link(local_address(name), name).endswith(f"#module-{name}")


def is_documented(name: str) -> bool:
    """Does Python's documentation describe an object or a module of this name?"""
    return bool(documentation_link(local_address(name), name))


def _is_file(name: str) -> bool:
    ending = name.rpartition(".")[2] if "." in name else ""
    return ending.lower() in word_list("file_endings") and not is_documented(name)


def with_public_names(query: str) -> str:
    """The query with names as they are documented. A traceback has the module that defines a name:
    `json.decoder.JSONDecodeError`, `_queue.Empty`."""
    return _DOTTED.sub(lambda match: _public_name(match[0]), query)


def _public_name(name: str) -> str:
    parts = name.lstrip("_").split(".")
    shorter = (".".join((*parts[:kept], parts[-1])) for kept in range(len(parts) - 1, 0, -1))
    return next((known for known in (name, *shorter) if is_documented(known)), name)
