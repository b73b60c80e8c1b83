"""Default models with their announced shutdown dates, and the replacement of a default that is gone.

A default past its announced end fails a test: choose the next one here, and update `CHECKED`. Sources:
https://ai.google.dev/gemini-api/docs/deprecations,
https://developers.openai.com/api/docs/deprecations,
https://platform.claude.com/docs/en/about-claude/model-deprecations

`SuccessorProvider` replaces a default model that its vendor has shut down by the newest one of its family, as
the vendor's model list says, else by the table here. The answer carries a warning. A model that a user or a
client named is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing

from groundwire.credentials.secret import Credential
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import ConfigError, GroundwireError, NotFound, Refused, UpstreamWireError
from groundwire.model import Event, Json, Request, Warned
from groundwire.model.value import replace, value
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import Batches, Provider, ProviderSpec
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.transport.http import LOOP_HEADER, Deadlines, Http, HttpRequest

CHECKED = "2026-11-16"
"""When the announcements of the vendors above were last checked. The models of other vendors come from their
SDKs and public pages; they announce no shutdown there."""


@value
class DefaultModel:
    """A model that is or was a provider's default."""

    provider: str
    name: str
    ends: str = ""
    """The shutdown date; empty if none was announced on the day of `CHECKED`."""
    successor: str = ""
    """The replacement that the vendor names, or a model of the same family."""


MODELS: tuple[DefaultModel, ...] = (
    DefaultModel("anthropic", "claude-sonnet-4-6", successor="claude-opus-4-8"),
    DefaultModel("openai", "gpt-5.5", successor="gpt-5.6-terra"),
    DefaultModel("openai_oauth", "gpt-5.5", successor="gpt-5.6-terra"),
    DefaultModel("openai_chat", "gpt-5-search-api"),
    DefaultModel("gemini", "gemini-3.8-flash", successor="gemini-3.5-flash-lite"),
    # Announced by Vertex AI, which also names the successor.
    DefaultModel("gemini", "gemini-2.5-flash", "2026-10-20", "gemini-3.8-flash"),
    DefaultModel("openrouter", "openai/gpt-5.6-terra", successor="openai/gpt-5.5"),
    DefaultModel("xai", "grok-4.6", successor="grok-4.3"),
    DefaultModel("deepseek", "deepseek-v4-flash", successor="deepseek-v4-pro"),
    DefaultModel("zai", "glm-5.2", successor="glm-5"),
    DefaultModel("moonshot", "kimi-k2.6", successor="kimi-k2.5"),
    DefaultModel("cohere", "command-a-plus-05-2026", successor="command-a-03-2025"),
    DefaultModel("openrouter", "openai/o4-mini", "2026-10-23", "openai/gpt-5.6-terra"),
)
"""The first entry of each provider is its default; the others were before."""


def default_model(provider: str) -> str:
    """The default model of a provider. Raises `LookupError` if the table has none."""
    for model in MODELS:
        if model.provider == provider:
            return model.name
    raise LookupError(f"MODELS in providers/models.py has no default model of {provider!r}")


def successor_of(provider: str, name: str) -> str:
    """The replacement of a model that was shut down; empty if none is known."""
    found = (model.successor for model in MODELS if (model.provider, model.name) == (provider, name))
    return next(found, "")


_LISTS: Mapping[str, str] = {
    "anthropic_messages": "/v1/models?limit=1000",
    "gemini": "/v1beta/models?pageSize=1000",
    "openai_chat": "/models",
    "openai_responses": "/models",
}
"""Path of the model list for each dialect, after the base URL."""
_LIST_DEADLINES = Deadlines(connect=5.0, first_byte=10.0, idle=10.0, total=15.0)
_NO_CHAT = lazy_pattern(r"embed|rerank|whisper|tts", re.IGNORECASE)
"""Models that write no text."""
_SHUT_DOWN = lazy_pattern(
    r"not (?:found|exist|a valid model|supported|available)|does not exist|deprecated|retired|shut ?down",
    re.IGNORECASE,
)


