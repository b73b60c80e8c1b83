"""Client quirks: how a client is shown citations, by its User-Agent; usage for clients that require it.

Claude Code prints the last text block of a main turn, and cited text is split into blocks. OpenCode drops the
annotations of Chat and the grounding of Gemini, and prints none of the others. Gemini CLI shows no grounding
of its main turns. Qwen Code, Codex and Copilot never show annotations. The AI SDK's provider for compatible
servers, which Cline and Kilo use, drops those of Chat. Gemini CLI's own search tool reads structured
citations; answers to Claude Code's own search are rendered in `claude_code.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from groundwire.errors import InvalidArguments
from groundwire.faces.gateway.clients.claude_code import side_query
from groundwire.faces.gateway.rendering import RENDERINGS, Rendering
from groundwire.model import Event, Finished, Part, Request, Text, Usage, UsageSeen, Verbatim
from groundwire.model.value import replace

HEADER = "x-groundwire-render"


class ClientQuirk(NamedTuple):
    """The rendering of citations for one client."""

    agent: re.Pattern[str]
    """Matches its User-Agent."""
    dialects: frozenset[str]
    """The dialects for which this applies; empty for all."""
    rendering: Rendering


def _agent(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


QUIRKS = (
    ClientQuirk(_agent(r"\bclaude-cli/"), frozenset({"anthropic_messages"}), "markers"),
    ClientQuirk(_agent(r"\bopencode\b"), frozenset({"openai_chat", "gemini"}), "markers"),
    ClientQuirk(_agent(r"\bopencode\b"), frozenset(), "both"),
    ClientQuirk(_agent(r"\bGeminiCLI\b"), frozenset({"gemini"}), "markers"),
    ClientQuirk(_agent(r"\bcodex_"), frozenset({"openai_responses"}), "both"),
    ClientQuirk(_agent(r"\bQwenCode/"), frozenset(), "markers"),
    ClientQuirk(_agent(r"\bai-sdk/openai-compatible/|\bkilo\b"), frozenset({"openai_chat"}), "markers"),
    ClientQuirk(_agent(r"\bcopilot\b"), frozenset({"openai_responses"}), "both"),
    ClientQuirk(_agent(r"\bcopilot\b"), frozenset(), "markers"),
)


def rendering_for(headers: Mapping[str, str], dialect: str, request: Request, configured: str) -> Rendering:
    """The rendering of citations: from the header, else from the configuration, else from the client's
    quirk."""
    if request.search is None:
        return "structured"
    return chosen_rendering(headers, configured) or _client_rendering(
        headers.get("user-agent", ""), dialect, request
    )


def chosen_rendering(headers: Mapping[str, str], configured: str) -> Rendering | None:
    """The rendering that the header or the configuration names; None for `auto`."""
    chosen = headers.get(HEADER, configured)
    if HEADER in headers and chosen not in (*RENDERINGS, "auto"):
        raise InvalidArguments(f"{HEADER}: {chosen[:40]!r} is not one of {', '.join(RENDERINGS)}, auto")
    for mode in RENDERINGS:
        if mode == chosen:
            return mode
    return None


def accepts_vendor_text(headers: Mapping[str, str], dialect: str, configured: str) -> bool:
    """May the vendor's own bytes pass to a client that shows no citations? OpenAI's texts contain their
    links."""
    return dialect == "openai_responses" and headers.get(HEADER, configured) == "auto"


def _client_rendering(agent: str, dialect: str, request: Request) -> Rendering:
    return (
        "structured"
        if is_agent_search(dialect, request)
        else _quirk_rendering(agent[:_LONGEST_AGENT], dialect)
    )


_LONGEST_AGENT = 1024
"""Characters of a User-Agent that are looked at: those of many clients are remembered."""


@lru_cache(maxsize=256)
def _quirk_rendering(agent: str, dialect: str) -> Rendering:
    for quirk in QUIRKS:
        if quirk.agent.search(agent) and (not quirk.dialects or dialect in quirk.dialects):
            return quirk.rendering
    return "structured"


def is_agent_search(dialect: str, request: Request) -> bool:
    """Is this a call of an agent's own search tool, and not a turn of its conversation?"""
    if dialect == "anthropic_messages":
        return bool(side_query(request))
    return dialect == "gemini" and request.search is not None and not request.tools and not request.stream


_CONTEXT_BLOCKS = re.compile(
    r"<(system-reminder|environment_details|environment_context|user_info|context)\b[^>]*>.*?</\1>"
    r"|<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
    re.DOTALL,
)
_OPENCLAW_LINES = re.compile(
    r"^\[\w{3} \d{4}-\d\d-\d\d[^\]\n]*\] (?=.*?Runtime: agent=)|\s*Runtime: agent=[^\n]*", re.DOTALL
)
"""The time before a message of OpenClaw, and the line after it."""
_WRAPPERS = re.compile(r"</?(?:task|user_message|user_query|user_input)>")


def without_agent_context(request: Request) -> Request:
    """The request with the user's own words as its question.

    Qwen Code, Cline, Kilo and OpenClaw add what they know about the machine to the message of the user. A
    model reads past it; a search engine would search for it.
    """
    messages = tuple(
        replace(message, parts=tuple(map(_own_words, message.parts))) if message.role == "user" else message
        for message in request.messages
    )
    cleaned = replace(request, messages=messages)
    return cleaned if cleaned.query.strip() else request


def _own_words(part: Part) -> Part:
    if not isinstance(part, Text):
        return part
    words = _WRAPPERS.sub("", _CONTEXT_BLOCKS.sub("", _OPENCLAW_LINES.sub("", part.text)))
    return part if words == part.text else replace(part, text=words.strip())


class ZeroUsage:
    """Adds a usage of zero before the end of an answer that has none.

    The AI SDK (OpenCode) does not take a `response.completed` without `usage` for an end, and repeats the
    request.
    """

    def __init__(self) -> None:
        self._usage = Usage()
        self._verbatim = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The batch, with usage before `Finished` if there was none."""
        for event in batch:
            if isinstance(event, UsageSeen):
                self._usage = event.usage
            elif isinstance(event, Verbatim):
                self._verbatim = True
        if self._verbatim or self._usage.input_tokens is not None:
            return batch
        return [changed for event in batch for changed in self._before_end(event)]

    def _before_end(self, event: Event) -> tuple[Event, ...]:
        if not isinstance(event, Finished):
            return (event,)
        usage = replace(self._usage, input_tokens=0, output_tokens=self._usage.output_tokens or 0)
        return (UsageSeen(usage), event)
