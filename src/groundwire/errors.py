"""Exceptions: the hierarchy of all errors that groundwire raises.

    GroundwireError
    ├── ConfigError                 the configuration cannot be used
    │   └── MissingCredential
    ├── RequestError                the request cannot be served (400)
    │   ├── InvalidQuery
    │   ├── InvalidArguments
    │   ├── UnsupportedFeature
    │   ├── FetchRefused            the URL is not fetched; the message does not say why
    │   └── UnknownModel            the model name matches no configured provider (404)
    ├── TurnedAway                  the gateway or the chat page refused the request
    ├── WireError                   data that does not follow its dialect; carries the JSON path
    │   ├── ClientWireError         sent by the client (400)
    │   └── UpstreamWireError       sent by the provider (502)
    ├── UpstreamError               the provider returned an error, or no response
    │   ├── AuthRejected            the key or token is not accepted
    │   ├── QuotaExhausted          plan, credit or budget is used up; waiting does not help
    │   ├── RateLimited             too many requests; waiting helps
    │   ├── Overloaded              the provider is overloaded or failing
    │   ├── Refused                 the provider rejected the request itself
    │   ├── NotFound                the model or resource does not exist
    │   ├── TimedOut                no response within the deadline
    │   ├── Unreachable             the connection failed or broke
    │   └── Interrupted             the stream ended before the answer was complete
    └── AllTargetsFailed            every provider that was tried failed

Each class has a `code` (stable, for programs), a `status_hint` (the HTTP status of the response) and
`retryable` (whether the same request may succeed later). Instances may override all three.
"""

from __future__ import annotations


class GroundwireError(Exception):
    """Base class of all errors that groundwire raises deliberately."""

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
    """The configuration cannot be used."""

    code = "INVALID_CONFIG"


class MissingCredential(ConfigError):
    """The provider needs a key or a login, and none was found."""

    code = "MISSING_CREDENTIAL"
    status_hint = 401


class RequestError(GroundwireError):
    """The request cannot be served."""

    code = "INVALID_REQUEST"
    status_hint = 400


class InvalidQuery(RequestError):
    """The query is missing or blank."""

    code = "INVALID_QUERY"


class InvalidArguments(RequestError):
    """A tool was called with arguments that it does not accept."""

    code = "INVALID_TOOL_ARGUMENTS"


class UnsupportedFeature(RequestError):
    """The request needs a feature that the target does not have and that must not be left out."""

    code = "UNSUPPORTED_FEATURE"


class FetchRefused(RequestError):
    """The URL does not belong to a public web page. The reason is withheld: it would describe the network."""

    code = "FETCH_REFUSED"


class UnknownModel(RequestError):
    """The model name matches no configured provider."""

    code = "UNKNOWN_MODEL"
    status_hint = 404


class TurnedAway(GroundwireError):
    """The gateway or the chat page refused the request. `retry_after` is the number of seconds to wait."""

    code = "TURNED_AWAY"

    def __init__(
        self, message: str, *, status: int = 400, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status_hint = status
        self.retry_after = retry_after
        self.code = code or self.code


class WireError(GroundwireError):
    """Data does not follow its dialect. `path` is the JSON path of the invalid value."""

    code = "INVALID_WIRE"

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.reason = message


class ClientWireError(WireError):
    """The client sent a malformed request."""

    code = "INVALID_REQUEST_BODY"
    status_hint = 400


class UpstreamWireError(WireError):
    """The provider sent a malformed response."""

    code = "INVALID_UPSTREAM_BODY"
    status_hint = 502
    retryable = True


LONGEST_WAIT = 86_400.0


def bounded_wait(seconds: float | None) -> float | None:
    """Limit the seconds that a provider asks to wait to one day; None if they are missing or not valid."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    return min(seconds, LONGEST_WAIT)


class UpstreamError(GroundwireError):
    """The provider returned an error, or no response.

    `status` is the provider's HTTP status (None inside a stream or without a response), `upstream_code` its
    own error code, `retry_after` the seconds that it asks to wait, `request_id` its id for the request.
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
    """The provider does not accept the key or token."""

    code = "UPSTREAM_AUTH_REJECTED"
    status_hint = 401


class QuotaExhausted(UpstreamError):
    """The plan, credit or budget at the provider is used up; waiting does not help."""

    code = "UPSTREAM_QUOTA_EXHAUSTED"
    status_hint = 429


class RateLimited(UpstreamError):
    """The provider received too many requests; waiting helps."""

    code = "UPSTREAM_RATE_LIMITED"
    status_hint = 429
    retryable = True


class Overloaded(UpstreamError):
    """The provider is overloaded or temporarily failing."""

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
    """The provider did not respond within the deadline."""

    code = "UPSTREAM_TIMED_OUT"
    status_hint = 504
    retryable = True


class Unreachable(UpstreamError):
    """The connection to the provider failed or broke."""

    code = "UPSTREAM_UNREACHABLE"
    status_hint = 502
    retryable = True


class Interrupted(UpstreamError):
    """The stream ended before the answer was complete."""

    code = "UPSTREAM_INTERRUPTED"
    status_hint = 502
    retryable = True


class AllTargetsFailed(GroundwireError):
    """Every provider that was tried failed. `attempts` lists the providers and their errors, in order."""

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
    """Return the error class for a provider's HTTP status, for responses without a more precise code."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Overloaded if status >= 500 else Refused
