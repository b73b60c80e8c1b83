"""Schema migrations as data."""

from __future__ import annotations

from typing import LiteralString

from groundwire.model.value import value


@value
class Migration:
    """One migration: its statements and its record are one transaction."""

    version: int
    statements: tuple[LiteralString, ...]
