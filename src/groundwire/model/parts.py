"""Parts of messages and answers, in order."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, JsonObject
from groundwire.model.source import Source
from groundwire.model.value import value

Phase: TypeAlias = Literal["", "commentary", "final_answer", "refusal"]
SearchKind: TypeAlias = Literal["search", "open", "find"]


@value
class Text:
    """Text. `phase` distinguishes commentary and refusals from the answer itself."""

    text: str
    phase: Phase = ""
    extras: Extras = NO_EXTRAS


@value
class Reasoning:
    """Visible reasoning of the model. Signatures and encrypted forms are extras."""

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
    """A function that the model asks the client to call. `arguments` is JSON text, unchanged."""

    id: str
    name: str
    arguments: str = "{}"
    extras: Extras = NO_EXTRAS


@value
class ToolResult:
    """The result of a function call: text and images."""

    call_id: str
    content: tuple[Text | Image | Opaque, ...] = ()
    name: str = ""
    is_error: bool = False
    extras: Extras = NO_EXTRAS


@value
class SearchCall:
    """An action of the provider: searching the web, opening a page, or finding a pattern in a page.

    It is never a call for the client to execute. `caller` names the server tool that made it.
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
    """A part of one dialect without a canonical form: kept unchanged, and sent back to that dialect only."""

    dialect: str
    data: JsonObject


Part: TypeAlias = Text | Reasoning | Image | ToolCall | ToolResult | SearchCall | SearchResult | Opaque
