"""What goes wrong on the network, in words. They never repeat addresses, in which credentials may stand."""

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
    """What an error before the answer means."""
    match error:
        case InvalidUrl():
            return ConfigError(f"{host!r} is no web address; check the base_url")
        case ProxyRefused(status=status):
            return Unreachable(f"the proxy does not lead to {host}: HTTP {status}")
        case InvalidProxy():
            return ConfigError(f"the proxy for {host} must be given as an http address")
        case ProxyUnreachable(cause=cause):
            return Unreachable(f"cannot reach the proxy for {host}: {reason_of(cause)}")
        case ProtocolError():
            return UpstreamWireError(f"what {host} answers is not HTTP")
        case OSError():
            return Unreachable(f"cannot reach {host}: {reason_of(error)}")
    return ConfigError(f"a request to {host} cannot be written; check its base_url and its key")


_REASONS: Mapping[type[Exception], str] = {
    RemoteDisconnected: "it hung up",
    ConnectionResetError: "it hung up",
    IncompleteBody: "the body is incomplete",
    ssl.SSLCertVerificationError: "its certificate cannot be trusted",
    ssl.SSLError: "no secure connection is possible",
    ProtocolError: "the body is malformed",
    UpstreamWireError: "the body is malformed",
}


def describe_error(error: Exception) -> str:
    """What an error says, without the address that some of them name."""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    errno = getattr(error, "errno", None)
    if errno is not None and errno > 0:
        return os.strerror(errno)
    return getattr(error, "strerror", None) or type(error).__name__
