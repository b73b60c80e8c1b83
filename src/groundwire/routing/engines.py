"""The names of those who find pages and write nothing themselves."""

from __future__ import annotations

ENGINES = frozenset({"brave", "tavily", "exa", "searxng", "web", "local"})

_NO_MODEL = (
    "no model can be asked without searching: {advice}, or configure the key of a model's provider "
    "(see: groundwire doctor)"
)


def no_model(advice: str) -> str:
    """Why a request without web search is refused where only engines can be used."""
    return _NO_MODEL.format(advice=advice)
