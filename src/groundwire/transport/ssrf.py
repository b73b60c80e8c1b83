"""Which addresses of strangers may be fetched: those of public web pages, and no others.

Judged twice: the address as it is written (`check_url`), before any name is looked up, and each socket address a
name leads to (`may_connect`), before it is dialled. An own table says what is not public: `ipaddress.is_global`
lets through tunnels to this machine, multicast and metadata services. Every refusal has the same words, so
that nobody can map our network by asking.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from groundwire.errors import FetchRefused
from groundwire.model.value import value
from groundwire.transport.weburl import InvalidUrl, IpAddress, WebUrl, join, parse

REFUSED = "this address is not fetched: only public web pages are"

_DENIED_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carriers; Alibaba's metadata service among them
            "127.0.0.0/8",  # this machine
            "168.63.129.16/32",  # Azure's wire server, in the midst of public addresses
            "169.254.0.0/16",  # link-local, most clouds' metadata services
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
"""All that was ever given out; loopback, private, link-local, site-local, multicast and the rest are not."""
_DENIED_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)


@value
class _Wrapping:
    """IPv6 addresses that stand for an IPv4 address, and how many bits of it follow behind."""

    network: IPv6Network
    below: int
    """Bits below the IPv4 address."""


_NAT64 = IPv6Network("64:ff9b::/96")
"""With DNS64 every IPv4 page has such an address: as public as what it wraps."""
_WRAPPINGS = (
    _Wrapping(IPv6Network("::ffff:0:0/96"), 0),  # mapped
    _Wrapping(IPv6Network("::/96"), 0),  # compatible
    _Wrapping(IPv6Network("::ffff:0:0:0/96"), 0),  # SIIT
    _Wrapping(_NAT64, 0),
    _Wrapping(IPv6Network("2002::/16"), 80),  # 6to4
    _Wrapping(IPv6Network("2001::/32"), 64),  # Teredo: its server, its client is inverted
)
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
_32_BITS = 0xFFFF_FFFF

_LOCAL_NAMES = frozenset(
    {
        *("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan"),
        *("svc", "test", "invalid", "example", "onion", "alt", "arpa"),
    }
)
"""Last labels that no public page has: by standard (RFC 6761 and its kin), or by custom inside networks."""


@value
class SsrfPolicy:
    """What is allowed beyond the public web, by its user alone: an intranet that is to be indexed, a test.

    `trusted` holds hosts with ports: names, which may then lead anywhere, and IP addresses.
    """

    ports: frozenset[int] = frozenset({80, 443})
    trusted: frozenset[tuple[str, int]] = frozenset()


PUBLIC = SsrfPolicy()


def fetch_refused() -> FetchRefused:
    """The one answer to all that is not allowed."""
    return FetchRefused(REFUSED)


def check_url(url: str, rules: Rules = PUBLIC, base: WebUrl | None = None) -> WebUrl:
    """The parts of an address that may be fetched, so far as its text tells; raises `FetchRefused`.

    With a base it is a reference on that page, as redirects are.
    """
    try:
        parts = parse(url) if base is None else join(base, url)
    except InvalidUrl:
        raise fetch_refused() from None
    if (parts.host, parts.port) not in rules.trusted and not _is_allowed(parts, rules):
        raise fetch_refused()
    return parts


def may_connect(parts: WebUrl, ip: IpAddress, rules: Rules = PUBLIC) -> bool:
    """May a connection be made to this socket address, found for that host?"""
    return not rules.trusted.isdisjoint({(parts.host, parts.port), (str(ip), parts.port)}) or is_public(ip)


def is_public(ip: IpAddress | str) -> bool:
    """Can anybody in the world reach this address, and mean the same machine by it?"""
    if isinstance(ip, str):
        ip = ip_address(ip)
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _DENIED_V4)
    if not all(is_public(wrapped) for wrapped in _wrapped(ip)):
        return False
    return ip in _NAT64 or (ip in _GLOBAL_V6 and not any(ip in network for network in _DENIED_V6))


def _is_allowed(parts: WebUrl, rules: SsrfPolicy) -> bool:
    if parts.port not in rules.ports:
        return False
    if parts.ip is not None:
        return is_public(parts.ip)
    _, dot, last = parts.host.rpartition(".")
    return bool(dot) and last not in _LOCAL_NAMES


def _wrapped(ip: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses inside an IPv6 address."""
    number = int(ip)
    for wrapping in _WRAPPINGS:
        if ip in wrapping.network:
            yield IPv4Address(number >> wrapping.below & _32_BITS)
    if number >> 32 & _32_BITS in _ISATAP:
        yield IPv4Address(number & _32_BITS)
