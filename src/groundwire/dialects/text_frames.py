"""Frames of text, in the forms in which msgspec reads them.

Nearly all frames of a stream are a text delta and nothing else. A frame of another form is read by the
decoder of its dialect, which decides about values and errors. Imported only where msgspec is installed.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType


class GeminiPart(Struct, forbid_unknown_fields=True):
    """A part that is only text."""

    text: str


class GeminiContent(Struct, forbid_unknown_fields=True):
    """A content with one part."""

    parts: tuple[GeminiPart]
    role: str | None = None


class GeminiCandidate(Struct, forbid_unknown_fields=True, rename="camel"):
    """A candidate without an end."""

    content: GeminiContent
    index: int | None = None
    grounding_metadata: dict[str, object] | None = None


class GeminiTextChunk(Struct, forbid_unknown_fields=True, rename="camel"):
    """A chunk of Gemini with text of one candidate."""

    candidates: tuple[GeminiCandidate]
    usage_metadata: dict[str, object] | UnsetType | None = UNSET
    model_version: object = None
    response_id: object = None
    create_time: object = None

    @property
    def has_usage(self) -> bool:
        """Is there a usage, or null in its place?"""
        return self.usage_metadata is not UNSET


class ResponsesTextDelta(Struct):
    """The event `response.output_text.delta`; its other fields are not read."""

    type: Literal["response.output_text.delta"]
    output_index: int
    content_index: int
    delta: str
