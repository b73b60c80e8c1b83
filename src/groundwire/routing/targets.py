"""Whom the name of a model means, when a client who knows nothing of us says it.

`provider/model` and aliases name a target. A bare vendor's name (`claude-…`, `gpt-…`, `gemini-…`) goes to
that vendor where it can be used, and to the default target otherwise: the client of one vendor works with
whatever the user has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundwire.errors import UnknownModel
from groundwire.routing.plan import AUTO

_DEFAULTS = frozenset({"", "auto", "default", "groundwire"})
_VENDORS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"claude\b", re.IGNORECASE), ("anthropic",)),
    (re.compile(r"gemini\b|gemma\b", re.IGNORECASE), ("gemini",)),
    (
        re.compile(r"gpt-|chatgpt-|codex-|o\d(?:-|$)", re.IGNORECASE),
        ("openai", "openai_oauth", "openai_chat"),
    ),
)


def target_of(model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]) -> tuple[str, str]:
    """Provider and model; the provider is `auto` where the default target is meant."""
    model = model.removeprefix("models/")
    model = aliases.get(model, model)
    if model.lower() in _DEFAULTS:
        return AUTO, ""
    if model in usable:
        return model, ""
    head, slash, rest = model.partition("/")
    if slash and head in usable:
        return head, rest
    if slash and usable.get("openrouter"):
        return "openrouter", model  # its models are named after their makers
    for pattern, vendors in _VENDORS:
        if pattern.match(model):
            vendor = next((name for name in vendors if usable.get(name)), "")
            return (vendor, model) if vendor else (AUTO, "")
    raise unknown_model(model, aliases, usable)


def unknown_model(model: str, aliases: Mapping[str, str], usable: Mapping[str, bool]) -> UnknownModel:
    """What to say of a name that means nobody."""
    ready = ", ".join(sorted(name for name, ok in usable.items() if ok)) or "none"
    known = f"{ready}; aliases: {', '.join(sorted(aliases))}" if aliases else ready
    return UnknownModel(
        f"unknown model {model[:100]!r}: write provider/model, a provider's name, or `auto`; "
        f"providers that can be used: {known}"
    )
