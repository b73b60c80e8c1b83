"""Adding a provider or an engine: one object and one registration, by catalog line or by entry point."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import ApiEngineSpec, ServiceQuery
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.engine.pages import Engine, EngineResult, Passage
from groundwire.errors import UnknownModel
from groundwire.model import Finished, Request, SearchOptions, Source, Started, TextDelta
from groundwire.providers import catalog, registry
from groundwire.providers.catalog import CatalogEntry
from groundwire.providers.engine_factory import EngineContext, EngineSpec
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import Batches, ProviderContext, ProviderPlugin, ProviderSpec, path
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer
from groundwire.transport.http import HttpRequest

pytestmark = pytest.mark.server

EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
SENTENCE = "The river Nile is 6650 kilometres long and flows through eleven countries."


class ToyProvider:
    """A provider that is not an HTTP API: it repeats the question and the name of its credential."""

    name = "toy"
    model = "echo-1"
    capabilities = Capabilities(citations="none")

    def __init__(self, context: ProviderContext) -> None:
        self._context = context

    async def batches(self, request: Request) -> Batches:
        """Repeat the question and the credential of the context."""
        context = self._context
        credential = context.credential(TOY_LOOKUPS)
        assert credential is not None
        context.redactor.add_credential(credential)
        timeout, key = context.timeout, credential.secret.reveal()
        text = f"{request.query} {context.settings.model} {timeout:g} {context.environment['TOY']} {len(key)}"
        yield (Started(model=self.model),)
        yield (TextDelta(0, text), Finished("stop"))


TOY_LOOKUPS = (Lookup("environment", "TOY_KEY"), Lookup("own", "toy"))


def create_toy(context: ProviderContext) -> ProviderPlugin:
    """A `ProviderFactory`."""
    return ProviderPlugin(
        ToyProvider(context),
        "Toy",
        is_usable=lambda: context.credential(TOY_LOOKUPS) is not None,
        reason=lambda: "TOY_KEY" if context.credential(TOY_LOOKUPS) else "Set TOY_KEY.",
        lookups=TOY_LOOKUPS,
        dialect="echo",
    )


class ToyEngine:
    """An engine with one page."""

    name = "toyengine"
    honours = frozenset({"language"})

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Always the same passage."""
        return EngineResult((Passage("https://nile.example/", "Nile", SENTENCE, 0, 1.0),), (query,))


def create_toy_engine(context: EngineContext) -> Engine:
    """What `EngineSpec.create` is."""
    assert context.base_url == "http://configured"
    return ToyEngine()


TOY_ENGINE = EngineSpec(
    "toyengine",
    "Toy engine",
    ToyEngine.honours,
    create_toy_engine,
    needs_base_url=True,
    advice="Set its URL.",
)


def _engine_request(ask: ServiceQuery) -> HttpRequest:
    return HttpRequest("GET", f"{ask.base_url}/find", {"x-key": ask.key.reveal()})


def _engine_response(body: Fields) -> tuple[SearchHit, ...]:
    found = (make_hit(item.text("url"), item.text("title"), snippet=SENTENCE) for item in body.objs("hits"))
    return tuple(hit for hit in found if hit)


SEARCH_SERVICE = ApiEngineSpec(
    "finder",
    "Finder",
    "",
    _engine_request,
    _engine_response,
    lookups=(Lookup("environment", "FINDER_KEY"),),
    advice="Set FINDER_URL and FINDER_KEY.",
    base_url_env="FINDER_URL",
)

HOUSE = ProviderSpec("acme", "Acme", "openai_chat", "", path("/chat"), "acme-1", missing="")


