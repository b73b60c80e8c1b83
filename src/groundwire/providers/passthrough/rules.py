"""Passthrough rules: when a client's body is forwarded unchanged to a provider of the same dialect.

So fields that groundwire does not know survive. The canonical request decides: the body is encoded anew if
the search was adapted to the provider, if sources must be audited, or if the history contains blocks that
groundwire made, which only groundwire can read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from groundwire.dialects.json import quote_json
from groundwire.model import Request, Wire
from groundwire.providers.policy import PreparedRequest

_OWN_MARKS = (b'"gw1.', b'"srvtoolu_gw')
"""Prefixes of groundwire's tokens and search ids: a search that found nothing has no token."""


_MODEL_KEY = b'"model"'
_MODEL = re.compile(rb'"model"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"')
_ESCAPED_ASCII = b"\\u00"
"""A name that is written with escapes cannot be found."""


def can_forward(request: Request, sent: Request, prepared: PreparedRequest) -> bool:
    """Would encoding the request give the client's body? `sent` is the request for the provider."""
    wire = sent.wire
    return (
        wire is not None
        and prepared.audited is None
        and sent.stream == request.stream
        and (sent.search is request.search or sent.search == request.search)
        and (prepared.request is request or _has_same_prompt(sent, request))
        and not any(mark in wire.data for mark in _OWN_MARKS)
    )


def _has_same_prompt(sent: Request, request: Request) -> bool:
    return sent.system == request.system and sent.tool_choice == request.tool_choice


def forwarded_headers(wire: Wire | None, names: Collection[str]) -> Mapping[str, str]:
    """The client's headers that are forwarded."""
    return {} if wire is None else {name: text for name, text in wire.headers if name in names}


def renamed_model(wire: Wire, model: str) -> bytes | None:
    """The client's bytes with another model name; None if the place of the name is not certain."""
    data = wire.data
    at = data.find(_MODEL_KEY)
    found = _MODEL.match(data, at) if at >= 0 else None
    if (
        found is None
        or data.find(_MODEL_KEY, found.end()) >= 0
        or data.find(_ESCAPED_ASCII) >= 0
        or found[1].decode("utf-8", "replace") != wire.body.get("model")
    ):
        return None
    return b'%b"model":%b%b' % (data[:at], quote_json(model), data[found.end() :])
