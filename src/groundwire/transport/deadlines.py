"""How long each phase of a call may take, in seconds."""

from __future__ import annotations

from groundwire.model.value import value


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
