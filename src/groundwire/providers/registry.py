"""The providers by name: built in, installed by others, or described in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.registry import DIALECTS
from groundwire.errors import ConfigError
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from groundwire.providers.capabilities import OPTIONS, Capabilities, Support
from groundwire.providers.spec import Headers, ProviderSpec, Spelling, Url, path

BUILT_IN = ("anthropic", "openai", "gemini", "openrouter", "openai_oauth", "openai_chat")
ENTRY_POINTS = "groundwire.providers"

_SERVER_TOOL = "openrouter:web_search"
_PATHS: Mapping[str, str] = {
    "openai_responses": "/responses",
    "openai_chat": "/chat/completions",
    "anthropic_messages": "/v1/messages",
    "gemini_interactions": "/v1beta/interactions",
    "websearch": "/v1/search",
}
_SEARCH_FORMS: Mapping[str, tuple[str, frozenset[str]]] = {
    "openai_responses": ("type", frozenset({"web_search", "web_search_preview", _SERVER_TOOL, "plugin"})),
    "openai_chat": ("form", frozenset({"web_search_options", "openrouter", "plugin", "perplexity"})),
}
"""Dialects that spell a search in several ways: where the options' extras say which, and the ways."""
_ANYBODY: Mapping[str, Support] = {"allowed_domains": "emulated", "blocked_domains": "emulated"}
_CONTRACT: Mapping[str, Support] = dict.fromkeys(OPTIONS, "native")
"""Who speaks the contract of the search tools takes every option, and keeps or refuses it itself."""


def built_in(name: str) -> ProviderSpec | None:
    """The row of a provider that comes with groundwire, or with an installed package."""
    if name in BUILT_IN:
        return cast("ProviderSpec", import_module(f"groundwire.providers.{name}").ROW)
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and needed by few

    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the installed provider {name!r} cannot be loaded: {error}") from None
        if not isinstance(found, ProviderSpec):
            raise ConfigError(f"the installed provider {name!r} is no Row, but a {type(found).__name__}")
        return found
    return None


def describe(name: str, dialect: str, base_url: str, key_env: str) -> ProviderSpec:
    """A row for a compatible server that only the configuration knows."""
    if dialect not in DIALECTS:
        raise ConfigError(
            f"providers.{name}.dialect: {dialect!r} is none of {', '.join(DIALECTS)}"
            if dialect
            else f"providers.{name}: unknown provider; give it a dialect and a base_url to define it"
        )
    if not base_url:
        raise ConfigError(f"providers.{name}.base_url is missing")
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
        headers=_headers_of(dialect),
        forwards=_speaker(dialect).forwards,
        capabilities=Capabilities(
            pauses=dialect == "anthropic_messages",
            billing=_speaker(dialect).capabilities.billing,
            options=_CONTRACT if dialect == "websearch" else _ANYBODY,
        ),
        needs_model=dialect != "websearch",
    )


def _headers_of(dialect: str) -> Headers:
    return _speaker(dialect).headers


def _speaker(dialect: str) -> ProviderSpec:
    names = {"anthropic_messages": "anthropic", "gemini": "gemini", "gemini_interactions": "gemini"}
    return cast("ProviderSpec", built_in(names.get(dialect, "openai")))


def _url_of(dialect: str) -> Url:
    return path(_PATHS[dialect]) if dialect in _PATHS else _speaker(dialect).url


def adjusted(
    row: ProviderSpec, *, base_url: str = "", model: str = "", search: str = "", search_form: str = ""
) -> ProviderSpec:
    """A row with what the configuration says instead."""
    capabilities = replace(row.capabilities, search="none") if search == "none" else row.capabilities
    return replace(
        row,
        base_url=base_url or row.base_url,
        model=model or row.model,
        family="" if model else row.family,
        capabilities=capabilities,
        spelling=_spelled(row, search_form) if search_form else row.spelling,
    )


def _spelled(row: ProviderSpec, form: str) -> Spelling:
    key, forms = _SEARCH_FORMS.get(row.dialect, ("", frozenset[str]()))
    if form not in forms:
        known = f"one of {', '.join(sorted(forms))}" if forms else f"not used with {row.dialect}"
        raise ConfigError(f"providers.{row.name}.search_form: {form!r} is unknown; it is {known}")

    def spelling(options: SearchOptions) -> SearchOptions:
        said = {**options.extras.get(row.dialect, {}), key: form}
        return replace(options, extras={**options.extras, row.dialect: said})

    return spelling
