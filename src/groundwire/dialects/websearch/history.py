"""Conversation history: a tool call carries one query and nothing that was said before it."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import InvalidQuery
from groundwire.model import Message, Request, Text, ToolResult


def decode_query(fields: Fields) -> tuple[Message, ...]:
    """The conversation of a tool call: its query as the only message."""
    query = fields.text("query").strip()
    if not query:
        raise InvalidQuery("The 'query' argument must be a non-empty string.")
    return (Message("user", (Text(query),)),)


def unsupported_history(request: Request) -> dict[str, bool]:
    """Which parts of the conversation are lost when only its last question is sent."""
    parts = [part for message in request.messages for part in message.parts]
    return {
        "system": any([request.system, *(message.role != "user" for message in request.messages)]),
        "messages": len(request.messages) > 1 or not all(isinstance(part, Text) for part in parts),
        "is_error": any(isinstance(part, ToolResult) for part in parts),
    }
