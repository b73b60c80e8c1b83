"""Whom to ask."""

from __future__ import annotations

import pytest

from groundwire.config.schema import DEFAULT_ORDER
from groundwire.errors import ConfigError, MissingCredential
from groundwire.routing.engines import ENGINES
from groundwire.routing.plan import AUTO, choose, named, ranked
from groundwire.routing.run import Plan, Target

ORDER = ("anthropic", "openai", "gemini")
ALL = dict.fromkeys(ORDER, True)
NONE = dict.fromkeys(ORDER, False)


@pytest.mark.parametrize(
    ("provider", "model", "usable", "expected"),
    [
        (AUTO, "", ALL, (("anthropic", ""), ("openai", ""), ("gemini", ""))),
        (AUTO, "", {**ALL, "openai": False}, (("anthropic", ""), ("gemini", ""))),
        (AUTO, "", {**NONE, "gemini": True}, (("gemini", ""),)),
        (AUTO, "", {**NONE, "gemini": True, "unlisted": True}, (("gemini", ""),)),
        (AUTO, "m", ALL, (("anthropic", "m"),)),
        ("gemini", "", ALL, (("gemini", ""),)),
        ("gemini", "m", ALL, (("gemini", "m"),)),
        ("gemini", "", NONE, (("gemini", ""),)),
    ],
)
def test_a_plan_is_the_one_named_or_all_that_can_be_used_in_order(
    provider: str, model: str, usable: dict[str, bool], expected: tuple[tuple[str, str], ...]
) -> None:
    assert choose(provider, model, ORDER, usable) == Plan(tuple(Target(*target) for target in expected))


def test_an_unknown_provider_is_told_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match="unknown provider 'bing'; known are: anthropic, gemini, openai"):
        choose("bing", "", ORDER, ALL)
    with pytest.raises(ConfigError, match="known are: none"):
        choose("bing", "", ORDER, {})


def test_with_nobody_to_ask_the_error_says_what_to_set() -> None:
    with pytest.raises(MissingCredential, match="GEMINI_API_KEY"):
        choose(AUTO, "", ORDER, NONE)


def test_an_alias_and_a_prefix_name_provider_and_model() -> None:
    aliases = {"quick": "gemini/gemini-2.5-flash", "house": "llama"}
    known = ("gemini", "openai", "openrouter")
    assert named("auto", "quick", aliases, known) == ("gemini", "gemini-2.5-flash")
    assert named("auto", "house", aliases, known) == ("auto", "llama")
    assert named("auto", "meta/llama", aliases, known) == ("auto", "meta/llama")
    assert named("openrouter", "openai/o4-mini", aliases, known) == ("openrouter", "openai/o4-mini")


@pytest.mark.parametrize(
    ("order", "configured", "expected"),
    [
        ("anthropic openai brave web", "", "anthropic openai brave web"),
        ("anthropic openai brave web", "house", "anthropic openai house brave web"),
        ("anthropic openai brave web", "house openai copilot", "anthropic openai house copilot brave web"),
        ("anthropic", "house", "anthropic house"),
        ("brave web", "house", "brave web house"),
        ("web anthropic local", "house", "web anthropic house local"),
        ("anthropic web", "searxng house", "anthropic house web searxng"),
        ("openai openai web", "house house", "openai house web"),
        ("", "house", "house"),
    ],
)
def test_what_the_user_configured_is_asked_after_the_order_and_before_its_engines(
    order: str, configured: str, expected: str
) -> None:
    assert ranked(order.split(), configured.split()) == tuple(expected.split())


def test_the_engines_are_those_at_the_end_of_the_usual_order() -> None:
    assert set(DEFAULT_ORDER[-len(ENGINES) :]) == ENGINES


def test_engines_are_not_asked_to_converse_while_a_model_can_be() -> None:
    usable = {"openai": True, "web": True, "local": True}
    plan = choose("auto", "", ("openai", "web", "local"), usable, searching=False)
    assert [target.provider for target in plan.targets] == ["openai"]
    plan = choose("auto", "", ("web", "local"), usable, searching=False)
    assert [target.provider for target in plan.targets] == ["web", "local"]
