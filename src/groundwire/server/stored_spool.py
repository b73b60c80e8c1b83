"""The response spool in a shared store: a response of one gateway is polled, followed and stopped on any."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from groundwire.model import JsonObject
from groundwire.server.response_spool import (
    LOST_SECONDS,
    KeptResponse,
    SpooledResponse,
    SpoolLimits,
    is_final,
    is_valid_name,
    lost_body,
    make_room,
)
from groundwire.store.base import ResponseEntry, Store

SHARED_LIMITS = SpoolLimits(running=500, kept=5000)
"""For all gateways together."""


class StoredSpool:
    """A `ResponseSpool` in a store."""

    def __init__(self, store: Store, limits: SpoolLimits = SHARED_LIMITS) -> None:
        self._store = store
        self._limits = limits

    def create(self, name: str, owner: str, body: JsonObject) -> None:
        """Add a response. Raises 429 if too many run; old ones are removed first."""

        def room(entries: Sequence[ResponseEntry]) -> list[str]:
            kept = [KeptResponse(one.name, one.owner, one.age, one.is_final) for one in entries]
            return make_room(kept, owner, self._limits)

        self._store.add_response(name, owner, json.dumps(body), room)

    def read(self, name: str, owner: str, offset: int | None = None) -> SpooledResponse | None:
        """A response of this owner; None if there is none."""
        found = self._store.response(name, owner, offset) if is_valid_name(name) else None
        if found is None:
            return None
        body = cast("JsonObject", json.loads(found.body))
        is_lost = not found.is_final and found.age > LOST_SECONDS
        return SpooledResponse(owner, lost_body(body) if is_lost else body, found.events)

    def save(self, name: str, offset: int, events: bytes, body: JsonObject | None) -> bool:
        """Write events and a new state; False if the response is to stop."""
        state = None if body is None else (json.dumps(body), is_final(body))
        return self._store.save_response(name, offset, events, state)

    def stop(self, name: str) -> None:
        """Ask the gateway that runs a response to stop it."""
        self._store.stop_response(name)

    def remove(self, name: str) -> None:
        """Remove a response; if it still runs, it stops."""
        self._store.remove_response(name)
