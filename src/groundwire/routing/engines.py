"""The names of those who find pages and write nothing themselves."""

from __future__ import annotations

ENGINES = frozenset({"brave", "tavily", "exa", "searxng", "web", "local"})
