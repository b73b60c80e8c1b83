"""Text from the network, made safe for a terminal: every byte of it that is printed passes through here."""

from __future__ import annotations

from groundwire.text.sanitise import escaped_json, visible


def printable(text: str) -> str:
    """The text with line breaks and tabs, and without any other control character."""
    return visible(text)


def one_line(text: str) -> str:
    """The text on one line, for titles, addresses and messages."""
    return " ".join(printable(text).split())


def printable_json(text: str) -> str:
    """JSON that means the same, with every control character escaped."""
    return escaped_json(text)
