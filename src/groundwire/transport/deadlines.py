"""How long each phase of a call may take, in seconds, and how large its answer may be."""

from __future__ import annotations

from groundwire.model.value import value

MAX_ANSWER = 64 * 1024 * 1024
"""Some hundred thousand tokens told one by one, with pictures among them."""


@value
class Deadlines:
    """`first_byte` runs until the headers are there, connecting included; `idle` from one read to the next;
    `total` over everything.

    A provider that dribbles bytes resets `idle`, never `total`.
    """

    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 90.0
    total: float = 600.0
    largest: int = MAX_ANSWER
    """Bytes of the answer, unpacked."""
