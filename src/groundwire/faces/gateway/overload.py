"""Load shedding: refuses requests, cheaply, while the event loop is late.

The delay of the event loop is the time that every request waits at every step, so it says how much is too
much whatever requests cost. While it is above the target, a growing part of all requests is refused before
anything is done for them; while the loop has been late and is late again, all that come in this moment are.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import cache
from time import process_time

from groundwire.dialects.base import Reply
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.errors import TurnedAway

log = logging.getLogger("groundwire.gateway")

SAMPLE = 0.05
"""Seconds between two samples of the delay."""
TARGET = 0.1
"""Seconds of delay that are accepted. Two thousand open streams stay below it on two busy cores."""
_SAMPLES = 3
"""In a row above the target: one or two may be single slow steps, such as an import."""
_FASTEST_CUT = 0.8
"""At most a fifth of what was admitted is refused in addition at each sample above the target: what was
admitted before still has to be done, and keeps the loop late for a while."""
_GROWTH = 1.05
_STEP = 0.005
"""By which the admitted part grows at each sample below the target."""
_LEAST = 0.02
"""Some are always served: they show when the overload is over."""
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
    """The part of all requests that is admitted now; the others are refused."""

    def __init__(self) -> None:
        self.admitted = 1.0
        self.current: Callable[[], float] = lambda: 0.0
        """The delay at this moment, as far as it is known before the next sample."""
        self._delays: deque[float] = deque(maxlen=_SAMPLES)
        self._is_late = False
        self._credit = 0.0

    def observe(self, delay: float) -> None:
        """Take a sample of the event loop's delay, in seconds."""
        self._delays.append(delay)
        lowest = min(self._delays) if len(self._delays) == _SAMPLES else 0.0
        before = self.admitted
        self._is_late = lowest > TARGET / 2
        if lowest > TARGET:
            self.admitted = max(_LEAST, before * max(_FASTEST_CUT, TARGET / lowest))
        elif before < 1:
            self.admitted = min(1.0, before * _GROWTH + _STEP)
        if (before < 1) != (self.admitted < 1):
            log.warning("overload %s", "is over" if before < 1 else "begins: requests are refused")

    def sheds(self, target: bytes) -> bool:
        """Is this request to be refused?"""
        if (self.admitted >= 1 and not self._is_late) or target.startswith(_ALWAYS):
            return False
        if self._is_late and self.current() > TARGET:
            return True
        if self.admitted >= 1:
            return False
        self._credit += self.admitted
        if self._credit >= 1:
            self._credit -= 1
            return False
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
        self._observe(self.current())
        self._wait()

    def current(self) -> float:
        """Seconds by which the next sample is late."""
        elapsed = self._loop.time() - self._began
        if elapsed <= SAMPLE:
            return 0.0
        # Time in which the system ran other processes is not ours to shorten.
        return (elapsed - SAMPLE) * min(1.0, (process_time() - self._busy) / elapsed)
