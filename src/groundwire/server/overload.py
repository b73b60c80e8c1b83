"""Load shedding: refuses requests, cheaply, while the event loop is late.

The delay of the event loop is the time that every request waits at every step, so it measures overload
whatever requests cost. While it is above the target, a growing share of requests is refused before any work
is done for them. While the loop has been late and is late again, all requests that arrive are refused.
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
"""Accepted delay in seconds. Two thousand open streams stay below it on two busy cores."""
_SAMPLES = 3
"""Samples in a row above the target: one or two may be a single slow step, such as an import."""
_FASTEST_CUT = 0.8
"""Each sample above the target reduces the admitted share by at most a fifth: requests admitted before keep
the loop late for a while."""
FEW_REQUESTS = 64
"""So many open requests are not an overload, however late they make the event loop: each waits for the others
once, and there are no more. Thirty-two clients with a long answer each, one after the other, need 0.2 s."""
_GROWTH = 1.05
_STEP = 0.005
"""Each sample below the target raises the admitted share by this factor and this step."""
_LEAST = 0.02
"""The smallest admitted share: the requests that are served show when the overload ends."""
_NEVER_SHED = (b"/healthz", b"/readyz", b"/metrics")
_DEFAULT_DIALECT = "openai_chat"
_DIALECTS = (
    (b"/v1/messages", "anthropic_messages"),
    (b"/v1/responses", "openai_responses"),
    (b"/v1beta/interactions", "gemini_interactions"),
    (b"/v1/interactions", "gemini_interactions"),
    (b"/model/", "bedrock_converse"),
    (b"/v2/chat", "cohere_chat"),
    (b"/v1/conversations", "mistral_conversations"),
    (b"/v1beta/", "gemini"),
    (b"/v1/models/", "gemini"),
)


class LoadShedder:
    """Decides which requests are refused, from the delay of the event loop."""

    def __init__(self) -> None:
        self.admitted = 1.0
        self.current_delay: Callable[[], float] = lambda: 0.0
        """The delay since the last sample, in seconds."""
        self._delays: deque[float] = deque(maxlen=_SAMPLES)
        self._is_late = False
        self._credit = 0.0

    def observe(self, delay: float, open_requests: int = FEW_REQUESTS + 1) -> None:
        """Add a sample of the delay, in seconds, and how many requests were open."""
        self._delays.append(delay if open_requests > FEW_REQUESTS else 0.0)
        lowest = min(self._delays) if len(self._delays) == _SAMPLES else 0.0
        before = self.admitted
        self._is_late = lowest > TARGET / 2
        if lowest > TARGET:
            self.admitted = max(_LEAST, before * max(_FASTEST_CUT, TARGET / lowest))
        elif before < 1:
            self.admitted = min(1.0, before * _GROWTH + _STEP)
        if (before < 1) != (self.admitted < 1):
            log.warning("overload %s", "has ended" if before < 1 else "has begun: requests are refused")

    def sheds(self, target: bytes) -> bool:
        """Must the request to this target be refused?"""
        if (self.admitted >= 1 and not self._is_late) or target.startswith(_NEVER_SHED):
            return False
        if self._is_late and self.current_delay() > TARGET:
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
        """The bytes of the 503 response, in the dialect of the path."""
        language = next((name for path, name in _DIALECTS if target.startswith(path)), _DEFAULT_DIALECT)
        return _refusal(language, keep)


def overloaded_error() -> TurnedAway:
    """The error of a request that is refused for lack of capacity."""
    return TurnedAway(
        status=503,
        message="the gateway is overloaded; send the request again later",
        code="OVERLOADED",
        retry_after=1,
    )


@cache
def _refusal(language: str, keep: bool) -> bytes:  # noqa: FBT001
    _, error = dialect(language).encode_error(overloaded_error(), Reply("overloaded_error"))
    body = dump_json(error).encode()
    close = b"" if keep else b"connection: close\r\n"
    return (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
        b"%bcontent-length: %d\r\n\r\n%b" % (close, len(body), body)
    )


class LoopDelay:
    """Measures how late the event loop runs its timers, as far as this process is the cause."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start measuring."""
        self._loop = asyncio.get_running_loop()
        self._schedule()

    def stop(self) -> None:
        """Stop measuring."""
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self) -> None:
        self._began, self._busy = self._loop.time(), process_time()
        self._timer = self._loop.call_at(self._began + SAMPLE, self._sample)

    def _sample(self) -> None:
        self._observe(self.current())
        self._schedule()

    def current(self) -> float:
        """Seconds by which the next sample is late."""
        elapsed = self._loop.time() - self._began
        if elapsed <= SAMPLE:
            return 0.0
        # The time in which the system ran other processes does not count.
        return (elapsed - SAMPLE) * min(1.0, (process_time() - self._busy) / elapsed)
