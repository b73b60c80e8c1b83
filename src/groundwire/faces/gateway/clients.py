"""What is known of clients that say who they are: how they want to be shown citations.

Claude Code prints the last text block of a main turn, and cited text is cut into blocks; OpenCode drops the
annotations of Chat and the grounding of Gemini, and prints none of the others; Gemini CLI shows no grounding
of its main turns; Codex and Copilot never show annotations. What runs a search of its own (Claude Code,
Gemini CLI) reads the structure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from groundwire.errors import InvalidArguments
from groundwire.faces.gateway.rendering import RENDERINGS, Rendering
from groundwire.model import Request
from groundwire.routing.intent import side_query

HEADER = "x-groundwire-render"


class Habit(NamedTuple):
    """How a client is shown citations."""

    agent: re.Pattern[str]
    """In its User-Agent."""
    dialects: frozenset[str]
    """When it speaks one of these; empty for all."""
    rendering: Rendering


def _agent(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


HABITS = (
    Habit(_agent(r"\bclaude-cli/"), frozenset({"anthropic_messages"}), "markers"),
    Habit(_agent(r"\bopencode\b"), frozenset({"openai_chat", "gemini"}), "markers"),
    Habit(_agent(r"\bopencode\b"), frozenset(), "both"),
    Habit(_agent(r"\bGeminiCLI\b"), frozenset({"gemini"}), "markers"),
    Habit(_agent(r"\bcodex_"), frozenset({"openai_responses"}), "both"),
    Habit(_agent(r"\bcopilot\b"), frozenset({"openai_responses"}), "both"),
    Habit(_agent(r"\bcopilot\b"), frozenset(), "markers"),
)


def rendering_for(headers: Mapping[str, str], dialect: str, request: Request, configured: str) -> Rendering:
    """How the citations of an answer are shown: what the header says, else the settings, else the habit."""
    if request.search is None:
        return "structured"
    return chosen_rendering(headers, configured) or _habit(headers.get("user-agent", ""), dialect, request)


def chosen_rendering(headers: Mapping[str, str], configured: str) -> Rendering | None:
    """The rendering that the header or the settings ask for; None where they leave it to the client."""
    chosen = headers.get(HEADER, configured)
    if HEADER in headers and chosen not in (*RENDERINGS, "auto"):
        raise InvalidArguments(f"{HEADER}: {chosen[:40]!r} is none of {', '.join(RENDERINGS)}, auto")
    return next((mode for mode in RENDERINGS if mode == chosen), None)


def is_shown_as_told(headers: Mapping[str, str], dialect: str, configured: str) -> bool:
    """Will the vendor's own bytes do for who prints no citations? OpenAI's texts hold their links."""
    return dialect == "openai_responses" and headers.get(HEADER, configured) == "auto"


def _habit(agent: str, dialect: str, request: Request) -> Rendering:
    if is_own_search(dialect, request):
        return "structured"
    for habit in HABITS:
        if habit.agent.search(agent) and (not habit.dialects or dialect in habit.dialects):
            return habit.rendering
    return "structured"


def is_own_search(dialect: str, request: Request) -> bool:
    """Is this the search of an agent's own tool, and not a turn of its conversation?"""
    if dialect == "anthropic_messages":
        return bool(side_query(request))
    return dialect == "gemini" and request.search is not None and not request.tools and not request.stream
