"""All that may be changed for a client."""

from __future__ import annotations

from groundwire.faces.connect import gateways
from groundwire.faces.connect.changes import Change
from groundwire.faces.connect.clients import (
    CLIENTS,
    Surroundings,
    http_change,
    local_change,
    tool_changes,
)


def all_changes(name: str, around: Surroundings) -> list[list[Change]]:
    """Whatever may have been changed for a client, by file."""
    changes = [local_change(name, around)]
    if CLIENTS[name].remote is not None:
        changes.append(http_change(name, around))
    if name in gateways.WAYS:
        changes.append(gateways.gateway_change(name, around))
    if name == "opencode":
        changes += tool_changes(name, around)
    files: dict[str, list[Change]] = {}
    for change in changes:
        files.setdefault(change.file, []).append(change)
    return list(files.values())
