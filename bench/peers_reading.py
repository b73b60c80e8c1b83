"""Answers of a proxy as clients have them, read with all the goodwill that is possible."""

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
"""What the clients send."""
SECONDS = 30.0
"""For one answer; one that takes longer did not arrive."""


class BetaClients(SdkClients):
    """The same clients, google-genai set to `v1beta`: LiteLLM serves no other version of Gemini."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._http.event_hooks = {"request": [_beta], "response": []}


async def _beta(request: httpx2.Request) -> None:
    request.url = httpx2.URL(str(request.url).replace("/v1/", "/v1beta/", 1))


class Heard(NamedTuple):
    """An answer as a client has it, and, where its reader stumbled, what else there was in the bytes."""

    read: SdkAnswer
    bytes: Answer | None = None

    @property
    def addresses(self) -> set[str]:
        """Every address that is cited, wherever."""
        told = () if self.bytes is None else self.bytes.citations
        found = {item.source.url for citation in told for item in citation.evidence}
        return found | {url for _, _, url in self.read.spans} | self.read.unplaced | self.read.pages


class Asked(NamedTuple):
    """Where a question goes."""

    url: str
    inbound: str
    model: str
    stream: bool


async def hear(clients: SdkClients, asked: Asked) -> Heard:
    """Ask with the official client; an answer that it cannot hold is asked for again, as bytes."""
    read = await _read(clients, asked)
    return Heard(read, await _bytes(asked) if read.broken else None)


async def _read(clients: SdkClients, asked: Asked) -> SdkAnswer:
    try:
        async with asyncio.timeout(SECONDS):
            return await clients.ask(asked.inbound, asked.model, stream=asked.stream)
    except (KeyError, IndexError, AttributeError, OSError) as error:
        return SdkAnswer(error=f"{type(error).__name__}: {error}", broken=True)


async def _bytes(asked: Asked) -> Answer | None:
    data = request_of(asked.inbound, asked.model, stream=asked.stream)
    data = data.replace(b"\r\n\r\n", f"\r\nauthorization: Bearer {KEY}\r\n\r\n".encode(), 1)
    language = dialect(asked.inbound)
    try:
        got = await fetch(asked.url, data, seconds=SECONDS)
        if not is_sse(got.body):
            return assemble(language.decode_response(json.loads(got.body)))
        decoder = language.decoder()
        return assemble([*decoder.feed(got.body), *decoder.close()])
    except (GroundwireError, OSError, ValueError):
        return None
