"""Events of an answer while it is received, and its usage.

Events are values. `part` numbers the parts of the answer from zero, in their order; all events with one
number build one part. Exactly one event of a stream is terminal: `Finished` or `Failed`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model.extras import NO_EXTRAS, Extras
from groundwire.model.parts import Image, Opaque, Phase, SearchCall, SearchResult
from groundwire.model.source import Citation
from groundwire.model.value import value


@value
class Usage:
    """Usage of one request: token counts, searches and cost. `None` means not reported.

    `input_tokens` includes cached and tool input, `output_tokens` includes reasoning; the other counts are
    parts of those two. `searches` is the number the provider counts or bills. `cost` is in USD, `search_cost`
    the part of it that the searches cost.
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
    search_cost: float | None = None


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "pause", "filtered", "refused", "other"]
"""stop: complete; length: a limit was reached; tool_calls: the client must act; pause: continue with the same
request; filtered: a filter of the provider cut or blocked it; refused: the model declined."""

NOTHING_FOUND = "nothing_found"
"""The `detail` of `Finished` when the search ran and no page answers the question."""

NOTICES = frozenset(("query_corrected", "query_translated", "did_you_mean", "index_building"))
"""Codes of `Warned` that only inform: how a question was understood, or that the index still grows."""


@value
class Started:
    """The provider accepted the request."""

    id: str = ""
    model: str = ""
    provider: str = ""
    """The configured name of the provider."""


@value
class Verbatim:
    """Bytes of the provider's own response, for a client that uses the same dialect.

    They come before the events decoded from them; whole frames of a stream, or a whole body.
    """

    data: bytes


@value
class TextDelta:
    """More text of a text part."""

    part: int
    text: str
    phase: Phase = ""


@value
class TextSettled:
    """This text part is complete, and all its citations have been emitted."""

    part: int


@value
class ReasoningDelta:
    """More of a reasoning part."""

    part: int
    text: str


@value
class ToolCallDelta:
    """More of a function call: `id` and `name` are in its first delta, `arguments` arrives in fragments."""

    part: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@value
class SearchStarted:
    """The provider began to search; the queries are in the `SearchCalled` of the same part."""

    part: int
    id: str


@value
class SearchCalled:
    """The search, with its queries."""

    part: int
    call: SearchCall


@value
class SearchReturned:
    """What the search found."""

    part: int
    result: SearchResult


@value
class PartAdded:
    """A part that arrives whole."""

    part: int
    value: Image | Opaque


@value
class ExtrasSeen:
    """Dialect-specific data of a part: a signature, an item id."""

    part: int
    extras: Extras


@value
class Cited:
    """A citation. Its span counts over the text of the whole answer."""

    citation: Citation


NO_USAGE = Usage()
"""Nothing was reported."""


@value
class UsageSeen:
    """The usage so far; the last one is final."""

    usage: Usage


@value
class Warned:
    """Something the caller should know while the answer continues. `code` is for programs."""

    code: str
    message: str


@value
class Finished:
    """The answer is complete (terminal)."""

    reason: FinishReason = "stop"
    detail: str = ""
    """The provider's own reason, where it says more."""
    extras: Extras = NO_EXTRAS


@value
class Failed:
    """The answer failed (terminal). The events before it stay valid."""

    error: GroundwireError


Event: TypeAlias = (
    Started
    | Verbatim
    | TextDelta
    | TextSettled
    | ReasoningDelta
    | ToolCallDelta
    | SearchStarted
    | SearchCalled
    | SearchReturned
    | PartAdded
    | ExtrasSeen
    | Cited
    | UsageSeen
    | Warned
    | Finished
    | Failed
)
