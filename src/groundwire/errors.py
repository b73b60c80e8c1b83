"""The error hierarchy.

    GroundwireError
    ├── ConfigError                 the configuration is not valid
    │   └── MissingCredential
    ├── RequestError                the request is not valid (400)
    │   ├── InvalidQuery
    │   ├── InvalidArguments
    │   ├── UnsupportedFeature
    │   ├── CostLimit               it could cost more than the caller allows
    │   ├── FetchRefused            a URL that must not be fetched; the reason is never given
    │   ├── ForbiddenForKey         the API key does not allow it (403)
    │   └── UnknownModel            no configured provider has this model (404)
    ├── TurnedAway                  the server rejected the request: authentication, limits, routes
    ├── WireError                   bytes that violate their dialect; has the JSON path
    │   ├── ClientWireError         sent by the client (400)
    │   └── UpstreamWireError       sent by the provider (502)
    ├── UpstreamError               the provider returned an error or did not respond
    │   ├── AuthRejected            key or token rejected
    │   ├── QuotaExhausted          plan, credit or budget used up: waiting does not help
    │   ├── RateLimited             too many requests: waiting helps
    │   ├── Overloaded              the provider is overloaded or failing
    │   ├── Refused                 the request itself was rejected
    │   ├── NotFound                the model or resource does not exist
    │   ├── TimedOut                no response within the deadline
    │   ├── Unreachable             no connection, or it was lost
    │   └── Interrupted             the stream ended before the answer was complete
    └── AllTargetsFailed            every target failed

Each class carries a `code` (stable, for programs), a `status_hint` (the HTTP status to respond with)
and `retryable` (whether the same request may succeed later). Instances may override all three.
"""

from __future__ import annotations


class GroundwireError(Exception):
    """Base class of all errors that groundwire raises on purpose."""

    code = "ERROR"
    status_hint = 500
    retryable = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __eq__(self, other: object) -> bool:
        # Errors are fields of events, and events are values.
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.message))


class ConfigError(GroundwireError):
    """The configuration is not valid."""

    code = "INVALID_CONFIG"


class MissingCredential(ConfigError):
    """A required key or session was not found."""

    code = "MISSING_CREDENTIAL"
    status_hint = 401


class RequestError(GroundwireError):
    """The request is not valid."""

    code = "INVALID_REQUEST"
    status_hint = 400


class InvalidQuery(RequestError):
    """The query is missing or blank."""

    code = "INVALID_QUERY"


class InvalidArguments(RequestError):
    """A tool was called with arguments it does not take."""

    code = "INVALID_TOOL_ARGUMENTS"


class UnsupportedFeature(RequestError):
    """The request needs a feature that the target lacks, and dropping it would be wrong."""

    code = "UNSUPPORTED_FEATURE"


class CostLimit(RequestError):
    """The request could cost more than the caller allows, and was not sent."""

    code = "COST_LIMIT"


class FetchRefused(RequestError):
    """The URL is not that of a public web page. The reason is not given: it would describe the network."""

    code = "FETCH_REFUSED"


class ForbiddenForKey(RequestError):
    """The scope or role of the API key does not allow the request."""

    code = "FORBIDDEN_FOR_KEY"
    status_hint = 403


class UnknownModel(RequestError):
    """The model name matches no configured provider."""

    code = "UNKNOWN_MODEL"
    status_hint = 404


class TurnedAway(GroundwireError):
    """The server rejected a request; the status says why, `retry_after` when to retry."""

    code = "TURNED_AWAY"

    def __init__(
        self, message: str, *, status: int = 400, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status_hint = status
        self.retry_after = retry_after
        self.code = code or self.code


class WireError(GroundwireError):
    """Bytes that violate their dialect. `path` is the JSON path of the offending value."""

    code = "INVALID_WIRE"

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message if path == "$" else f"{path}: {message}")
        self.path = path
        self.reason = message


class ClientWireError(WireError):
    """The client sent malformed data."""

    code = "INVALID_REQUEST_BODY"
    status_hint = 400


class UpstreamWireError(WireError):
    """The provider sent malformed data."""

    code = "INVALID_UPSTREAM_BODY"
    status_hint = 502
    retryable = True


LONGEST_WAIT = 86_400.0


def bounded_wait(seconds: float | None) -> float | None:
    """Limit the retry delay of a provider to one day; None if it is not a valid number of seconds."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    return min(seconds, LONGEST_WAIT)


class UpstreamError(GroundwireError):
    """The provider returned an error, or did not respond.

    `status` is the provider's HTTP status (None inside a stream or without a response), `upstream_code` its
    own error code, `retry_after` the seconds to wait before a retry.
    """

    code = "UPSTREAM_ERROR"
    status_hint = 502

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        upstream_code: str = "",
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.upstream_code = upstream_code
        self.retry_after = bounded_wait(retry_after)
        self.request_id = request_id


class AuthRejected(UpstreamError):
    """The provider rejected the key or token."""

    code = "UPSTREAM_AUTH_REJECTED"
    status_hint = 401


class QuotaExhausted(UpstreamError):
    """Plan, credit or budget is used up; waiting does not help."""

    code = "UPSTREAM_QUOTA_EXHAUSTED"
    status_hint = 429


class RateLimited(UpstreamError):
    """Too many requests; waiting helps."""

    code = "UPSTREAM_RATE_LIMITED"
    status_hint = 429
    retryable = True


class Overloaded(UpstreamError):
    """The provider is temporarily overloaded or failing."""

    code = "UPSTREAM_OVERLOADED"
    status_hint = 503
    retryable = True


class Refused(UpstreamError):
    """The provider rejected the request itself."""

    code = "UPSTREAM_REFUSED"
    status_hint = 400


class NotFound(UpstreamError):
    """The provider has no such model or resource."""

    code = "UPSTREAM_NOT_FOUND"
    status_hint = 404


class TimedOut(UpstreamError):
    """No response within the deadline."""

    code = "UPSTREAM_TIMED_OUT"
    status_hint = 504
    retryable = True


class Unreachable(UpstreamError):
    """No connection could be established, or it was lost."""

    code = "UPSTREAM_UNREACHABLE"
    status_hint = 502
    retryable = True


class Interrupted(UpstreamError):
    """The stream ended before the answer was complete."""

    code = "UPSTREAM_INTERRUPTED"
    status_hint = 502
    retryable = True


class AllTargetsFailed(GroundwireError):
    """Every target failed. `attempts` are the targets and their errors, in order."""

    code = "ALL_TARGETS_FAILED"
    status_hint = 502

    def __init__(self, attempts: tuple[tuple[str, GroundwireError], ...]) -> None:
        super().__init__("; ".join(f"{name}: {error.message.rstrip('.')}" for name, error in attempts))
        self.attempts = attempts
        if attempts:
            self.status_hint = attempts[-1][1].status_hint
            self.retryable = any(error.retryable for _, error in attempts)


_BY_STATUS: dict[int, type[UpstreamError]] = {
    401: AuthRejected,
    402: QuotaExhausted,
    403: AuthRejected,
    404: NotFound,
    408: TimedOut,
    429: RateLimited,
    504: TimedOut,
    524: TimedOut,
}


def upstream_error_class(status: int) -> type[UpstreamError]:
    """The error class for an HTTP status when nothing more specific is known."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Overloaded if status >= 500 else Refused
