"""Agents: the default one, owners, targets, search tools, and import and export as JSON of apps.

The JSON of an app is `{"id", "name": {"en", "de"}, "systemPrompt", "models", "tools", …}`. Fields that are
not used here are kept and exported unchanged. Web search is one of the tools: a name (`webSearch`,
`googleSearch`), or an object in the form of the app (`{"id": "webSearch", "filters": …}`) or of a provider
(`{"type": "web_search", …}`, `{"type": "web_search_20250305", "allowed_domains": […]}`, `{"google_search":
{}}`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Container, Iterator

from groundwire.client_protocol import SearchClient, no_model_message
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.dialects.openai_responses.search import TOOLS
from groundwire.errors import ClientWireError, ConfigError, GroundwireError
from groundwire.model import Json, JsonObject, Location, SearchOptions, Warned
from groundwire.model.request import ContextSize
from groundwire.model.value import replace
from groundwire.routing.resolve import AUTO
from groundwire.store.base import UNKNOWN_OWNER, Agent, Texts
from groundwire.text.domains import is_domain_entry
from groundwire.tools.definitions import GOOGLE_SEARCH, WEB_SEARCH

LANGUAGES = ("en", "de")


def pick(texts: Texts, language: str) -> str:
    """The text in a language, else in English, else in any."""
    for name in (language, "en", *texts):
        if text := texts.get(name, ""):
            return text
    return ""


def preferred(header: str, languages: Collection[str] = LANGUAGES) -> str:
    """The supported language that an `Accept-Language` header prefers."""
    best, weight = LANGUAGES[0], 0.0
    for entry in header[:1000].split(","):
        tag, _, parameter = entry.strip().partition(";")
        name = tag.strip().lower().partition("-")[0]
        quality = _quality(parameter)
        if name in languages and quality > weight:
            best, weight = name, quality
    return best


def _quality(parameter: str) -> float:
    name, _, number = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(max(float(number), 0.0), 1.0)
    except ValueError:
        return 0.0


DEFAULT = Agent(
    "assistant",
    {"en": "Assistant", "de": "Assistent"},
    {"en": "Answers questions.", "de": "Beantwortet Fragen."},
    {
        "en": "You are a helpful assistant. Answer briefly, and say so if you do not know.",
        "de": "Du bist ein hilfreicher Assistent. Antworte kurz, und sage es, wenn du etwas nicht weißt.",
    },
)
CITED_SEARCH = Agent(
    "cited-search",
    {"en": "Cited search", "de": "Suche mit Quellen"},
    {"en": "Searches the web for every question.", "de": "Sucht zu jeder Frage im Web."},
    {
        "en": "Search the web, and answer briefly from what you found. Say so if you found no answer.",
        "de": "Suche im Web, und antworte kurz aus dem Gefundenen. Sage es, wenn du keine Antwort findest.",
    },
    web_search=True,
)
"""The agent of conversations in the terminal."""
BUILT_IN = {agent.id: agent for agent in (DEFAULT, CITED_SEARCH)}


def built_in(name: str, groundwire: SearchClient) -> Agent:
    """A built-in agent, the default one for other names. Where no model can answer, it searches: the engines
    cost nothing, and without a search there would be no answer at all."""
    agent = BUILT_IN.get(name, DEFAULT)
    return agent if agent.web_search or model_provider(groundwire) else replace(agent, web_search=True)


def model_provider(groundwire: SearchClient) -> str:
    """The first usable provider that has a model; empty if there are only engines."""
    usable = groundwire.usable()
    models = (name for name in groundwire.order if name not in groundwire.engines)
    return next((name for name in models if usable.get(name)), "")


_NOT_ID = re.compile(r"[^a-z0-9]+")


def id_for(agent: Agent, taken: Container[str]) -> str:
    """An unused id made of the name of the agent."""
    plain = unicodedata.normalize("NFKD", pick(agent.name, "en")).encode("ascii", "ignore").decode()
    base = _NOT_ID.sub("-", plain.lower()).strip("-")[:60] or "agent"
    number, made = 1, base
    while made in taken:
        number += 1
        made = f"{base}-{number}"
    return made


def is_open_to(agent: Agent, owner: str) -> bool:
    """May the owner see and use an agent?"""
    return agent.owner in ("", owner) or is_kept_by(agent, owner)


def is_kept_by(agent: Agent, owner: str) -> bool:
    """May the owner delete an agent? One of unknown owner only where there are no keys."""
    return agent.owner == owner or (agent.owner == UNKNOWN_OWNER and not owner)


def title_of(text: str, longest: int = 60) -> str:
    """The title of a session, made of its first question."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return (cut.rpartition(" ")[0] if " " in cut[longest // 2 :] else cut).rstrip(" ,.;:") + "…"


