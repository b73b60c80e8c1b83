"""What is asked: messages, tools, search options, limits."""

from __future__ import annotations

from typing import Literal, TypeAlias

from groundwire.model.extras import NO_EXTRAS, Extras, JsonObject
from groundwire.model.parts import Part, Text
from groundwire.model.source import Citation
from groundwire.model.value import value

Role: TypeAlias = Literal["user", "assistant", "system", "developer"]
ContextSize: TypeAlias = Literal["low", "medium", "high"]
ToolMode: TypeAlias = Literal["auto", "none", "required", "search", "function"]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@value
class Message:
    """One turn. Spans of `citations` count over the concatenated text of its `Text` parts.

    Tool results stand in user messages.
    """

    role: Role
    parts: tuple[Part, ...]
    citations: tuple[Citation, ...] = ()
    extras: Extras = NO_EXTRAS

    @property
    def text(self) -> str:
        """The words alone."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@value
class Location:
    """Where the asker is, roughly. Country is ISO 3166 alpha-2, timezone an IANA name."""

    country: str = ""
    region: str = ""
    city: str = ""
    timezone: str = ""
    latitude: float | None = None
    longitude: float | None = None


@value
class SearchOptions:
    """How to search. Its presence in a request is what turns web search on.

    Restrictions (both domain lists, `live=False`) must be honoured or refused; the rest are hints.
    """

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    location: Location | None = None
    language: str = ""
    since: str = ""
    """RFC 3339; pages from then on."""
    until: str = ""
    max_uses: int | None = None
    max_sources: int | None = None
    context_size: ContextSize | None = None
    live: bool | None = None
    extras: Extras = NO_EXTRAS


@value
class FunctionTool:
    """A function of the client's that the model may call."""

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    strict: bool | None = None
    extras: Extras = NO_EXTRAS


@value
class OpaqueTool:
    """A tool of one dialect that has no canonical meaning (code execution, file search, …)."""

    dialect: str
    data: JsonObject


Tool: TypeAlias = FunctionTool | OpaqueTool


@value
class ToolChoice:
    """`search` forces a web search, `function` the one named."""

    mode: ToolMode
    name: str = ""


@value
class Limits:
    """How much, and how freely."""

    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


@value
class ReasoningOptions:
    """How hard to think, and whether to show it."""

    effort: Effort | None = None
    budget_tokens: int | None = None
    visible: bool | None = None


@value
class OutputFormat:
    """JSON output; without a schema any JSON object will do."""

    schema: JsonObject | None = None
    name: str = ""
    strict: bool | None = None


@value
class StoredContext:
    """Text that a request names instead of carrying it, and that only one vendor has."""

    dialect: str
    """Whose ids the names are."""
    names: tuple[str, ...]
    """The fields of the request that hold them."""


@value
class Wire:
    """A request as its client wrote it, so that a provider of the same dialect can be given it unchanged."""

    dialect: str
    body: JsonObject
    data: bytes = b""
    """The body byte for byte."""
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names; a provider takes those it knows."""


@value
class Request:
    """One question with all that belongs to it."""

    messages: tuple[Message, ...]
    model: str = ""
    system: tuple[Text, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    search: SearchOptions | None = None
    limits: Limits = Limits()
    reasoning: ReasoningOptions | None = None
    output: OutputFormat | None = None
    stream: bool = False
    previous_id: str = ""
    """An earlier answer kept by the provider, which this request continues."""
    extras: Extras = NO_EXTRAS
    wire: Wire | None = None
    stored: StoredContext | None = None

    @property
    def query(self) -> str:
        """The last thing the user said, as text: the question."""
        for message in reversed(self.messages):
            if message.role == "user" and message.text:
                return message.text
        return ""
