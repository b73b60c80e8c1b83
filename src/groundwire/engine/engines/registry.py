"""Registry of search services by name. Each is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from groundwire.engine.engines.api import ApiEngineSpec

API_ENGINES = ("searxng", "brave", "tavily", "exa")


def api_engine(name: str) -> ApiEngineSpec:
    """The specification of a search service."""
    return cast("ApiEngineSpec", import_module(f"groundwire.engine.engines.{name}").ROW)
