"""Model name resolution, and the plans that follow from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.schema import DEFAULT_ORDER
from groundwire.errors import MissingCredential, RequestError, UnknownModel
from groundwire.routing.resolve import (
    AUTO,
    ENGINES,
    Plan,
    ResolvedTarget,
    plan_for,
    ranked,
    resolve,
    substituted,
)

ORDER = ("anthropic", "openai", "gemini")
ALL = dict.fromkeys(ORDER, True)
NONE = dict.fromkeys(ORDER, False)
ALL_USABLE = dict.fromkeys((*DEFAULT_ORDER, "house"), True)
ALIASES = {"quick": "gemini/gemini-3-flash", "big": "claude-opus-4-8", "any": "auto", "broken": "llama"}

NAMES = [
    ("", AUTO, ""),
    ("auto", AUTO, ""),
    ("Default", AUTO, ""),
    ("groundwire", AUTO, ""),
    ("any", AUTO, ""),
    ("gemini", "gemini", ""),
    ("local", "local", ""),
    ("gemini/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
    ("house/qwen3", "house", "qwen3"),
    ("quick", "gemini", "gemini-3-flash"),
    ("big", "anthropic", "claude-opus-4-8"),
    ("claude-opus-4-8", "anthropic", "claude-opus-4-8"),
    ("gpt-5.5", "openai", "gpt-5.5"),
    ("o4-mini", "openai", "o4-mini"),
    ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
    ("models/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
    ("meta-llama/llama-4", "openrouter", "meta-llama/llama-4"),
    ("openrouter/openai/gpt-5.5", "openrouter", "openai/gpt-5.5"),
    ("openrouter/auto", "openrouter", "openrouter/auto"),
]


@pytest.mark.parametrize(("name", "provider", "model"), NAMES)
def test_a_model_name_resolves_to_one_target(name: str, provider: str, model: str) -> None:
    assert resolve(name, ALIASES, ALL_USABLE) == (provider, model)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("", "gemini", ""),
        ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("gemini/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("quick", "gemini", "gemini-3-flash"),
        ("anything", "house", "anything"),
        ("openai/gpt-5.5", "openrouter", "openai/gpt-5.5"),
        ("openrouter/auto", "openrouter", "openrouter/auto"),
        ("claude-opus-4-8", "house", "claude-opus-4-8"),
    ],
)
def test_an_explicit_provider_keeps_its_own_model_names(name: str, provider: str, model: str) -> None:
    assert resolve(name, ALIASES, ALL_USABLE, provider) == (provider, model)


def test_a_vendor_that_cannot_be_used_is_replaced_by_the_default_target_with_a_warning() -> None:
    able = {**ALL, "gemini": False}
    assert resolve("gemini-2.5-pro", {}, able) == (AUTO, "")
    (warning,) = substituted("gemini-2.5-pro", {}, able)
    assert warning.code == "model_substituted"
    assert "gemini-2.5-pro" in warning.message


def test_a_name_that_is_not_replaced_gets_no_warning() -> None:
    for name in ("", "auto", "any", "gemini-2.5-pro", "gemini", "llama"):
        assert substituted(name, ALIASES, ALL) == ()


def test_openai_models_go_to_whichever_openai_provider_can_be_used() -> None:
    usable = dict.fromkeys(ALL_USABLE, False)
    assert resolve("gpt-5.5", {}, {**usable, "openai_oauth": True}) == ("openai_oauth", "gpt-5.5")
    assert resolve("gpt-5.5", {}, {**usable, "openai_chat": True}) == ("openai_chat", "gpt-5.5")


@pytest.mark.parametrize("name", ["llama", "broken", "unknown/llama"])
def test_an_unknown_model_is_refused_with_the_available_ones(name: str) -> None:
    with pytest.raises(UnknownModel, match="providers that can be used: anthropic, gemini, openai; aliases"):
        resolve(name, ALIASES, ALL)


def test_an_unknown_provider_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(RequestError, match="unknown provider 'bing'; known are: anthropic, gemini, openai"):
        resolve("", {}, ALL, "bing")
    with pytest.raises(RequestError, match="known are: none"):
        resolve("", {}, {}, "bing")


def test_an_alias_of_another_provider_is_not_sent_to_an_explicit_provider() -> None:
    with pytest.raises(
        RequestError, match="'quick' is gemini/gemini-3-flash, which is not a model of openai"
    ):
        resolve("quick", ALIASES, ALL_USABLE, "openai")


@given(
    st.sampled_from([name for name, *_ in NAMES]) | st.text(alphabet="aglo4-/.", max_size=12),
    st.sampled_from([AUTO, *ALL_USABLE]),
    st.sets(st.sampled_from(sorted(ALL_USABLE))),
)
def test_resolving_a_resolved_target_changes_nothing(name: str, provider: str, usable: set[str]) -> None:
    able = {known: known in usable for known in ALL_USABLE}
    try:
        found = resolve(name, {}, able, provider)
    except RequestError:
        return
    assert resolve(found[1], {}, able, found[0]) == found


@pytest.mark.parametrize(
    ("target", "usable", "expected"),
    [
        ((AUTO, ""), ALL, (("anthropic", ""), ("openai", ""), ("gemini", ""))),
        ((AUTO, ""), {**ALL, "openai": False}, (("anthropic", ""), ("gemini", ""))),
        ((AUTO, ""), {**NONE, "gemini": True}, (("gemini", ""),)),
        ((AUTO, ""), {**NONE, "gemini": True, "unlisted": True}, (("gemini", ""),)),
        (("gemini", ""), ALL, (("gemini", ""),)),
        (("gemini", "m"), ALL, (("gemini", "m"),)),
        (("gemini", ""), NONE, (("gemini", ""),)),
    ],
)
def test_a_plan_is_the_named_provider_or_all_usable_ones_in_order(
    target: tuple[str, str], usable: dict[str, bool], expected: tuple[tuple[str, str], ...]
) -> None:
    assert plan_for(ResolvedTarget(*target), ORDER, usable) == Plan(
        tuple(ResolvedTarget(*each) for each in expected)
    )


def test_without_a_provider_the_error_names_the_order_with_advice() -> None:
    with pytest.raises(MissingCredential, match=r"\(anthropic, openai, gemini\).*GEMINI_API_KEY.*login"):
        plan_for(ResolvedTarget(AUTO, ""), ORDER, NONE)


@pytest.mark.parametrize(
    ("order", "configured", "expected"),
    [
        (" ".join(DEFAULT_ORDER), "", " ".join(DEFAULT_ORDER)),
        ("anthropic", "house", "anthropic"),
        ("anthropic anthropic web", "house", "anthropic web"),
        ("web anthropic local", "house", "web anthropic local"),
        ("house", "house", "house"),
    ],
)
def test_a_configured_order_is_exclusive(order: str, configured: str, expected: str) -> None:
    assert ranked(order.split(), configured.split(), DEFAULT_ORDER) == tuple(expected.split())


def test_the_default_order_has_configured_providers_after_models_and_before_engines() -> None:
    found = ranked(DEFAULT_ORDER, ("house", "openai", "copilot", "searxng"), DEFAULT_ORDER)
    models = [name for name in DEFAULT_ORDER if name not in ENGINES]
    assert found == (*models, "house", "copilot", *DEFAULT_ORDER[len(models) :])


def test_a_star_in_the_order_means_all_unlisted_providers() -> None:
    found = ranked(("gemini", "*", "openai"), ("house",), DEFAULT_ORDER)
    assert found[0] == "gemini"
    assert found[-1] == "openai"
    assert sorted(found) == sorted((*DEFAULT_ORDER, "house"))


def test_the_engines_are_those_at_the_end_of_the_usual_order() -> None:
    assert set(DEFAULT_ORDER[-len(ENGINES) :]) == ENGINES


def test_engines_are_not_used_without_search_while_a_model_is_usable() -> None:
    usable = {"openai": True, "web": True, "local": True}
    plan = plan_for(ResolvedTarget(AUTO, ""), ("openai", "web", "local"), usable, searching=False)
    assert [target.provider for target in plan.targets] == ["openai"]
    plan = plan_for(ResolvedTarget(AUTO, ""), ("web", "local"), usable, searching=False)
    assert [target.provider for target in plan.targets] == ["web", "local"]


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("grok-4.6", "xai"),
        ("sonar-pro", "perplexity"),
        ("mistral-large-latest", "mistral_conversations"),
        ("mistral-large-latest", "mistral"),
        ("magistral-medium-latest", "mistral"),
        ("ministral-8b-latest", "mistral"),
        ("codestral-2508", "mistral"),
        ("deepseek-chat", "deepseek"),
        ("qwen3-max", "qwen"),
        ("glm-5.2", "zai"),
        ("kimi-k2.6", "moonshot"),
        ("command-a-03-2025", "cohere"),
        ("compound-mini", "groq"),
        ("us.amazon.nova-2-lite-v1:0", "bedrock"),
        ("anthropic.claude-sonnet-4-6-v1:0", "bedrock"),
        ("deepseek.r1-v1:0", "bedrock"),
    ],
)
def test_a_bare_name_of_a_vendor_means_the_vendor_where_it_can_be_used(name: str, vendor: str) -> None:
    assert resolve(name, {}, {vendor: True, "web": True}) == ResolvedTarget(vendor, name)
    assert resolve(name, {}, {vendor: False, "web": True}) == ResolvedTarget(AUTO)


def test_a_vendor_s_prefix_means_openrouter_if_only_openrouter_can_be_used() -> None:
    only_openrouter = {"deepseek": False, "openrouter": True}
    assert resolve("deepseek/deepseek-r1", {}, only_openrouter) == ("openrouter", "deepseek/deepseek-r1")
    both = {"deepseek": True, "openrouter": True}
    assert resolve("deepseek/deepseek-r1", {}, both) == ("deepseek", "deepseek-r1")
    neither = {"deepseek": False, "openrouter": False}
    assert resolve("deepseek/deepseek-r1", {}, neither) == ("deepseek", "deepseek-r1")


def test_gpt_models_go_to_azure_if_openai_cannot_be_used() -> None:
    assert resolve("gpt-5.5", {}, {"openai": False, "azure": True}) == ("azure", "gpt-5.5")
