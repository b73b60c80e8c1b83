"""Cohere's Chat API, version 2. It has no web search."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import as_object
from groundwire.model import JsonObject, Request
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path


def adjust(body: JsonObject, request: Request) -> JsonObject:
    """Demand a call of one named function by leaving the others out: the API can only demand a call."""
    choice, tools = request.tool_choice, body.get("tools")
    if choice is None or choice.mode != "function" or not isinstance(tools, list):
        return body
    named = [tool for tool in tools if as_object(as_object(tool).get("function")).get("name") == choice.name]
    return {**body, "tools": named} if named else body


COHERE = ProviderSpec(
    name="cohere",
    title="Cohere",
    dialect="cohere_chat",
    base_url="https://api.cohere.com",
    url=path("/v2/chat"),
    model=default_model("cohere"),
    family=r"command-a(?:-plus)?-\d\d-\d{4}",
    lookups=(
        Lookup("environment", "CO_API_KEY"),
        Lookup("environment", "COHERE_API_KEY"),
        Lookup("opencode", "cohere", "api"),
        Lookup("own", "cohere"),
    ),
    missing="MISSING_CO_API_KEY",
    advice="Set CO_API_KEY, or run `groundwire login cohere`.",
    adjust=adjust,
    carried=frozenset({"tool_choice"}),
    passes_through=False,
    models_page="https://docs.cohere.com/docs/models",
    capabilities=Capabilities(search="none"),
)
