"""`Groundwire.verify` and `search(verify=True)`, with pages read in worker processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, VerifySettings
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
)
from groundwire.model.value import replace
from groundwire.testing.upstream import Upstream, answer
from groundwire.verify.policy import VerifyPolicy
from tests.faces.gateway.serving import provider_at
from tests.transport.canaries import page, small_web

pytestmark = pytest.mark.server

SAID = "The tower is 324 metres tall."
HTML = f"<title>Tower</title><p>{SAID}</p>"


def cited(text: str, url: str) -> Answer:
    return Answer((Text(text),), (Citation(Span(0, len(text)), (Evidence(Source(url)),)),), finish="stop")


async def test_a_search_carries_its_report(tmp_path: Path) -> None:
    async with small_web(page(HTML)) as web:
        evidence = Evidence(Source(web.url("/tower"), "Tower"))
        events: list[Event] = [
            Started(),
            TextDelta(0, SAID),
            Cited(Citation(Span(0, len(SAID)), (evidence,))),
            Finished(),
        ]
        async with Upstream(answer("gemini", events)) as upstream:
            providers = {"p": provider_at("gemini", upstream.url)}
            config = Config(providers=providers, order=("p",), data_dir=str(tmp_path))
            async with Groundwire(config, env={"HOME": str(tmp_path)}) as client:
                client._engine_factory._fetcher = web.fetcher
                found = await client.asearch("how tall?", verify=True)
                client._engine_factory._fetcher = None
        report = found.extras["groundwire"]["verification"]
        assert isinstance(report, dict)
        assert (report["ok"], report["counts"]) == (
            True,
            {"supported": 1, "open": 0, "failed": 0, "unchecked": 0},
        )
        assert found.warnings == ()


def test_pages_of_the_index_are_verified_offline_and_without_an_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.engine.engines.local.has_core", lambda _: True)  # nothing else is needed
    with open_index(tmp_path / "index") as index:
        index.put([Page("local:notes/tower", "Tower", SAID, collection="notes")])
    config = Config(data_dir=str(tmp_path))
    client = Groundwire(config, env={"HOME": str(tmp_path)})
    policy = VerifyPolicy(offline=True)
    report = client.verify(cited(SAID, "local:notes/tower"), policy=policy)
    assert [fact.standing for fact in report.facts] == ["supported"]
    assert report.facts[0].address.origin == "index"
    wrong = client.verify(cited("The tower is 325 metres tall.", "local:notes/tower"), policy=policy)
    assert not wrong.ok


def test_without_an_index_none_is_built(tmp_path: Path) -> None:
    client = Groundwire(Config(data_dir=str(tmp_path)), env={"HOME": str(tmp_path)})
    report = client.verify(cited(SAID, "local:notes/tower"))
    assert report.facts[0].standing == "unchecked"
    assert not (tmp_path / "index").exists()


async def test_the_configured_model_is_asked_about_open_claims(tmp_path: Path) -> None:
    claim = "Visitors look up at a tower of 324 metres."
    reply = f'{{"verdict": "supported", "quote": "{SAID}"}}'
    async with small_web(page(HTML)) as web:
        events: list[Event] = [Started(), TextDelta(0, reply), Finished()]
        async with Upstream(answer("openai_chat", events)) as upstream:
            providers = {"p": provider_at("openai_chat", upstream.url)}
            config = Config(providers=providers, order=("p",), data_dir=str(tmp_path))
            config = replace(config, verify=VerifySettings(model="p/judge"))
            async with Groundwire(config, env={"HOME": str(tmp_path)}) as client:
                client._engine_factory._fetcher = web.fetcher
                report = await client.averify(cited(claim, web.url("/tower")))
                client._engine_factory._fetcher = None
        assert report.facts[0].claimed.verdict == "model_supported"
        assert report.facts[0].claimed.model == "p/judge"
        assert len(upstream.requests) == 1
