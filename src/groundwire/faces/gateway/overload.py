"""Load shedding: refuses requests, cheaply, while the event loop is late.

The delay of the event loop is the time that every request waits at every step, so it says how much is too
much whatever requests cost. While its lowest value of the last samples is above the target, a growing share
of requests is refused before anything is done for them; a single slow step raises no more than one sample.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import cache
from time import process_time

from groundwire.dialects.base import Reply
from groundwire.dialects.jsontext import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import TurnedAway

log = logging.getLogger("groundwire.gateway")

SAMPLE = 0.05
"""Seconds between two samples of the delay."""
TARGET = 0.1
"""Seconds of delay that are accepted. Two thousand open streams stay below it on two busy cores."""
_SAMPLES = 5
_RISE = 0.15
"""Added to the share at each sample whose delay is twice the target or more."""
_FALL = 0.85
"""By which the share is multiplied at each sample below the target."""
_LARGEST = 0.95
"""Some are always served: they show when the overload is over."""
_SMALLEST = 0.02
_ALWAYS = (b"/healthz", b"/readyz", b"/metrics")
_ANY_DIALECT = "openai_chat"
_DIALECTS = (
    (b"/v1/messages", "anthropic_messages"),
    (b"/v1/responses", "openai_responses"),
    (b"/v1beta/interactions", "gemini_interactions"),
    (b"/v1/interactions", "gemini_interactions"),
    (b"/v1beta/", "gemini"),
    (b"/v1/models/", "gemini"),
)


class Overload:
    """The share of requests that is refused now."""

    def __init__(self) -> None:
        self.share = 0.0
        self.refused = 0
        """Requests so far."""
        self._delays: deque[float] = deque(maxlen=_SAMPLES)
        self._due = 0.0

    def observe(self, delay: float) -> None:
        """Take a sample of the event loop's delay, in seconds."""
        self._delays.append(delay)
        lowest = min(self._delays) if len(self._delays) == _SAMPLES else 0.0
        before = self.share
        if lowest > TARGET:
            self.share = min(_LARGEST, before + _RISE * min(1.0, lowest / TARGET - 1))
        elif before:
            self.share = before * _FALL if before > _SMALLEST else 0.0
        if bool(before) != bool(self.share):
            log.warning("overload: %s", "requests are refused" if self.share else "over")

    def sheds(self, target: bytes) -> bool:
        """Is this request, one of all, to be refused?"""
        if not self.share or target.startswith(_ALWAYS):
            return False
        self._due += self.share
        if self._due < 1:
            return False
        self._due -= 1
        self.refused += 1
        return True

    @staticmethod
    def refusal(target: bytes, *, keep: bool) -> bytes:
        """The whole response, in the shape of the dialect that the path belongs to."""
        language = next((name for path, name in _DIALECTS if target.startswith(path)), _ANY_DIALECT)
        return _refusal(language, keep)


def overloaded() -> TurnedAway:
    """The error of a request that there is no room for."""
    return TurnedAway(
        status=503,
        message="the gateway is overloaded; send the request again later",
        code="OVERLOADED",
        retry_after=1,
    )


@cache
def _refusal(language: str, keep: bool) -> bytes:  # noqa: FBT001
    _, said = dialect(language).encode_error(overloaded(), Reply("overloaded"))
    body = dump_json(said).encode()
    close = b"" if keep else b"connection: close\r\n"
    return (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
        b"%bcontent-length: %d\r\n\r\n%b" % (close, len(body), body)
    )


class LoopDelay:
    """Measures how late the running event loop calls back, as far as this process is the reason."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to measure."""
        self._loop = asyncio.get_running_loop()
        self._wait()

    def stop(self) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._began, self._busy = self._loop.time(), process_time()
        self._timer = self._loop.call_at(self._began + SAMPLE, self._sample)

    def _sample(self) -> None:
        elapsed, busy = self._loop.time() - self._began, process_time() - self._busy
        # Time in which the system ran other processes is not ours to shorten.
        self._observe(max(0.0, elapsed - SAMPLE) * min(1.0, busy / elapsed))
        self._wait()
