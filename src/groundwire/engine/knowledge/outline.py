"""The public face of a module: what it says of itself and of its members."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from groundwire.model.value import value

Kind: TypeAlias = Literal["class", "exception", "function", "property", "data"]


@value
class Entry:
    """A class, function, property or other name, with its docstring; a class has members."""

    kind: Kind
    signature: str = ""
    """The parameters in parentheses, as written; empty where there are none to show."""
    doc: str = ""
    members: tuple[tuple[str, Entry], ...] = ()
    bases: tuple[str, ...] = ()
    """What a class is made from, as written."""


@value
class Outline:
    """What can be read of a module without running it."""

    doc: str = ""
    entries: Mapping[str, Entry] = {}
    imports: Mapping[str, tuple[str, str]] = {}
    """Names that come from elsewhere: the module, and the name there."""
    aliases: Mapping[str, str] = {}
    """Names that mean another name of the module, or a method: `choice` is `Random.choice`."""
    stars: tuple[str, ...] = ()
    """Modules whose public names are taken over as a whole."""
    exported: tuple[str, ...] = ()
    """What `__all__` says in so many words."""
    is_open: bool = True
    """Whether there is more than `exported`: no `__all__`, or one that is computed."""


_SIGNATURE = re.compile(r"(?:\w+ = )?[\w.]+\((?:[^()\n]|\([^()\n]*\))*\)(?:[ ]*-+>[ ]*[^\n,]*)?(?:\n|,[ ]|$)")


def summary(doc: str, limit: int = 200) -> str:
    """The first paragraph of a docstring that says something, on one line, cut at a word."""
    rest = doc.strip()
    while signature := _SIGNATURE.match(rest):
        rest = rest[signature.end() :].strip()
    line = " ".join(rest.partition("\n\n")[0].split())
    if len(line) <= limit:
        return line
    return line[:limit].rpartition(" ")[0] + " …"
