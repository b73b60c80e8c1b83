"""What an answer cost."""

from __future__ import annotations

from groundwire.model.value import value


@value
class Usage:
    """Counts for one request. `None` means the provider did not say.

    `input_tokens` holds everything read (cached and tool input included), `output_tokens` everything
    written (reasoning included); the other counts are parts of those two. `searches` is the number
    the provider counts or bills.
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
