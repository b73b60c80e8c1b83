"""Detects Claude Code's WebSearch side request.

Claude Code runs its WebSearch tool as a request of its own: one search tool, one user message with a fixed
beginning. Its system text has changed between versions; the structure has not.
"""

from __future__ import annotations

from groundwire.model import Message, Request, Text, ToolChoice
from groundwire.model.value import replace

_OPENING = "Perform a web search for the query: "
_RULES = "Search the web for what the user asks, and sum up what the pages say in a few sentences."


def side_query(request: Request) -> str:
    """The query of Claude Code's side request; empty for any other request. Queries may span lines."""
    if request.search is None or request.tools or len(request.messages) != 1:
        return ""
    message = request.messages[0]
    if message.role != "user" or not message.text.startswith(_OPENING):
        return ""
    query = message.text[len(_OPENING) :]
    return query if query.strip() else ""


def as_search(request: Request, query: str) -> Request:
    """The side request as a plain search request."""
    return replace(
        request,
        messages=(Message("user", (Text(query),)),),
        system=(Text(_RULES),),
        tool_choice=ToolChoice("search"),
        reasoning=None,
    )
