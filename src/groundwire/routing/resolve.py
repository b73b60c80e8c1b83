"""Model name resolution: which provider and model a request means, and the plan that follows from it.

Every caller (library, command line, tools, MCP, gateway, chat) resolves names here:

- `provider/model`, a configured alias, or a provider's name means that provider;
- a bare vendor name (`claude-…`, `gpt-…`, `gemini-…`, `grok-…`, `sonar…`, `mistral-…`) means that vendor
  where it can be used, and the default target otherwise, so that a client of one vendor works with whatever
  the user has;
- any other name with a slash is an OpenRouter model, if OpenRouter can be used;
- no name, `auto`, `default` or `groundwire` means the default target.

Resolving a resolved target again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from groundwire.errors import MissingCredential, RequestError, UnknownModel
from groundwire.model import Warned
from groundwire.model.value import value
from groundwire.providers.catalog import ENGINES
from groundwire.transport.http import Deadlines

__all__ = [
    "AUTO",
    "ENGINES",
    "Plan",
    "ResolvedTarget",
    "names_default",
    "plan_for",
    "ranked",
    "resolve",
    "substituted",
    "unknown_model",
]

AUTO = "auto"
OTHERS = "*"
"""In an `order`: all providers that are not listed, in the default order."""

_DEFAULTS = frozenset({"", "auto", "default", "groundwire"})
_OPENROUTER = "openrouter"
_VENDORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        # Bedrock writes the vendor before the model, and perhaps a region before the vendor.
        (
            r"(?:[a-z-]{2,6}\.)?(?:amazon|anthropic|meta|mistral|cohere|deepseek|openai|qwen|ai21|writer)\.[a-z]"
            r"|arn:aws[a-z-]*:bedrock:"
        ),
        ("bedrock",),
    ),
    (r"claude\b", ("anthropic",)),
    (r"gemini\b|gemma\b", ("gemini",)),
    (
        r"gpt-|chatgpt-|codex-|o\d(?:-|$)",
        ("openai", "openai_oauth", "openai_chat", "azure"),
    ),
    (r"grok\b", ("xai",)),
    (r"sonar\b", ("perplexity", "perplexity_responses")),
    (
        r"(?:mistral|ministral|magistral|codestral|devstral|pixtral)\b",
        ("mistral_conversations", "mistral"),
    ),
    (r"deepseek\b", ("deepseek",)),
    (r"(?:qwen|qwq)", ("qwen",)),
    (r"glm-", ("zai",)),
    (r"(?:kimi|moonshot)-", ("moonshot",)),
    (r"command-", ("cohere",)),
    (r"compound\b", ("groq",)),
)
"""What the names of a vendor's models begin with, in either case."""
_SHARED_PREFIXES = frozenset({"deepseek", "qwen", "cohere", "perplexity"})
"""Vendors whose models have the same prefix at OpenRouter, which serves them if the vendor cannot be used."""


class ResolvedTarget(NamedTuple):
    """A provider and one of its models. `auto` is the default target; an empty model is the default model."""

    provider: str
    model: str = ""


@value
class Plan:
    """The targets to try, in order, and the time limit of the request."""

    targets: tuple[ResolvedTarget, ...]
    seconds: float = Deadlines().total
    """For all attempts, retries and search rounds together."""
    warnings: tuple[Warned, ...] = ()
    """Sent before the answer, whichever target gives it."""


def resolve(
    model: str, aliases: Mapping[str, str], usable: Mapping[str, bool], provider: str = AUTO
) -> ResolvedTarget:
    """The provider and model that a name means."""
    if provider.lower() not in _DEFAULTS:
        return _of_provider(provider, model, aliases, usable)
    model = model.removeprefix("models/")
    model = aliases.get(model, model)
    if model.lower() in _DEFAULTS:
        return ResolvedTarget(AUTO)
    if model in usable:
        return ResolvedTarget(model)
    head, slash, rest = model.partition("/")
    if slash and head in usable and not _is_openrouters(head, usable):
        return ResolvedTarget(head, _own_name(head, rest))
    if slash and usable.get(_OPENROUTER):
        return ResolvedTarget(_OPENROUTER, model)
    for pattern, vendors in _vendor_patterns():
        if pattern.match(model):
            vendor = next((name for name in vendors if usable.get(name)), "")
            return ResolvedTarget(vendor, model) if vendor else ResolvedTarget(AUTO)
    raise unknown_model(model, aliases, usable)


