"""Origins and request targets: where a request goes, parsed from its URL once."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from groundwire.transport.weburl import InvalidUrl, WebUrl, bracketed, parse


class InvalidProxy(ValueError):
    """The configured proxy is not an http or https URL."""


class Origin(NamedTuple):
    """Key of the connection pool: requests to the same origin may share a connection."""

    host: str
    """A host name or an IP address."""
    port: int
    tls_name: str = ""
    """The host name that the certificate must match; empty without TLS."""
    proxy: str = ""
    """The URL of the proxy; empty without one."""
    site: str = ""
    """The host name behind an IP address: connections are not shared by sites on one address."""


class RequestTarget(NamedTuple):
    """A URL as a request needs it."""

    origin: Origin
    host: str
    """The value of the `Host` header."""
    path: str
    """The request target: path and query, or the whole URL for a proxy."""
    authorization: str = ""
    """The value of the `Authorization` header for user name and password in the URL."""


@lru_cache(maxsize=256)
def parse_target(url: str, proxy: str = "") -> RequestTarget:
    """Parse a URL; raises `InvalidUrl`."""
    bare, authorization = _split_userinfo(url)
    parts = _parsed(bare)
    is_secure = parts.scheme == "https"
    origin = Origin(parts.host, parts.port, parts.host if is_secure else "", proxy)
    # Through a proxy, plain requests name the whole URL; tunnelled ones do not.
    path = str(parts) if proxy and not is_secure else parts.path
    return RequestTarget(origin, parts.netloc, path, authorization)


def parse_proxy(url: str) -> tuple[Origin, str]:
    """The origin of a proxy, and the value of its `Proxy-Authorization` header; raises `InvalidProxy`."""
    try:
        target = parse_target(url)
    except InvalidUrl:
        raise InvalidProxy from None
    return target.origin, target.authorization


def authority_of(origin: Origin) -> str:
    """Host and port, as in a CONNECT request."""
    return f"{bracketed(origin.host)}:{origin.port}"


def _parsed(url: str) -> WebUrl:
    """Parse as browsers do, but allow queries of any length, and keep percent-encoded ones as they are."""
    bare, mark, query = url.partition("?")
    if not mark or not query.isascii() or not query.isprintable() or " " in query or "#" in url:
        return parse(url)
    parts = parse(bare)
    return WebUrl(parts.scheme, parts.host, parts.port, f"{parts.path}?{query}", parts.ip)


def _split_userinfo(url: str) -> tuple[str, str]:
    """A URL without user name and password, and these as the value of an `Authorization` header."""
    scheme, mark, rest = url.partition("://")
    end = min((at for char in "/?#\\" if (at := rest.find(char)) >= 0), default=len(rest))
    userinfo, at_sign, host = rest[:end].rpartition("@")
    if not mark or not at_sign:
        return url, ""
    try:
        credentials = unquote_to_bytes(userinfo if ":" in userinfo else f"{userinfo}:")
    except UnicodeError:
        raise InvalidUrl("the password in the URL is not valid text") from None
    return f"{scheme}://{host}{rest[end:]}", f"Basic {b64encode(credentials).decode()}"
