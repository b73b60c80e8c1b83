"""Events of an answer while it arrives.

Events are values. `part` numbers the parts of the answer from zero, in their order; all events with the
same number build one part. Exactly one event of a stream is terminal: `Finished` or `Failed`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model.extras import NO_EXTRAS, Extras
from groundwire.model.parts import Image, Opaque, Phase, SearchCall, SearchResult
from groundwire.model.source import Citation
from groundwire.model.usage import Usage
from groundwire.model.value import value

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "pause", "filtered", "refused", "other"]
"""`stop`: complete; `length`: cut off by a limit; `tool_calls`: the client must call functions; `pause`: the
client may continue with the same request; `filtered`: cut off or blocked by the provider's filter; `refused`:
the model declined."""

NOTHING_FOUND = "nothing_found"
"""The `detail` of `Finished` if the search ran but no page answers the question."""


@value
class Started:
    """The provider accepted the request."""

    id: str = ""
    model: str = ""
    provider: str = ""
    """The name of the provider in groundwire."""


@value
class Verbatim:
    """Bytes of the provider's response, passed through to a client of the same dialect.

    They come before the events that they encode: whole frames of a stream, or a whole body.
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
    """A text part is settled: its text is complete, and all its citations were sent."""

    part: int


@value
class ReasoningDelta:
    """More text of a reasoning part."""

    part: int
    text: str


@value
class ToolCallDelta:
    """More of a function call: `id` and `name` come with the first delta, `arguments` in pieces."""

    part: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@value
class SearchStarted:
    """The provider began to search. The `SearchCalled` of the same part has the queries."""

    part: int
    id: str


@value
class SearchCalled:
    """A search of the provider, with its queries."""

    part: int
    call: SearchCall


@value
class SearchReturned:
    """The result of a search."""

    part: int
    result: SearchResult


@value
class PartAdded:
    """A part that arrives in one piece."""

    part: int
    value: Image | Opaque


@value
class ExtrasSeen:
    """Vendor data that belongs to a part: a signature, an item id."""

    part: int
    extras: Extras


@value
class Cited:
    """A citation. Its span is an offset range of the whole answer text."""

    citation: Citation


@value
class UsageSeen:
    """The usage so far; the last one counts."""

    usage: Usage


@value
class Warned:
    """A warning; the answer continues. `code` is for programs, `message` for people."""

    code: str
    message: str


@value
class Finished:
    """The answer is complete (terminal)."""

    reason: FinishReason = "stop"
    detail: str = ""
    """The provider's own reason, if it is more specific."""
    extras: Extras = NO_EXTRAS


@value
class Failed:
    """The answer was interrupted (terminal). The events before it remain valid."""

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
