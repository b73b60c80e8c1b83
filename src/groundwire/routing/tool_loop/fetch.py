"""Fetch function for models that cannot open pages: who declares it, which addresses it may open.

Anthropic's `web_fetch` and Gemini's URL context declare it. A page is opened only if its address is in a
message of the user, in the result of a client's function, or was found by a search: an address that a model
made up could carry the conversation to another server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from groundwire.dialects.json import load_json
from groundwire.engine.pages import Page, Passage, page_passages
from groundwire.errors import ClientWireError, FetchRefused, GroundwireError
from groundwire.model import (
    FunctionTool,
    Json,
    JsonObject,
    Message,
    OpaqueTool,
    Request,
    SearchOptions,
    SearchResult,
    Source,
    Text,
    Tool,
    ToolResult,
)
from groundwire.model.value import value
from groundwire.text.domains import admits
from groundwire.text.links import find_links
from groundwire.text.urls import canonical_url, safe_url

NAME = "web_fetch"
MAX_FETCHES = 5
MAX_CHARACTERS = 40_000
_CHARACTERS_OF_TOKEN = 4
_MAX_URL = 2000
NOT_ALLOWED = "url_not_allowed"
NOT_ACCESSIBLE = "url_not_accessible"

RULES = """You can read a web page by calling the function {name} with its address. The address must be in \
the conversation or in a search result. The page comes back as passages, like search results."""


@value
class FetchOptions:
    """What the declaration of the client allows."""

    limit: int = MAX_FETCHES
    characters: int = MAX_CHARACTERS
    domains: SearchOptions = SearchOptions()
    """The domain lists."""


def fetch_options(request: Request) -> FetchOptions | None:
    """The limits of page fetching, if the client declares a tool for it."""
    declared = next((tool for tool in request.tools if is_fetch_tool(tool)), None)
    if not isinstance(declared, OpaqueTool):
        return None
    uses, tokens = declared.data.get("max_uses"), declared.data.get("max_content_tokens")
    return FetchOptions(
        min(uses, MAX_FETCHES) if type(uses) is int else MAX_FETCHES,
        min(tokens * _CHARACTERS_OF_TOKEN, MAX_CHARACTERS) if type(tokens) is int else MAX_CHARACTERS,
        SearchOptions(
            allowed_domains=_texts(declared.data.get("allowed_domains")),
            blocked_domains=_texts(declared.data.get("blocked_domains")),
        ),
    )


def is_fetch_tool(tool: Tool) -> bool:
    """Is this Anthropic's `web_fetch` or Gemini's URL context?"""
    if not isinstance(tool, OpaqueTool):
        return False
    kind = str(tool.data.get("type", ""))
    return kind.startswith("web_fetch_") or kind == "url_context" or not _URL_CONTEXT.isdisjoint(tool.data)


_URL_CONTEXT = frozenset({"urlContext", "url_context"})


def fetch_function(name: str) -> FunctionTool:
    """The function as it is declared to the model."""
    url: JsonObject = {"type": "string", "description": "The whole address of the page."}
    schema: JsonObject = {"type": "object", "properties": {"url": url}, "required": ["url"]}
    return FunctionTool(name, "Read a web page. Returns numbered passages of it.", schema)


def parse_url(arguments: str) -> str:
    """The address in the arguments of a call; empty if there is none."""
    try:
        parsed = load_json(arguments or "{}", ClientWireError)
    except ClientWireError:
        return ""
    url = parsed.get("url") if isinstance(parsed, dict) else None
    return safe_url(url.strip()) if isinstance(url, str) and len(url) <= _MAX_URL else ""


def known_addresses(messages: Iterable[Message]) -> Iterator[str]:
    """The addresses that a conversation names, in their canonical form."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, SearchResult):
                yield from addresses_of(part.sources)
            elif isinstance(part, ToolResult):
                yield from (url for item in part.content if isinstance(item, Text) for url in _linked(item))
            elif isinstance(part, Text) and message.role == "user":
                yield from _linked(part)
        for citation in message.citations:
            yield from addresses_of(evidence.source for evidence in citation.evidence)


def addresses_of(sources: Iterable[Source]) -> Iterator[str]:
    """The addresses of sources, in their canonical form."""
    return (canonical_url(source.url) for source in sources if source.url)


def check_address(url: str, known: Iterable[str], options: FetchOptions) -> None:
    """Raise `FetchRefused` for an address that may not be opened."""
    if canonical_url(url) not in known:
        raise FetchRefused("the address is neither in the conversation nor in a search result")
    if not admits(options.domains, Source(url)):
        raise FetchRefused("the domain lists of the request exclude this page")


def first_passages(page: Page, characters: int) -> list[Passage]:
    """The passages of a page, up to a number of characters."""
    kept: list[Passage] = []
    for passage in page_passages(page):
        if passage.start >= characters:
            break
        kept.append(passage)
    return kept


def fetch_error_code(error: GroundwireError) -> str:
    """The code of an error of a fetch in a `SearchResult`."""
    return NOT_ALLOWED if isinstance(error, FetchRefused) else NOT_ACCESSIBLE


FAILURES: Mapping[str, str] = {
    NOT_ALLOWED: "This page may not be read: its address is not in the conversation or in a search result.",
    NOT_ACCESSIBLE: "The page could not be read. Answer without it, and say so.",
}


def _linked(part: Text) -> Iterator[str]:
    return (canonical_url(link.url) for link in find_links(part.text))


def _texts(given: Json) -> tuple[str, ...]:
    return tuple(item for item in given if isinstance(item, str)) if isinstance(given, list) else ()
