"""The agent of somebody who has made none, how a new one is called, and which target an agent asks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

from groundwire.chat.languages import pick
from groundwire.client import Groundwire
from groundwire.errors import ConfigError
from groundwire.routing.resolve import AUTO, ENGINES, no_model_message
from groundwire.store.base import UNKNOWN_OWNER, Agent

DEFAULT = Agent(
    "assistant",
    {"en": "Assistant", "de": "Assistent"},
    {"en": "Answers questions.", "de": "Beantwortet Fragen."},
    {
        "en": "You are a helpful assistant. Answer briefly, and say so if you do not know.",
        "de": "Du bist ein hilfreicher Assistent. Antworte kurz, und sage es, wenn du etwas nicht weißt.",
    },
)
_OTHERS = re.compile(r"[^a-z0-9]+")


def id_for(agent: Agent, taken: Container[str]) -> str:
    """An id made of the agent's name that nobody has."""
    plain = unicodedata.normalize("NFKD", pick(agent.name, "en")).encode("ascii", "ignore").decode()
    base = _OTHERS.sub("-", plain.lower()).strip("-")[:60] or "agent"
    number, made = 1, base
    while made in taken:
        number += 1
        made = f"{base}-{number}"
    return made


def is_open_to(agent: Agent, owner: str) -> bool:
    """May somebody see an agent and talk to it?"""
    return agent.owner in ("", owner) or is_kept_by(agent, owner)


def is_kept_by(agent: Agent, owner: str) -> bool:
    """May somebody remove an agent? One that no longer says whose it is, only where there are no keys."""
    return agent.owner == owner or (agent.owner == UNKNOWN_OWNER and not owner)


def title_of(text: str, longest: int = 60) -> str:
    """What a session is called after its first question."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return (cut.rpartition(" ")[0] if " " in cut[longest // 2 :] else cut).rstrip(" ,.;:") + "…"


def target_for(agent: Agent, groundwire: Groundwire) -> tuple[str, str]:
    """The agent's provider and model. Without web search it never asks an engine, which only searches."""
    provider, model = groundwire.resolve(agent.model, provider=agent.provider or AUTO)
    if agent.web_search:
        return provider, model
    if provider == AUTO:
        usable = groundwire.usable()
        provider = next((name for name in groundwire.order if name not in ENGINES and usable.get(name)), "")
    if not provider or provider in ENGINES:
        raise ConfigError(no_model_message("turn on web search for this agent"))
    return provider, model
