"""Frames of text, in the forms in which msgspec reads them.

Nearly all frames of a stream are a text delta and nothing else. A frame of another form is read by the
decoder of its dialect, which decides about values and errors; both must read a frame of text alike. Imported
only where msgspec is installed.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType


class GeminiPart(Struct, forbid_unknown_fields=True, gc=False):
    """A part that is only text."""

    text: str


class GeminiContent(Struct, forbid_unknown_fields=True, gc=False):
    """A content with one part."""

    parts: tuple[GeminiPart]
    role: str | None = None


class GeminiCandidate(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """A candidate without an end."""

    content: GeminiContent
    index: Literal[0] | None = None
    grounding_metadata: dict[str, object] | None = None


class GeminiTextChunk(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """A chunk of Gemini with text of one candidate."""

    candidates: tuple[GeminiCandidate]
    usage_metadata: dict[str, object] | UnsetType | None = UNSET
    model_version: Any = None
    response_id: Any = None
    create_time: Any = None

    @property
    def has_usage(self) -> bool:
        """Is there a usage, or null in its place?"""
        return self.usage_metadata is not UNSET


class ResponsesTextDelta(Struct, gc=False):
    """The event `response.output_text.delta`; its other fields are not read."""

    type: Literal["response.output_text.delta"]
    output_index: int
    content_index: int
    delta: str


class MessagesText(Struct, gc=False):
    """More text of a block."""

    type: Literal["text_delta"]
    text: str


class MessagesTextDelta(Struct, gc=False):
    """The event `content_block_delta` with text; its other fields are not read."""

    type: Literal["content_block_delta"]
    index: int
    delta: MessagesText


class ChatDelta(Struct, forbid_unknown_fields=True, gc=False):
    """A delta that is only text. Many servers send the other fields in every chunk."""

    content: str
    role: Any = None
    refusal: None = None
    reasoning: None = None
    reasoning_content: None = None
    tool_calls: None = None
    function_call: None = None
    annotations: None = None


class ChatChoice(Struct, forbid_unknown_fields=True, gc=False):
    """A choice without an end."""

    delta: ChatDelta
    index: Literal[0] | None = None
    finish_reason: Literal[""] | None = None
    native_finish_reason: Any = None
    stop_reason: Any = None
    logprobs: Any = None
    content_filter_results: Any = None


class ChatTextChunk(Struct, forbid_unknown_fields=True, gc=False):
    """A chunk of Chat Completions with text of one choice."""

    choices: tuple[ChatChoice]
    id: Any = None
    object: Any = None
    created: Any = None
    model: Any = None
    provider: Any = None
    service_tier: Any = None
    system_fingerprint: Any = None
    obfuscation: Any = None
    usage: None = None
