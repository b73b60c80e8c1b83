"""How completely cited answers reach the client through groundwire and through LiteLLM's proxy.

    python bench/peers_matrix.py [--most N] [--faults]

A scripted provider serves every recorded answer. The official client of each dialect requests it through each
proxy. A cell counts the answers of which a part arrived completely:

    citations   every cited URL, wherever the client finds it
    spans       every cited URL on its words, and on no others
    queries     the search queries, if the dialect can express them
    finish      the finish reason

If no request reached the provider in its dialect, the proxy does not offer the cell. The reference is the
canonical answer of the recording; in the provider's own dialect, it is what the same client reads from the
provider itself. An answer whose offsets the client cannot parse counts only its spans as lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from gateway.contenders import QUIET  # noqa: E402
from gateway.environments import LITELLM, environment  # noqa: E402
from gateway.processes import BenchmarkFailed, free_port, started  # noqa: E402
from peers_client import KEY, BetaClients, ClientRequest, ClientResponse, send  # noqa: E402
from tests.contracts.recorded.catalogue import Recording, answer_of  # noqa: E402
from tests.contracts.recorded.frames import is_sse  # noqa: E402
from tests.faces.gateway.matrix import (  # noqa: E402
    PROVIDERS,
    all_recordings,
    chosen,
    differences,
    misses,
    response_of,
)
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients  # noqa: E402
from tests.faces.gateway.serving import provider_at, serving  # noqa: E402

from groundwire.dialects.features import Feature  # noqa: E402
from groundwire.dialects.registry import dialect  # noqa: E402
from groundwire.model import Answer  # noqa: E402
from groundwire.testing.script import Script  # noqa: E402
from groundwire.testing.upstream import Upstream  # noqa: E402

ASPECTS = ("citations", "spans", "queries", "finish")
COMPARED = (*PROVIDERS, "bedrock_converse")
"""Dialects of clients: those that both proxies serve."""
START_TIMEOUT = 120.0

_FAULTS = {
    "spans": ("spans:", "cited:", "claims", "text:"),
    "queries": ("queries:", "order of queries:"),
    "finish": ("finish:",),
}
"""How the faults of the matrix that concern each aspect begin. A changed text also shifts the spans."""
_PATHS = {
    "anthropic_messages": "*/messages",
    "openai_responses": "*/responses",
    "openai_chat": "*/chat/completions",
    "gemini": "*enerateContent",
    "gemini_interactions": "*/interactions",
}
_PEER: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "anthropic_messages": ("anthropic/", "", {}),
    "openai_responses": ("openai/responses/", "/v1", {}),
    "openai_chat": ("openai/", "/v1", {"use_chat_completions_api": True}),
    "gemini": ("gemini/", "", {}),
    "gemini_interactions": ("gemini/", "", {}),
}
"""LiteLLM's model prefix for the provider of a dialect, the path after its base URL, and more settings."""


class RecordedProvider(NamedTuple):
    """The scripted provider, and clients that send requests directly to it."""

    upstream: Upstream
    clients: SdkClients


class Proxy(NamedTuple):
    """A gateway between the clients and the provider."""

    name: str
    url: str
    clients: SdkClients
    model: str
    """The model name, with `{}` for the dialect of the provider."""


class Tally:
    """The counts of a cell."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.faults: list[str] = []
        self.reached = 0
        """The number of requests that reached the provider in its dialect."""

    def shown(self, aspect: str) -> str:
        if not self.reached:
            return "not offered"
        return f"{self.whole[aspect]}/{self.total[aspect]}" if self.total[aspect] else "-"


def aspects_of(inbound: str, answer: Answer) -> Iterator[str]:
    """The aspects that an answer has and a dialect can express."""
    if answer.citations:
        yield "citations"
    if any(item.span is not None and item.span.start < item.span.end for item in answer.citations):
        yield "spans"
    if Feature.QUERIES not in dialect(inbound).losses and any(item.query for item in answer.searches):
        yield "queries"
    yield "finish"


class PeerCell(NamedTuple):
    """The dialects of the client and of the provider, and whether the client streams."""

    inbound: str
    provider: str
    stream: bool


def arrived(
    cell: PeerCell, response: ClientResponse, answer: Answer, own: SdkAnswer | None
) -> Mapping[str, bool]:
    """For each aspect, whether it arrived completely and with nothing added."""
    cited = {item.source.url for citation in answer.citations for item in citation.evidence}
    cited = cited if own is None else _urls(own)
    arrived_whole = {"citations": cited <= response.urls}
    faults = list(
        misses(cell.inbound, response.read, answer) if own is None else differences(response.read, own)
    )
    broken = bool(response.read.error)
    for aspect, begin in _FAULTS.items():
        arrived_whole[aspect] = not broken and not any(fault.startswith(begin) for fault in faults)
    if response.decoded is not None:  # the client could not parse the offsets; the rest may be complete
        arrived_whole["finish"] = response.decoded.finish == answer.finish
        arrived_whole["queries"] = _queries(response.decoded) == _queries(answer)
    return arrived_whole


def _queries(answer: Answer) -> set[str]:
    return {search.query for search in answer.searches if search.query}


async def measure(
    proxy: Proxy, provider: RecordedProvider, recording: Recording, cell: PeerCell, tally: Tally
) -> None:
    """Request one recorded answer through one proxy, and count what arrived."""
    answer, upstream = answer_of(recording), provider.upstream
    before = len(upstream.requests)
    request = ClientRequest(proxy.url, cell.inbound, proxy.model.format(cell.provider), cell.stream)
    response = await send(proxy.clients, request)
    tally.reached += any(_fits(item.path, cell.provider) for item in upstream.requests[before:])
    own: SdkAnswer | None = None
    if cell.inbound == cell.provider and is_sse(recording.data) == cell.stream:
        own = (
            await send(provider.clients, ClientRequest(upstream.url, cell.inbound, "model-1", cell.stream))
        ).read
        if own.error:
            return  # nothing to compare with
    arrived_whole = arrived(cell, response, answer, own)
    for aspect in aspects_of(cell.inbound, answer):
        tally.total[aspect] += 1
        tally.whole[aspect] += arrived_whole[aspect]
    if not all(arrived_whole.values()):
        missing = ", ".join(aspect for aspect, whole in arrived_whole.items() if not whole)
        why = " ".join(response.read.error[:200].split())
        tally.faults.append(f"{recording.name}: {missing}; {why}")


def _fits(path: str, provider: str) -> bool:
    return bool(Script(paths={_PATHS[provider]: ()}).key_for(path.partition("?")[0]))


def _urls(read: SdkAnswer) -> set[str]:
    return {url for _, _, url in read.spans} | read.unplaced | read.pages


@contextmanager
def litellm(upstream: str) -> Iterator[str]:
    """Run LiteLLM's proxy in front of the provider, in a separate environment; yield its URL."""
    models = [
        {
            "model_name": f"my-{name}",
            "litellm_params": {
                "model": f"{prefix}model-1",
                "api_base": upstream + path,
                "api_key": "k",
                **more,
            },
        }
        for name, (prefix, path, more) in _PEER.items()
    ]
    settings = {
        "model_list": models,
        "litellm_settings": {
            "telemetry": False,
            "num_retries": 0,
            "use_chat_completions_url_for_anthropic_messages": True,
        },
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
    }
    port = free_port()
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.yaml").write_text(json.dumps(settings))
        command = [str(environment("litellm", LITELLM) / "litellm"), "--config", str(folder / "config.yaml")]
        command += ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        plain = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": name,
            "LANG": "C.UTF-8",
            "LITELLM_MASTER_KEY": KEY,
        }
        with started(command, {**plain, **QUIET}, folder / "log", port, START_TIMEOUT):
            yield f"http://127.0.0.1:{port}"


