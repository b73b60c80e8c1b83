"""Default models: none is past its announced end, and one that is gone is replaced by a current one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.errors import NotFound
from groundwire.model import Json, Source
from groundwire.providers.catalog import DEFAULT_ORDER, ENGINES
from groundwire.providers.models import CHECKED, MODELS, default_model, successor_of
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.providers.harness import built_in

pytestmark = pytest.mark.server

EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
GONE = json_response({"error": {"code": 404, "message": "model is not found", "status": "NOT_FOUND"}}, 404)
DEFAULT = default_model("gemini")
KEYS = {"GEMINI_API_KEY": "k-gemini", "OPENROUTER_API_KEY": "k-openrouter"}


def test_no_default_model_is_past_the_end_that_its_vendor_announced() -> None:
    today = datetime.now(UTC).date()
    ended = [
        f"{model.provider}: {model.name} ended on {model.ends}; take {model.successor or 'another'}"
        for model in MODELS
        if model.name == default_model(model.provider)
        and model.ends
        and date.fromisoformat(model.ends) <= today
    ]
    assert not ended


def test_every_provider_has_its_default_from_the_table() -> None:
    date.fromisoformat(CHECKED)
    for name in (name for name in DEFAULT_ORDER if name not in ENGINES):
        row = built_in(name)
        assert row.model or row.base_url_env or row.is_local
        if any(model.provider == name for model in MODELS):
            assert row.model == default_model(name)
            assert row.family


def test_models_that_were_defaults_have_a_successor_that_has_not_ended() -> None:
    ended = [model for model in MODELS if model.ends]
    assert ended
    for model in ended:
        assert successor_of(model.provider, model.name) == default_model(model.provider)


def listing(*names: str) -> ScriptedResponse:
    models: Json = [{"name": f"models/{name}"} for name in names]
    return json_response({"models": models})


def gemini(home: Path, url: str, model: str = "") -> Groundwire:
    config = Config(
        providers={"gemini": ProviderSettings(base_url=url, model=model)},
        order=("gemini",),
        data_dir=str(home),
    )
    return Groundwire(config, env={"HOME": str(home), **KEYS})


def scripted(listed: ScriptedResponse, *good: str) -> Script:
    answers = {f"/v1beta/models/{name}:*": (answer("gemini", EVENTS),) for name in good}
    return Script((GONE,), paths={"/v1beta/models": (listed,), **answers})


@pytest.mark.parametrize(
    ("listed", "successor"),
    [
        (
            listing("gemini-9-pro", "gemini-9.1-flash", "gemini-10-flash", "gemini-11-flash-lite"),
            "gemini-10-flash",
        ),
        (listing("unrelated"), successor_of("gemini", DEFAULT)),
        (ScriptedResponse(500), successor_of("gemini", DEFAULT)),
        (json_response(["nonsense"]), successor_of("gemini", DEFAULT)),
    ],
    ids=["list", "nothing of the family", "no list", "nonsense"],
)
async def test_a_default_model_that_is_gone_is_replaced_once_with_a_warning(
    listed: ScriptedResponse, successor: str, tmp_path: Path
) -> None:
    async with Upstream(scripted(listed, successor)) as upstream, gemini(tmp_path, upstream.url) as here:
        found = await here.asearch("how long?")
        assert found.text == "The Nile is 6650 km long."
        assert found.extras["groundwire"]["model"] == successor
        warning = next(item for item in found.warnings if item.code == "default_model_replaced")
        assert DEFAULT in warning.message
        assert successor in warning.message
        before = len(upstream.requests)
        again = await here.asearch("how long?")
        assert [item.code for item in again.warnings].count("default_model_replaced") == 1
        assert len(upstream.requests) == before + 1


async def test_a_model_that_was_named_is_never_replaced(tmp_path: Path) -> None:
    async with Upstream(scripted(listing("gemini-10-flash"), "gemini-10-flash")) as upstream:
        async with gemini(tmp_path, upstream.url) as here:
            with pytest.raises(NotFound):
                await here.asearch("how long?", model="gemini-1-flash")
        async with gemini(tmp_path, upstream.url, model=DEFAULT) as here:
            with pytest.raises(NotFound):
                await here.asearch("how long?")
        assert all(request.method == "POST" for request in upstream.requests)


async def test_when_the_successor_is_gone_too_the_error_is_raised(tmp_path: Path) -> None:
    async with (
        Upstream(scripted(listing("gemini-10-flash"))) as upstream,
        gemini(tmp_path, upstream.url) as here,
    ):
        with pytest.raises(NotFound):
            await here.asearch("how long?")
        assert [request.method for request in upstream.requests] == ["POST", "GET", "POST"]


async def test_a_vendor_that_answers_400_for_a_missing_model_is_understood(tmp_path: Path) -> None:
    default = default_model("openrouter")
    no = json_response({"error": {"message": f"{default} is not a valid model ID", "code": 400}}, 400)
    other = json_response({"error": {"message": "the tools are wrong", "code": 400}}, 400)

    async def main(first: ScriptedResponse, requests: int) -> None:
        paths = {"/models": (json_response({"data": [{"id": "openai/gpt-7"}]}),)}
        script = Script((first, answer("openai_responses", EVENTS)), paths=paths)
        async with Upstream(script) as upstream:
            config = Config(
                providers={"openrouter": ProviderSettings(base_url=upstream.url)},
                order=("openrouter",),
                data_dir=str(tmp_path),
            )
            async with Groundwire(config, env={"HOME": str(tmp_path), **KEYS}) as here:
                if requests == 1:
                    with pytest.raises(Exception, match="the tools are wrong"):
                        await here.asearch("how long?")
                else:
                    assert (await here.asearch("how long?")).grounded
            assert len(upstream.requests) == requests

    await main(no, 3)
    await main(other, 1)
