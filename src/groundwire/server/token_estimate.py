"""Estimates of the tokens of a request, from its JSON body in any dialect."""

from __future__ import annotations

import asyncio

from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject

_TOKENS_PER_IMAGE = 1600
"""Upper bound of what vendors count for an image of usual size."""
_DATA_URL = "data:"
OUTPUT_TOKENS = 1000
"""Assumed for an answer without a limit of its own."""
MAX_OUTPUT_TOKENS = 4000
"""Clients set limits far above the length of their answers; more than this is not reserved."""
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
_OPTIONS = ("generationConfig", "generation_config")
_LARGE = 128 * 1024
"""Bytes from which a body is read in a thread, so that the event loop keeps serving."""
_NO_TEXT = frozenset({"role", "type", "cache_control"})


async def estimate_tokens(body: bytes) -> int:
    """`request_tokens` of a body that is not parsed yet. Raises `ClientWireError`."""

    def estimate() -> int:
        return request_tokens(load_json(body, ClientWireError))

    return estimate() if len(body) < _LARGE else await asyncio.to_thread(estimate)


def request_tokens(body: Json) -> int:
    """What a request will use: its input, and its answer as far as it is limited."""
    return round(tokens_in(body)) + (_output_tokens(body) if isinstance(body, dict) else OUTPUT_TOKENS)


def _output_tokens(body: JsonObject) -> int:
    for options in (body, *(body.get(name) for name in _OPTIONS)):
        if isinstance(options, dict):
            for name in _OUTPUT_LIMITS:
                limit = options.get(name)
                if type(limit) is int and limit >= 0:
                    return min(limit, MAX_OUTPUT_TOKENS)
    return OUTPUT_TOKENS


def tokens_in(item: Json) -> float:
    """The tokens of all texts in a JSON value."""
    total = 0.0
    remaining: list[Json] = [item]
    while remaining:
        one = remaining.pop()
        if isinstance(one, str):
            total += _TOKENS_PER_IMAGE if one.startswith(_DATA_URL) else text_tokens(one)
        elif isinstance(one, list):
            remaining.extend(one)
        elif isinstance(one, dict):
            if "data" in one and ("media_type" in one or "mimeType" in one or "mime_type" in one):
                total += _TOKENS_PER_IMAGE
            else:
                remaining.extend(text for name, text in one.items() if name not in _NO_TEXT)
    return total


def text_tokens(text: str) -> float:
    """Four Latin letters make a token; in most other scripts one or two do."""
    wide = 0 if text.isascii() else sum(character > "\u2e7f" for character in text)
    foreign = 0 if text.isascii() else sum("\x7f" < character <= "\u2e7f" for character in text)
    return (len(text) - wide - foreign) / 4 + foreign / 2.5 + wide * 0.9