async def play(recordings: Sequence[Recording]) -> dict[str, dict[PeerCell, Tally]]:
    """Request every recording in every dialect through every proxy."""
    found: dict[str, dict[PeerCell, Tally]] = {}
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(Script()))
        providers = {f"my_{name}": provider_at(name, upstream.url) for name in PROVIDERS}
        ours = (await stack.enter_async_context(serving(providers))).url
        theirs = stack.enter_context(litellm(upstream.url))
        provider = RecordedProvider(upstream, await stack.enter_async_context(SdkClients(upstream.url)))
        proxies = [
            Proxy("groundwire", ours, await stack.enter_async_context(SdkClients(ours)), "my_{}/model-1"),
            Proxy("LiteLLM", theirs, await stack.enter_async_context(BetaClients(theirs)), "my-{}"),
        ]
        for recording in recordings:
            upstream.script = Script(paths={_PATHS[recording.dialect]: (response_of(recording),)})
            for inbound in COMPARED:
                cell = PeerCell(inbound, recording.dialect, recording.kind == "stream")
                for proxy in proxies:
                    tally = found.setdefault(proxy.name, {}).setdefault(cell, Tally())
                    await measure(proxy, provider, recording, cell, tally)
    return found


def table(found: Mapping[str, Mapping[PeerCell, Tally]]) -> Iterator[str]:
    """A row for each cell, a column for each aspect and proxy."""
    heads = [f"{aspect} {name}" for aspect in ASPECTS for name in found]
    yield _row("client", "provider", "form", *heads)
    yield _row(*("---" for _ in range(3 + len(heads))))
    cells = sorted({cell for tallies in found.values() for cell in tallies}, key=_order)
    for cell in cells:
        form = "stream" if cell.stream else "whole"
        shown = [found[name][cell].shown(aspect) for aspect in ASPECTS for name in found]
        yield _row(cell.inbound, cell.provider, form, *shown)
    sums = [_sum(found[name].values(), aspect) for aspect in ASPECTS for name in found]
    yield _row("all", "", "", *sums)


def _order(cell: PeerCell) -> tuple[int, int, bool]:
    return COMPARED.index(cell.inbound), PROVIDERS.index(cell.provider), cell.stream


def _sum(tallies: Collection[Tally], aspect: str) -> str:
    offered = [tally for tally in tallies if tally.reached]
    return f"{sum(item.whole[aspect] for item in offered)}/{sum(item.total[aspect] for item in offered)}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description="How completely cited answers reach the client, by proxy.")
    parser.add_argument(
        "--most", type=int, default=0, help="maximum number of recordings of each dialect and form"
    )
    parser.add_argument("--faults", action="store_true", help="print what did not arrive")
    options = parser.parse_args()
    recordings = [item for item in all_recordings() if answer_of(item).finish not in (None, "pause")]
    if not recordings:
        print("There are no recordings on this machine; nothing was measured.", file=sys.stderr)
        return 0
    try:
        found = asyncio.run(play(chosen(recordings, options.most) if options.most else recordings))
    except BenchmarkFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(*table(found), sep="\n")
    if options.faults:
        for name, tallies in found.items():
            for cell, tally in tallies.items():
                for fault in tally.faults:
                    print(f"{name}: {cell.inbound} from {cell.provider}: {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
