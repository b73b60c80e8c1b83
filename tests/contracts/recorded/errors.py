"""Oracle for errors of providers: classified by their codes first, by the status last."""

from __future__ import annotations

import re

from groundwire.errors import (
    AuthRejected,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamError,
)
from groundwire.model import Json
from tests.contracts.recorded.facts import RecordedError
from tests.contracts.recorded.lookup import at, number, objects, string

_BY_CODE: dict[str, type[UpstreamError]] = {
    "insufficient_quota": QuotaExhausted,
    "usage_limit_reached": QuotaExhausted,
    "invalid_api_key": AuthRejected,
    "authentication_error": AuthRejected,
    "API_KEY_INVALID": AuthRejected,
    "model_not_found": NotFound,
    "not_found_error": NotFound,
    "NOT_FOUND": NotFound,
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "RESOURCE_EXHAUSTED": RateLimited,
    "server_error": Overloaded,
    "provider_unavailable": Overloaded,
}
_BY_STATUS: dict[int, type[UpstreamError]] = {401: AuthRejected, 404: NotFound, 429: RateLimited}


def read_error(body: Json, status: int) -> RecordedError:
    """Read an error body, or the error inside a frame."""
    error = at(body, "error") if isinstance(at(body, "error"), dict) else body
    codes = [
        string(error, "code"),
        string(error, "type"),
        string(error, "status"),
        string(error, "metadata", "error_type"),
        *(string(detail, "reason") for detail in objects(error, "details")),
    ]
    code = number(error, "code")
    if code is not None:
        status = int(code)
        codes.append(str(status))
    kind = next((_BY_CODE[code_name] for code_name in codes if code_name in _BY_CODE), None)
    return RecordedError(
        kind or _BY_STATUS.get(status) or (Overloaded if status >= 500 else Refused),
        string(error, "message") or string(body, "detail"),
        frozenset(code_name for code_name in codes if code_name),
        _wait(error),
    )


def _wait(error: Json) -> float | None:
    """Seconds, where the body has them: Google's RetryInfo, Codex' reset, OpenAI's sentence."""
    for detail in objects(error, "details"):
        if string(detail, "retryDelay"):
            return float(string(detail, "retryDelay").removesuffix("s"))
    match = re.search(r"try again in ([\d.]+)(ms|s)", string(error, "message"))
    if match:
        return float(match[1]) / (1000 if match[2] == "ms" else 1)
    return number(error, "resets_in_seconds")
