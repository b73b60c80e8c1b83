"""Dialect registry: names to dialects, imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from groundwire.dialects.base import Dialect

DIALECTS = (
    "anthropic_messages",
    "openai_responses",
    "openai_chat",
    "gemini",
    "gemini_interactions",
    "bedrock_converse",
    "cohere_chat",
    "mistral_conversations",
    "websearch",
)


@cache
def dialect(name: str) -> Dialect:
    """Return the dialect of that name."""
    if name not in DIALECTS:
        raise KeyError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return cast("Dialect", import_module(f"groundwire.dialects.{name}").DIALECT)
