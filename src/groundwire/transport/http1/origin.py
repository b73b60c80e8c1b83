"""Doors: where a call leads, read off its address once."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from groundwire.model.value import value
from groundwire.transport.weburl import InvalidUrl, WebUrl, bracketed, parse


class InvalidProxy(ValueError):
    """What is named as a proxy is no address of one."""


@value
class Origin:
    """What a connection leads to. Calls for the same door may share one."""

    host: str
    """A name, or an IP address."""
    port: int
    name: str = ""
    """What the certificate must be for; empty where nothing is encrypted."""
    proxy: str = ""
    """The address of a proxy before it."""
    site: str = ""
    """Who is asked for behind an IP address that others share: nobody hears what was meant for them."""


@value
class Target:
    """An address, as a request speaks of it."""

    door: Origin
    host: str
    """What its `Host` says."""
    target: str
    authorization: str = ""
    """Of the name and password in the address."""


@lru_cache(maxsize=256)
def parse_target(url: str, proxy: str = "") -> Target:
    """Where an address leads; raises `InvalidUrl`."""
    bare, secret = _apart(url)
    parts = _parsed(bare)
    is_secure = parts.scheme == "https"
    door = Origin(parts.host, parts.port, parts.host if is_secure else "", proxy)
    # A proxy that cannot see what it passes on is not told of it.
    target = str(parts) if proxy and not is_secure else parts.path
    return Target(door, parts.netloc, target, secret)


def parse_proxy(url: str) -> tuple[Origin, str]:
    """The door of a proxy, and what it wants to hear of who we are; raises `InvalidProxy`."""
    try:
        place = parse_target(url)
    except InvalidUrl:
        raise InvalidProxy from None
    return place.door, place.authorization


def authority_of(door: Origin) -> str:
    """A door as a proxy is told of it."""
    return f"{bracketed(door.host)}:{door.port}"


def _parsed(url: str) -> WebUrl:
    """As browsers do it, but a query may be of any length, and one that is escaped stays as it is."""
    bare, mark, query = url.partition("?")
    if not mark or not query.isascii() or not query.isprintable() or " " in query or "#" in url:
        return parse(url)
    parts = parse(bare)
    return WebUrl(parts.scheme, parts.host, parts.port, f"{parts.path}?{query}", parts.ip)


def _apart(url: str) -> tuple[str, str]:
    """An address without the name and the password in it, and these as they are told."""
    scheme, mark, rest = url.partition("://")
    end = min((place for sign in "/?#\\" if (place := rest.find(sign)) >= 0), default=len(rest))
    secret, at, host = rest[:end].rpartition("@")
    if not mark or not at:
        return url, ""
    try:
        told = unquote_to_bytes(secret if ":" in secret else f"{secret}:")
    except UnicodeError:
        raise InvalidUrl("its password is not text") from None
    return f"{scheme}://{host}{rest[end:]}", f"Basic {b64encode(told).decode()}"
