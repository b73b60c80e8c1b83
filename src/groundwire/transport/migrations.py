"""Schema migrations as data, and which versions of the code may use a migrated schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from groundwire.model.value import value


@value
class Migration:
    """One migration: its statements and its record are one transaction.

    Gateways of two versions run side by side during an upgrade. A migration that only adds (tables, indexes,
    columns with a default) lets the older ones go on. One that changes or removes what they use is
    `breaking`, and belongs to a later release than the one that stops using it.
    """

    version: int
    statements: tuple[LiteralString, ...]
    breaking: bool = False
    """Must code that does not know this migration refuse the database?"""


def oldest_component(component: str, version: int) -> str:
    """The name under which `oldest_version` of a migration is recorded next to it."""
    return f"{component} {version} oldest"


def oldest_version(steps: Sequence[Migration], version: int) -> int:
    """The oldest version whose code can use the schema of `version`."""
    return max((step.version for step in steps if step.breaking and step.version <= version), default=1)


def is_too_old(known: int, found: int, oldest: int) -> bool:
    """Must code that knows the migrations up to `known` refuse a schema of version `found`?

    `oldest` is what the code that migrated it has recorded; 0 if it has recorded nothing.
    """
    return found > known and known < (oldest or found)
