"""Requests to a proxy with the official clients; our codecs decode responses that they cannot parse."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

import httpx2
from tests.contracts.recorded.frames import is_sse
from tests.faces.gateway.raw import fetch, request_of
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients

from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError
from groundwire.model import Answer, assemble

KEY = "k"
"""The API key that the clients send."""
SECONDS = 30.0
"""Timeout for one answer, which then counts as lost."""


class BetaClients(SdkClients):
    """The same clients, google-genai set to `v1beta`: LiteLLM serves only this version of Gemini."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._google_http.event_hooks = {"request": [_beta], "response": []}


async def _beta(request: httpx2.Request) -> None:
    request.url = httpx2.URL(str(request.url).replace("/v1/", "/v1beta/", 1))


class ClientResponse(NamedTuple):
    """An answer as the official client parses it; if it fails, also the answer as our codecs decode it."""

    read: SdkAnswer
    decoded: Answer | None = None

    @property
    def urls(self) -> set[str]:
        """Every cited URL, wherever it is in the answer."""
        citations = () if self.decoded is None else self.decoded.citations
        found = {item.source.url for citation in citations for item in citation.evidence}
        return found | {url for _, _, url in self.read.spans} | self.read.unplaced | self.read.pages


class ClientRequest(NamedTuple):
    """The URL, dialect, model and mode of a request."""

    url: str
    inbound: str
    model: str
    stream: bool


async def send(clients: SdkClients, request: ClientRequest) -> ClientResponse:
    """Send a request with the official client; if it cannot parse the response, fetch and decode it."""
    read = await _read(clients, request)
    return ClientResponse(read, await _decode(request) if read.broken else None)


async def _read(clients: SdkClients, request: ClientRequest) -> SdkAnswer:
    try:
        async with asyncio.timeout(SECONDS):
            return await clients.ask(request.inbound, request.model, stream=request.stream)
    except (KeyError, IndexError, AttributeError, OSError) as error:
        return SdkAnswer(error=f"{type(error).__name__}: {error}", broken=True)


async def _decode(request: ClientRequest) -> Answer | None:
    data = request_of(request.inbound, request.model, stream=request.stream)
    data = data.replace(b"\r\n\r\n", f"\r\nauthorization: Bearer {KEY}\r\n\r\n".encode(), 1)
    codec = dialect(request.inbound)
    try:
        response = await fetch(request.url, data, seconds=SECONDS)
        if not is_sse(response.body):
            return assemble(codec.decode_response(json.loads(response.body)))
        decoder = codec.decoder()
        return assemble([*decoder.feed(response.body), *decoder.close()])
    except (GroundwireError, OSError, ValueError):
        return None
