"""Passthrough rules: when a client's body is forwarded unchanged to a provider of the same dialect.

So fields that groundwire does not know survive. The canonical request decides: the body is encoded anew if
the search was adapted to the provider, if sources must be audited, or if the history contains blocks that
groundwire made, which only groundwire can read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from groundwire.model import Request, Wire
from groundwire.providers.policy import PreparedRequest

_OWN_TOKEN = b'"gw1.'
_OWN_SEARCH_ID = b'"srvtoolu_gw'
"""Prefixes of groundwire's tokens and search ids: a search that found nothing has no token."""


def can_forward(request: Request, sent: Request, prepared: PreparedRequest) -> bool:
    """Would encoding the request give the client's body? `sent` is the request for the provider."""
    wire = sent.wire
    return (
        wire is not None
        and prepared.audited is None
        and sent.search == request.search
        and sent.system == request.system
        and sent.tool_choice == request.tool_choice
        and sent.stream == request.stream
        and _OWN_TOKEN not in wire.data
        and _OWN_SEARCH_ID not in wire.data
    )


def forwarded_headers(wire: Wire | None, names: Collection[str]) -> Mapping[str, str]:
    """The client's headers that are forwarded."""
    return {} if wire is None else {name: text for name, text in wire.headers if name in names}
