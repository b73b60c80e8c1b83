"""Errors of the gateway as the vendors' own clients raise them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anthropic
import openai
import pytest
from google.genai import errors as google_errors

from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at, serving
from tests.faces.gateway.vendors import VendorClients, vendors

pytestmark = pytest.mark.server

REQUESTS: dict[str, Callable[[VendorClients, str], Awaitable[object]]] = {
    "anthropic": lambda clients, model: clients.anthropic.messages.create(
        model=model, max_tokens=10, messages=[{"role": "user", "content": "q?"}]
    ),
    "responses": lambda clients, model: clients.openai.responses.create(model=model, input="q?"),
    "chat": lambda clients, model: clients.openai.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "q?"}]
    ),
    "gemini": lambda clients, model: clients.google.aio.models.generate_content(model=model, contents="q?"),
    "interactions": lambda clients, model: clients.google.aio.interactions.create(model=model, input="q?"),
}
KINDS: dict[str, dict[str, type[Exception]]] = {
    "no such model": {
        "anthropic": anthropic.NotFoundError,
        "responses": openai.NotFoundError,
        "chat": openai.NotFoundError,
        "gemini": google_errors.ClientError,
    },
    "no such key": {
        "anthropic": anthropic.AuthenticationError,
        "responses": openai.AuthenticationError,
        "chat": openai.AuthenticationError,
        "gemini": google_errors.ClientError,
    },
    "closing": {
        "anthropic": anthropic.InternalServerError,
        "responses": openai.InternalServerError,
        "chat": openai.InternalServerError,
        "gemini": google_errors.ServerError,
    },
}
STATUS = {"no such model": 404, "no such key": 401, "closing": 503}


@pytest.mark.parametrize("mistake", KINDS)
@pytest.mark.parametrize("client", REQUESTS)
async def test_every_client_raises_the_error_its_vendor_documents(client: str, mistake: str) -> None:
    async def ask() -> Exception:
        async with (
            Upstream(answer("gemini", answer_events("Yes."))) as upstream,
            serving({"mine": provider_at("gemini", upstream.url)}) as here,
        ):
            good, _ = KeyFile(here.groundwire.config.data_dir).create("me", 0)
            key = "wrong-key" if mistake == "no such key" else good
            here.gateway.draining = mistake == "closing"
            async with vendors(here.url, key) as clients:
                try:
                    await REQUESTS[client](clients, "unknown" if mistake == "no such model" else "auto")
                except Exception as error:  # noqa: BLE001  the test checks which one
                    return error
                finally:
                    here.gateway.draining = False
            raise AssertionError("no error was raised")

    error = await ask()
    expected = KINDS[mistake].get(client)
    assert expected is None or isinstance(error, expected), repr(error)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    assert status == STATUS[mistake], repr(error)
    wanted = {"no such model": "mine", "no such key": "groundwire keys", "closing": "closing"}[mistake]
    assert wanted in str(error)


@pytest.mark.parametrize("client", REQUESTS)
async def test_every_client_gets_an_answer_to_a_valid_request(client: str) -> None:
    async def ask() -> str:
        async with (
            Upstream(answer("gemini", answer_events("Yes, it is."))) as upstream,
            serving({"mine": provider_at("gemini", upstream.url)}) as here,
            vendors(here.url) as clients,
        ):
            return str(await REQUESTS[client](clients, "auto"))

    assert "Yes, it is." in await ask()
