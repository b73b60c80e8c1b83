"""Whom an agent asks."""

from __future__ import annotations

from groundwire.client import Groundwire
from groundwire.errors import ConfigError
from groundwire.routing.engines import ENGINES, no_model
from groundwire.routing.plan import AUTO, ranked
from groundwire.routing.targets import target_of
from groundwire.store.base import Agent


def target_for(agent: Agent, groundwire: Groundwire) -> tuple[str, str]:
    """Provider and model. An agent that does not search is never led to an engine, which only searches."""
    provider, model = agent.provider, agent.model
    if not provider or provider == AUTO:
        provider, model = target_of(model, groundwire.config.aliases, groundwire.usable())
    if agent.web_search:
        return provider, model
    if provider == AUTO:
        provider = _first_model(groundwire)
    if not provider or provider in ENGINES:
        raise ConfigError(no_model("turn on web search for this agent"))
    return provider, model


def _first_model(groundwire: Groundwire) -> str:
    config, usable = groundwire.config, groundwire.usable()
    configured = (name for name, item in config.providers.items() if item.base_url or item.enabled)
    order = ranked(config.order, configured)
    return next((name for name in order if name not in ENGINES and usable.get(name)), "")
