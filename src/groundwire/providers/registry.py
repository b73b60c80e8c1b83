"""Provider lookup by name: built in, installed as an entry point, or described in the configuration.

The entry point group is `groundwire.providers`. An entry point is a `ProviderSpec`, a `ProviderFactory`, or a
search engine (`EngineSpec`, `ApiEngineSpec`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TypeAlias, cast

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.registry import DIALECTS
from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.errors import ConfigError
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from groundwire.providers.catalog import CATALOG
from groundwire.providers.engine_factory import EngineSpec
from groundwire.providers.installed import installed_providers
from groundwire.providers.policy import OPTIONS, Capabilities, Support
from groundwire.providers.spec import ProviderFactory, ProviderSpec, Spelling, Url, path

Registered: TypeAlias = ProviderSpec | EngineSpec | ApiEngineSpec | ProviderFactory

_SERVER_TOOL = "openrouter:web_search"
_PATHS: Mapping[str, str] = {
    "openai_responses": "/responses",
    "openai_chat": "/chat/completions",
    "anthropic_messages": "/v1/messages",
    "gemini_interactions": "/v1beta/interactions",
    "cohere_chat": "/v2/chat",
    "mistral_conversations": "/conversations",
    "websearch": "/v1/search",
}
_SEARCH_FORMS: Mapping[str, tuple[str, frozenset[str]]] = {
    "openai_responses": ("type", frozenset({"web_search", "web_search_preview", _SERVER_TOOL, "plugin"})),
    "openai_chat": (
        "form",
        frozenset({"web_search_options", "openrouter", "plugin", "perplexity", "groq", "qwen", "zai"}),
    ),
}
"""Dialects with several forms of the search tool: the key in the options' extras, and its values."""
_EMULATED_LISTS: Mapping[str, Support] = {"allowed_domains": "emulated", "blocked_domains": "emulated"}
_ALL_NATIVE: Mapping[str, Support] = dict.fromkeys(OPTIONS, "native")
"""A server of the `websearch` dialect receives every option, and honours or refuses it itself."""


def load_registered(name: str) -> Registered | None:
    """The description of a built-in or installed provider or engine; None if there is none of that name."""
    reference = next((entry.reference for entry in CATALOG if entry.name == name), "")
    if reference:
        module, _, attribute = reference.partition(":")
        return cast("Registered", getattr(import_module(module), attribute))
    point = installed_providers().get(name)
    if point is None:
        return None
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the installed provider {name!r} cannot be loaded: {error}") from None
    if not isinstance(found, ProviderSpec | EngineSpec | ApiEngineSpec) and not callable(found):
        raise ConfigError(
            f"the installed provider {name!r} is a {type(found).__name__}; it must be a ProviderSpec, an "
            "EngineSpec or a factory function"
        )
    return cast("Registered", found)


def find_spec(name: str) -> ProviderSpec | None:
    """The `ProviderSpec` of a built-in or installed provider; None if it is not described by one."""
    found = load_registered(name)
    return found if isinstance(found, ProviderSpec) else None


def describe(name: str, dialect: str, base_url: str, key_env: str) -> ProviderSpec:
    """The `ProviderSpec` of a compatible server that only the configuration knows."""
    if dialect not in DIALECTS:
        raise ConfigError(
            f"providers.{name}.dialect: {dialect!r} is not one of {', '.join(DIALECTS)}"
            if dialect
            else f"providers.{name}: unknown provider; give it a dialect and a base_url to define it"
        )
    if not base_url:
        raise ConfigError(f"providers.{name}.base_url is missing")
    vendor = _vendor_of(dialect)
    return ProviderSpec(
        name=name,
        title=name,
        dialect=dialect,
        base_url=base_url,
        url=_url_of(dialect),
        model="",
        lookups=(Lookup("environment", key_env), Lookup("own", name)) if key_env else (),
        missing=f"MISSING_{name.upper()}_API_KEY" if key_env else "",
        advice=f"Set {key_env}, or run `groundwire login {name}`." if key_env else "",
        headers=vendor.headers,
        forwards=vendor.forwards,
        capabilities=Capabilities(
            pauses=dialect == "anthropic_messages",
            billing=vendor.capabilities.billing,
            options=_ALL_NATIVE if dialect == "websearch" else _EMULATED_LISTS,
        ),
        needs_model=dialect != "websearch",
    )


def _vendor_of(dialect: str) -> ProviderSpec:
    """The vendor whose headers and billing a compatible server of a dialect shares."""
    if dialect == "bedrock_converse":
        from groundwire.providers.bedrock import bedrock_spec  # noqa: PLC0415  few users have it

        return bedrock_spec("us-east-1")
    names = {"anthropic_messages": "anthropic", "gemini": "gemini", "gemini_interactions": "gemini"}
    return cast("ProviderSpec", find_spec(names.get(dialect, "openai")))


def _url_of(dialect: str) -> Url:
    return path(_PATHS[dialect]) if dialect in _PATHS else _vendor_of(dialect).url


def adjusted(
    row: ProviderSpec, *, base_url: str = "", model: str = "", search: str = "", search_form: str = ""
) -> ProviderSpec:
    """A `ProviderSpec` with the settings of the configuration applied."""
    capabilities = replace(row.capabilities, search="none") if search == "none" else row.capabilities
    return replace(
        row,
        base_url=base_url or row.base_url,
        model=model or row.model,
        family="" if model else row.family,
        capabilities=capabilities,
        spelling=_with_search_form(row, search_form) if search_form else row.spelling,
    )


def _with_search_form(row: ProviderSpec, form: str) -> Spelling:
    key, forms = _SEARCH_FORMS.get(row.dialect, ("", frozenset[str]()))
    if form not in forms:
        known = f"one of {', '.join(sorted(forms))}" if forms else f"not used with {row.dialect}"
        raise ConfigError(f"providers.{row.name}.search_form: {form!r} is unknown; it is {known}")

    def spelling(options: SearchOptions) -> SearchOptions:
        own = {**options.extras.get(row.dialect, {}), key: form}
        return replace(options, extras={**options.extras, row.dialect: own})

    return spelling
