"""What of a cited answer reaches the client: groundwire and LiteLLM's proxy, over the same recordings.

    python bench/peers_matrix.py [--most N] [--faults]

Every recorded answer is given by a scripted provider, asked for through each proxy in each dialect, and read
by the official client of that dialect. A cell says of how many answers the whole of something arrived:

    citations   every cited address, wherever the client finds it
    spans       every cited address on its words, and on no others
    queries     what was searched for; left out where the dialect has no words for it
    finish      the reason of the end

Where no question ever came to the provider in its dialect, the proxy does not offer the cell. What counts as
whole is the canonical answer of the recording; in the provider's own dialect what the same client reads from
the provider itself. An answer whose places the client's reader cannot make sense of has lost its spans, and
nothing else for that.
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
from gateway.processes import Failed, free_port, started  # noqa: E402
from peers_reading import KEY, Asked, BetaClients, Heard, hear  # noqa: E402
from tests.contracts.recorded.catalogue import Recording, answer_of  # noqa: E402
from tests.contracts.recorded.frames import is_sse  # noqa: E402
from tests.faces.gateway.matrix import (  # noqa: E402
    INBOUND,
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
START = 120.0

_FAULTS = {
    "spans": ("spans:", "cited:", "claims", "text:"),
    "queries": ("queries:", "order of queries:"),
    "finish": ("finish:",),
}
"""How the comparisons of the matrix begin to speak of each aspect. Places count in the text."""
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
"""How LiteLLM calls the provider of a dialect, what it wants behind the address, and what it must be told."""


class Provider(NamedTuple):
    """Who gives the answers, and the clients that ask there directly."""

    upstream: Upstream
    clients: SdkClients


class Proxy(NamedTuple):
    """Somebody between the clients and the provider."""

    name: str
    url: str
    clients: SdkClients
    model: str
    """With `{}` for the dialect of the provider."""


class Tally:
    """What arrived in a cell."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.faults: list[str] = []
        self.reached = 0
        """Questions that came to the provider in its dialect."""

    def shown(self, aspect: str) -> str:
        if not self.reached:
            return "not offered"
        return f"{self.whole[aspect]}/{self.total[aspect]}" if self.total[aspect] else "-"


def aspects_of(inbound: str, answer: Answer) -> Iterator[str]:
    """What an answer has, and a dialect has words for."""
    if answer.citations:
        yield "citations"
    if any(item.span is not None and item.span.start < item.span.end for item in answer.citations):
        yield "spans"
    if Feature.QUERIES not in dialect(inbound).losses and any(item.query for item in answer.searches):
        yield "queries"
    yield "finish"


class Cell(NamedTuple):
    """Who asks, who answers, and whether the client streams."""

    inbound: str
    provider: str
    stream: bool


def arrived(cell: Cell, heard: Heard, answer: Answer, own: SdkAnswer | None) -> Mapping[str, bool]:
    """Of each aspect, whether all of it is there, and nothing else."""
    cited = {item.source.url for citation in answer.citations for item in citation.evidence}
    cited = cited if own is None else _addresses(own)
    there = {"citations": cited <= heard.addresses}
    faults = list(misses(cell.inbound, heard.read, answer) if own is None else differences(heard.read, own))
    broken = bool(heard.read.error)
    for aspect, begin in _FAULTS.items():
        there[aspect] = not broken and not any(fault.startswith(begin) for fault in faults)
    if heard.bytes is not None:  # the client's reader stumbled over the places; the rest may be in order
        there["finish"] = heard.bytes.finish == answer.finish
        there["queries"] = _queries(heard.bytes) == _queries(answer)
    return there


def _queries(answer: Answer) -> set[str]:
    return {search.query for search in answer.searches if search.query}


