"""What a provider is: for most, a row of data and a way to adjust a body.

Everything a vendor requires beyond its dialect (headers, fields it insists on or rejects, which of the
dialect's spellings of a search it takes) stands in its own file, in `adjust`, `headers` and `spelling`, never
in the codec.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol, TypeAlias

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.model import Event, JsonObject, Request, SearchOptions
from groundwire.model.value import value
from groundwire.providers.capabilities import Capabilities
from groundwire.transport.http import Deadlines

Adjust: TypeAlias = Callable[[JsonObject, Request], JsonObject]
Headers: TypeAlias = Callable[[Credential | None], Mapping[str, str]]
Url: TypeAlias = Callable[[str, Request], str]
Spelling: TypeAlias = Callable[[SearchOptions], SearchOptions]
Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
"""Events in the groups in which they arrived, none empty: what came together is passed on together."""


def unchanged(body: JsonObject, _: Request) -> JsonObject:
    """The body as the dialect wrote it."""
    return body


def as_said(options: SearchOptions) -> SearchOptions:
    """The search in whichever spelling it came."""
    return options


def bearer(credential: Credential | None) -> Mapping[str, str]:
    """The usual way to show a key; none without one (Ollama, vLLM)."""
    return {} if credential is None else {"authorization": f"Bearer {credential.secret.reveal()}"}


def path(suffix: str) -> Url:
    """The base address and a fixed path."""
    return lambda base, _: base.rstrip("/") + suffix


@value
class ProviderSpec:
    """A provider that speaks a dialect over HTTP."""

    name: str
    title: str
    dialect: str
    base_url: str
    url: Url
    model: str
    lookups: tuple[Lookup, ...] = ()
    missing: str = ""
    """The code of the error when no credential is found; empty if none is needed."""
    advice: str = ""
    """What to do then, in one sentence."""
    headers: Headers = bearer
    adjust: Adjust = unchanged
    capabilities: Capabilities = Capabilities()
    always_streams: bool = False
    deadlines: Deadlines = Deadlines()
    spelling: Spelling = as_said
    """Chooses among the dialect's spellings of a search, by way of the options' extras."""
    needs_model: bool = True
    family: str = ""
    """Names of models that may replace the default when the vendor has turned it off; empty for a model that
    the user chose, which is never replaced."""
    forwards: tuple[str, ...] = ()
    """Headers of a client of the same dialect that go along with its body."""


class Provider(Protocol):
    """Anybody who answers a request with events."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...

    def batches(self, request: Request) -> Batches:
        """The answer. Errors before it begins are raised; later ones are told by `Failed`."""
        ...


class Teller(Protocol):
    """A provider that has its events one by one."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def capabilities(self) -> Capabilities: ...

    def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """The answer."""
        ...


class OneByOne:
    """A teller as a provider."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    @property
    def name(self) -> str:
        return self._teller.name

    @property
    def model(self) -> str:
        return self._teller.model

    @property
    def capabilities(self) -> Capabilities:
        return self._teller.capabilities

    async def batches(self, request: Request) -> Batches:
        """The answer."""
        async with aclosing(self._teller.events(request)) as events:
            async for event in events:
                yield (event,)


async def flat(batches: Batches) -> AsyncGenerator[Event, None]:
    """Events one by one."""
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                yield event
