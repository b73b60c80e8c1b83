"""The contract of the web search tools: a query goes in, one JSON result comes out.

Its reader is a model that called a tool, so the result holds the answer to read and its sources, and the
extension holds only warnings and what is needed to read the text back without guessing.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature
from groundwire.dialects.websearch.errors import decode_error, encode_error
from groundwire.dialects.websearch.request import NAME, decode_request, encode_request
from groundwire.dialects.websearch.response import decode_response, encode_response
from groundwire.dialects.websearch.stream import Decoder, Encoder

__all__ = ["DIALECT"]

_LOSSES: Mapping[Feature, str] = {
    Feature.MARKER_TEXT: "nowhere: `[n]` stands in its place",
    Feature.TEXT_PARTS: "nowhere",
    Feature.PHASE: "kept only where it changes",
    Feature.SPAN_STARTS: "nowhere: `[n]` stands where a claim ends",
    Feature.QUOTES: "nowhere",
    Feature.CONFIDENCE: "nowhere",
    Feature.FILE_CITATIONS: "nowhere; a warning names the files",
    Feature.QUERIES: "nowhere: the query asked for stands in their place",
    Feature.SEARCH_CALLS: "nowhere: it is one search, for the query asked for",
    Feature.PAGES_OPENED: "nowhere",
    Feature.PATTERNS: "nowhere",
    Feature.RETRIEVED: "`sources`, if nothing is cited; else nowhere",
    Feature.RETRIEVED_TITLES: "`sources`, if nothing is cited; else nowhere",
    Feature.DATES: "nowhere",
    Feature.SEARCH_ERRORS: "nowhere",
    Feature.SUGGESTIONS: "nowhere",
    Feature.CALLERS: "nowhere",
    Feature.REASONING: "nowhere",
    Feature.TOOL_CALLS: "nowhere",
    Feature.IMAGES: "nowhere",
    Feature.FINISH: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.REFUSAL: "nowhere",
    Feature.TOKENS: "nowhere",
    Feature.CACHE_TOKENS: "nowhere",
    Feature.REASONING_TOKENS: "nowhere",
    Feature.TOOL_TOKENS: "nowhere",
    Feature.SEARCH_COUNT: "nowhere",
    Feature.COST: "nowhere",
}

DIALECT = Dialect(
    name=NAME,
    decode_request=decode_request,
    encode_request=encode_request,
    decode_response=decode_response,
    encode_response=encode_response,
    usage_of=lambda _: None,
    decoder=Decoder,
    encoder=Encoder,
    decode_error=decode_error,
    encode_error=encode_error,
    losses=_LOSSES,
)
