"""The default models, with the ends that their vendors have announced.

A default past its announced end fails a test: choose the next one here, and write down the day on which the
vendor's page was read. https://ai.google.dev/gemini-api/docs/deprecations,
https://developers.openai.com/api/docs/deprecations,
https://platform.claude.com/docs/en/about-claude/model-deprecations
"""

from __future__ import annotations

from groundwire.model.value import value

CHECKED = "2026-11-16"
"""When the vendors' announcements were last read."""


@value
class DefaultModel:
    """A model that is or was a provider's default."""

    provider: str
    name: str
    ends: str = ""
    """The day on which the vendor turns it off; empty if none was announced on the day of `CHECKED`."""
    successor: str = ""
    """The model that the vendor names instead, or one of the same family."""


MODELS: tuple[DefaultModel, ...] = (
    DefaultModel("anthropic", "claude-sonnet-4-6", successor="claude-opus-4-8"),
    DefaultModel("openai", "gpt-5.5", successor="gpt-5.6-terra"),
    DefaultModel("openai_oauth", "gpt-5.5", successor="gpt-5.6-terra"),
    DefaultModel("openai_chat", "gpt-5-search-api"),
    DefaultModel("gemini", "gemini-3.8-flash", successor="gemini-3.5-flash-lite"),
    # The announcement is Vertex AI's, which names the successor too.
    DefaultModel("gemini", "gemini-2.5-flash", "2026-10-20", "gemini-3.8-flash"),
    DefaultModel("openrouter", "openai/gpt-5.6-terra", successor="openai/gpt-5.5"),
    DefaultModel("openrouter", "openai/o4-mini", "2026-10-23", "openai/gpt-5.6-terra"),
)
"""The first entry of each provider is its default; the others were."""


def default_model(provider: str) -> str:
    """The model that a provider is asked for unless another one is named."""
    return next(model.name for model in MODELS if model.provider == provider)


def successor_of(provider: str, name: str) -> str:
    """The model to ask instead of one that is gone; empty if none is known."""
    found = (model.successor for model in MODELS if (model.provider, model.name) == (provider, name))
    return next(found, "")
