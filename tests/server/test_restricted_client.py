"""A client as one API key may use it: providers, models and search options."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundwire.config.schema import Config
from groundwire.engine.pages import Page
from groundwire.errors import ForbiddenForKey, RequestError, UnknownModel
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    FunctionTool,
    Message,
    OpaqueTool,
    Request,
    SearchOptions,
    Source,
    Text,
    Wire,
)
from groundwire.model.access import KeyScope
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderStatus
from groundwire.routing.resolve import AUTO, ResolvedTarget
from groundwire.server.restricted_client import RestrictedClient, restricts_client
from groundwire.verify.facts import VerifyReport
from tests.stub_client import StubClient

MODELS = {"gemini": "gemini-3-flash", "anthropic": "claude-5", "openai": "gpt-5", "local": ""}
QUESTION = (Message("user", (Text("q?"),)),)
SEARCH = Request(QUESTION, search=SearchOptions())


class FourProviders(StubClient):
    """Knows four providers, one of them an engine."""

    def __init__(self) -> None:
        super().__init__(
            Config(order=("unknown", *MODELS), aliases={"quick": "gemini/gemini-3-flash", "any": AUTO})
        )

    def usable(self) -> Mapping[str, bool]:
        return dict.fromkeys(MODELS, True)

    def providers(self) -> list[ProviderStatus]:
        return [
            ProviderStatus(
                name,
                name,
                usable=True,
                reason="",
                model=model,
                dialect="",
                base_url="",
                capabilities=Capabilities(),
            )
            for name, model in MODELS.items()
        ]

    async def page(self, url: str, *, live: bool = True) -> Page:
        return Page(url, "", "text")


@pytest.mark.parametrize(
    ("scope", "name", "target"),
    [
        (KeyScope(), "claude-5", ("anthropic", "claude-5")),
        (KeyScope(providers=("gemini",)), "gemini", ("gemini", "")),
        (KeyScope(providers=("gemini",)), "quick", ("gemini", "gemini-3-flash")),
        (KeyScope(providers=("gemini",)), "claude-5", (AUTO, "")),
        (KeyScope(providers=("gemini",)), "", (AUTO, "")),
        (KeyScope(models=("gemini-*",)), "gemini-3-pro", ("gemini", "gemini-3-pro")),
        (KeyScope(models=("gemini/*",)), "models/gemini-3-pro", ("gemini", "gemini-3-pro")),
        (KeyScope(models=("gemini-*",)), "gemini", ("gemini", "")),
        (KeyScope(models=("quick",)), "quick", ("gemini", "gemini-3-flash")),
        (KeyScope(models=("gemini-*",)), "auto", (AUTO, "")),
        (KeyScope(models=("auto",)), "", (AUTO, "")),
        (KeyScope(models=("any",)), "any", (AUTO, "")),
    ],
)
def test_a_name_means_the_same_for_every_key_that_may_use_it(
    scope: KeyScope, name: str, target: tuple[str, str]
) -> None:
    assert RestrictedClient(FourProviders(), scope).resolve(name) == ResolvedTarget(*target)


@pytest.mark.parametrize(
    ("scope", "name", "message"),
    [
        (KeyScope(providers=("gemini",)), "anthropic/claude-5", "may not use 'anthropic'"),
        (KeyScope(providers=("gemini",)), "anthropic", "it allows gemini"),
        (KeyScope(models=("gemini-*",)), "claude-5", "may not use the model 'claude-5'"),
        (KeyScope(models=("gemini-3-pro",)), "quick", "gemini-3-pro"),
        (KeyScope(models=("gemini-3-pro",)), "gemini", "gemini-3-pro"),
        (KeyScope(models=("gpt-6",)), "auto", "no provider that can be used"),
        (KeyScope(providers=("local",), may_search=False), "local", "may not search"),
        (
            KeyScope(providers=("local",), may_search=False),
            "",
            "may not search the web, and there is no model",
        ),
    ],
)
def test_other_names_are_refused_and_say_what_is_allowed(scope: KeyScope, name: str, message: str) -> None:
    with pytest.raises(ForbiddenForKey, match=message):
        RestrictedClient(FourProviders(), scope).resolve(name)


def test_a_target_that_was_not_resolved_here_is_checked_where_it_is_used() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(providers=("gemini",)))
    with pytest.raises(ForbiddenForKey):
        client.batches(SEARCH, target=ResolvedTarget("anthropic", "claude-5"))


async def test_tokens_are_counted_only_at_allowed_providers() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(providers=("gemini",)))
    assert await client.count_tokens(SEARCH, provider="gemini", model="") is None
    with pytest.raises(ForbiddenForKey):
        await client.count_tokens(SEARCH, provider="anthropic", model="")


def test_an_unknown_name_does_not_list_the_providers_of_other_keys() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(providers=("gemini",)))
    with pytest.raises(UnknownModel) as caught:
        client.resolve("nonsense")
    assert "gemini" in caught.value.message
    assert "anthropic" not in caught.value.message
    with pytest.raises(RequestError) as unknown:
        client.resolve(provider="nonsense")
    assert "anthropic" not in unknown.value.message
    assert client.names == ("gemini",)
    assert [status.name for status in client.providers()] == ["gemini"]
    assert [*client.usable()] == ["gemini"]


@pytest.mark.parametrize(
    ("scope", "name", "among"),
    [
        (KeyScope(providers=("openai", "gemini")), "", ("gemini", "openai")),
        (KeyScope(models=("gpt-*", "claude-*")), "", ("anthropic", "openai")),
        (KeyScope(models=("auto",), providers=("openai",)), "", ("openai",)),
        (KeyScope(models=("any",)), "any", ("gemini", "anthropic", "openai", "local")),
        (KeyScope(providers=("gemini", "local")), "claude-5", ("gemini", "local")),
    ],
)
def test_the_default_target_tries_only_allowed_providers(
    scope: KeyScope, name: str, among: tuple[str, ...]
) -> None:
    backend = FourProviders()
    client = RestrictedClient(backend, scope)
    client.batches(Request(QUESTION, name, search=SearchOptions()), target=client.resolve(name))
    assert backend.among == among


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        ((), ("a.example", "b.example/docs")),
        (("www.a.example",), ("www.a.example",)),
        (("x.a.example", "evil.example"), ("x.a.example",)),
        (("b.example",), ("b.example/docs",)),
    ],
)
def test_searches_stay_within_the_domains_of_the_key(wanted: tuple[str, ...], sent: tuple[str, ...]) -> None:
    backend = FourProviders()
    client = RestrictedClient(backend, KeyScope(allowed_domains=("a.example", "b.example/docs")))
    wire = Wire("gemini", {}, b"", ())
    client.batches(
        Request(QUESTION, search=SearchOptions(wanted), wire=wire), target=client.resolve("gemini")
    )
    assert backend.sent.search is not None
    assert backend.sent.search.allowed_domains == sent
    # The client's bytes have its own list: they are passed through only if that is the list.
    assert (backend.sent.wire is not None) is (sent == wanted)


def test_a_search_outside_the_domains_of_the_key_is_refused() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(allowed_domains=("a.example",)))
    with pytest.raises(ForbiddenForKey, match=r"allows only a\.example"):
        client.batches(Request(QUESTION, search=SearchOptions(("b.example",))), target=client.resolve())


def test_an_engine_keeps_the_domains_even_if_the_request_declares_no_search() -> None:
    backend = FourProviders()
    for scope in (
        KeyScope(allowed_domains=("a.example",)),
        KeyScope(providers=("local",), allowed_domains=("a.example",)),
    ):
        client = RestrictedClient(backend, scope)
        client.batches(Request(QUESTION), target=client.resolve("local" if not scope.providers else ""))
        assert backend.sent.search == SearchOptions(("a.example",))


@pytest.mark.parametrize("scope", [KeyScope(may_search=False), KeyScope(allowed_domains=("a.example",))])
def test_tools_that_reach_the_web_by_themselves_are_refused(scope: KeyScope) -> None:
    client = RestrictedClient(FourProviders(), scope)
    for tool in (
        OpaqueTool("anthropic_messages", {"type": "web_fetch_20250910", "name": "web_fetch"}),
        OpaqueTool("gemini", {"urlContext": {}}),
        OpaqueTool("openai_responses", {"type": "mcp", "server_url": "https://x.example"}),
        OpaqueTool("openai_responses", {"type": "something_new"}),
    ):
        with pytest.raises(ForbiddenForKey, match="may not use the tool"):
            client.batches(Request(QUESTION, tools=(tool,)), target=client.resolve("gemini"))
    agent = Request(QUESTION, extras={"gemini_interactions": {"agent": "deep-research"}})
    with pytest.raises(ForbiddenForKey, match="agent"):
        client.batches(agent, target=client.resolve("gemini"))
    local = (FunctionTool("f"), OpaqueTool("anthropic_messages", {"type": "bash_20250124", "name": "bash"}))
    client.batches(Request(QUESTION, tools=local), target=client.resolve("gemini"))


async def test_a_key_without_search_cannot_search_on_any_way() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(may_search=False))
    with pytest.raises(ForbiddenForKey, match="may not search the web"):
        client.batches(SEARCH, target=client.resolve("gemini"))
    with pytest.raises(ForbiddenForKey):
        async for _ in client.stream("q?"):
            pass
    with pytest.raises(ForbiddenForKey):
        await client.page("https://a.example/")
    assert not client.can_search("gemini")
    assert "local" not in client.usable()
    client.batches(Request(QUESTION), target=client.resolve("gemini"))


async def test_pages_are_read_only_within_the_domains_of_the_key() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(allowed_domains=("a.example",)))
    assert (await client.page("https://docs.a.example/x")).text == "text"
    with pytest.raises(ForbiddenForKey):
        await client.page("https://a.example.evil.example/")


async def test_citations_are_verified_only_within_the_domains_of_the_key() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(allowed_domains=("good.example",)))

    def answer(url: str) -> Answer:
        return Answer(citations=(Citation(None, (Evidence(Source(url)),)),))

    assert await client.averify(answer("https://good.example/a")) == VerifyReport()
    with pytest.raises(ForbiddenForKey, match=r"only pages of good\.example"):
        await client.averify(answer("https://bad.example/a"))
    with pytest.raises(ForbiddenForKey, match="may not search"):
        await RestrictedClient(FourProviders(), KeyScope(may_search=False)).averify(Answer())


async def test_a_comparison_asks_only_providers_that_the_key_may_use() -> None:
    client = RestrictedClient(FourProviders(), KeyScope(providers=("gemini",)))
    comparison = await client.acompare(SEARCH, ["gemini", "anthropic/claude-5"])
    assert [item.outcome for item in comparison.contributions] == ["nothing", "failed"]
    assert "may not use 'anthropic'" in comparison.contributions[1].reason


def test_only_a_scope_that_restricts_requests_needs_another_client() -> None:
    assert not restricts_client(KeyScope(routes=("messages",)))
    assert restricts_client(KeyScope(may_search=False))
