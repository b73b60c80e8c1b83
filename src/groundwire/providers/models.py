"""The default models, with the ends that their vendors have announced.

A default past its announced end fails a test: choose the next one here, and write down the day on which the
vendor's page was read. https://ai.google.dev/gemini-api/docs/deprecations,
https://developers.openai.com/api/docs/deprecations,
https://platform.claude.com/docs/en/about-claude/model-deprecations
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing

from groundwire.credentials.secret import Credential
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import load_json
from groundwire.errors import GroundwireError, NotFound, Refused, UpstreamWireError
from groundwire.model import Event, Json, Request, Warned
from groundwire.model.value import replace, value
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import LOOP_HEADER, Batches, Provider, ProviderSpec
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Call, Http

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


_LISTS: Mapping[str, str] = {
    "anthropic_messages": "/v1/models?limit=1000",
    "gemini": "/v1beta/models?pageSize=1000",
    "openai_chat": "/models",
    "openai_responses": "/models",
}
"""Where each dialect's vendors list their models, after the base address."""
_SOON = Deadlines(connect=5.0, first_byte=10.0, idle=10.0, total=15.0)
_GONE = re.compile(
    r"not (?:found|exist|a valid model|supported|available)|does not exist|deprecated|retired|shut ?down",
    re.IGNORECASE,
)


class SuccessorProvider:
    """A provider whose default model may be gone."""

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
        self._current = ""
        """The model that answered in the place of the default."""

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def model(self) -> str:
        return self._current or self._provider.model

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    def batches(self, request: Request) -> Batches:
        """The answer of the model that was named, or of the default."""
        return self._provider.batches(request) if request.model else self._of_default(request)

    async def _of_default(self, request: Request) -> Batches:
        if self._current:
            yield (self._warning(self._current),)
            async with aclosing(self._provider.batches(replace(request, model=self._current))) as batches:
                async for batch in batches:
                    yield batch
            return
        told: list[Event] = []
        try:
            async with aclosing(self._provider.batches(request)) as batches:
                async for batch in batches:
                    if not told:
                        told += batch  # what an error follows is one batch of warnings
                    yield batch
        except (NotFound, Refused) as error:
            model = await self._successor() if _is_gone(error, self._row.model) else ""
            if not model:
                raise
        else:
            return
        yield (self._warning(model),)
        async with aclosing(self._provider.batches(replace(request, model=model))) as batches:
            async for batch in batches:
                self._current = model
                if fresh := [event for event in batch if event not in told]:
                    yield fresh

    def _warning(self, model: str) -> Warned:
        return Warned(
            "default_model_replaced",
            f"{self.name} no longer has {self._row.model}, the default model: {model} was asked instead; "
            f"set providers.{self.name}.model to choose one",
        )

    async def _successor(self) -> str:
        """The newest model of the default's family, other than the default."""
        try:
            listed = await self._listed()
        except GroundwireError:
            listed = []
        family = [name for name in listed if re.fullmatch(self._row.family, name) and name != self._row.model]
        return max(family, key=_version, default="") or successor_of(self._row.name, self._row.model)

    async def _listed(self) -> list[str]:
        row = self._row
        if row.dialect not in _LISTS:
            return []
        headers = {"accept": "application/json", LOOP_HEADER: "1", **row.headers(await self._credential())}
        call = Call("GET", row.base_url.rstrip("/") + _LISTS[row.dialect], headers)
        async with self._http.open(call, _SOON) as exchange:
            if exchange.status != 200:
                return []
            return list(_names(load_json(await exchange.body(), UpstreamWireError)))


def _names(body: Json) -> Iterator[str]:
    found = as_object(body)
    entries = found.get("data") or found.get("models")
    for entry in entries if isinstance(entries, list) else ():
        name = as_object(entry).get("id") or as_object(entry).get("name")
        if isinstance(name, str):
            yield name.removeprefix("models/")


def _version(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)))


def _is_gone(error: NotFound | Refused, model: str) -> bool:
    """Does the provider refuse the model, rather than the request? Some say so with 400."""
    return isinstance(error, NotFound) or (model in error.message and _GONE.search(error.message) is not None)
