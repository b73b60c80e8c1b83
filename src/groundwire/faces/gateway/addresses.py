"""Where a request comes from: the address of the client, also behind proxies that are trusted."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias, cast

from groundwire.errors import ConfigError
from groundwire.faces.gateway.asgi import Inbound

Address: TypeAlias = IPv4Address | IPv6Address

_SHARED_BITS = 64
"""Of an IPv6 address: what one client is given, and may choose the rest of."""


class ClientAddresses:
    """Reads `X-Forwarded-For` and `X-Forwarded-Proto`, where a trusted proxy has sent them."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        try:
            self._trusted = tuple(ip_network(name, strict=False) for name in trusted)
        except ValueError as error:
            raise ConfigError(
                f"gateway.trusted_proxies: {error}; use addresses or networks such as 10.0.0.0/8"
            ) from None

    def client(self, inbound: Inbound) -> str:
        """The client as limits count it: an IPv4 address, the first half of an IPv6 address, or nothing."""
        address = self._peer(inbound)
        if self._trusts(address):
            # Each proxy appends the address it was called from: the last one that is no proxy of ours.
            for text in reversed(inbound.headers.get("x-forwarded-for", "").split(",")[-32:]):
                address = _address(text) or address
                if not self._trusts(address):
                    break
        if isinstance(address, IPv6Address):
            return f"{IPv6Address(int(address) >> _SHARED_BITS << _SHARED_BITS)}/{_SHARED_BITS}"
        return str(address or "")

    def is_local(self, inbound: Inbound) -> bool:
        """Does it come from this machine, and not through a proxy?"""
        peer = self._peer(inbound)
        return (peer is None or peer.is_loopback) and "x-forwarded-for" not in inbound.headers

    def is_https(self, inbound: Inbound) -> bool:
        """Did the client use https, as a trusted proxy says?"""
        if not self._trusted:
            return False
        said = inbound.headers.get("x-forwarded-proto", "").strip().lower()
        return said == "https" and self._trusts(self._peer(inbound))

    def _peer(self, inbound: Inbound) -> Address | None:
        peer = cast("tuple[str, int] | None", inbound.scope.get("client"))
        return _address(peer[0]) if peer else None

    def _trusts(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._trusted)


def _address(text: str) -> Address | None:
    try:
        found = ip_address(text.strip().strip("[]").partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
