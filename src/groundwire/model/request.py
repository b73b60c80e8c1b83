"""The request: messages, tools, search options, limits."""

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

    Tool results are in user messages.
    """

    role: Role
    parts: tuple[Part, ...]
    citations: tuple[Citation, ...] = ()
    extras: Extras = NO_EXTRAS

    @property
    def text(self) -> str:
        """The text of all text parts."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@value
class Location:
    """Approximate location of the user. Country is ISO 3166 alpha-2, timezone an IANA name."""

    country: str = ""
    region: str = ""
    city: str = ""
    timezone: str = ""
    latitude: float | None = None
    longitude: float | None = None


@value
class SearchOptions:
    """How to search. Web search is on if a request has search options.

    Restrictions (both domain lists, `live=False`) must be applied or rejected; the rest are hints.
    """

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    location: Location | None = None
    language: str = ""
    since: str = ""
    """RFC 3339; only pages from this time on."""
    until: str = ""
    max_uses: int | None = None
    max_sources: int | None = None
    context_size: ContextSize | None = None
    live: bool | None = None
    extras: Extras = NO_EXTRAS


@value
class FunctionTool:
    """A client function that the model may call."""

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    strict: bool | None = None
    extras: Extras = NO_EXTRAS


@value
class OpaqueTool:
    """A tool of one dialect without a canonical meaning (code execution, file search, …)."""

    dialect: str
    data: JsonObject


Tool: TypeAlias = FunctionTool | OpaqueTool


@value
class ToolChoice:
    """Which tool the model must or may call: `search` forces a web search, `function` the named function."""

    mode: ToolMode
    name: str = ""


@value
class Limits:
    """Output limits and sampling settings."""

    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


@value
class ReasoningOptions:
    """Reasoning effort, and whether reasoning is shown."""

    effort: Effort | None = None
    budget_tokens: int | None = None
    visible: bool | None = None


@value
class OutputFormat:
    """JSON output; without a schema any JSON object is valid."""

    schema: JsonObject | None = None
    name: str = ""
    strict: bool | None = None


@value
class StoredContext:
    """Context that a request refers to by id, and that only one vendor has stored."""

    dialect: str
    """The dialect that the ids belong to."""
    names: tuple[str, ...]
    """The fields of the request that contain the ids."""


@value
class Wire:
    """A request as the client sent it, so that it can be passed unchanged to a provider of the same
    dialect."""

    dialect: str
    body: JsonObject
    data: bytes = b""
    """The body, byte for byte."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case; a provider forwards those it knows."""


@value
class Request:
    """A canonical request."""

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
    """The id of an earlier answer stored by the provider, which this request continues."""
    extras: Extras = NO_EXTRAS
    wire: Wire | None = None
    stored: StoredContext | None = None

    @property
    def query(self) -> str:
        """The text of the last user message: the question."""
        for message in reversed(self.messages):
            if message.role == "user" and message.text:
                return message.text
        return ""
