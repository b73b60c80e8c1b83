"""Choosing whom to ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.errors import ConfigError, MissingCredential
from groundwire.routing.engines import ENGINES
from groundwire.routing.run import Plan, Target

AUTO = "auto"
"""Who only finds pages, and is asked when no model can be."""


def named(provider: str, model: str, aliases: Mapping[str, str], known: Iterable[str]) -> tuple[str, str]:
    """Whom a model's name means: an alias stands for another name, and `provider/model` names both."""
    model = aliases.get(model, model)
    head, slash, rest = model.partition("/")
    # A provider that was chosen has slashes of its own in its models' names (OpenRouter).
    return (head, rest) if slash and provider == AUTO and head in set(known) else (provider, model)


def ranked(order: Iterable[str], configured: Iterable[str]) -> tuple[str, ...]:
    """Whom `auto` asks: the order, and what the user configured besides, before the engines at its end.

    Who orders nothing but engines wants them first.
    """
    listed = tuple(dict.fromkeys(order))
    more = tuple(name for name in dict.fromkeys(configured) if name not in listed)
    last = max((at for at, name in enumerate(listed, 1) if name not in ENGINES), default=len(listed))
    models = tuple(name for name in more if name not in ENGINES)
    return (*listed[:last], *models, *listed[last:], *(name for name in more if name in ENGINES))


def choose(
    provider: str, model: str, order: Iterable[str], usable: Mapping[str, bool], *, searching: bool = True
) -> Plan:
    """A plan for one named provider, or for all that can be used, in order of preference.

    Engines are asked for searches; a conversation without one is theirs only if there is nobody else.
    """
    if provider != AUTO:
        if provider not in usable:
            known = ", ".join(sorted(usable)) or "none"
            raise ConfigError(f"unknown provider {provider!r}; known are: {known}")
        return Plan((Target(provider, model),))
    targets = tuple(Target(name, model) for name in order if usable.get(name))
    if not searching:
        targets = tuple(target for target in targets if target.provider not in ENGINES) or targets
    if not targets:
        raise MissingCredential(
            "no provider can be used: set a key such as GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY "
            "or OPENROUTER_API_KEY (see: groundwire doctor)"
        )
    # A model belongs to one provider: named without one, it is meant for the first.
    return Plan(targets[:1] if model else targets)
