"""Background mode of OpenAI's own API, for answers that take longer than a connection lasts (deep research).

The vendor runs the answer and keeps it; `resumed_response` reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from groundwire.model import JsonObject, Request
from groundwire.model.value import replace
from groundwire.providers.http import HttpProvider
from groundwire.providers.spec import Batches

_DIALECT = "openai_responses"
_FIELD = "background"


class BackgroundProvider(HttpProvider):
    """Sends requests that are marked in the vendor's background mode, and all others as usual."""

    wait: Callable[[float], Awaitable[None]] = staticmethod(asyncio.sleep)
    """Called with seconds before a stream is resumed."""

    def batches(self, request: Request) -> Batches:
        """The answer, as its bytes arrive."""
        if not is_background(request):
            return super().batches(request)
        from groundwire.providers.resumed_response import ResumingHttp  # noqa: PLC0415  slow, rarely needed

        http = ResumingHttp(self._http, self.wait)
        resuming = HttpProvider(self._row, http, self._credential, self._redactor, self._clock)
        resuming.quotas = self.quotas
        return resuming.batches(_marked(request))


def is_background(request: Request) -> bool:
    """Is the vendor to run this request in the background?"""
    return request.background or request.extras.get(_DIALECT, {}).get(_FIELD) is True


def _marked(request: Request) -> Request:
    own: JsonObject = {**request.extras.get(_DIALECT, {}), _FIELD: True}
    return replace(request, extras={**request.extras, _DIALECT: own}, stream=True, wire=None)
