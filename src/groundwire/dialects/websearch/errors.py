"""Errors as results: `llmContent` is for the model, `returnDisplay` for the user, `error` for programs.

    Error: {what happened, for the user}

    Details: {what happened, in detail}

`error.type` is the error's code. Codes of single tools (`MISSING_GEMINI_API_KEY`,
`OPENROUTER_WEB_SEARCH_FAILED`) are set by the tool; here they only get their display text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    InvalidArguments,
    InvalidQuery,
    MissingCredential,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    Unreachable,
    UnsupportedFeature,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import JsonObject

_DISPLAYS: Mapping[str, str] = {
    InvalidArguments.code: "The search tool was called with arguments it does not take.",
    InvalidQuery.code: "A search query is required.",
    UnsupportedFeature.code: "The search cannot be done as asked.",
    RequestError.code: "The search cannot be done as asked.",
    ConfigError.code: "Web search is not configured correctly.",
    MissingCredential.code: "No key or session is configured for this search.",
    AuthRejected.code: "The search provider refused the credentials.",
    QuotaExhausted.code: "The search quota is used up.",
    RateLimited.code: "Too many searches at once. Try again later.",
    Overloaded.code: "The search provider is overloaded. Try again later.",
    NotFound.code: "The search provider does not know this model.",
    TimedOut.code: "The search took too long.",
    Unreachable.code: "The search provider cannot be reached.",
    Interrupted.code: "The search was interrupted.",
}

_DEFAULT_DISPLAY = "Web search failed."

# Codes of single tools, and their display texts.
_TOOL_DISPLAYS = (
    (re.compile(r"MISSING_(\w+)_API_KEY"), "{} API key is missing."),
    (re.compile(r"MISSING_(\w+)_OAUTH_SESSION"), "{} OAuth session is missing."),
    (re.compile(r"(\w+)_WEB_SEARCH_FAILED"), "{} web search failed."),
)

_PROVIDER_NAMES = {
    "OPENAI": "OpenAI",
    "OPENAI_OAUTH": "OpenAI (OAuth)",
    "OPENROUTER": "OpenRouter",
    "WEB": "Live",
}

_UPSTREAM_CLASSES: Mapping[str, type[UpstreamError]] = {
    kind.code: kind
    for kind in (
        UpstreamError,
        AuthRejected,
        QuotaExhausted,
        RateLimited,
        Overloaded,
        Refused,
        NotFound,
        TimedOut,
        Unreachable,
        Interrupted,
    )
}

_OTHER_CLASSES: Mapping[str, type[GroundwireError]] = {
    kind.code: kind
    for kind in (InvalidQuery, UnsupportedFeature, RequestError, MissingCredential, ConfigError)
}

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class WrongArguments(InvalidArguments):
    """A tool was called with arguments it does not take; `display` is the message that names the tool."""

    def __init__(self, message: str, display: str) -> None:
        super().__init__(message)
        self.display = display


def display_of(error: GroundwireError) -> str:
    """The display text of an error: one sentence for the user."""
    if isinstance(error, WrongArguments):
        return error.display
    for pattern, template in _TOOL_DISPLAYS:
        if match := pattern.fullmatch(error.code):
            return template.format(_PROVIDER_NAMES.get(match[1], match[1].replace("_", " ").title()))
    return _DISPLAYS.get(error.code, _DEFAULT_DISPLAY)


def encode_error_result(error: GroundwireError) -> JsonObject:
    """Encode an error as a result."""
    display = display_of(error)
    return {
        "llmContent": f"Error: {display}\n\nDetails: {error.message}",
        "returnDisplay": display,
        "error": {"message": error.message, "type": error.code},
    }


def decode_error_result(result: Fields) -> GroundwireError:
    """Decode the error of a result."""
    error = result.obj("error")
    code, message = error.text("type"), error.text("message")
    if code == InvalidArguments.code:
        return WrongArguments(message, result.text("returnDisplay"))
    if code in _OTHER_CLASSES:
        return _OTHER_CLASSES[code](message)
    return _with_code(_UPSTREAM_CLASSES.get(code, UpstreamError)(message), code)


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:  # noqa: ARG001 (errors have no id)
    """Encode an error response: the same result, with an HTTP status."""
    return ErrorBody(error.status_hint, encode_error_result(error))


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    by_status = upstream_error_class(status)
    try:
        error = Fields.of(load_json(body, UpstreamWireError), UpstreamWireError).obj("error")
        code = error.text("type")
        kind = _UPSTREAM_CLASSES.get(code, by_status)
        decoded = kind(error.text("message") or f"HTTP {status}", status=status, upstream_code=code)
    except WireError:
        excerpt = _CONTROL_CHARACTERS.sub(" ", body[:800].decode("utf-8", "replace")).strip()[:200]
        decoded = by_status(excerpt or f"HTTP {status}", status=status)
    decoded.retry_after = retry_after(headers)
    decoded.request_id = request_id(headers)
    return decoded


def _with_code(error: UpstreamError, code: str) -> UpstreamError:
    """Set the code that the error came with."""
    if code and code != error.code:
        error.code = code
        error.upstream_code = code
    return error
