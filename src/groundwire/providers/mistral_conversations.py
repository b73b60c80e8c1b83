"""Mistral's Conversations API, which can search the web; Chat Completions cannot. Nothing is stored."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.model import JsonObject, Request
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path


def adjust(body: JsonObject, _: Request) -> JsonObject:
    """By default, Mistral stores a conversation."""
    return {**body, "store": False}


MISTRAL_CONVERSATIONS = ProviderSpec(
    name="mistral_conversations",
    title="Mistral Conversations",
    dialect="mistral_conversations",
    base_url="https://api.mistral.ai/v1",
    url=path("/conversations"),
    model="mistral-medium-latest",
    lookups=(
        Lookup("environment", "MISTRAL_API_KEY"),
        Lookup("opencode", "mistral", "api"),
        Lookup("own", "mistral_conversations"),
        Lookup("own", "mistral"),
    ),
    missing="MISSING_MISTRAL_API_KEY",
    advice="Set MISTRAL_API_KEY, or run `groundwire login mistral`.",
    adjust=adjust,
    passes_through=False,
    models_page="https://docs.mistral.ai/getting-started/models",
    capabilities=Capabilities(options={"allowed_domains": "emulated", "blocked_domains": "emulated"}),
)
