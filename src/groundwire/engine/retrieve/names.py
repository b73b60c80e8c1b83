"""Names of code in a question."""

from __future__ import annotations

import re

from groundwire.engine.knowledge.addresses import documentation_link, local_address
from groundwire.engine.words import code_names

_DOTTED = re.compile(r"(?<![\w.])[a-z_]\w*(?:\.\w+)+")
_MARKED = re.compile(r"\b([A-Za-z_][\w.]*)\(|@([A-Za-z_][\w.]*)|`([A-Za-z_][\w.]*)`")


def mentioned_names(query: str) -> list[str]:
    """The names that a question writes as code: dotted, called, decorated, in backticks or in camel case."""
    marked = ["".join(groups) for groups in _MARKED.findall(query)]
    return list(dict.fromkeys((*marked, *code_names(query))))


def with_public_names(query: str) -> str:
    """The query with names as they are documented. A traceback has the module that defines a name:
    `json.decoder.JSONDecodeError`, `_queue.Empty`."""
    return _DOTTED.sub(lambda match: _public_name(match[0]), query)


def _public_name(name: str) -> str:
    parts = name.lstrip("_").split(".")
    shorter = (".".join((*parts[:kept], parts[-1])) for kept in range(len(parts) - 1, 0, -1))
    return next(
        (known for known in (name, *shorter) if documentation_link(local_address(known), known)), name
    )
