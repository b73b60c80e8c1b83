"""What happens to requests whose client or provider fails, through groundwire and through LiteLLM's proxy.

    python bench/peers_failures.py [--clients N]

Both proxies run at the same time, with one scripted provider, and get the same requests one after the other:

    disconnects  a client closes its connection while the provider works; counted is how many of the requests
                 to the provider end within a second, and the median time until they do
    cuts         the provider's connection breaks in the middle of a stream; counted is how many clients
                 receive an error, and for how many the part looks like a complete answer
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import monotonic
from typing import NamedTuple

import aiohttp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from peers_client import KEY  # noqa: E402
from peers_matrix import litellm  # noqa: E402
from tests.faces.gateway.serving import provider_at, serving  # noqa: E402

from groundwire.model import Source  # noqa: E402
from groundwire.model.value import replace  # noqa: E402
from groundwire.testing.answers import answer_events  # noqa: E402
from groundwire.testing.script import Script, ScriptedResponse  # noqa: E402
from groundwire.testing.upstream import Received, Upstream, answer  # noqa: E402

PATIENCE = 10.0
"""Seconds after which a request to the provider counts as not cancelled."""
IN_TIME = 1.0
TEXT = "A sentence that is long enough to be cut. " * 20
WHOLE = answer("openai_chat", answer_events(TEXT, Source("https://a.example/")))
MESSAGES = [{"role": "user", "content": "Which river is the longest?"}]


class ClientPath(NamedTuple):
    """A path of clients, and how its streams end."""

    path: str
    end: bytes
    error: bytes


PATHS = (
    ClientPath("/v1/chat/completions", b"data: [DONE]", b'"error"'),
    ClientPath("/v1/messages", b"message_stop", b"event: error"),
)


class Phase(NamedTuple):
    """When a client disconnects."""

    name: str
    stream: bool
    response: ScriptedResponse


HALF = len(WHOLE.stream or b"") // 2
PHASES = (
    Phase("before the first event", stream=True, response=replace(WHOLE, delay=30.0)),
    Phase("during the stream", stream=True, response=replace(WHOLE, stall_at=HALF)),
    Phase("without a stream", stream=False, response=replace(WHOLE, delay=30.0)),
)


class Proxy(NamedTuple):
    """A proxy, and the name of the scripted model there."""

    name: str
    url: str
    model: str


class Cancelled(NamedTuple):
    """How long requests to the provider went on after their clients had left; None: to the end."""

    seconds: Sequence[float | None]

    @property
    def text(self) -> str:
        """The share that ended in time, and the median."""
        ended = [one for one in self.seconds if one is not None]
        count = sum(one <= IN_TIME for one in ended)
        return f"{count} of {len(self.seconds)}" + (f", {1000 * median(ended):.0f} ms" if ended else "")


def body_of(proxy: Proxy, *, stream: bool) -> Mapping[str, object]:
    return {"model": proxy.model, "messages": MESSAGES, "max_tokens": 500, "stream": stream}


HEADERS = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "anthropic-version": "2023-06-01"}


async def leave(proxy: Proxy, path: str, phase: Phase, upstream: Upstream) -> float | None:
    """Send a request, disconnect while the provider works, and wait for the end of the provider's request."""
    before = len(upstream.requests)
    upstream.script = Script((phase.response,))

    async def send() -> None:
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client,
            client.post(
                proxy.url + path, json=body_of(proxy, stream=phase.stream), headers=HEADERS
            ) as response,
        ):
            async for _ in response.content.iter_any():
                pass

    sending = asyncio.create_task(send())
    received = await _received(upstream, before)
    await asyncio.sleep(0.5)  # what the provider has sent so far reaches the client
    sending.cancel()
    await asyncio.wait({sending})
    left = monotonic()
    while monotonic() < left + PATIENCE:
        if received.disconnected is not None:
            return monotonic() - left
        await asyncio.sleep(0.005)
    return None


async def _received(upstream: Upstream, before: int) -> Received:
    """The request of a client. A gateway may ask for the list of models too."""
    async with asyncio.timeout(60):
        while True:
            for request in upstream.requests[before:]:
                if request.method == "POST":
                    return request
            await asyncio.sleep(0.01)


async def read_cut(proxy: Proxy, path: ClientPath, upstream: Upstream) -> str:
    """What a client makes of a stream that breaks: `error`, `complete` or `ends`."""
    upstream.script = Script((replace(WHOLE, cut_at=HALF, cut="reset"),))
    data = b""
    try:
        async with (
            asyncio.timeout(60),
            aiohttp.ClientSession() as client,
            client.post(proxy.url + path.path, json=body_of(proxy, stream=True), headers=HEADERS) as response,
        ):
            if response.status != 200:
                return "error"
            async for piece in response.content.iter_any():
                data += piece
    except aiohttp.ClientError:
        return "error"
    if path.error in data:
        return "error"
    return "complete" if path.end in data else "ends"


async def compare(clients: int) -> Iterator[str]:
    """The rows of the table."""
    rows: list[tuple[str, ...]] = []
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(WHOLE))
        ours = await stack.enter_async_context(
            serving({"my_openai_chat": provider_at("openai_chat", upstream.url)})
        )
        theirs = stack.enter_context(litellm(upstream.url))
        proxies = (
            Proxy("groundwire", ours.url, "my_openai_chat/model-1"),
            Proxy("LiteLLM", theirs, "my-openai_chat"),
        )
        for path in PATHS:
            for phase in PHASES:
                cells = []
                for proxy in proxies:
                    seconds = [await leave(proxy, path.path, phase, upstream) for _ in range(clients)]
                    cells.append(Cancelled(seconds).text)
                rows.append((f"client of `{path.path}` leaves {phase.name}: cancelled in 1 s", *cells))
                print(rows[-1], file=sys.stderr, flush=True)
            cells = []
            for proxy in proxies:
                seen = [await read_cut(proxy, path, upstream) for _ in range(clients)]
                cells.append(f"{seen.count('error')} errors, {seen.count('complete')} look complete")
            rows.append((f"provider's stream to a client of `{path.path}` breaks", *cells))
            print(rows[-1], file=sys.stderr, flush=True)
    heads = ("", *(proxy.name for proxy in proxies))
    return iter(["| " + " | ".join(row) + " |" for row in (heads, ("---",) * len(heads), *rows)])


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=10, help="clients in each case")
    arguments = parser.parse_args()
    print("\n".join(asyncio.run(compare(arguments.clients))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
