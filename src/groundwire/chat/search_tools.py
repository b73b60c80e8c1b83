"""Search among the tools of an app: which entries mean it, whose search they name, and with which options.

An entry is a name (`webSearch`, `googleSearch`) or an object, in the form of the app's own tools
(`{"id": "webSearch", "filters": …}`) or of a provider's (`{"type": "web_search", …}`,
`{"type": "web_search_20250305", "allowed_domains": […]}`, `{"google_search": {}}`).
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.client import Groundwire
from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.search import TOOLS
from groundwire.errors import ClientWireError
from groundwire.model import Json, Location, SearchOptions, Warned
from groundwire.model.request import ContextSize
from groundwire.model.value import replace
from groundwire.routing.resolve import AUTO
from groundwire.store.base import Agent
from groundwire.text.domains import is_domain_entry
from groundwire.tools.special import GOOGLE_SEARCH, WEB_SEARCH

_GOOGLE_NAMES = frozenset({GOOGLE_SEARCH, "google_search"})
_GOOGLE_DIALECTS = frozenset({"gemini", "gemini_interactions"})
_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}


def is_search(tool: Json) -> bool:
    """Does an entry among the tools of an app mean web search?"""
    return is_google_search(tool) or any(map(_is_web_search, _names(tool)))


def is_google_search(tool: Json) -> bool:
    """Does it mean Google's, and nobody else's?"""
    names = (*_names(tool), *(tool if isinstance(tool, dict) and len(tool) == 1 else ()))
    return any(name in _GOOGLE_NAMES for name in names)


def options_in(tools: list[Json]) -> SearchOptions:
    """What the search tools say about how to search; raises `ClientWireError` with the place of a mistake."""
    found = SearchOptions()
    searches: list[Json] = [tool if isinstance(tool, dict) and is_search(tool) else None for tool in tools]
    for tool in Fields({"tools": searches}, ClientWireError).objs("tools"):
        found = _joined(found, _options(tool))
    return found


def options_of(agent: Agent) -> SearchOptions:
    """What the tools of an agent say about how to search."""
    return options_in(tools_of(agent))


def tools_of(agent: Agent) -> list[Json]:
    """The tools it came with."""
    tools = agent.rest.get("tools")
    return tools if isinstance(tools, list) else []


def names_google(agent: Agent) -> bool:
    """Does an agent that searches ask for Google's search alone?"""
    searches = [tool for tool in tools_of(agent) if is_search(tool)]
    return agent.web_search and bool(searches) and all(map(is_google_search, searches))


def named_target(
    agent: Agent, target: tuple[str, str], groundwire: Groundwire
) -> tuple[tuple[str, str], Warned | None]:
    """The target with the search that the agent names, or a warning that another one searches."""
    if not names_google(agent):
        return target, None
    googles = [status for status in groundwire.providers() if status.dialect in _GOOGLE_DIALECTS]
    provider, _ = target
    if any(status.name == provider for status in googles):
        return target, None
    usable = next((status.name for status in googles if status.usable), "")
    if provider == AUTO and usable:
        return (usable, ""), None
    who = "the provider that answers" if provider == AUTO else provider
    return target, Warned(
        "other_search",
        f"the agent's tool `{GOOGLE_SEARCH}` names Google's search; {who} uses its own. Choose Gemini as the "
        f"provider of the agent, or `{WEB_SEARCH}` as its tool",
    )


def _names(tool: Json) -> Iterator[str]:
    """What an entry may be called."""
    given = (tool.get(key) for key in ("id", "type", "name")) if isinstance(tool, dict) else (tool,)
    return (name for name in given if isinstance(name, str))


def _is_web_search(name: str) -> bool:
    # Anthropic dates its tool: `web_search_20250305`, `web_search_20260209`.
    return name == WEB_SEARCH or name in TOOLS or name.startswith("web_search_")


def _options(tool: Fields) -> SearchOptions:
    """OpenAI writes the lists into `filters`, OpenRouter into `parameters`, Anthropic beside the type."""
    lists = (tool.obj("filters"), tool.obj("parameters"), tool)
    allowed = next((found for fields in lists if (found := _domains(fields, "allowed_domains"))), ())
    blocked = next((found for fields in lists if (found := _domains(fields, "blocked_domains"))), ())
    return SearchOptions(
        allowed_domains=allowed,
        blocked_domains=blocked,
        location=_location(tool.obj("user_location")),
        max_uses=tool.integer("max_uses"),
        context_size=_SIZES.get(tool.text("search_context_size")),
        live=tool.flag("external_web_access"),
    )


def _location(place: Fields) -> Location | None:
    if not place.raw:
        return None
    return Location(place.text("country"), place.text("region"), place.text("city"), place.text("timezone"))


def _domains(fields: Fields, key: str) -> tuple[str, ...]:
    entries = fields.texts(key)
    for place, entry in enumerate(entries):
        if not is_domain_entry(entry):
            raise fields.fault(f"{entry[:80]!r} is not a domain; write it like example.org", key, place)
    return entries


def _joined(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Two tools as one: the first holds, the second fills what it leaves open."""
    return replace(
        first,
        allowed_domains=first.allowed_domains or second.allowed_domains,
        blocked_domains=tuple(dict.fromkeys((*first.blocked_domains, *second.blocked_domains))),
        location=first.location or second.location,
        max_uses=second.max_uses if first.max_uses is None else first.max_uses,
        context_size=first.context_size or second.context_size,
        live=second.live if first.live is None else first.live,
    )
