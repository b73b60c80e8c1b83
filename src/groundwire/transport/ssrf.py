"""SSRF policy: only URLs of public web pages may be fetched.

A URL is checked twice: its text (`check_url`), before the host is resolved, and each address that the host
resolves to (`may_connect`), before a connection is made. The table of non-public networks is ours:
`ipaddress.is_global` allows tunnels to this machine, multicast and metadata services. Every refusal has the
same message, so that the network cannot be probed by comparing messages.
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
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's wire server, in a public range
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
"""All that is assigned for global unicast; loopback, private, link-local, site-local, multicast and the rest
are not."""
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
class _Embedding:
    """A range of IPv6 addresses that embed an IPv4 address, and its position in them."""

    network: IPv6Network
    below: int
    """Bits below the IPv4 address."""


_NAT64 = IPv6Network("64:ff9b::/96")
"""With DNS64 every IPv4 page has such an address: as public as the embedded one."""
_EMBEDDINGS = (
    _Embedding(IPv6Network("::ffff:0:0/96"), 0),  # mapped
    _Embedding(IPv6Network("::/96"), 0),  # compatible
    _Embedding(IPv6Network("::ffff:0:0:0/96"), 0),  # SIIT
    _Embedding(_NAT64, 0),
    _Embedding(IPv6Network("2002::/16"), 80),  # 6to4
    _Embedding(IPv6Network("2001::/32"), 64),  # Teredo: its server, its client is inverted
)
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
_32_BITS = 0xFFFF_FFFF

_LOCAL_NAMES = frozenset(
    {
        *("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan"),
        *("svc", "test", "invalid", "example", "onion", "alt", "arpa"),
    }
)
"""Last labels that no public page has: by standard (RFC 6761 and others), or by custom in private
networks."""


@value
class SsrfPolicy:
    """What the user allows beyond the public web, for example an intranet that is indexed.

    `trusted` holds (host, port): names, which may then resolve to any address, and IP addresses.
    """

    ports: frozenset[int] = frozenset({80, 443})
    trusted: frozenset[tuple[str, int]] = frozenset()


PUBLIC = SsrfPolicy()


def fetch_refused() -> FetchRefused:
    """The error for every URL that is not allowed."""
    return FetchRefused(REFUSED)


def check_url(url: str, policy: SsrfPolicy = PUBLIC, base: WebUrl | None = None) -> WebUrl:
    """Parse a URL and check its text; raises `FetchRefused`.

    With a base the URL is relative to it, as in redirects.
    """
    try:
        parts = parse(url) if base is None else join(base, url)
    except InvalidUrl:
        raise fetch_refused() from None
    if (parts.host, parts.port) not in policy.trusted and not _is_allowed(parts, policy):
        raise fetch_refused()
    return parts


def may_connect(parts: WebUrl, ip: IpAddress, policy: SsrfPolicy = PUBLIC) -> bool:
    """May a connection be made to this address of the host?"""
    return not policy.trusted.isdisjoint({(parts.host, parts.port), (str(ip), parts.port)}) or is_public(ip)


def is_public(ip: IpAddress | str) -> bool:
    """Is the address globally reachable and unique?"""
    if isinstance(ip, str):
        ip = ip_address(ip)
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _DENIED_V4)
    if not all(is_public(embedded) for embedded in _embedded(ip)):
        return False
    return ip in _NAT64 or (ip in _GLOBAL_V6 and not any(ip in network for network in _DENIED_V6))


def _is_allowed(parts: WebUrl, policy: SsrfPolicy) -> bool:
    if parts.port not in policy.ports:
        return False
    if parts.ip is not None:
        return is_public(parts.ip)
    _, dot, last = parts.host.rpartition(".")
    return bool(dot) and last not in _LOCAL_NAMES


def _embedded(ip: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses embedded in an IPv6 address."""
    number = int(ip)
    for embedding in _EMBEDDINGS:
        if ip in embedding.network:
            yield IPv4Address(number >> embedding.below & _32_BITS)
    if number >> 32 & _32_BITS in _ISATAP:
        yield IPv4Address(number & _32_BITS)
