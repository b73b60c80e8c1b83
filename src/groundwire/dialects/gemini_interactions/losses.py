"""What an answer may have and an interaction cannot say."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.features import Feature

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere: neighbouring texts are one step",
    Feature.PHASE: "nowhere: a new step begins where it changes",
    Feature.QUOTES: "`groundwire.citations`",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`is_error`, and why in `groundwire.searches`",
    Feature.CALLERS: "nowhere",
    Feature.REFUSAL: "`errors`, as blocked output",
    Feature.CACHE_TOKENS: "`total_cached_tokens`, for those read; nowhere for those written",
    Feature.COST: "`groundwire.cost`",
}
