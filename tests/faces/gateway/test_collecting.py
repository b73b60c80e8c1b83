"""A process that serves searches for cycles seldom, and answering leaves none behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from groundwire.model import Source
from groundwire.testing.answers import told
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import INBOUND, fetch, request_of
from tests.faces.gateway.serving import run, serving, speaking

_ASK = """
import gc, json
from groundwire.server.workers import collect_seldom
before = gc.get_threshold()
collect_seldom()
print(json.dumps([before, gc.get_threshold(), gc.get_freeze_count()]))
"""


def test_what_was_imported_is_left_out_and_the_rest_searched_less_often() -> None:
    done = subprocess.run(  # noqa: S603  our own words
        [sys.executable, "-c", _ASK], capture_output=True, check=True, timeout=30
    )
    before, after, frozen = json.loads(done.stdout)
    assert after[0] >= 10 * before[0]
    assert frozen > 1000


@pytest.mark.parametrize("stream", [True, False])
def test_answering_makes_few_cycles(stream: bool) -> None:
    """What nobody but the collector could free must not grow faster than it is looked for."""

    async def main() -> float:
        async with AsyncExitStack() as stack:
            providers = {}
            for dialect in INBOUND:
                events = told("Yes.", Source("https://a.example/"), query="q")
                upstream = await stack.enter_async_context(Upstream(answer(dialect, events)))
                providers[f"my_{dialect}"] = speaking(dialect, upstream.url)
            here = await stack.enter_async_context(serving(providers))

            async def ask() -> None:
                for provider in INBOUND:
                    got = await fetch(here.url, request_of("openai_chat", f"my_{provider}/m", stream=stream))
                    assert got.status == 200

            await ask()
            gc.collect()
            gc.disable()
            try:
                for _ in range(10):
                    await ask()
                return gc.collect() / (10 * len(INBOUND))
            finally:
                gc.enable()

    assert run(main()) < 100
