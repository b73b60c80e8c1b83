"""Arguments of tool calls, for dialects in which they are an object and not JSON text."""

from __future__ import annotations

from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError
from groundwire.model import JsonObject


def decode_arguments(text: str) -> JsonObject:
    """Decode the arguments of a call to an object; any other value is wrapped in one."""
    try:
        value = load_json(text or "{}", ClientWireError)
    except ClientWireError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}
