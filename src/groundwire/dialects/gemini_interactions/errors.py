"""Errors and the status of an interaction.

An error is `{"error": {"code": "rate_limit_exceeded", "message": …}}` with a snake_case code, the same as
body and as `error` event. Google's front ends answer with the older form (`code` a number, `status`
`RESOURCE_EXHAUSTED`, `details`). Some codes mean that a filter blocked the output: that is a finish reason,
not a failure. An interaction that did not complete lists its `errors` next to its `status`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from groundwire.dialects.base import ErrorBody, Headers, Reply
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import (
    AuthRejected,
    ClientWireError,
    GroundwireError,
    Interrupted,
    MissingCredential,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    RequestError,
    TimedOut,
    Unreachable,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import FinishReason, JsonObject

_ERROR_CLASSES: Mapping[str, type[UpstreamError]] = {
    "invalid_request": Refused,
    "invalid_argument": Refused,
    "failed_precondition": Refused,
    "out_of_range": Refused,
    "parameter_unknown": Refused,
    "already_exists": Refused,
    "unimplemented": Refused,
    "authentication": AuthRejected,
    "unauthenticated": AuthRejected,
    "permission_denied": AuthRejected,
    "api_key_invalid": AuthRejected,
    "payment_required": QuotaExhausted,
    "quota_exceeded": QuotaExhausted,
    "not_found": NotFound,
    "model_not_found": NotFound,
    "rate_limit_exceeded": RateLimited,
    "too_many_requests": RateLimited,
    "resource_exhausted": RateLimited,
    "aborted": Overloaded,
    "api_error": Overloaded,
    "internal": Overloaded,
    "unavailable": Overloaded,
    "service_unavailable": Overloaded,
    "cancelled": Interrupted,
    "deadline_exceeded": TimedOut,
    "gateway_timeout": TimedOut,
}

_BLOCKED_CODES = frozenset(
    {
        "safety",
        "recitation",
        "language",
        "prohibited_content",
        "spii",
        "blocklist",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "image_other",
        "content_blocked",
    }
)

_ERROR_CODES: Mapping[type[GroundwireError], str] = {
    RequestError: "invalid_request",
    ClientWireError: "invalid_request",
    MissingCredential: "authentication",
    AuthRejected: "authentication",
    QuotaExhausted: "quota_exceeded",
    RateLimited: "rate_limit_exceeded",
    Overloaded: "service_unavailable",
    Refused: "invalid_request",
    NotFound: "not_found",
    TimedOut: "deadline_exceeded",
    Unreachable: "service_unavailable",
}

_ERROR_CODES_BY_STATUS: Mapping[int, str] = {
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    408: "deadline_exceeded",
    429: "rate_limit_exceeded",
    503: "service_unavailable",
    504: "gateway_timeout",
}
"""For errors that are known by their status only; any other 4xx is an invalid request."""

_PAUSED = "requires_continuation"

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "budget_exceeded": "length",
    _PAUSED: "pause",
}

_STATUSES: Mapping[FinishReason, str] = {
    "stop": "completed",
    "tool_calls": "requires_action",
    "length": "incomplete",
    "pause": "incomplete",
    "filtered": "failed",
    "refused": "failed",
    "other": "incomplete",
}

# Statuses that only the provider itself sends.
_PROVIDER_STATUSES = frozenset({"cancelled", "budget_exceeded", _PAUSED})
_RETRY = re.compile(r"retry in (\d{1,9}(?:\.\d{1,9})?)s", re.IGNORECASE)
_DELAY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class InteractionEnd(NamedTuple):
    """Why an interaction ended, and the provider's own status or code."""

    reason: FinishReason
    detail: str = ""


def decode_end(status: str, errors: list[Fields], *, has_calls: bool) -> InteractionEnd | UpstreamError:
    """Decode a status and the errors listed with it.

    An answer with function calls waits for the client even if its status is `completed`.
    """
    error = decode_error_object(errors[-1]) if errors else None
    code = error.upstream_code if error else ""
    if code in _BLOCKED_CODES:
        return InteractionEnd("filtered", code)
    if status == "failed":
        return error or UpstreamError("the interaction failed")
    if status == "incomplete" and code:
        return InteractionEnd("pause") if code == _PAUSED else InteractionEnd("other", code)
    if status == "completed" and has_calls:
        return InteractionEnd("tool_calls")
    reason = _FINISH_REASONS.get(status, "other")
    return InteractionEnd(reason, "" if _STATUSES[reason] == status else status)


