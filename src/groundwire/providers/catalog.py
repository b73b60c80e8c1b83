"""Registry of built-in providers and search engines: one line each, in the order in which `auto` tries them.

To add one, write its module and add a line here. `reference` names a `ProviderSpec` (an API that speaks a
known dialect), an `EngineSpec` or `ApiEngineSpec` (a search engine), or a `ProviderFactory` (anything else);
`registry.load_registered` imports it when it is needed. Installed packages register the same objects as
entry points.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

ProviderKind: TypeAlias = Literal["model", "engine"]
"""`model`: a model writes the answer. `engine`: a search engine finds pages, and the answer quotes them."""


class CatalogEntry(NamedTuple):
    """A built-in provider or engine, and the object that describes it."""

    name: str
    kind: ProviderKind
    reference: str
    """`module:attribute`."""
    automatic: bool = True
    """Is it part of the default order? Otherwise it is used only if the user enables or names it."""
    listed: bool = True
    """Do lists show it, even if it cannot be used and the configuration does not mention it?"""


_HOSTED = "groundwire.providers.hosted"
_LOCAL_SERVERS = "groundwire.providers.local_servers"
CATALOG = (
    CatalogEntry("anthropic", "model", "groundwire.providers.anthropic:ANTHROPIC"),
    CatalogEntry("openai", "model", "groundwire.providers.openai:OPENAI"),
    CatalogEntry("gemini", "model", "groundwire.providers.gemini:GEMINI"),
    CatalogEntry("openrouter", "model", "groundwire.providers.openrouter:OPENROUTER"),
    CatalogEntry("openai_oauth", "model", "groundwire.providers.openai:OPENAI_OAUTH"),
    CatalogEntry("openai_chat", "model", "groundwire.providers.openai:OPENAI_CHAT"),
    CatalogEntry("xai", "model", f"{_HOSTED}:XAI", listed=False),
    CatalogEntry("perplexity", "model", f"{_HOSTED}:PERPLEXITY", listed=False),
    CatalogEntry("perplexity_responses", "model", f"{_HOSTED}:PERPLEXITY_RESPONSES", listed=False),
    CatalogEntry("azure", "model", "groundwire.providers.azure:AZURE", listed=False),
    CatalogEntry("vertex", "model", "groundwire.providers.gemini:create_vertex", listed=False),
    CatalogEntry(
        "vertex_claude",
        "model",
        "groundwire.providers.vertex_claude:create_vertex_claude",
        listed=False,
    ),
    CatalogEntry("bedrock", "model", "groundwire.providers.bedrock:create_bedrock", listed=False),
    CatalogEntry("groq", "model", f"{_HOSTED}:GROQ", listed=False),
    CatalogEntry("qwen", "model", f"{_HOSTED}:QWEN", listed=False),
    CatalogEntry("zai", "model", f"{_HOSTED}:ZAI", listed=False),
    CatalogEntry(
        "mistral_conversations",
        "model",
        "groundwire.providers.mistral_conversations:MISTRAL_CONVERSATIONS",
        listed=False,
    ),
    CatalogEntry("mistral", "model", f"{_HOSTED}:MISTRAL", listed=False),
    CatalogEntry("deepseek", "model", f"{_HOSTED}:DEEPSEEK", listed=False),
    CatalogEntry("moonshot", "model", f"{_HOSTED}:MOONSHOT", listed=False),
    CatalogEntry("cohere", "model", "groundwire.providers.cohere:COHERE", listed=False),
    CatalogEntry("together", "model", f"{_HOSTED}:TOGETHER", listed=False),
    CatalogEntry("fireworks", "model", f"{_HOSTED}:FIREWORKS", listed=False),
    CatalogEntry("ollama", "model", f"{_LOCAL_SERVERS}:OLLAMA", listed=False),
    CatalogEntry("vllm", "model", f"{_LOCAL_SERVERS}:VLLM", listed=False),
    CatalogEntry("lmstudio", "model", f"{_LOCAL_SERVERS}:LM_STUDIO", listed=False),
    CatalogEntry("llamacpp", "model", f"{_LOCAL_SERVERS}:LLAMA_CPP", listed=False),
    CatalogEntry("brave", "engine", "groundwire.engine.engines.brave:SPEC"),
    CatalogEntry("tavily", "engine", "groundwire.engine.engines.tavily:SPEC"),
    CatalogEntry("exa", "engine", "groundwire.engine.engines.exa:SPEC"),
    CatalogEntry("serper", "engine", "groundwire.engine.engines.serper:SPEC", listed=False),
    CatalogEntry("google_pse", "engine", "groundwire.engine.engines.google_pse:SPEC", listed=False),
    CatalogEntry("linkup", "engine", "groundwire.engine.engines.linkup:SPEC", listed=False),
    CatalogEntry("parallel", "engine", "groundwire.engine.engines.parallel:SPEC", listed=False),
    CatalogEntry("you", "engine", "groundwire.engine.engines.you:SPEC", listed=False),
    CatalogEntry("jina", "engine", "groundwire.engine.engines.jina:SPEC", listed=False),
    CatalogEntry("firecrawl", "engine", "groundwire.engine.engines.firecrawl:SPEC", listed=False),
    CatalogEntry("ollama_search", "engine", "groundwire.engine.engines.ollama_search:SPEC", listed=False),
    CatalogEntry("searxng", "engine", "groundwire.engine.engines.searxng:SPEC"),
    CatalogEntry("web", "engine", "groundwire.providers.engine_factory:WEB"),
    CatalogEntry("local", "engine", "groundwire.providers.engine_factory:LOCAL"),
    CatalogEntry(
        "copilot", "model", "groundwire.providers.copilot.provider:create_provider", automatic=False
    ),
)

KNOWN_PROVIDERS = tuple(entry.name for entry in CATALOG)
"""Providers that need no description in the configuration."""
DEFAULT_ORDER = tuple(entry.name for entry in CATALOG if entry.automatic)
ENGINES = frozenset(entry.name for entry in CATALOG if entry.kind == "engine")
"""The built-in engines. Whether any provider is an engine is `Capabilities.kind`."""
