"""Is this request somebody's own web search in disguise?

Claude Code runs its WebSearch tool as a request of its own: one search tool, one user message with a fixed
beginning. Its system text has changed between versions and proves nothing; the structure has not.
"""

from __future__ import annotations

from groundwire.model import Request

_OPENING = "Perform a web search for the query: "


def side_query(request: Request) -> str:
    """What Claude Code's side request looks for; empty if this is none. Queries may span lines."""
    if request.search is None or request.tools or len(request.messages) != 1:
        return ""
    message = request.messages[0]
    if message.role != "user" or not message.text.startswith(_OPENING):
        return ""
    return message.text[len(_OPENING) :].strip()
