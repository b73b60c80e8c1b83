"""Model name resolution: which provider and model a request means, and the plan that follows from it.

Every caller (library, command line, tools, MCP, gateway, chat) resolves names here:

- `provider/model`, a configured alias, or a provider's name means that provider;
- a bare vendor name (`claude-…`, `gpt-…`, `gemini-…`) means that vendor where it can be used, and the default
  target otherwise, so that a client of one vendor works with whatever the user has;
- any other name with a slash is an OpenRouter model, if OpenRouter can be used;
- no name, `auto`, `default` or `groundwire` means the default target.

Resolving a resolved target again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from groundwire.errors import MissingCredential, RequestError, UnknownModel
from groundwire.model import Warned
from groundwire.routing.engines import ENGINES
from groundwire.routing.failover import Plan, Target

AUTO = "auto"
OTHERS = "*"
"""In an `order`: all providers that are not listed, in the usual order."""

_DEFAULTS = frozenset({"", "auto", "default", "groundwire"})
_OPENROUTER = "openrouter"
_VENDORS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"claude\b", re.IGNORECASE), ("anthropic",)),
    (re.compile(r"gemini\b|gemma\b", re.IGNORECASE), ("gemini",)),
    (
        re.compile(r"gpt-|chatgpt-|codex-|o\d(?:-|$)", re.IGNORECASE),
        ("openai", "openai_oauth", "openai_chat"),
    ),
)


def resolve(
    model: str, aliases: Mapping[str, str], usable: Mapping[str, bool], provider: str = AUTO
) -> tuple[str, str]:
    """Provider and model; the provider is `auto` for the default target, the model empty for the default."""
    if provider.lower() not in _DEFAULTS:
        return _of_provider(provider, model, aliases, usable)
    model = model.removeprefix("models/")
    model = aliases.get(model, model)
    if model.lower() in _DEFAULTS:
        return AUTO, ""
    if model in usable:
        return model, ""
    head, slash, rest = model.partition("/")
    if slash and head in usable:
        return head, _own_name(head, rest)
    if slash and usable.get(_OPENROUTER):
        return _OPENROUTER, model
    for pattern, vendors in _VENDORS:
        if pattern.match(model):
            vendor = next((name for name in vendors if usable.get(name)), "")
            return (vendor, model) if vendor else (AUTO, "")
    raise unknown_model(model, aliases, usable)


def _of_provider(
    provider: str, model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]
) -> tuple[str, str]:
    """The provider was chosen: slashes belong to its model's name, unless they repeat the provider's."""
    if provider not in usable:
        known = ", ".join(sorted(usable)) or "none"
        raise RequestError(f"unknown provider {provider[:100]!r}; known are: {known}")
    head, slash, rest = aliases.get(model, model).partition("/")
    if model in aliases and slash and head in usable and provider not in (head, _OPENROUTER):
        raise RequestError(f"the alias {model!r} is {aliases[model]}, which is not a model of {provider}")
    if slash and head == provider:
        return provider, _own_name(provider, rest)
    return provider, head + slash + rest


def _own_name(provider: str, rest: str) -> str:
    # All OpenRouter models are called maker/model, and OpenRouter is a maker too: `openrouter/auto`.
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
        if resolve(model, aliases, usable) != (AUTO, ""):
            return ()
    except UnknownModel:
        return ()
    said = f"no provider of {name[:100]} is configured: the default provider answered with its own model"
    return (Warned("model_substituted", said),)


def ranked(order: Iterable[str], configured: Iterable[str], usual: Iterable[str]) -> tuple[str, ...]:
    """The providers that `auto` asks, in order.

    An order that the user wrote is exclusive, except where it says `*`. The usual order is followed by the
    providers that the user configured; they come before its engines.
    """
    listed, default = tuple(dict.fromkeys(order)), tuple(usual)
    if listed == default:
        return _with_configured(default, configured)
    if OTHERS not in listed:
        return listed
    at = listed.index(OTHERS)
    others = (name for name in _with_configured(default, configured) if name not in listed)
    return (*listed[:at], *others, *listed[at + 1 :])


def _with_configured(usual: tuple[str, ...], configured: Iterable[str]) -> tuple[str, ...]:
    more = [name for name in dict.fromkeys(configured) if name not in usual]
    models = [name for name in usual if name not in ENGINES]
    engines = [name for name in usual if name in ENGINES]
    return (*models, *more, *engines)


def plan_for(
    target: tuple[str, str], order: Iterable[str], usable: Mapping[str, bool], *, searching: bool = True
) -> Plan:
    """The plan for a resolved target: one provider, or for `auto` all that can be used, in order.

    Engines only search: a conversation without search goes to them only if no model can be asked.
    """
    provider, model = target
    if provider != AUTO:
        return Plan((Target(provider, model),))
    order = tuple(order)
    targets = tuple(Target(name) for name in order if usable.get(name))
    if not searching:
        targets = tuple(target for target in targets if target.provider not in ENGINES) or targets
    if not targets:
        raise MissingCredential(
            f"none of the providers in `order` can be used ({', '.join(order) or 'it is empty'}): set a key "
            "such as GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, store one with "
            '`groundwire login`, or add "*" to the order to ask the others too (see: groundwire doctor)'
        )
    return Plan(targets)
