"""The head and the end of a message, the same whether it is streamed or not."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.anthropic_messages.errors import FINISH_REASONS, STOP_REASONS
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.base import Reply
from groundwire.dialects.features import Feature
from groundwire.model import Answer, JsonObject

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "blocks are cut where claims begin and end",
    Feature.PHASE: "nowhere: commentary is text like any other",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.IMAGES: "nowhere",
    Feature.REFUSAL: "`refusal` stands for both",
    Feature.TOOL_TOKENS: "counted in `input_tokens`",
    Feature.SEARCH_COUNT: "the number of search blocks, where a provider counts fewer or none",
    Feature.COST: "`groundwire.cost`",
}

EXTENDED = frozenset({*LOSSES, Feature.UNPLACED})
"""What the field `groundwire` is for. Pages that the whole answer rests on are in a list of results; only
we can tell them from other results there."""


def encode_head(message_id: str, model: str, reply: Reply) -> JsonObject:
    """A message with nothing in it yet."""
    return {
        "id": message_id if message_id.startswith("msg_") else f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def encode_ending(answer: Answer) -> JsonObject:
    """Why it ended. What Anthropic itself said is said again."""
    reason = answer.finish or "other"
    verbatim = FINISH_REASONS.get(answer.detail) == reason
    return {
        "stop_reason": answer.detail if verbatim else STOP_REASONS[reason],
        "stop_sequence": None,
        **answer.extras.get(NAME, {}),
    }
