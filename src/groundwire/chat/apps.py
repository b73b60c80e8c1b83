"""Agents as the JSON of apps: `{"id", "name": {"en", "de"}, "systemPrompt", "models", "tools", …}`.

What an app says besides is kept, and stands in its export as it came. Web search is a tool, named or written
out as an object with its options.
"""

from __future__ import annotations

import re

from groundwire.chat.search_tools import is_search, options_in
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject
from groundwire.store.base import Agent, Texts
from groundwire.tools.special import WEB_SEARCH

_OWN = frozenset({"id", "name", "description", "systemPrompt", "provider"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST = 100_000


def is_id(text: str) -> bool:
    """May an agent be called so? It stands in addresses."""
    return _ID.fullmatch(text) is not None


def read_app(text: str) -> Agent:
    """The agent that an app describes; raises `ClientWireError` with the place of what is wrong."""
    fields = Fields.of(load_json(text, ClientWireError), ClientWireError)
    identity = fields.text("id")
    if not is_id(identity):
        raise ClientWireError("an id of letters, digits, `.`, `_` and `-` is needed", "$.id")
    name = _texts(fields, "name")
    if not any(name.values()):
        raise ClientWireError("a name is needed", "$.name")
    models = fields.texts("models")
    tools = fields.items("tools")
    for place, tool in enumerate(tools):
        if not isinstance(tool, str | dict | None):
            raise fields.fault("expected the name of a tool, or an object", "tools", place)
    options_in(tools)  # a mistake in them is told now, not with the first question
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
    """The app that describes an agent."""
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


def _models(agent: Agent, came: Json) -> list[Json]:
    """The models it came with, as long as the first of them is still the one."""
    others = came if isinstance(came, list) else []
    if not agent.model:
        return []
    return others if others[:1] == [agent.model] else [agent.model]


def _tools(agent: Agent, came: Json) -> list[Json]:
    tools = came if isinstance(came, list) else []
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
