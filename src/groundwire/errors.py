"""Everything that can go wrong, as one tree.

    GroundwireError
    ├── ConfigError                 what is configured cannot be used
    │   └── MissingCredential
    ├── RequestError                what was asked cannot be done (400)
    │   ├── InvalidQuery
    │   ├── InvalidArguments
    │   ├── UnsupportedFeature
    │   └── FetchRefused            an address that is not fetched; never says why
    ├── WireError                   bytes that do not follow their dialect; carries the JSON path
    │   ├── ClientWireError         the caller's fault (400)
    │   └── UpstreamWireError       the provider's fault (502)
    ├── UpstreamError               the provider said no, or nothing
    │   ├── AuthRejected            key or token refused
    │   ├── QuotaExhausted          plan, credit or budget used up: waiting does not help
    │   ├── RateLimited             too many requests: waiting helps
    │   ├── Overloaded              the provider is in trouble
    │   ├── Refused                 the request as such was turned down
    │   ├── NotFound                no such model or resource
    │   ├── TimedOut                no answer in time
    │   ├── Unreachable             no connection, or it broke
    │   └── Interrupted             the stream ended before its answer did
    └── AllTargetsFailed            nobody who was asked could answer

Each class carries a `code` (stable, for programs), a `status_hint` (the HTTP status a face should
answer with) and `retryable` (may the same request succeed later). Instances may refine all three.
"""

from __future__ import annotations


class GroundwireError(Exception):
    """Base of all errors raised on purpose."""

    code = "ERROR"
    status_hint = 500
    retryable = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __eq__(self, other: object) -> bool:
        # Errors travel inside events, and events are values.
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.message))


class ConfigError(GroundwireError):
    """What is configured cannot be used."""

    code = "INVALID_CONFIG"


class MissingCredential(ConfigError):
    """No key or session was found where one is needed."""

    code = "MISSING_CREDENTIAL"
    status_hint = 401


class RequestError(GroundwireError):
    """What was asked cannot be done."""

    code = "INVALID_REQUEST"
    status_hint = 400


class InvalidQuery(RequestError):
    """The query is missing or blank."""

    code = "INVALID_QUERY"


class InvalidArguments(RequestError):
    """A tool was called with arguments it does not take."""

    code = "INVALID_TOOL_ARGUMENTS"


class UnsupportedFeature(RequestError):
    """The request needs something the target cannot do, and leaving it out would be wrong."""

    code = "UNSUPPORTED_FEATURE"


class FetchRefused(RequestError):
    """The address is not one of a public web page. The reason is not told: it would describe our network."""

    code = "FETCH_REFUSED"


class UnknownModel(RequestError):
    """The name of the model means nobody who is configured."""

    code = "UNKNOWN_MODEL"
    status_hint = 404


class TurnedAway(GroundwireError):
    """A face did not let the caller in; the status says why, `retry_after` when to come back."""

    code = "TURNED_AWAY"

    def __init__(
        self, message: str, *, status: int = 400, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status_hint = status
        self.retry_after = retry_after
        self.code = code or self.code


class WireError(GroundwireError):
    """Bytes that do not follow their dialect. `path` is the JSON path of the offending value."""

    code = "INVALID_WIRE"

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.reason = message


class ClientWireError(WireError):
    """The caller sent something malformed."""

    code = "INVALID_REQUEST_BODY"
    status_hint = 400


class UpstreamWireError(WireError):
    """The provider sent something malformed."""

    code = "INVALID_UPSTREAM_BODY"
    status_hint = 502
    retryable = True


LONGEST_WAIT = 86_400.0


def bounded_wait(seconds: float | None) -> float | None:
    """Seconds a provider asks us to wait, at most a day: whatever it says, it is asked again some time."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    return min(seconds, LONGEST_WAIT)


class UpstreamError(GroundwireError):
    """The provider answered with an error, or not at all.

    `status` is the provider's HTTP status (None inside a stream or without an answer),
    `upstream_code` its own name for the problem, `retry_after` seconds it asked us to wait.
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
    """Key or token refused."""

    code = "UPSTREAM_AUTH_REJECTED"
    status_hint = 401


class QuotaExhausted(UpstreamError):
    """Plan, credit or budget used up; waiting a moment does not help."""

    code = "UPSTREAM_QUOTA_EXHAUSTED"
    status_hint = 429


class RateLimited(UpstreamError):
    """Too many requests; waiting helps."""

    code = "UPSTREAM_RATE_LIMITED"
    status_hint = 429
    retryable = True


class Overloaded(UpstreamError):
    """The provider is overloaded or broken for the moment."""

    code = "UPSTREAM_OVERLOADED"
    status_hint = 503
    retryable = True


class Refused(UpstreamError):
    """The provider turned the request itself down."""

    code = "UPSTREAM_REFUSED"
    status_hint = 400


class NotFound(UpstreamError):
    """No such model or resource at the provider."""

    code = "UPSTREAM_NOT_FOUND"
    status_hint = 404


class TimedOut(UpstreamError):
    """No answer within the deadline."""

    code = "UPSTREAM_TIMED_OUT"
    status_hint = 504
    retryable = True


class Unreachable(UpstreamError):
    """No connection could be made, or it broke."""

    code = "UPSTREAM_UNREACHABLE"
    status_hint = 502
    retryable = True


class Interrupted(UpstreamError):
    """The stream ended before its answer did."""

    code = "UPSTREAM_INTERRUPTED"
    status_hint = 502
    retryable = True


class AllTargetsFailed(GroundwireError):
    """Nobody who was asked could answer. `attempts` tells who said what, in order."""

    code = "ALL_TARGETS_FAILED"
    status_hint = 502

    def __init__(self, attempts: tuple[tuple[str, GroundwireError], ...]) -> None:
        super().__init__("; ".join(f"{name}: {error.message}" for name, error in attempts))
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
    """The class for an HTTP status when nothing more precise is known."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Overloaded if status >= 500 else Refused
