"""An upstream that speaks Gemini and keeps its own bill, and a gateway in front of it with budgets.

The question says what happens: `tokens IN OUT CHUNKS END`, where END is `finish`, or `stall N`: after N
chunks nothing more is sent until the client has disconnected. Every chunk reports the tokens so far, as
Gemini does.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config, ProviderSettings
from groundwire.model.access import KeyLimits, KeyScope
from groundwire.model.cost import ConfiguredPrices
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.auth import AccessControl, AccessKeys, fingerprint
from groundwire.testing.upstream import read_request, write_chunk, write_head

Body: TypeAlias = dict[str, list[dict[str, list[dict[str, str]]]]]

KEY = "gw-budget-key"
OTHER_KEY = "gw-key-without-budget"
PRICES = ConfiguredPrices(input=2.0, output=8.0, search=10.0, max_output_tokens=1000)
NANO_INPUT, NANO_OUTPUT = 2000, 8000
"""Nano-USD of a token, by the prices above."""


@dataclass
class Billed:
    """What the upstream counts for one request."""

    question: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_finished: bool = False

    @property
    def nano_usd(self) -> int:
        return self.input_tokens * NANO_INPUT + self.output_tokens * NANO_OUTPUT


@dataclass
class BillingUpstream:
    """The upstream's own bill, and its address."""

    url: str = ""
    bills: list[Billed] = field(default_factory=list)
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    fails: int = 0
    """How many of the next requests are answered with status 500."""

    @property
    def nano_usd(self) -> int:
        return sum(bill.nano_usd for bill in self.bills)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer the requests of a connection."""
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            while (received := await read_request(reader)) is not None:
                if not await self._answer(json.loads(received[1]), reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            self.connections.discard(task)
            writer.close()

    async def _answer(self, body: Body, reader: StreamReader, writer: StreamWriter) -> bool:
        if self.fails:
            self.fails -= 1
            error = b'{"error": {"code": 500, "message": "no", "status": "INTERNAL"}}'
            head = {"content-type": "application/json", "content-length": str(len(error))}
            writer.write(write_head(500, head) + error)
            await writer.drain()
            return True
        question = body["contents"][-1]["parts"][-1]["text"]
        _, tokens_in, tokens_out, chunks, *end = question.split()
        bill = Billed(question)
        self.bills.append(bill)
        stalls_after = int(end[1]) if end[0] == "stall" else None
        writer.write(write_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        for number in range(1, int(chunks) + 1):
            if stalls_after == number - 1:
                await reader.read()  # until the client disconnects
                return False
            bill.input_tokens = int(tokens_in)
            bill.output_tokens = int(tokens_out) * number // int(chunks)
            last = number == int(chunks)
            writer.write(write_chunk(_frame(f"part {number} ", bill, last=last)))
            await writer.drain()
        bill.is_finished = True
        writer.write(write_chunk(b""))
        await writer.drain()
        return True


def _frame(text: str, bill: Billed, *, last: bool) -> bytes:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    counts = {"promptTokenCount": bill.input_tokens, "candidatesTokenCount": bill.output_tokens}
    chunk = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "m", "responseId": "r"}
    return b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"


@asynccontextmanager
async def billing_upstream() -> AsyncIterator[BillingUpstream]:
    """Serve until the block ends."""
    upstream = BillingUpstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        for task in list(upstream.connections):
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await server.wait_closed()


def budgeted_service(
    upstreams: Mapping[str, str],
    folder: Path,
    limits: dict[str, KeyLimits],
    **settings: object,
) -> HttpApp:
    """A gateway whose keys have these limits; the dictionary may be changed while it runs."""
    config = Config(
        providers={name: ProviderSettings("gemini", url, model="m") for name, url in upstreams.items()},
        order=tuple(upstreams),
        data_dir=str(folder),
        prices=dict.fromkeys(upstreams, PRICES),
    )
    config = replace(config, **settings)
    env = {"HOME": str(folder), "GROUNDWIRE_DATA_DIR": str(folder)}
    app = create_service(Groundwire(config, env=env), env)

    def keys() -> AccessKeys:
        scopes = {fingerprint(key): KeyScope(limits=limit) for key, limit in limits.items()}
        return AccessKeys(frozenset(map(fingerprint, (KEY, OTHER_KEY, *limits))), scopes=scopes)

    app.access = AccessControl("127.0.0.1", keys)
    return app
