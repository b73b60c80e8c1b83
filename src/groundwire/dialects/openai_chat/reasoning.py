"""Reasoning: a text under two names, and OpenRouter's list of details.

DeepSeek, vLLM and most compatible servers say `reasoning_content`, OpenRouter and Groq `reasoning`; some say
both, with one text. We write `reasoning_content`, which most clients read. OpenRouter's
`reasoning_details` hold signatures and encrypted blocks that must come back whole; a stream tells them in
pieces that belong together by type and index. Its text may stand in the details alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_chat.parts import NAME, own
from groundwire.model import Extras, Json, JsonObject, Part, Reasoning

FIELDS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"
_GROWING = ("text", "summary", "data")


def decode_reasoning(message: Fields) -> tuple[str, str]:
    """The text that a message or delta shows, and the field it stood in."""
    for field in FIELDS:
        if text := message.text(field):
            return text, field
    return "".join(detail.text("text") or detail.text("summary") for detail in message.objs(DETAILS)), DETAILS


def verbatim_reasoning(field: str, details: list[Json]) -> Extras:
    """What makes it possible to say the reasoning again as it was said."""
    verbatim: JsonObject = {"field": field}
    if details:
        verbatim[DETAILS] = details
    return {NAME: verbatim}


def encode_reasoning(parts: Iterable[Part], field: str = "") -> JsonObject:
    """The fields of a message that say its reasoning, in `field` or the one it came in."""
    said = [part for part in parts if isinstance(part, Reasoning)]
    text = "".join(part.text for part in said)
    details: list[Json] = [detail for part in said for detail in decode_details(part)]
    body: JsonObject = {DETAILS: details} if details else {}
    field = field or next((told for part in said if (told := own(part.extras).get("field")) in FIELDS), "")
    if text and field:
        body[field] = text
    return body


def decode_details(part: Reasoning) -> list[Json]:
    """The details kept with a reasoning part."""
    details = own(part.extras).get(DETAILS)
    return details if isinstance(details, list) else []


class Details:
    """Collects `reasoning_details`; a piece goes on with the detail of its type and index told before."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[JsonObject, dict[str, list[str]]]] = []

    def add(self, told: Iterable[Fields]) -> None:
        """Take the details of one message or delta."""
        known = {_key(entry): (entry, grown) for entry, grown in self._entries if "index" in entry}
        for detail in told:
            entry, grown = known.get(_key(detail.raw)) or self._new()
            for key, value in detail.raw.items():
                if key in _GROWING and isinstance(value, str):
                    grown.setdefault(key, []).append(value)
                elif value is not None or key not in entry:
                    entry[key] = value

    def whole(self) -> list[Json]:
        """The details as one message would tell them."""
        return [
            {**entry, **{key: "".join(pieces) for key, pieces in grown.items()}}
            for entry, grown in self._entries
        ]

    def _new(self) -> tuple[JsonObject, dict[str, list[str]]]:
        self._entries.append(({}, {}))
        return self._entries[-1]


def _key(detail: JsonObject) -> str:
    return f"{detail.get('type')} {detail.get('index')}"
