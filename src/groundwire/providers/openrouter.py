"""OpenRouter, Responses API, with its server tool `openrouter:web_search`.

OpenAI's tool names are accepted too, but have fewer options: the server tool has `max_results` and
`excluded_domains`. The `web` plugin is deprecated; it is used for clients that send it, and with
`search_form = "plugin"` in the configuration. Either form takes an allow list or a block list, never both.
"""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path

_DIALECT = "openai_responses"
_TOOL = "openrouter:web_search"
_OWN = (_TOOL, "plugin", "online")


def spelling(options: SearchOptions) -> SearchOptions:
    """The server tool, unless one of OpenRouter's other forms was chosen."""
    if options.extras.get(_DIALECT, {}).get("type") in _OWN:
        return options
    return replace(options, extras={**options.extras, _DIALECT: {"type": _TOOL}})


OPENROUTER = ProviderSpec(
    name="openrouter",
    title="OpenRouter",
    dialect=_DIALECT,
    base_url="https://openrouter.ai/api/v1",
    url=path("/responses"),
    model=default_model("openrouter"),
    family=r"openai/gpt-\d+(?:\.\d+)?(?:-terra)?",
    lookups=(
        Lookup("environment", "OPENROUTER_API_KEY"),
        Lookup("opencode", "openrouter", "api"),
        Lookup("own", "openrouter"),
    ),
    missing="MISSING_OPENROUTER_API_KEY",
    advice="Set OPENROUTER_API_KEY, run `groundwire login openrouter`, or log in with OpenCode.",
    spelling=spelling,
    capabilities=Capabilities(
        both_domain_lists=False,
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "location": "native",
            "max_uses": "native",
            "max_sources": "native",
            "context_size": "native",
        },
    ),
)
