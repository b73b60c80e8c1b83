"""What messages and answers are made of, in the order in which it was said."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, JsonObject
from groundwire.model.source import Source
from groundwire.model.value import value

Phase: TypeAlias = Literal["", "commentary", "final_answer", "refusal"]
SearchKind: TypeAlias = Literal["search", "open", "find"]


@value
class Text:
    """Plain words. `phase` tells a running commentary or a refusal from the answer proper."""

    text: str
    phase: Phase = ""
    extras: Extras = NO_EXTRAS


@value
class Reasoning:
    """Thinking that the model showed. Signatures and encrypted forms are extras."""

    text: str
    extras: Extras = NO_EXTRAS


@value
class Image:
    """A picture, inline (`data`, base64) or by address."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    extras: Extras = NO_EXTRAS


@value
class ToolCall:
    """The model asks the client to run a function. `arguments` is JSON text, verbatim."""

    id: str
    name: str
    arguments: str = "{}"
    extras: Extras = NO_EXTRAS


@value
class ToolResult:
    """What the client's function gave back: text and images."""

    call_id: str
    content: tuple[Text | Image | Opaque, ...] = ()
    name: str = ""
    is_error: bool = False
    extras: Extras = NO_EXTRAS


@value
class SearchCall:
    """The provider's own act: search the web, open a page, or find a pattern in one.

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
    """What a search call came back with. `error` is a short code, empty when it went well."""

    call_id: str
    sources: tuple[Source, ...] = ()
    error: str = ""
    suggestions: str = ""
    """Google's search suggestions (HTML), which its terms oblige us to show with the answer."""
    caller: str = ""
    extras: Extras = NO_EXTRAS


@value
class Opaque:
    """A part of one dialect that has no canonical meaning: kept whole, given back to it alone."""

    dialect: str
    data: JsonObject


Part: TypeAlias = Text | Reasoning | Image | ToolCall | ToolResult | SearchCall | SearchResult | Opaque
