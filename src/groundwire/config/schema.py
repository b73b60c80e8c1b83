"""The configuration as values, with the origin of every setting.

Files of a project (`./groundwire.toml`, a repository's `opencode.json`) may choose models and options, never
hosts or keys: the author of a repository must not decide where a user's key is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from groundwire.model import Json, SearchOptions
from groundwire.model.cost import ConfiguredPrices
from groundwire.model.value import value
from groundwire.providers.catalog import DEFAULT_ORDER, KNOWN_PROVIDERS

__all__ = [
    "DEFAULT_ORDER",
    "KNOWN_PROVIDERS",
    "Config",
    "ConfiguredPrices",
    "GatewaySettings",
    "HiddenKey",
    "ProviderSettings",
    "Setting",
    "TemplateSettings",
    "VerifySettings",
]


class HiddenKey(dict[str, str]):
    """Options with a key, which printing does not show."""

    def __repr__(self) -> str:
        shown = {name: "[secret]" if name == "apiKey" else text for name, text in self.items()}
        return repr(shown)

    __str__ = __repr__


@value
class ProviderSettings:
    """`[providers.NAME]`: adjusts a built-in provider, or defines a new one."""

    dialect: str = ""
    base_url: str = ""
    key_env: str = ""
    model: str = ""
    search: str = ""
    """`native`, `engine:NAME` or `none`."""
    search_form: str = ""
    timeout: float | None = None
    enabled: bool | None = None


@value
class GatewaySettings:
    """`[gateway]`: how the gateway handles requests."""

    host: str = "127.0.0.1"
    port: int = 8484
    search: str = ""
    """The target that serves Claude Code's own searches and the search APIs of other services; empty for the
    target of the request's model."""
    citations: Literal["exact", "live"] = "exact"
    render: Literal["auto", "structured", "markers", "both"] = "auto"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    max_body_mb: int = 10
    max_requests: int = 4000
    cache_seconds: float = 0.0
    cache_scope: Literal["owner", "all"] = "owner"
    request_log: str = ""
    otlp_endpoint: str = ""
    """Where traces and metrics are sent; empty for `OTEL_EXPORTER_OTLP_ENDPOINT`, if that is set."""
    propagate_trace: bool = False
    """Do requests to providers carry the header `traceparent`?"""
    verify: Literal["off", "request", "always"] = "request"


@value
class VerifySettings:
    """`[verify]`: how citations are verified."""

    model: str = ""
    """The model that decides about claims that stay open: `provider/model`; empty for none."""
    timeout: float = 30.0
    follow: bool = False


@value
class TemplateSettings:
    """`[templates.NAME]`: a prompt and its target. Its search options apply while it is used."""

    prompt: str = ""
    """Contains `{input}`, where the question goes; empty to ask the question as it is."""
    provider: str = ""
    model: str = ""


@value
class Setting:
    """A value with its dotted name and the source that set it."""

    name: str
    value: Json
    origin: str


@value
class Config:
    """The whole configuration."""

    providers: Mapping[str, ProviderSettings] = {}
    order: tuple[str, ...] = DEFAULT_ORDER
    """The providers that `auto` uses, if they are available. An order set by the user is exclusive, unless it
    contains `*`; the default order is followed by the providers that the user has configured."""
    search: SearchOptions = SearchOptions()
    aliases: Mapping[str, str] = {}
    templates: Mapping[str, TemplateSettings] = {}
    prices: Mapping[str, ConfiguredPrices] = {}
    """Prices by `provider/model` or provider; `*` for models whose price is not known."""
    timeout: float | None = None
    max_answer_mb: int = 0
    """The largest response of a provider, in megabytes; zero for the default."""
    compose: str = ""
    """The model that writes answers from the pages of an engine: `provider/model`; empty to extract."""
    build_index: bool = False
    """Is the embedded index completed in the background? On by default in a loaded configuration."""
    gateway: GatewaySettings = GatewaySettings()
    verify: VerifySettings = VerifySettings()
    resolve_redirects: bool = False
    """Are Gemini's redirect addresses replaced by those of the pages?"""
    store: str = ""
    """`sqlite:///PATH` or `postgresql://…`; empty for SQLite in the data directory."""
    redis: str = ""
    """`redis://…` or `rediss://…` (TLS), of a server or a cluster that gateways share; empty for none."""
    data_dir: str = ""
    config_dir: str = ""
    geminisearch: Mapping[str, str] = {}
    """OpenCode's `provider.geminisearch.options`: `apiKey`, `model`, `groundingMetadata`."""
    settings: tuple[Setting, ...] = ()
    warnings: tuple[str, ...] = ()

    def provider(self, name: str) -> ProviderSettings:
        """The settings of a provider; defaults if there are none."""
        return self.providers.get(name, ProviderSettings())