def target_for(agent: Agent, groundwire: SearchClient) -> tuple[str, str]:
    """Provider and model of an agent. Without web search it never uses an engine, which can only search."""
    provider, model = groundwire.resolve(agent.model, provider=agent.provider or AUTO)
    if agent.web_search:
        return provider, model
    if provider == AUTO:
        provider = model_provider(groundwire)
    if not provider or provider in groundwire.engines:
        raise ConfigError(no_model_message("turn on web search for this agent"))
    return provider, model


def answering_target(agent: Agent, groundwire: SearchClient) -> tuple[str, str]:
    """The provider and model that will probably answer for an agent; empty where that is not known."""
    try:
        provider, model = target_for(agent, groundwire)
    except GroundwireError:
        return "", ""
    if provider == AUTO:
        usable = groundwire.usable()
        able = (name for name in groundwire.order if usable.get(name) and groundwire.can_search(name))
        provider = next(able, "")
    return provider, model or groundwire.default_model(provider)


_OWN = frozenset({"id", "name", "description", "systemPrompt", "provider"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST = 100_000


def is_id(text: str) -> bool:
    """Is the text a valid agent id? Ids are part of URLs."""
    return _ID.fullmatch(text) is not None


def read_app(text: str) -> Agent:
    """Read the JSON of an app; raises `ClientWireError` with the path of the mistake."""
    fields = Fields.of(load_json(text, ClientWireError), ClientWireError)
    identity = fields.text("id")
    if not is_id(identity):
        raise ClientWireError("an id of letters, digits, `.`, `_` and `-` is needed", "$.id")
    name = _texts(fields, "name")
    if not any(name.values()):
        raise ClientWireError("a name is needed", "$.name")
    models = fields.texts("models")
    tools = fields.items("tools")
    for index, tool in enumerate(tools):
        if not isinstance(tool, str | dict | None):
            raise fields.fault("expected the name of a tool, or an object", "tools", index)
    options_in(tools)  # report mistakes now, not with the first question
    return Agent(
        identity,
        name,
        _texts(fields, "description"),
        _texts(fields, "systemPrompt"),
        fields.text("provider"),
        models[0] if models else "",
        web_search=any(map(is_search, tools)),
        rest={key: item for key, item in fields.raw.items() if key not in _OWN},
    )


def write_app(agent: Agent) -> JsonObject:
    """The JSON of an agent."""
    app: JsonObject = {
        "id": agent.id,
        "name": {**agent.name},
        "description": {**agent.description},
        "systemPrompt": {**agent.prompt},
    }
    if agent.provider:
        app["provider"] = agent.provider
    rest = {**agent.rest}
    models, tools = _models(agent, rest.pop("models", None)), _tools(agent, rest.pop("tools", None))
    return {**app, "models": models, "tools": tools, **rest}


def _models(agent: Agent, imported: Json) -> list[Json]:
    """The imported models, if the first is still the selected one."""
    others = imported if isinstance(imported, list) else []
    if not agent.model:
        return []
    return others if others[:1] == [agent.model] else [agent.model]


def _tools(agent: Agent, imported: Json) -> list[Json]:
    tools = imported if isinstance(imported, list) else []
    if not agent.web_search:
        return [tool for tool in tools if not is_search(tool)]
    return tools if any(map(is_search, tools)) else [*tools, WEB_SEARCH]


def _texts(fields: Fields, key: str) -> Texts:
    """A text by language, or one text for all."""
    raw = fields.get(key)
    if isinstance(raw, str):
        raw = {"en": raw}
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ClientWireError("expected a text, or texts by language", f"$.{key}")
    for language, text in raw.items():
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise ClientWireError("expected a text", f"$.{key}.{language}")
    return {language: str(text) for language, text in raw.items()}


_GOOGLE_NAMES = frozenset({GOOGLE_SEARCH, "google_search"})
_GOOGLE_DIALECTS = frozenset({"gemini", "gemini_interactions"})
_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}


def is_search(tool: Json) -> bool:
    """Does a tool of an app mean web search?"""
    return is_google_search(tool) or any(map(_is_web_search, _names(tool)))


def is_google_search(tool: Json) -> bool:
    """Does a tool mean the search of Google only?"""
    names = (*_names(tool), *(tool if isinstance(tool, dict) and len(tool) == 1 else ()))
    return any(name in _GOOGLE_NAMES for name in names)


def options_in(tools: list[Json]) -> SearchOptions:
    """Search options of the search tools; raises `ClientWireError` with the path of a mistake."""
    found = SearchOptions()
    searches: list[Json] = [tool if isinstance(tool, dict) and is_search(tool) else None for tool in tools]
    for tool in Fields({"tools": searches}, ClientWireError).objs("tools"):
        found = _joined(found, _options(tool))
    return found


def options_of(agent: Agent) -> SearchOptions:
    """Search options of the tools of an agent."""
    return options_in(tools_of(agent))


def tools_of(agent: Agent) -> list[Json]:
    """The imported tools of an agent."""
    tools = agent.rest.get("tools")
    return tools if isinstance(tools, list) else []


def names_google(agent: Agent) -> bool:
    """Does an agent search with Google only?"""
    searches = [tool for tool in tools_of(agent) if is_search(tool)]
    return agent.web_search and bool(searches) and all(map(is_google_search, searches))


def named_target(
    agent: Agent, target: tuple[str, str], groundwire: SearchClient
) -> tuple[tuple[str, str], Warned | None]:
    """The target with the search that the agent names, or a warning that another search is used."""
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
    """The names of a tool."""
    given = (tool.get(key) for key in ("id", "type", "name")) if isinstance(tool, dict) else (tool,)
    return (name for name in given if isinstance(name, str))


def _is_web_search(name: str) -> bool:
    # Anthropic dates its tool: `web_search_20250305`, `web_search_20260209`.
    return name == WEB_SEARCH or name in TOOLS or name.startswith("web_search_")


def _options(tool: Fields) -> SearchOptions:
    """OpenAI has the domain lists in `filters`, OpenRouter in `parameters`, Anthropic next to the type."""
    lists = (tool.obj("filters"), tool.obj("parameters"), tool)
    allowed = next((found for fields in lists if (found := _domains(fields, "allowed_domains"))), ())
    blocked = next((found for fields in lists if (found := _domains(fields, "blocked_domains"))), ())
    return SearchOptions(
        allowed_domains=allowed,
        blocked_domains=blocked,
        location=_tool_location(tool.obj("user_location")),
        max_uses=tool.integer("max_uses"),
        context_size=_SIZES.get(tool.text("search_context_size")),
        live=tool.flag("external_web_access"),
    )


def _tool_location(fields: Fields) -> Location | None:
    if not fields.raw:
        return None
    return Location(
        fields.text("country"), fields.text("region"), fields.text("city"), fields.text("timezone")
    )


def _domains(fields: Fields, key: str) -> tuple[str, ...]:
    entries = fields.texts(key)
    for index, entry in enumerate(entries):
        if not is_domain_entry(entry):
            raise fields.fault(f"{entry[:80]!r} is not a domain; write it like example.org", key, index)
    return entries


def _joined(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Merge the options of two tools; the first has priority."""
    return replace(
        first,
        allowed_domains=first.allowed_domains or second.allowed_domains,
        blocked_domains=tuple(dict.fromkeys((*first.blocked_domains, *second.blocked_domains))),
        location=first.location or second.location,
        max_uses=second.max_uses if first.max_uses is None else first.max_uses,
        context_size=first.context_size or second.context_size,
        live=second.live if first.live is None else first.live,
    )
