"""A comparison of recorded answers of four vendors, with one that stalls and one that fails."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from groundwire.client import Groundwire, search_request
from groundwire.compare.comparison import Comparison
from groundwire.compare.encode import encode_comparison
from groundwire.compare.run import LATE, ComparePolicy
from groundwire.config.schema import Config
from groundwire.dialects.registry import dialect
from groundwire.model import SearchOptions, Source, assemble
from groundwire.model.value import replace
from groundwire.testing.script import ScriptedResponse, file_response
from groundwire.testing.upstream import Upstream
from groundwire.text.sources import source_key
from tests.faces.gateway.serving import provider_at

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
ANSWERS = {
    "google": ("gemini", "gemini/search-2.5-pro-mexico.json"),
    "claude": ("anthropic_messages", "anthropic/rig-websearch.sse"),
    "gpt": ("openai_responses", "openai-responses/dotnet-stream.sse"),
    "sonar": ("openai_chat", "perplexity-chat/rig-stream.sse"),
}


def recorded(name: str) -> Path:
    """The recording of a vendor."""
    return RECORDINGS / ANSWERS[name][1]


async def compare_recordings(providers: list[str]) -> Comparison:
    """Ask scripted upstreams that send the recordings; one more stalls in its body, and one refuses."""
    async with AsyncExitStack() as stack:
        settings = {}
        for name, (language, _) in ANSWERS.items():
            upstream = await stack.enter_async_context(Upstream(file_response(recorded(name))))
            settings[name] = provider_at(language, upstream.url)
        stalling = await stack.enter_async_context(
            Upstream(replace(file_response(recorded("claude")), stall_at=40))
        )
        failing = await stack.enter_async_context(
            Upstream(ScriptedResponse(status=401, body=b'{"error": {"message": "bad key"}}'))
        )
        settings["stalling"] = provider_at("anthropic_messages", stalling.url)
        settings["failing"] = provider_at("openai_chat", failing.url)
        async with Groundwire(Config(providers=settings), env={}) as groundwire:
            request = search_request("What is new?", SearchOptions())
            comparison = await asyncio.wait_for(
                groundwire.acompare(request, providers, policy=ComparePolicy(patience=0.05)), 30
            )
        await stalling.disconnected()
        return comparison


async def test_recorded_answers_of_four_vendors_are_compared_and_nobody_waits_for_the_silent_one() -> None:
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings are not on this machine: not run")
    names = ["google", "stalling", "claude", "failing", "gpt", "sonar"]
    comparison = await compare_recordings(names)
    outcomes = {item.provider: item.outcome for item in comparison.contributions}
    assert outcomes == {
        **dict.fromkeys(ANSWERS, "answered"),
        "stalling": "late",
        "failing": "failed",
    }
    assert [item.reason for item in comparison.contributions if item.outcome == "late"] == [LATE]
    for item in comparison.contributions:
        if item.outcome != "answered":
            continue
        language = dialect(ANSWERS[item.provider][0])
        data = recorded(item.provider).read_bytes()
        decoder = language.decoder()
        expected = assemble([*decoder.feed(data), *decoder.close()])
        assert item.answer.text == expected.text
        cited = {source_key(one.source) for citation in expected.citations for one in citation.evidence}
        merged = (source for source in comparison.sources if item.provider in source.cited_by)
        assert {source_key(Source(source.url, source.title)) for source in merged} == cited
    again = encode_comparison(await compare_recordings(names))
    once = encode_comparison(comparison)
    assert (once["claims"], once["sources"]) == (again["claims"], again["sources"])
