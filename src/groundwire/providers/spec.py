"""Provider interfaces: the `Provider` protocol, `ProviderSpec`, and the plug-in factory interface.

Most providers are a `ProviderSpec`: data, and a few pure functions. Everything a vendor requires beyond its
dialect (headers, fields it insists on or rejects, the spelling of the search tool) is in `adjust`, `headers`
and `spelling` of its own file, never in the codec. A provider that is not an HTTP API with a known dialect is
built by a `ProviderFactory`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeAlias

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.model import Event, JsonObject, Request, SearchOptions
from groundwire.model.value import value
from groundwire.providers.policy import Capabilities
from groundwire.transport.http import Deadlines

if TYPE_CHECKING:
    from groundwire.credentials.redact import Redactor
    from groundwire.transport.http import Http, HttpRequest


Adjust: TypeAlias = Callable[[JsonObject, Request], JsonObject]
Headers: TypeAlias = Callable[[Credential | None], Mapping[str, str]]
Sign: TypeAlias = "Callable[[HttpRequest], Mapping[str, str]]"
Url: TypeAlias = Callable[[str, Request], str]
Spelling: TypeAlias = Callable[[SearchOptions], SearchOptions]
Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
"""Events in the groups in which they arrived; no group is empty."""


def unchanged_body(body: JsonObject, _: Request) -> JsonObject:
    """The body as the dialect encoded it."""
    return body


def unchanged_search(options: SearchOptions) -> SearchOptions:
    """The search options as the client sent them."""
    return options


def bearer(credential: Credential | None) -> Mapping[str, str]:
    """Bearer authentication; no header without a credential (Ollama, vLLM)."""
    return {} if credential is None else {"authorization": f"Bearer {credential.secret.reveal()}"}


def path(suffix: str) -> Url:
    """The base URL followed by a fixed path."""
    return lambda base, _: base.rstrip("/") + suffix


@value
class ProviderSpec:
    """Describes a provider that speaks a dialect over HTTP."""

    name: str
    title: str
    dialect: str
    base_url: str
    url: Url
    """The URL of a request: the base URL, and the path of the dialect."""
    model: str
    """The default model."""
    lookups: tuple[Lookup, ...] = ()
    """Where credentials are looked for, in order; `Lookup("own", name)` is the key of `groundwire login`."""
    missing: str = ""
    """Error code when no credential is found, by convention `MISSING_` and the variable; empty if none is
    needed."""
    advice: str = ""
    """What the user should do then, in one sentence."""
    headers: Headers = bearer
    """How a request carries the credential."""
    adjust: Adjust = unchanged_body
    """Changes the encoded body where the vendor requires something of its own."""
    capabilities: Capabilities = Capabilities()
    always_streams: bool = False
    """Does it only stream, whatever the request says?"""
    deadlines: Deadlines = Deadlines()
    spelling: Spelling = unchanged_search
    """Chooses among the dialect's forms of the search tool, by setting the options' extras."""
    needs_model: bool = True
    """Must a request name a model, or the spec have a default?"""
    family: str = ""
    """Pattern of models that may replace the default once the vendor has shut it down. Empty for a model that
    the user chose: that one is never replaced."""
    forwards: tuple[str, ...] = ()
    """Request headers forwarded from a client of the same dialect."""
    carried: frozenset[str] = frozenset()
    """Fields of the encoded body, and options without one, that `adjust` writes in another form."""
    passes_through: bool = True
    """Can bodies and responses of a client that speaks the dialect be passed on unchanged?"""
    base_url_env: str = ""
    """Environment variable with the base URL, for vendors that give each customer an address."""
    key_hint: str = ""
    """Added to the error if the key is rejected: where else it may be valid."""
    models_page: str = ""
    """Where the vendor lists its models; added to the error about an unknown one."""
    sign: Sign | None = None
    """The headers that sign a request, for vendors that take a signature instead of a key."""
    is_local: bool = False
    """Is it a server on this machine, which may not be running?"""
    background: bool = False
    """Does it run answers in the background, by OpenAI's API for that?"""


class Provider(Protocol):
    """Answers requests with a stream of event batches."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...

    def batches(self, request: Request) -> Batches:
        """The answer. An error before the first visible event is raised; a later one is a `Failed` event."""
        ...


class ProviderSettingsView(Protocol):
    """`[providers.NAME]` of the configuration, as a provider factory sees it."""

    @property
    def base_url(self) -> str: ...
    @property
    def key_env(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def enabled(self) -> bool | None: ...


@value
class ProviderContext:
    """What a `ProviderFactory` receives."""

    name: str
    settings: ProviderSettingsView
    timeout: float | None
    """Seconds for a request, from the provider's settings or the global one; None if neither is set."""
    environment: Mapping[str, str]
    home: str
    http: Http
    redactor: Redactor
    """Register secrets here, and they are removed from errors, warnings and logs."""
    credential: Callable[[tuple[Lookup, ...]], Credential | None]
    """Finds a credential; the first lookup that succeeds wins."""


def _always_usable() -> bool:
    return True


def _no_key_needed() -> str:
    return "needs no key"


@value
class ProviderPlugin:
    """A live provider with its title, status and credential lookups."""

    provider: Provider
    title: str
    is_usable: Callable[[], bool] = _always_usable
    """Can `auto` use it now? Called for every request, so it must be cheap."""
    reason: Callable[[], str] = _no_key_needed
    """Why it can or cannot be used, for status output."""
    lookups: tuple[Lookup, ...] = ()
    dialect: str = ""
    """Shown in the status output."""
    base_url: str = ""


ProviderFactory: TypeAlias = Callable[[ProviderContext], ProviderPlugin]
"""Builds a provider; registered in the catalog or as an entry point."""


@value
class ProviderStatus:
    """A provider or an engine, and whether it can be used."""

    name: str
    title: str
    usable: bool
    reason: str
    model: str
    dialect: str
    base_url: str
    capabilities: Capabilities


def status_of(plugin: ProviderPlugin) -> ProviderStatus:
    """The status of a provider, without sending it a request."""
    provider = plugin.provider
    return ProviderStatus(
        provider.name,
        plugin.title,
        plugin.is_usable(),
        plugin.reason(),
        provider.model,
        plugin.dialect,
        plugin.base_url,
        provider.capabilities,
    )


async def flatten(batches: Batches) -> AsyncGenerator[Event, None]:
    """The events of all batches, one by one."""
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                yield event
