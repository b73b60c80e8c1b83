"""What a chat answer cannot say, and where it goes instead.

Chat knows one text, one reasoning text and one list of function calls. It tells no searches, only sources:
cited ones as annotations, merely found ones as Perplexity's `search_results`.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.features import Feature

LOSSES: Mapping[Feature, str] = {
    Feature.TEXT_PARTS: "one `content`",
    Feature.PHASE: "`content`; only a refusal stands apart, in `refusal`",
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.FILE_CITATIONS: "`groundwire.files`",
    Feature.QUERIES: "`groundwire.searches`",
    Feature.SEARCH_CALLS: "`groundwire.searches`",
    Feature.PAGES_OPENED: "`groundwire.searches`",
    Feature.PATTERNS: "`groundwire.searches`",
    Feature.SEARCH_ERRORS: "`groundwire.searches`, as the state `failed` with its `error`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.TOOL_TOKENS: "counted in `usage.prompt_tokens`",
}
