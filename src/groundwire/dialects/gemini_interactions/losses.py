"""What an answer may have and an interaction cannot say."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.extension import extend
from groundwire.dialects.features import Feature, project
from groundwire.model import Answer, JsonObject

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere: neighbouring texts are one step",
    Feature.PHASE: "nowhere: a new step begins where it changes",
    Feature.QUOTES: "`groundwire.citations`",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`is_error`, which tells that a search failed and not why",
    Feature.CALLERS: "nowhere",
    Feature.REFUSAL: "`errors`, as blocked output",
    Feature.CACHE_TOKENS: "`total_cached_tokens`, for those read; nowhere for those written",
    Feature.COST: "`groundwire.cost`",
}


def extend_used(body: JsonObject, answer: Answer) -> JsonObject:
    """Add the extension for what this answer has and the dialect loses."""
    return extend(body, answer, [feature for feature in LOSSES if project(answer, feature)])
