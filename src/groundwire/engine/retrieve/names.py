"""Names of code in a question."""

from __future__ import annotations

import re

from groundwire.engine.words import code_names

_MARKED = re.compile(r"\b([A-Za-z_][\w.]*)\(|@([A-Za-z_][\w.]*)|`([A-Za-z_][\w.]*)`")


def mentioned_names(query: str) -> list[str]:
    """The names that a question writes as code: dotted, called, decorated, in backticks or in camel case."""
    marked = ["".join(groups) for groups in _MARKED.findall(query)]
    return list(dict.fromkeys((*marked, *code_names(query))))
