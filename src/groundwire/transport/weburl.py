"""Web URLs, parsed as browsers do: the only parser for URLs that are fetched.

Follows the URL standard where it decides the host: tabs and line breaks are removed, backslashes are slashes,
any number of slashes follows the scheme, host names are percent-decoded and mapped (UTS 46), and a host that
ends in a number is an IPv4 address (`127.1`, `0x7f.1`, `017700000001`). Connections are made from these
parts, so no other parser can disagree. A URL with a user name or password is refused.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from groundwire.model.value import value

IpAddress: TypeAlias = IPv4Address | IPv6Address

MAX_LENGTH = 8192
PORTS = {"http": 80, "https": 443}

_CONTROLS_AND_SPACE = "".join(map(chr, range(0x21)))
_REMOVED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PARTS = re.compile(r"([^/?]*)([^?]*)(.*)", re.DOTALL)
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.DOTALL)
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*")
_MAX_HOST_LENGTH = 253
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_ALLOWED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%|[]^")


class InvalidUrl(ValueError):
    """Not a valid http or https URL."""


@value
class WebUrl:
    """A parsed URL. The host is a name in lower-case ASCII, or an IP address as text."""

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, percent-encoded; begins with a slash."""
    ip: IpAddress | None = None
    """The host, if it is an IP address."""

    @property
    def netloc(self) -> str:
        """Host and port as in a URL, without the default port."""
        return bracketed(self.host) + ("" if self.port == PORTS[self.scheme] else f":{self.port}")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.path}"


def bracketed(host: str) -> str:
    """A host as in a URL: IPv6 addresses get brackets."""
    return f"[{host}]" if ":" in host else host


def parse(text: str) -> WebUrl:
    """Parse an absolute URL; raises `InvalidUrl`."""
    text = _cleaned(text)
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise InvalidUrl("the scheme is missing")
    return _parsed(scheme[1].lower(), text[scheme.end() :].lstrip("/"))


def join(base: WebUrl, text: str) -> WebUrl:
    """Resolve a reference against a base URL; raises `InvalidUrl`."""
    text = _cleaned(text)
    if _SCHEME.match(text):
        return parse(text)
    if text.startswith("//"):
        return _parsed(base.scheme, text.lstrip("/"))
    folder, query = base.path.partition("?")[0], ""
    match text[:1]:
        case "/":
            path = text
        case "?":
            path, query = folder, text
        case "":
            path = base.path
        case _:
            path = folder.rpartition("/")[0] + "/" + text
    return _parsed(base.scheme, base.netloc + _without_dots(path) + query)


def _cleaned(text: str) -> str:
    text = text.strip(_CONTROLS_AND_SPACE).translate(_REMOVED)
    if len(text) > MAX_LENGTH:
        raise InvalidUrl("the URL is too long")
    head, mark, tail = text.partition("#")[0].partition("?")
    return head.replace("\\", "/") + mark + tail


def _parsed(scheme: str, rest: str) -> WebUrl:
    if scheme not in PORTS:
        raise InvalidUrl("the scheme is not http or https")
    parts = _PARTS.match(rest)
    authority, path, query = parts.groups("") if parts else ("", "", "")
    found = _HOST_AND_PORT.fullmatch(authority)
    if "@" in authority or found is None:
        raise InvalidUrl("there is a user name or password before the host")
    host, ip = _host(found[1])
    port = int(found[2] or PORTS[scheme])
    if not 0 < port < 65536:
        raise InvalidUrl("the port is out of range")
    return WebUrl(scheme, host, port, _encoded(path or "/") + _encoded(query, "?"), ip)


def _host(text: str) -> tuple[str, IpAddress | None]:
    if text.startswith("["):
        try:
            ip: IpAddress = IPv6Address(text[1:-1])
        except AddressValueError:
            raise InvalidUrl("the host is not a valid IPv6 address") from None
        if "%" in text:
            raise InvalidUrl("IPv6 zones are not allowed")
        return str(ip), ip
    name = _ascii(text).removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        ip = _ipv4(name)
        return str(ip), ip
    if len(name) > _MAX_HOST_LENGTH or not _NAME.fullmatch(name):
        raise InvalidUrl("the host name is not valid")
    return name, None


def _ascii(text: str) -> str:
    """A host name in ASCII, as DNS needs it."""
    try:
        text = unquote_to_bytes(text).decode() if "%" in text else text
    except UnicodeError:
        raise InvalidUrl("the host name is not valid text") from None
    if text.isascii():
        return text.lower()
    import idna  # noqa: PLC0415  large tables, and few hosts need them

    try:
        return idna.encode(text, uts46=True).decode("ascii").lower()
    except UnicodeError:  # the package raises a subclass
        raise InvalidUrl("the host name is not valid") from None


def _ipv4(name: str) -> IPv4Address:
    """An address of one to four numbers, decimal, octal or hexadecimal; the last one fills the remaining
    bytes."""
    numbers = [_number(part) for part in name.split(".")]
    *first, last = numbers
    if len(numbers) > 4 or any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        raise InvalidUrl("the host is not a valid IPv4 address")
    return IPv4Address(sum(number << 8 * (3 - index) for index, number in enumerate(first)) + last)


def _number(text: str) -> int:
    try:
        if text[:2] in ("0x", "0X"):
            return int(text[2:] or "0", 16)
        return int(text, 8 if len(text) > 1 and text[0] == "0" else 10)
    except ValueError:
        raise InvalidUrl("the host is not a valid IPv4 address") from None


def _encoded(text: str, also: str = "") -> str:
    """Percent-encode what is not allowed in a request line."""
    if _ALLOWED.issuperset(text):
        return text
    try:
        return "".join(
            char if char in _ALLOWED or char in also else "".join(f"%{byte:02X}" for byte in char.encode())
            for char in text
        )
    except UnicodeError:
        raise InvalidUrl("the URL has a lone surrogate") from None


def _without_dots(path: str) -> str:
    """Remove `.` and `..` segments of a path; its query stays."""
    path, mark, query = path.partition("?")
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            kept[1:] = kept[1:-1]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept) + mark + query