def encode_status(reason: FinishReason | None, detail: str) -> JsonObject:
    """Encode `status`, and `errors` where the status is not specific enough.

    Clients know six statuses and fail on others, so others are sent only if the provider itself used them.
    """
    if detail in _PROVIDER_STATUSES:
        return {"status": detail}
    body: JsonObject = {"status": _STATUSES[reason or "other"]}
    if reason in ("filtered", "refused"):
        code = detail if detail in _BLOCKED_CODES else "content_blocked"
        body["errors"] = [{"code": code, "message": detail or "The output was blocked."}]
    elif reason == "pause":
        body["errors"] = [{"code": _PAUSED, "message": "The turn was paused and can be continued."}]
    elif reason in ("other", None):
        body["errors"] = [{"code": detail or "other", "message": detail or "The answer ended early."}]
    return body


def encode_error_object(error: GroundwireError) -> JsonObject:
    """Encode any error as `code` and `message`."""
    code = next((_ERROR_CODES[kind] for kind in type(error).__mro__ if kind in _ERROR_CODES), "")
    if not code:
        other = "invalid_request" if 400 <= error.status_hint < 500 else "api_error"
        code = _ERROR_CODES_BY_STATUS.get(error.status_hint, other)
    return {"code": code, "message": error.message}


def is_blocked(error: UpstreamError) -> bool:
    """Whether this error means that a filter blocked the output."""
    return error.upstream_code in _BLOCKED_CODES


def decode_error_object(error: Fields, status: int | None = None) -> UpstreamError:
    """Decode an error object in either form."""
    code = _error_code(error)
    message = error.text("message") or code or "the provider gave no reason"
    if code in _ERROR_CLASSES:
        kind = _ERROR_CLASSES[code]
    elif code in _BLOCKED_CODES:
        kind = Refused
    else:
        kind = UpstreamError if status is None else upstream_error_class(status)
    return kind(message, status=status, upstream_code=code, retry_after=_retry_delay(error))


def decode_error(status: int, body: bytes, headers: Headers) -> UpstreamError:
    """Decode an HTTP error response."""
    try:
        document = load_json(body, UpstreamWireError)
        if isinstance(document, list) and document:
            document = document[0]  # without `alt=sse` the older form is in a list
        error = decode_error_object(Fields.of(document, UpstreamWireError).obj("error"), status)
    except WireError:
        excerpt = _CONTROL_CHARACTERS.sub(" ", body[:800].decode("utf-8", "replace")).strip()[:200]
        error = upstream_error_class(status)(excerpt or f"HTTP {status}", status=status)
    delay = retry_after(headers)
    error.retry_after = error.retry_after if delay is None else delay
    error.request_id = request_id(headers)
    return error


def encode_error(error: GroundwireError, reply: Reply) -> ErrorBody:  # noqa: ARG001 (errors have no id)
    """Encode any error as an HTTP error response."""
    return ErrorBody(error.status_hint, {"error": encode_error_object(error)})


def _error_code(error: Fields) -> str:
    """The most specific code: a reason in the details, the status, or the code."""
    for detail in error.objs("details"):
        reason = detail.get("reason")
        if isinstance(reason, str) and reason.lower() in _ERROR_CLASSES:
            return reason.lower()
        if "PerDay" in str(detail.get("violations")):
            return "quota_exceeded"
    code = error.get("code")
    named = error.text("status") or (code if isinstance(code, str) else "")
    return named.rpartition("/")[2].lower()


def _retry_delay(error: Fields) -> float | None:
    for detail in error.objs("details"):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (match := _DELAY.fullmatch(delay)):
            return float(match[1])
    match = _RETRY.search(error.text("message"))
    return float(match[1]) if match else None
