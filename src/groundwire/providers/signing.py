"""A provider whose answers say who gave them."""

from __future__ import annotations

from contextlib import aclosing

from groundwire.model import Event, Finished, Request, Started
from groundwire.model.extras import Extras, merge_extras
from groundwire.model.value import replace
from groundwire.providers.base import Batches, Provider
from groundwire.providers.capabilities import Capabilities


class Signed:
    """A provider whose finished answers say who gave them: `extras["groundwire"]`, provider and model."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def model(self) -> str:
        return self._provider.model

    @property
    def capabilities(self) -> Capabilities:
        return self._provider.capabilities

    async def batches(self, request: Request) -> Batches:
        """The answer, signed at both ends."""
        signature: Extras = {"groundwire": {"provider": self.name, "model": request.model or self.model}}
        async with aclosing(self._provider.batches(request)) as batches:
            async for batch in batches:
                yield [
                    _signed(event, self.name, signature) if type(event) in (Started, Finished) else event
                    for event in batch
                ]


def _signed(event: Event, name: str, signature: Extras) -> Event:
    if isinstance(event, Started):
        return replace(event, provider=name)
    if isinstance(event, Finished):
        return replace(event, extras=merge_extras(event.extras, signature))
    return event
