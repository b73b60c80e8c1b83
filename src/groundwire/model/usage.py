"""Usage: tokens, searches and cost of one request."""

from __future__ import annotations

from groundwire.model.value import value


@value
class Usage:
    """Tokens, searches and cost of one request. `None` means that the provider did not report it.

    `input_tokens` includes cached tokens and tool input, `output_tokens` includes reasoning. The other token
    counts are parts of these two. `searches` is the number that the provider counts or bills, `cost` is in
    US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    tool_tokens: int | None = None
    searches: int | None = None
    fetches: int | None = None
    cost: float | None = None
