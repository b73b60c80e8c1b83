"""The vendors' own clients, connected to a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types

from tests.unencrypted import ASYNC_CLIENT_ARGS, CLIENT_ARGS


@dataclass
class VendorClients:
    """One client of each vendor."""

    anthropic: anthropic.AsyncAnthropic
    openai: openai.AsyncOpenAI
    google: genai.Client


@asynccontextmanager
async def vendors(url: str, key: str = "any", *, version: str = "v1beta") -> AsyncIterator[VendorClients]:
    """Clients without retries."""
    async with (
        anthropic.AsyncAnthropic(base_url=url, api_key=key, max_retries=0) as claude,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as gpt,
        httpx2.AsyncClient() as http,
    ):
        options = types.HttpOptions(
            base_url=url,
            api_version=version,
            httpx_async_client=http,
            retry_options=types.HttpRetryOptions(attempts=1),
            client_args=CLIENT_ARGS,
            async_client_args=ASYNC_CLIENT_ARGS,
        )
        google = genai.Client(api_key=key, http_options=options)
        yield VendorClients(claude, gpt, google)
        google.close()
