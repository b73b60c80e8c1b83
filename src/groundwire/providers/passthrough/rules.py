"""When a client speaks the provider's own dialect, its body goes through as it is.

So everything we do not understand survives. The canonical request decides whether it may: not if the search
had to be fitted to the provider, if answers must be audited, or if there are blocks of our own making in the
history, which only we can read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from groundwire.model import Request, Wire
from groundwire.providers.policy import PreparedRequest

_OURS = (b'"gw1.', b'"srvtoolu_gw')
"""Tokens, and ids of searches: a search that found nothing has no token."""


def can_forward(request: Request, asked: Request, prepared: PreparedRequest) -> bool:
    """Would encoding the request say just what the client wrote?"""
    wire = asked.wire
    return (
        wire is not None
        and prepared.audited is None
        and asked.search == request.search
        and asked.system == request.system
        and asked.tool_choice == request.tool_choice
        and asked.stream == request.stream
        and not any(mark in wire.data for mark in _OURS)
    )


def forwarded_headers(wire: Wire | None, names: Collection[str]) -> Mapping[str, str]:
    """The client's headers that the provider takes."""
    return {} if wire is None else {name: text for name, text in wire.headers if name in names}
