"""Choosing whom to ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.errors import ConfigError, MissingCredential
from groundwire.routing.run import Plan, Target

AUTO = "auto"


def named(provider: str, model: str, aliases: Mapping[str, str], known: Iterable[str]) -> tuple[str, str]:
    """Whom a model's name means: an alias stands for another name, and `provider/model` names both."""
    model = aliases.get(model, model)
    head, slash, rest = model.partition("/")
    # A provider that was chosen has slashes of its own in its models' names (OpenRouter).
    return (head, rest) if slash and provider == AUTO and head in set(known) else (provider, model)


def choose(provider: str, model: str, order: Iterable[str], usable: Mapping[str, bool]) -> Plan:
    """A plan for one named provider, or for all that can be used, in order of preference."""
    if provider != AUTO:
        if provider not in usable:
            known = ", ".join(sorted(usable)) or "none"
            raise ConfigError(f"unknown provider {provider!r}; known are: {known}")
        return Plan((Target(provider, model),))
    targets = tuple(Target(name, model) for name in order if usable.get(name))
    if not targets:
        raise MissingCredential(
            "no provider can be used: set a key such as GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY "
            "or OPENROUTER_API_KEY (see: groundwire doctor)"
        )
    # A model belongs to one provider: named without one, it is meant for the first.
    return Plan(targets[:1] if model else targets)
