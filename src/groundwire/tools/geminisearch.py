"""`geminisearch`: Gemini with the settings of `provider.geminisearch.options` only.

Key and model come from that block, else from `GEMINI_API_KEY` and the default. Settings of the provider
`gemini` and other stored keys are not used, except the base URL.
"""

from __future__ import annotations

from groundwire.config.schema import Config
from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Secret, sendable
from groundwire.model import Answer, JsonObject
from groundwire.model.value import replace
from groundwire.providers import gemini
from groundwire.providers.spec import ProviderSpec

NAME = "geminisearch"
MODEL = gemini.GEMINI.model


def row_of(config: Config) -> ProviderSpec:
    """The provider specification."""
    chosen = config.geminisearch.get("model", "").strip()
    return replace(
        gemini.GEMINI,
        name=NAME,
        base_url=config.provider(gemini.GEMINI.name).base_url or gemini.GEMINI.base_url,
        model=chosen or MODEL,
        family="" if chosen else gemini.GEMINI.family,
        lookups=(Lookup("environment", "GEMINI_API_KEY"),),
        advice="Set GEMINI_API_KEY, or provider.geminisearch.options.apiKey in OpenCode's configuration.",
    )


def raw_metadata(config: Config, answer: Answer) -> JsonObject:
    """Gemini's own `groundingMetadata`, as a field of the result, if the block enables it."""
    metadata = answer.extras.get(gemini.GEMINI.dialect, {}).get("groundingMetadata")
    return (
        {"groundingMetadata": metadata} if metadata and config.geminisearch.get("groundingMetadata") else {}
    )


def key_of(config: Config) -> Secret:
    """The key in the block; empty if there is none."""
    return sendable(config.geminisearch.get("apiKey"))