class _ListedModels:
    """A provider whose server can list its models."""

    def __init__(
        self,
        provider: Provider,
        row: ProviderSpec,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
    ) -> None:
        self._provider = provider
        self._row = row
        self._http = http
        self._credential = credential
        self._chosen = ""
        """The model that is used instead of the default, or because there is none."""

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    async def _list_models(self) -> list[str]:
        return await list_models(self._row, self._http, await self._credential())


class SuccessorProvider(_ListedModels):
    """A provider whose default model may have been shut down."""

    @property
    def model(self) -> str:
        return self._chosen or self._provider.model

    def batches(self, request: Request) -> Batches:
        """The answer of the requested model, or of the default or its replacement."""
        return self._provider.batches(request) if request.model else self._default_batches(request)

    async def _default_batches(self, request: Request) -> Batches:
        if self._chosen:
            yield (self._warning(self._chosen),)
            async with aclosing(self._provider.batches(replace(request, model=self._chosen))) as batches:
                async for batch in batches:
                    yield batch
            return
        emitted: list[Event] = []
        try:
            async with aclosing(self._provider.batches(request)) as batches:
                async for batch in batches:
                    if not emitted:
                        emitted += batch  # before an error there is one batch of warnings at most
                    yield batch
        except (NotFound, Refused) as error:
            model = await self._successor() if _is_shut_down(error, self._row.model) else ""
            if not model:
                raise
        else:
            return
        yield (self._warning(model),)
        async with aclosing(self._provider.batches(replace(request, model=model))) as batches:
            async for batch in batches:
                self._chosen = model
                if new_events := [event for event in batch if event not in emitted]:
                    yield new_events

    def _warning(self, model: str) -> Warned:
        return Warned(
            "default_model_replaced",
            f"{self.name} no longer has {self._row.model}, the default model: {model} was used instead; "
            f"set providers.{self.name}.model to choose one",
        )

    async def _successor(self) -> str:
        """The newest model of the default's family, other than the default."""
        try:
            listed = await self._list_models()
        except GroundwireError:
            listed = []
        family = [name for name in listed if re.fullmatch(self._row.family, name) and name != self._row.model]
        return max(family, key=_version, default="") or successor_of(self._row.name, self._row.model)


class FirstModelProvider(_ListedModels):
    """A provider without a default model: the first one that its server lists is used."""

    @property
    def model(self) -> str:
        return self._chosen

    async def batches(self, request: Request) -> Batches:
        """The answer of the requested model, or of the first one."""
        if not request.model:
            request = replace(request, model=self._chosen or await self._find())
        async with aclosing(self._provider.batches(request)) as batches:
            async for batch in batches:
                yield batch

    async def _find(self) -> str:
        listed = await self._list_models()
        self._chosen = next((name for name in listed if not _NO_CHAT.search(name)), "")
        if not self._chosen:
            raise ConfigError(f"{self._row.title} has no model: load one, or set providers.{self.name}.model")
        return self._chosen


async def list_models(row: ProviderSpec, http: Http, credential: Credential | None) -> list[str]:
    """The models that a provider lists; none if it lists them in an unknown way, or not at all."""
    if row.dialect not in _LISTS:
        return []
    headers = {"accept": "application/json", LOOP_HEADER: "1", **row.headers(credential)}
    call = HttpRequest("GET", row.base_url.rstrip("/") + _LISTS[row.dialect], headers)
    async with http.open(call, _LIST_DEADLINES) as response:
        if response.status != 200:
            return []
        return list(_model_names(load_json(await response.body(), UpstreamWireError)))


def _model_names(body: Json) -> Iterator[str]:
    found = as_object(body)
    entries = found.get("data") or found.get("models")
    for entry in entries if isinstance(entries, list) else ():
        name = as_object(entry).get("id") or as_object(entry).get("name")
        if isinstance(name, str):
            yield name.removeprefix("models/")


def _version(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)))


def _is_shut_down(error: NotFound | Refused, model: str) -> bool:
    """Is the error about the model, not the request? Some vendors answer 400 instead of 404."""
    return isinstance(error, NotFound) or (
        model in error.message and _SHUT_DOWN.search(error.message) is not None
    )
