"""What is measured, and what groundwire must keep to."""

from __future__ import annotations

from typing import NamedTuple

CHAT, RESPONSES, MESSAGES, GEMINI = "openai_chat", "openai_responses", "anthropic_messages", "gemini"
TITLES = {CHAT: "Chat", RESPONSES: "Responses", MESSAGES: "Messages", GEMINI: "Gemini"}


class Limit(NamedTuple):
    """At most so many times the cost of another contender."""

    times: float
    contender: str

    def __str__(self) -> str:
        return (
            f"{self.contender} / {1 / self.times:.0f}"
            if self.times < 1
            else f"{self.times:.0f} x {self.contender}"
        )


class Work(NamedTuple):
    """One kind of request."""

    speaks: str
    """The dialect of the client."""
    asks: str
    """The dialect of the upstream."""
    stream: bool
    variant: str = "plain"
    at_once: tuple[int, ...] = (1, 32)
    limits: tuple[Limit, ...] = ()

    @property
    def same(self) -> bool:
        return self.speaks == self.asks

    @property
    def title(self) -> str:
        form = (
            {"plain": "burst", "paced": "paced"}.get(self.variant, self.variant) if self.stream else "unary"
        )
        return f"{form} {TITLES[self.speaks]}" + ("" if self.same else f" <- {TITLES[self.asks]}")


def _litellm(part: int) -> Limit:
    return Limit(1 / part, "LiteLLM")


_SAME = (_litellm(25), Limit(3, "pass-through"))
_CROSS = (_litellm(15),)

WORKS = (
    Work(CHAT, CHAT, stream=False, limits=_SAME),
    Work(MESSAGES, MESSAGES, stream=False, limits=_SAME),
    Work(MESSAGES, GEMINI, stream=False, limits=_CROSS),
    Work(MESSAGES, RESPONSES, stream=False, limits=_CROSS),
    Work(CHAT, GEMINI, stream=False, limits=_CROSS),
    Work(CHAT, CHAT, stream=True, limits=(_litellm(60),)),
    Work(MESSAGES, MESSAGES, stream=True, limits=(_litellm(60),)),
    Work(MESSAGES, GEMINI, stream=True, limits=(_litellm(30),)),
    Work(CHAT, GEMINI, stream=True, limits=(_litellm(30),)),
    Work(MESSAGES, RESPONSES, stream=True, limits=(_litellm(10),)),
    Work(CHAT, CHAT, stream=True, variant="paced", at_once=(32,), limits=(_litellm(8), Limit(4, "nginx"))),
    Work(MESSAGES, GEMINI, stream=True, variant="paced", at_once=(32,), limits=(_litellm(8),)),
)

FIRST_TOKENS = (
    Work(CHAT, CHAT, stream=True, variant="brief"),
    Work(MESSAGES, MESSAGES, stream=True, variant="brief"),
)
ADDED_MS = 1.0
"""To the first token, at most, with one stream at a time."""

IDLE = Limit(1 / 3, "LiteLLM")

LENGTHS = (10, 100, 1000, 10_000)
GROWING = (Work(CHAT, CHAT, stream=True), Work(MESSAGES, GEMINI, stream=True))
STRAIGHT = 1.5
"""How many times dearer an event may be in the longest stream than in the one a tenth as long."""
