"""The workloads of the benchmark, and the limits that groundwire should keep."""

from __future__ import annotations

from typing import NamedTuple

CHAT, RESPONSES, MESSAGES, GEMINI = "openai_chat", "openai_responses", "anthropic_messages", "gemini"
TITLES = {CHAT: "Chat", RESPONSES: "Responses", MESSAGES: "Messages", GEMINI: "Gemini"}


class Limit(NamedTuple):
    """A limit: at most `times` the cost of another contender."""

    times: float
    contender: str

    def __str__(self) -> str:
        return (
            f"{self.contender} / {1 / self.times:.0f}"
            if self.times < 1
            else f"{self.times:g} x {self.contender}"
        )


class Workload(NamedTuple):
    """One kind of request."""

    client_dialect: str
    upstream_dialect: str
    stream: bool
    variant: str = "plain"
    concurrency: tuple[int, ...] = (1, 32)
    limits: tuple[Limit, ...] = ()

    @property
    def same(self) -> bool:
        return self.client_dialect == self.upstream_dialect

    @property
    def title(self) -> str:
        form = (
            {"plain": "burst", "paced": "paced"}.get(self.variant, self.variant) if self.stream else "unary"
        )
        return f"{form} {TITLES[self.client_dialect]}" + (
            "" if self.same else f" <- {TITLES[self.upstream_dialect]}"
        )


def _litellm(part: int) -> Limit:
    return Limit(1 / part, "LiteLLM")


_UNARY = (Limit(6, "raw"), _litellm(60))
_UNARY_CROSS = (_litellm(25),)
_BURST = (Limit(4, "raw"),)
_PACED = (Limit(3, "nginx"), Limit(1.6, "raw"))
_PACED_CROSS = (Limit(2.5, "raw translator"),)
_STREAMS = (32, 500)

WORKLOADS = (
    Workload(CHAT, CHAT, stream=False, limits=_UNARY),
    Workload(MESSAGES, MESSAGES, stream=False, limits=_UNARY),
    Workload(MESSAGES, GEMINI, stream=False, limits=_UNARY_CROSS),
    Workload(MESSAGES, RESPONSES, stream=False, limits=_UNARY_CROSS),
    Workload(CHAT, GEMINI, stream=False, limits=_UNARY_CROSS),
    Workload(CHAT, CHAT, stream=True, limits=_BURST),
    Workload(MESSAGES, MESSAGES, stream=True, limits=_BURST),
    Workload(MESSAGES, GEMINI, stream=True, limits=(_litellm(80),)),
    Workload(CHAT, GEMINI, stream=True, limits=(_litellm(80),)),
    Workload(MESSAGES, RESPONSES, stream=True, limits=(_litellm(30),)),
    Workload(CHAT, CHAT, stream=True, variant="paced", concurrency=_STREAMS, limits=_PACED),
    Workload(MESSAGES, GEMINI, stream=True, variant="paced", concurrency=_STREAMS, limits=_PACED_CROSS),
)

FIRST_TOKENS = (
    Workload(CHAT, CHAT, stream=True, variant="brief"),
    Workload(MESSAGES, MESSAGES, stream=True, variant="brief"),
)
ADDED_MS = 0.7
"""Limit for the time added to the first token, with one stream at a time."""

LATE_MS = 100.0
"""A paced stream is late if the 99th percentile of the time between two reads is longer."""

MEMORY_MB = 45.0
"""Limit for the memory after the last request (PSS)."""

WORKERS_WORKLOAD = next(workload for workload in WORKLOADS if workload.title == "burst Messages <- Gemini")
"""What two workers are measured with: a gateway costs much more than load generator and upstream."""

CAPACITY_WORKLOAD = Workload(CHAT, CHAT, stream=True, variant="paced")
CAPACITY_CONTENDERS = ("nginx", "raw", "groundwire", "LiteLLM")
"""How many paced streams one core carries before they are late."""
FIRST_STREAMS, MOST_STREAMS = 16, 4096
CAPACITY_SECONDS = 90.0
"""No further number of streams is tried after this time."""

LENGTHS = (10, 100, 1000, 10_000)
GROWTH_WORKLOADS = (Workload(CHAT, CHAT, stream=True), Workload(MESSAGES, GEMINI, stream=True))
MAX_GROWTH = 1.5
"""Limit for the cost per event in the longest stream, relative to a stream a tenth as long."""