class _ToyEntryPoint:
    def __init__(self, found: object) -> None:
        self._found = found

    def load(self) -> object:
        return self._found


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Installed entry points, by name."""
    installed: dict[str, object] = {}

    def entry_points() -> dict[str, _ToyEntryPoint]:
        return {name: _ToyEntryPoint(found) for name, found in installed.items()}

    monkeypatch.setattr(registry, "installed_providers", entry_points)
    return installed


def client(home: Path, env: dict[str, str] | None = None, **providers: ProviderSettings) -> Groundwire:
    config = Config(
        providers=providers, order=tuple(providers), data_dir=str(home), config_dir=str(home), timeout=30
    )
    return Groundwire(config, env={"HOME": str(home), **(env or {})})


async def test_a_provider_row_by_entry_point(install: dict[str, object], tmp_path: Path) -> None:
    install["acme"] = HOUSE

    async with Upstream(answer("openai_chat", EVENTS)) as upstream:
        settings = ProviderSettings(base_url=upstream.url)
        async with client(tmp_path, acme=settings) as groundwire:
            found = await groundwire.asearch("how long?", provider="acme")
            assert found.text == "The Nile is 6650 km long."
            assert upstream.requests[0].path == "/chat"
            status = {status.name: status for status in groundwire.providers()}["acme"]
            assert (status.title, status.usable, status.model) == ("Acme", True, "acme-1")


async def test_a_provider_row_by_catalog_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line = CatalogEntry("acme", "model", f"{__name__}:HOUSE")
    monkeypatch.setattr(registry, "CATALOG", (*catalog.CATALOG, line))
    monkeypatch.setattr("groundwire.client.CATALOG", (*catalog.CATALOG, line))

    async with (
        Upstream(answer("openai_chat", EVENTS)) as upstream,
        client(tmp_path, acme=ProviderSettings(base_url=upstream.url)) as groundwire,
    ):
        assert (await groundwire.asearch("how long?")).text == "The Nile is 6650 km long."


async def test_a_provider_factory_by_entry_point(install: dict[str, object], tmp_path: Path) -> None:
    install["toy"] = create_toy
    env = {"TOY": "played", "TOY_KEY": "k" * 20}

    async with client(tmp_path, env, toy=ProviderSettings(model="m", timeout=7)) as groundwire:
        assert groundwire.resolve("toy/x") == ("toy", "x")
        found = await groundwire.asearch("how long?")
        assert found.text == "how long? m 7 played 20"
        assert "toy" in groundwire.names
        assert "toy" in groundwire.keyed
        assert [finding.found for finding in groundwire.findings("toy")] == [True, False]
        assert "toy" not in groundwire.engines
        status = {status.name: status for status in groundwire.providers()}["toy"]
        assert (status.title, status.usable, status.reason) == ("Toy", True, "TOY_KEY")
        assert (status.model, status.dialect) == ("echo-1", "echo")
    without_key = client(tmp_path, toy=ProviderSettings())
    assert without_key.usable()["toy"] is False
    await without_key.aclose()


def test_the_copilot_cli_uses_the_same_interface(tmp_path: Path) -> None:
    entry = next(entry for entry in catalog.CATALOG if entry.name == "copilot")
    assert entry.reference.endswith(":create_provider")
    assert not entry.automatic
    source = Path(registry.__file__).parents[1] / "client.py"
    assert "copilot" not in source.read_text().lower()


async def test_an_engine_by_entry_point(install: dict[str, object], tmp_path: Path) -> None:
    install["toyengine"] = TOY_ENGINE

    async with client(tmp_path, toyengine=ProviderSettings(base_url="http://configured")) as groundwire:
        assert "toyengine" in groundwire.engines
        found = await groundwire.asearch("how long is the Nile?")
        assert "6650" in found.text
        assert [source.url for source in found.sources] == ["https://nile.example/"]
    async with client(tmp_path, toyengine=ProviderSettings()) as groundwire:
        status = {status.name: status for status in groundwire.providers()}["toyengine"]
        assert (status.usable, status.reason) == (False, "Set its URL.")


async def test_a_search_service_by_entry_point_also_searches_for_a_model(
    install: dict[str, object], tmp_path: Path
) -> None:
    install["finder"] = SEARCH_SERVICE
    # A loopback page is refused by the SSRF guard, so the snippet of the hit is quoted.
    hits = b'{"hits": [{"url": "http://127.0.0.1/nile", "title": "Nile"}]}'

    async with Upstream(ScriptedResponse(body=hits)) as upstream:
        env = {"FINDER_URL": upstream.url, "FINDER_KEY": "f" * 20}
        house = ProviderSettings("openai_chat", upstream.url, model="m", search="engine:finder")
        async with client(tmp_path, env, finder=ProviderSettings(), house=house) as groundwire:
            assert groundwire.usable()["finder"]
            assert "finder" in groundwire.engines
            assert "house" not in groundwire.engines
            found = await groundwire.asearch("how long is the Nile?", provider="finder")
            assert "6650" in found.text
            assert upstream.requests[0].path == "/find"
            assert upstream.requests[0].headers["x-key"] == "f" * 20


def test_a_name_that_is_not_registered_is_refused(install: dict[str, object], tmp_path: Path) -> None:
    groundwire = client(tmp_path)
    with pytest.raises(UnknownModel):
        groundwire.resolve("nothing-of-that-name")
