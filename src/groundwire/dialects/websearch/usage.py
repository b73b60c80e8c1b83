"""Usage: a tool result reports none."""

from __future__ import annotations

from groundwire.model import JsonObject, Usage


def usage_of(_: JsonObject) -> Usage | None:
    """Always None: the contract has no field for tokens or cost."""
    return None
