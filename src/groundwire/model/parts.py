"""Parts of messages and answers: text, reasoning, images, tool calls and searches."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, JsonObject
from groundwire.model.source import Source
from groundwire.model.value import value

Phase: TypeAlias = Literal["", "commentary", "final_answer", "refusal"]
SearchKind: TypeAlias = Literal["search", "open", "find"]


@value
class Text:
    """Plain text. `phase` separates commentary and refusals from the answer proper."""

    text: str
    phase: Phase = ""
    extras: Extras = NO_EXTRAS


@value
class Reasoning:
    """Reasoning that the model showed. Signatures and encrypted forms are extras."""

    text: str
    extras: Extras = NO_EXTRAS


@value
class Image:
    """An image, inline (`data`, base64) or by URL."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    extras: Extras = NO_EXTRAS


@value
class ToolCall:
    """A call of a client function by the model. `arguments` is JSON text, verbatim."""

    id: str
    name: str
    arguments: str = "{}"
    extras: Extras = NO_EXTRAS


@value
class ToolResult:
    """The result of a client function: text and images."""

    call_id: str
    content: tuple[Text | Image | Opaque, ...] = ()
    name: str = ""
    is_error: bool = False
    extras: Extras = NO_EXTRAS


@value
class SearchCall:
    """A server-side search: search the web, open a page, or find a pattern in one.

    The client never executes it. `caller` names the server tool that made it.
    """

    id: str
    queries: tuple[str, ...] = ()
    kind: SearchKind = "search"
    url: str = ""
    pattern: str = ""
    caller: str = ""
    extras: Extras = NO_EXTRAS


@value
class SearchResult:
    """The result of a search call. `error` is a short code, empty on success."""

    call_id: str
    sources: tuple[Source, ...] = ()
    error: str = ""
    suggestions: str = ""
    """Google's search suggestions (HTML), which its terms require to be shown with the answer."""
    caller: str = ""
    extras: Extras = NO_EXTRAS


@value
class Opaque:
    """A part of one dialect without a canonical meaning: kept whole, sent back to that dialect only."""

    dialect: str
    data: JsonObject


Part: TypeAlias = Text | Reasoning | Image | ToolCall | ToolResult | SearchCall | SearchResult | Opaque
