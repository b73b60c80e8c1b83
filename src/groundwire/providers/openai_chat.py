"""OpenAI, Chat Completions, with its search models. They always search, and take few options."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.providers.capabilities import Capabilities
from groundwire.providers.models import default_model
from groundwire.providers.spec import ProviderSpec, path

ROW = ProviderSpec(
    name="openai_chat",
    title="OpenAI Chat",
    dialect="openai_chat",
    base_url="https://api.openai.com/v1",
    url=path("/chat/completions"),
    model=default_model("openai_chat"),
    family=r"gpt-\d+(?:\.\d+)?-search-api",
    lookups=(
        Lookup("environment", "OPENAI_API_KEY"),
        Lookup("opencode", "openai", "api"),
        Lookup("own", "openai_chat"),
        Lookup("own", "openai"),
    ),
    missing="MISSING_OPENAI_API_KEY",
    advice="Set OPENAI_API_KEY, run `groundwire login openai`, or log in with OpenCode.",
    capabilities=Capabilities(
        billing=(("", "prompt"),),  # a search model reports no calls, and every grounded answer is one
        options={
            "allowed_domains": "emulated",
            "blocked_domains": "emulated",
            "location": "native",
            "context_size": "native",
        },
    ),
)
