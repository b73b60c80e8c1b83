"""A change of a database's schema, as data."""

from __future__ import annotations

from typing import LiteralString

from groundwire.model.value import value


@value
class Migration:
    """One change: its statements and the record of it are one transaction."""

    version: int
    statements: tuple[LiteralString, ...]
