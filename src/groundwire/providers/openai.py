"""OpenAI, Responses API."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.providers.capabilities import Capabilities, Support
from groundwire.providers.models import default_model
from groundwire.providers.spec import ProviderSpec, path

KEYS = (Lookup("environment", "OPENAI_API_KEY"), Lookup("opencode", "openai", "api"), Lookup("own", "openai"))
ADVICE = "Set OPENAI_API_KEY, run `groundwire login openai`, or log in with OpenCode."

SEARCH_OPTIONS: dict[str, Support] = {
    "allowed_domains": "native",
    "blocked_domains": "native",
    "live": "native",
    "location": "native",
    "max_uses": "native",
    "context_size": "native",
}

ROW = ProviderSpec(
    name="openai",
    title="OpenAI",
    dialect="openai_responses",
    base_url="https://api.openai.com/v1",
    url=path("/responses"),
    model=default_model("openai"),
    family=r"gpt-\d+(?:\.\d+)?(?:-terra)?",
    lookups=KEYS,
    missing="MISSING_OPENAI_API_KEY",
    advice=ADVICE,
    capabilities=Capabilities(options=SEARCH_OPTIONS),
)
