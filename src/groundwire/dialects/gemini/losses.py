"""What an answer may hold and a generated content cannot say."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.features import Feature

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "nowhere; neighbouring texts are one",
    Feature.PHASE: "nowhere",
    Feature.UNPLACED: "pages without words that lean on them, and `groundwire.citations`",
    Feature.QUOTES: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.SEARCH_CALLS: "`groundwire.searches`; all queries stand in one list",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.RETRIEVED: "the same list as pages cited for the whole answer",
    Feature.RETRIEVED_TITLES: "the same list as pages cited for the whole answer",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "`groundwire.searches`, as the state `failed` with its `error`",
    Feature.CALLERS: "nowhere",
    Feature.PAUSE: "nowhere; the answer ends with STOP",
    Feature.REFUSAL: "nowhere; the answer ends with SAFETY",
    Feature.CACHE_TOKENS: "nowhere; tokens read from a cache are counted, tokens written to one are not",
    Feature.SEARCH_COUNT: "nowhere",
    Feature.COST: "nowhere",
}

FORGOTTEN = (
    "clients send back the `content` of an answer, without its `groundingMetadata`: citations and searches "
    "of earlier turns do not come back; with the rendering `markers` or `both` the addresses stay in the text"
)
