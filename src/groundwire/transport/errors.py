"""Turns network errors into `GroundwireError`. Messages never repeat URLs, which may hold credentials."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

from groundwire.errors import ConfigError, GroundwireError, Unreachable, UpstreamWireError
from groundwire.transport.http1.connect import ProxyRefused, ProxyUnreachable
from groundwire.transport.http1.connection import IncompleteBody, RemoteDisconnected
from groundwire.transport.http1.origin import InvalidProxy
from groundwire.transport.http1.parser import ProtocolError
from groundwire.transport.weburl import InvalidUrl


def connection_error(error: Exception, host: str) -> GroundwireError:
    """The `GroundwireError` for an error before the response head."""
    match error:
        case InvalidUrl():
            what = f"{host!r} is not a valid web address" if host else "the address is not that of a website"
            return ConfigError(f"{what}; check the base_url, which begins with https:// or http://")
        case ProxyRefused(status=status):
            return Unreachable(f"the proxy refused a connection to {host}: HTTP {status}")
        case InvalidProxy():
            return ConfigError(f"the proxy for {host} must be given as an http address")
        case ProxyUnreachable(cause=cause):
            return Unreachable(f"cannot reach the proxy for {host}: {describe_error(cause)}")
        case ProtocolError():
            return UpstreamWireError(f"the response of {host} is not valid HTTP")
        case OSError():
            return Unreachable(f"cannot reach {host}: {describe_error(error)}")
    return ConfigError(f"a request to {host} cannot be written; check its base_url and its key")


_REASONS: Mapping[type[Exception], str] = {
    RemoteDisconnected: "the server closed the connection",
    ConnectionResetError: "the server closed the connection",
    IncompleteBody: "the body is incomplete",
    ssl.SSLCertVerificationError: "its certificate cannot be verified",
    ssl.SSLError: "the TLS handshake failed",
    ProtocolError: "the body is malformed",
    UpstreamWireError: "the body is malformed",
}


def describe_error(error: Exception) -> str:
    """The reason of an error, without the address that some messages contain."""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    errno = getattr(error, "errno", None)
    if errno is not None and errno > 0:
        return os.strerror(errno)
    return getattr(error, "strerror", None) or type(error).__name__
