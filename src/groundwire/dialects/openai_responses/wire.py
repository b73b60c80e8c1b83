"""Names of the wire that several files share, and the naming of items.

An item keeps the id its provider gave it, because encrypted reasoning is bound to it and stored turns are
found by it. Items made here are numbered within the reply. Official clients refuse a stream in which the id
of an item changes, so an id is chosen once, when the item begins.
"""

from __future__ import annotations

from groundwire.model import Extras, JsonObject
from groundwire.model.parts import Phase

NAME = "openai_responses"

PHASES: dict[str, Phase] = {"commentary": "commentary", "final_answer": "final_answer"}


def native(extras: Extras) -> JsonObject:
    """What this dialect left beside a value."""
    return extras.get(NAME, {})


def native_id(extras: Extras) -> str:
    """The id the provider gave to an item."""
    value = native(extras).get("id")
    return value if isinstance(value, str) else ""


class Names:
    """Ids for the items of one reply: the provider's own where it is known and free, else a number."""

    __slots__ = ("_counts", "_reply", "_used")

    def __init__(self, reply: str) -> None:
        self._reply = reply
        self._counts: dict[str, int] = {}
        self._used: set[tuple[str, str]] = set()

    def take(self, prefix: str, wanted: str = "") -> str:
        """An id nobody has yet."""
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        # Ids of calls are told beside those of items, and some servers make them equal.
        space = "call" if prefix == "call" else "item"
        is_free = wanted and (space, wanted) not in self._used
        name = wanted if is_free else f"{prefix}_{self._reply}_{number}"
        while (space, name) in self._used:
            number += 1
            name = f"{prefix}_{self._reply}_{number}"
        self._used.add((space, name))
        return name
