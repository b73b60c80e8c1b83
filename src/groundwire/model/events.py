"""What happens while an answer comes in.

Events are values. `part` numbers the parts of the answer from zero, in the order in which they are
said; all events with one number build one part. Exactly one event of a stream is terminal: `Finished`
or `Failed`.
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


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "pause", "filtered", "refused", "other"]
"""stop: said all; length: a limit cut it; tool_calls: the client must act; pause: continue with the same
request; filtered: a filter of the provider's cut or blocked it; refused: the model declined."""

NOTHING_FOUND = "nothing_found"
"""The `detail` of `Finished` when the search ran and no page answers the question."""


@value
class Started:
    """The provider took the request."""

    id: str = ""
    model: str = ""
    provider: str = ""
    """Whom we asked, by our name for it."""


@value
class Verbatim:
    """Bytes of the provider's own answer, for a caller who speaks its language and asked in it.

    They come before the events that they tell; whole frames of a stream, or a whole body.
    """

    data: bytes


@value
class TextDelta:
    """More words of a text part."""

    part: int
    text: str
    phase: Phase = ""


@value
class TextSettled:
    """This text part is complete and all its citations have been told."""

    part: int


@value
class ReasoningDelta:
    """More of a reasoning part."""

    part: int
    text: str


@value
class ToolCallDelta:
    """More of a function call: `id` and `name` come with its first delta, `arguments` piece by piece."""

    part: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@value
class SearchStarted:
    """The provider began to search; for what is told by the `SearchCalled` of the same part."""

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
    """A part that comes whole."""

    part: int
    value: Image | Opaque


@value
class ExtrasSeen:
    """Something verbatim that belongs to a part: a signature, an item id."""

    part: int
    extras: Extras


@value
class Cited:
    """A citation. Its span counts over the text of the whole answer."""

    citation: Citation


@value
class UsageSeen:
    """The counts so far; the last one told is the one that holds."""

    usage: Usage


@value
class Warned:
    """Something the caller should know though the answer goes on. `code` is for programs."""

    code: str
    message: str


@value
class Finished:
    """The answer is complete (terminal)."""

    reason: FinishReason = "stop"
    detail: str = ""
    """In the provider's own words, where they say more than the reason."""
    extras: Extras = NO_EXTRAS


@value
class Failed:
    """The answer broke off (terminal). What came before stands."""

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
