"""The requests in progress in this process. Nothing of their content is listed but the name of the model."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from groundwire.server.app import RequestContext

MAX_LIVE = 100
"""The requests that are listed: those that take longest."""


class LiveRequest(NamedTuple):
    """A request in progress."""

    method: str
    path: str
    model: str
    seconds: int
    key: str
    """The beginning of the key's fingerprint."""
    owner: str


def live_requests(contexts: Iterable[RequestContext]) -> list[LiveRequest]:
    """The requests of this process, the longest first."""
    now = monotonic()
    first = sorted(contexts, key=lambda context: context.began)[:MAX_LIVE]
    return [
        LiveRequest(
            context.exchange.method,
            context.path,
            context.requested_model,
            int(now - context.began),
            context.key[:8],
            context.owner,
        )
        for context in first
    ]