@cache
def _vendor_patterns() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), vendors) for pattern, vendors in _VENDORS)


def _is_openrouters(head: str, usable: Mapping[str, bool]) -> bool:
    return head in _SHARED_PREFIXES and not usable[head] and bool(usable.get(_OPENROUTER))


def names_default(model: str) -> bool:
    """Does the name mean the default target?"""
    return model.lower() in _DEFAULTS


def _of_provider(
    provider: str, model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]
) -> ResolvedTarget:
    """The target of a given provider: slashes belong to the model, unless they repeat the provider."""
    if provider not in usable:
        known = ", ".join(sorted(usable)) or "none"
        raise RequestError(f"unknown provider {provider[:100]!r}; known are: {known}")
    head, slash, rest = aliases.get(model, model).partition("/")
    if model in aliases and slash and head in usable and provider not in (head, _OPENROUTER):
        raise RequestError(f"the alias {model!r} is {aliases[model]}, which is not a model of {provider}")
    if slash and head == provider:
        return ResolvedTarget(provider, _own_name(provider, rest))
    return ResolvedTarget(provider, head + slash + rest)


def _own_name(provider: str, rest: str) -> str:
    # All OpenRouter models are named vendor/model, and OpenRouter is a vendor too: `openrouter/auto`.
    return f"{provider}/{rest}" if provider == _OPENROUTER and "/" not in rest else rest


def unknown_model(model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]) -> UnknownModel:
    """The error for a name that means no provider."""
    ready = ", ".join(sorted(name for name, ok in usable.items() if ok)) or "none"
    known = f"{ready}; aliases: {', '.join(sorted(aliases))}" if aliases else ready
    return UnknownModel(
        f"unknown model {model[:100]!r}: write provider/model, a provider's name, or `auto`; "
        f"providers that can be used: {known}"
    )


def substituted(model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]) -> tuple[Warned, ...]:
    """The warning for a model of a vendor that cannot be used, when the default target answers instead."""
    name = aliases.get(model, model).removeprefix("models/")
    if name.lower() in _DEFAULTS:
        return ()
    try:
        if resolve(model, aliases, usable) != ResolvedTarget(AUTO):
            return ()
    except UnknownModel:
        return ()
    message = f"no provider of {name[:100]} is configured: the default provider answered with its own model"
    return (Warned("model_substituted", message),)


def ranked(
    order: Iterable[str], configured: Iterable[str], default: Iterable[str], engines: Container[str] = ENGINES
) -> tuple[str, ...]:
    """The providers that `auto` tries, in order.

    An order that the user wrote is exclusive, except where it contains `*`. The default order is followed by
    the providers that the user configured; those come before the engines.
    """
    listed, default = tuple(dict.fromkeys(order)), tuple(default)
    if listed == default:
        return _with_configured(default, configured, engines)
    if OTHERS not in listed:
        return listed
    at = listed.index(OTHERS)
    others = (name for name in _with_configured(default, configured, engines) if name not in listed)
    return (*listed[:at], *others, *listed[at + 1 :])


def _with_configured(
    default: tuple[str, ...], configured: Iterable[str], engines: Container[str]
) -> tuple[str, ...]:
    more = [name for name in dict.fromkeys(configured) if name not in default]
    names = (*(name for name in default if name not in engines), *more)
    return (*names, *(name for name in default if name in engines))


def plan_for(
    target: ResolvedTarget,
    order: Iterable[str],
    usable: Mapping[str, bool],
    *,
    searching: bool = True,
    engines: Container[str] = ENGINES,
) -> Plan:
    """The plan for a resolved target: that provider, or for `auto` all usable providers in order.

    Engines only search: a request without search uses them only if there is no usable model.
    """
    if target.provider != AUTO:
        return Plan((target,))
    order = tuple(order)
    targets = tuple(ResolvedTarget(name) for name in order if usable.get(name))
    if not searching:
        targets = tuple(target for target in targets if target.provider not in engines) or targets
    if not targets:
        raise MissingCredential(
            f"none of the providers in `order` can be used ({', '.join(order) or 'it is empty'}): set a key "
            "such as GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, store one with "
            '`groundwire login`, or add "*" to the order to ask the others too (see: groundwire doctor)'
        )
    return Plan(targets)
