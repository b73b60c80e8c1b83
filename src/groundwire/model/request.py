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
    """Text, images, tool calls and results, searches, in order."""
    citations: tuple[Citation, ...] = ()
    """Citations of an assistant message."""
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
    """Search only these sites."""
    blocked_domains: tuple[str, ...] = ()
    """Never use these sites."""
    location: Location | None = None
    language: str = ""
    """Preferred language of the pages."""
    since: str = ""
    """RFC 3339; only pages from this time on."""
    until: str = ""
    """Only pages up to that time."""
    max_uses: int | None = None
    """Maximum number of searches for one answer."""
    max_sources: int | None = None
    """Maximum number of sources in the answer."""
    context_size: ContextSize | None = None
    """How much of each page the model reads."""
    live: bool | None = None
    """False: use only pages that the provider has stored."""
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
    """The conversation; the last message is the question."""
    model: str = ""
    """The model to use; empty for the default."""
    system: tuple[Text, ...] = ()
    """System instructions."""
    tools: tuple[Tool, ...] = ()
    """Functions and vendor tools that the model may use."""
    tool_choice: ToolChoice | None = None
    search: SearchOptions | None = None
    """Search options; None turns web search off."""
    limits: Limits = Limits()
    reasoning: ReasoningOptions | None = None
    output: OutputFormat | None = None
    stream: bool = False
    """True if the provider should stream the response."""
    previous_id: str = ""
    """The id of an earlier answer stored by the provider, which this request continues."""
    extras: Extras = NO_EXTRAS
    wire: Wire | None = None
    """The client's original request, for passthrough."""
    stored: StoredContext | None = None
    """Text that the request refers to and that only one vendor has."""
    links_only: bool = False
    """True if the pages that a search finds are enough: a search engine then composes no answer."""
    background: bool = False
    """True if the answer may take longer than a connection lasts: a vendor with a background mode uses it."""

    @property
    def query(self) -> str:
        """The text of the last user message: the question."""
        for message in reversed(self.messages):
            if message.role == "user" and message.text:
                return message.text
        return ""
