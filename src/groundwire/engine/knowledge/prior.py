"""Ranking prior: pages of widely used modules rank above equally good matches in rarely used ones.

A question in plain words matches methods of rarely used modules as well as widely used ones. Pages that the
user added keep their rank.
"""

from __future__ import annotations

from pathlib import Path

from groundwire.engine.data_files import data_words
from groundwire.engine.knowledge.addresses import LOCAL, PROJECTS, is_news, library_page, local_address
from groundwire.engine.knowledge.inventory import CORE_MODULES

_RARELY_USED = frozenset(data_words(Path(__file__).parent, "rarely_used_pages"))
_MODULES = f"{LOCAL}packages/"
_OWN_ADDRESS = f"{LOCAL}groundwire"
_RARE_PRIOR = 0.8
_OTHER_PRIOR = 0.92
"""Priors of rarely used pages, and of pages that are neither core nor rare. Chosen by hand."""
_DESCRIPTION_PRIOR = 0.75
_UNNAMED_PRIOR = 0.4
"""Priors of the description of a package, and of its modules and documents, groundwire's included, if the
question does not name the package: hardly any question is about one package of many. Chosen on the tuning
questions of tests/engine/questions and on the package questions of tests/engine/fresh_questions.py."""
_ABOUT_PACKAGES = frozenset(
    ["package", "packages", "library", "libraries", "framework", "paket", "pakete", "bibliothek"]
)


def page_prior(url: str, title: str, words: frozenset[str] = frozenset()) -> float:
    """The prior of a page, at most 1. `words` are those of the query: pages of a package count fully if the
    query names the package."""
    if page := library_page(url, title):
        return 1.0 if page in _CORE_PAGES else _RARE_PRIOR if page in _RARELY_USED else _OTHER_PRIOR
    if is_news(url):
        return _RARE_PRIOR
    package = package_of(url)
    if not package or package in words:
        return 1.0
    if not url.startswith(PROJECTS):
        return _UNNAMED_PRIOR
    return 1.0 if _ABOUT_PACKAGES.intersection(words) else _DESCRIPTION_PRIOR


def package_of(url: str) -> str:
    """The distribution that a built-in page is about; empty if it is about something else."""
    for prefix in (_MODULES, PROJECTS):
        if url.startswith(prefix):
            return url.removeprefix(prefix).partition("/")[0]
    return "groundwire" if url.startswith(_OWN_ADDRESS) else ""


_CORE_PAGES = frozenset(library_page(local_address(name), name) for name in CORE_MODULES) | {
    *("functions", "stdtypes", "exceptions")
}