async def measure(proxy: Proxy, provider: Provider, recording: Recording, cell: Cell, tally: Tally) -> None:
    """One recorded answer through one proxy."""
    answer, upstream = answer_of(recording), provider.upstream
    before = len(upstream.requests)
    asked = Asked(proxy.url, cell.inbound, proxy.model.format(cell.provider), cell.stream)
    heard = await hear(proxy.clients, asked)
    tally.reached += any(_fits(item.path, cell.provider) for item in upstream.requests[before:])
    own: SdkAnswer | None = None
    if cell.inbound == cell.provider and is_sse(recording.data) == cell.stream:
        own = (await hear(provider.clients, Asked(upstream.url, cell.inbound, "model-1", cell.stream))).read
        if own.error:
            return  # nothing to compare with
    there = arrived(cell, heard, answer, own)
    for aspect in aspects_of(cell.inbound, answer):
        tally.total[aspect] += 1
        tally.whole[aspect] += there[aspect]
    if not all(there.values()):
        missing = ", ".join(aspect for aspect, whole in there.items() if not whole)
        why = " ".join(heard.read.error[:200].split())
        tally.faults.append(f"{recording.name}: {missing}; {why}")


def _fits(path: str, provider: str) -> bool:
    return bool(Script(paths={_PATHS[provider]: ()}).key_for(path.partition("?")[0]))


def _addresses(read: SdkAnswer) -> set[str]:
    return {url for _, _, url in read.spans} | read.unplaced | read.pages


@contextmanager
def litellm(upstream: str) -> Iterator[str]:
    """LiteLLM's proxy in front of the provider, in an environment of its own."""
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
        with started(command, {**plain, **QUIET}, folder / "log", port, START):
            yield f"http://127.0.0.1:{port}"


async def play(recordings: Sequence[Recording]) -> dict[str, dict[Cell, Tally]]:
    """Ask everything of everybody."""
    found: dict[str, dict[Cell, Tally]] = {}
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(Script()))
        providers = {f"my_{name}": provider_at(name, upstream.url) for name in PROVIDERS}
        ours = (await stack.enter_async_context(serving(providers))).url
        theirs = stack.enter_context(litellm(upstream.url))
        provider = Provider(upstream, await stack.enter_async_context(SdkClients(upstream.url)))
        proxies = [
            Proxy("groundwire", ours, await stack.enter_async_context(SdkClients(ours)), "my_{}/model-1"),
            Proxy("LiteLLM", theirs, await stack.enter_async_context(BetaClients(theirs)), "my-{}"),
        ]
        for recording in recordings:
            upstream.script = Script(paths={_PATHS[recording.dialect]: (response_of(recording),)})
            for inbound in INBOUND:
                cell = Cell(inbound, recording.dialect, recording.kind == "stream")
                for proxy in proxies:
                    tally = found.setdefault(proxy.name, {}).setdefault(cell, Tally())
                    await measure(proxy, provider, recording, cell, tally)
    return found


def table(found: Mapping[str, Mapping[Cell, Tally]]) -> Iterator[str]:
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


def _order(cell: Cell) -> tuple[int, int, bool]:
    return INBOUND.index(cell.inbound), PROVIDERS.index(cell.provider), cell.stream


def _sum(tallies: Collection[Tally], aspect: str) -> str:
    offered = [tally for tally in tallies if tally.reached]
    return f"{sum(item.whole[aspect] for item in offered)}/{sum(item.total[aspect] for item in offered)}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description="What of a cited answer reaches the client, by proxy.")
    parser.add_argument("--most", type=int, default=0, help="so many recordings of each dialect and form")
    parser.add_argument("--faults", action="store_true", help="print what did not arrive")
    said = parser.parse_args()
    recordings = [item for item in all_recordings() if answer_of(item).finish not in (None, "pause")]
    if not recordings:
        print("the recordings are not on this machine: not run", file=sys.stderr)
        return 0
    try:
        found = asyncio.run(play(chosen(recordings, said.most) if said.most else recordings))
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    print(*table(found), sep="\n")
    if said.faults:
        for name, tallies in found.items():
            for cell, tally in tallies.items():
                for fault in tally.faults:
                    print(f"{name}: {cell.inbound} asks {cell.provider}: {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
