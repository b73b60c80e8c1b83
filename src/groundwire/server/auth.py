"""Access control: Host, Origin, API keys, client addresses, and a limit for wrong keys.

On loopback no key is needed until the first one is created; any other address requires keys, and the server
does not start without one. Host and Origin are checked on every route, against DNS rebinding and cross-site
requests.
"""

from __future__ import annotations

import hmac
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from time import monotonic, time
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from groundwire.config.kinds import format_time
from groundwire.errors import ConfigError, ForbiddenForKey, TurnedAway
from groundwire.model.access import (
    FULL_SCOPE,
    MEMBER_RIGHTS,
    OPERATOR_RIGHTS,
    ROLES,
    KeyRights,
    KeyScope,
    Role,
    tenant_id,
)
from groundwire.server.asgi import Headers, HttpExchange
from groundwire.store.base import ApiKey

Address: TypeAlias = IPv4Address | IPv6Address

_IPV6_PREFIX_BITS = 64
"""Prefix length of IPv6 that identifies a client: it may choose the rest of its address."""


class ClientAddresses:
    """Client address and scheme of a request, from `X-Forwarded-*` if a trusted proxy sent them."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        try:
            self._trusted = tuple(ip_network(name, strict=False) for name in trusted)
        except ValueError as error:
            raise ConfigError(
                f"gateway.trusted_proxies: {error}; use addresses or networks such as 10.0.0.0/8"
            ) from None

    def client(self, exchange: HttpExchange) -> str:
        """The client as the throttle counts it: an IPv4 address, an IPv6 prefix, or an empty text."""
        address = self._peer(exchange)
        if self._trusts(address):
            # Each proxy appends the address of its peer: take the last one that is not a trusted proxy.
            for text in reversed(exchange.headers.get("x-forwarded-for", "").split(",")[-32:]):
                address = _address(text) or address
                if not self._trusts(address):
                    break
        if isinstance(address, IPv6Address):
            return (
                f"{IPv6Address(int(address) >> _IPV6_PREFIX_BITS << _IPV6_PREFIX_BITS)}/{_IPV6_PREFIX_BITS}"
            )
        return str(address or "")

    def is_local(self, exchange: HttpExchange) -> bool:
        """Does the request come from this machine, and not through a proxy?"""
        peer = self._peer(exchange)
        return (peer is None or peer.is_loopback) and "x-forwarded-for" not in exchange.headers

    def is_https(self, exchange: HttpExchange) -> bool:
        """Did the client use https, according to a trusted proxy?"""
        if not self._trusted:
            return False
        scheme = exchange.headers.get("x-forwarded-proto", "").strip().lower()
        return scheme == "https" and self._trusts(self._peer(exchange))

    def _peer(self, exchange: HttpExchange) -> Address | None:
        peer: tuple[str, int] | None = exchange.scope.get("client")
        return _address(peer[0]) if peer else None

    def _trusts(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._trusted)


def _address(text: str) -> Address | None:
    try:
        found = ip_address(text.strip().strip("[]").partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


THROTTLE_SECONDS = 60.0
MAX_WRONG_KEYS = 10
"""Different wrong keys from one address in a window."""
MAX_WRONG_LOGINS = 10
"""Wrong logins from one address in a window."""
MAX_KEY_REPEATS = 30
"""The same wrong key in a window, from any address."""
_LIMITS = {"key": MAX_KEY_REPEATS, "address": MAX_WRONG_KEYS, "login": MAX_WRONG_LOGINS}
"""The limits of counters, by the first word of their names."""
_MAX_COUNTERS = 8192
"""Addresses and keys that are counted; the least recently used is dropped first."""


class KeyThrottle:
    """Limits how often wrong keys may be tried, per minute.

    An address may try a few different keys, and a few logins; the same wrong key, which a misconfigured
    client repeats, may be sent more often. A valid key is never refused, so one client cannot lock out others
    behind the same address. Keys have 256 random bits: the limit only makes refusing cheap.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic, on_burst: Callable[[str, str], None] = lambda *_: None
    ) -> None:
        self._clock = clock
        self._on_burst = on_burst
        """Called once a window when an address reaches its limit: with what it tried, and the address."""
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self.on_count: Callable[[str], None] | None = None
        """Called with the name of a counter that has grown and is not yet beyond its limit."""

    def __len__(self) -> int:
        return len(self._counts)

    def add_key(self, address: str, key: str) -> None:
        """Count a wrong key; raises 429 if there were too many."""
        repeats = self._count(f"key {key}")
        is_new = self._counts[f"key {key}"][1] == 1
        different = self._count(f"address {address}", new=is_new)
        if is_new and self._counts[f"address {address}"][1] == MAX_WRONG_KEYS + 1:
            self._on_burst("keys", address)
        self._refuse(repeats, different)

    def add_login(self, address: str) -> None:
        """Count a wrong login; raises 429 if there were too many."""
        wait = self._count(f"login {address}")
        if self._counts[f"login {address}"][1] == MAX_WRONG_LOGINS + 1:
            self._on_burst("logins", address)
        self._refuse(wait)

    def adopt(self, name: str, count: int, seconds_left: float) -> None:
        """Take over the count of all gateways, and the time that is left of its window. If the limit is
        reached, the next attempt is refused and reported."""
        count = min(count, _limit(name))
        if name in self._counts and count > self._counts[name][1]:
            self._counts[name] = (self._clock() + seconds_left - THROTTLE_SECONDS, count)

    def _refuse(self, *waits: float) -> None:
        if (wait := max(waits)) > 0:
            raise TurnedAway(
                status=429, message="too many wrong API keys; wait before the next attempt", retry_after=wait
            )

    def _count(self, name: str, *, new: bool = True) -> float:
        """Increment a counter; returns the seconds to wait, 0 below the limit."""
        now, limit = self._clock(), _limit(name)
        began, count = self._counts.pop(name, (now, 0))
        if now - began >= THROTTLE_SECONDS:
            began, count = now, 0
        count += new
        self._counts[name] = (began, count)
        if len(self._counts) > _MAX_COUNTERS:
            self._counts.popitem(last=False)
        if new and count <= limit + 1 and self.on_count is not None:
            self.on_count(name)
        return began + THROTTLE_SECONDS - now if count > limit else 0.0


def _limit(name: str) -> int:
    return _LIMITS[name.partition(" ")[0]]


_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_HEADER_NAME = re.compile(r"[a-z0-9-]+")


def is_loopback(host: str) -> bool:
    """Is the address reachable from this machine only?"""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_bind(host: str, *, has_keys: bool) -> None:
    """Refuse to listen on an address that others can reach while there are no keys."""
    if not has_keys and not is_loopback(host):
        raise ConfigError(
            f"{host} can be reached from other machines, and there are no keys: create one with "
            "`groundwire keys create`, or bind to 127.0.0.1"
        )


def fingerprint(key: str) -> str:
    """SHA-256 of a key: what is stored and compared."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


class AccessKeys(NamedTuple):
    """The fingerprints of valid keys."""

    valid: frozenset[str] | None = None
    """Keys that open the gateway; None if no key was ever created."""
    metrics: frozenset[str] = frozenset()
    """Keys that open the metrics, and nothing else."""
    scopes: Mapping[str, KeyScope] = MappingProxyType({})
    """The scope of keys that may not do everything, by fingerprint."""
    records: Mapping[str, ApiKey] = MappingProxyType({})
    """The records of valid keys, by fingerprint."""


class AccessControl:
    """Checks a request by its head. `keys` returns the keys that are accepted at that moment."""

    def __init__(
        self,
        host: str,
        keys: Callable[[], AccessKeys],
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        proxies: Iterable[str] = (),
        clock: Callable[[], float] = time,
    ) -> None:
        named = {name.lower() for name in hosts}
        self._names = named | _LOCAL_NAMES | (set() if _is_any(host) else {_as_host(host)})
        self._loopback = is_loopback(host)
        self._any_host = not self._loopback and not named
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._keys = keys
        self._known: AccessKeys | None = None
        self._addresses = ClientAddresses(proxies)
        self._clock = clock
        self.on_burst: Callable[[str, str], None] | None = None
        """Called when an address has sent too many wrong keys or logins, with what and the address."""
        self.throttle = KeyThrottle(on_burst=self._report_burst)

    def check_address(self, exchange: HttpExchange) -> None:
        """Check Host and Origin; raises 421 or 403."""
        host = exchange.headers.get("host", "").lower()
        if not self._admits_host(host) or _is_repeated(exchange, b"host"):
            raise TurnedAway(status=421, message="the Host is not configured; add it to gateway.hosts")
        origin = exchange.headers.get("origin")
        if origin is not None and (
            _is_repeated(exchange, b"origin") or not self._admits_origin(origin, host)
        ):
            raise TurnedAway(
                status=403, message="the Origin is not allowed to use the gateway; add it to gateway.origins"
            )

    def check_key(self, exchange: HttpExchange) -> str:
        """Check the API key; returns its fingerprint, or an empty text if no key is needed."""
        known = self._read_keys().valid
        if known is None and self._loopback:
            return ""
        return self._checked(
            exchange,
            known or (),
            "the API key is missing or not valid: send one as Authorization: Bearer, x-api-key or "
            "x-goog-api-key; `groundwire keys create` makes one",
        )

    def check_metrics_key(self, exchange: HttpExchange) -> str:
        """Check the key of a scrape: on this machine any key that is not restricted to groups of paths, from
        elsewhere one that is named `metrics`."""
        if self.is_open():
            return ""
        known = self._read_keys()
        local = (known.valid or ()) if self._addresses.is_local(exchange) else ()
        free = (shown for shown in local if not known.scopes.get(shown, FULL_SCOPE).routes)
        return self._checked(
            exchange,
            (*known.metrics, *free),
            "metrics need a key named metrics; create it with `groundwire keys create --name metrics`",
        )

    def _checked(self, exchange: HttpExchange, known: Collection[str], message: str) -> str:
        presented = [fingerprint(key) for key in presented_keys(exchange)]
        for digest in presented:
            if _is_among(digest, known):
                if self._is_expired(digest):
                    raise TurnedAway(
                        status=401, message="the API key has expired; use another one", code="EXPIRED_KEY"
                    )
                return digest
        for digest in presented:
            self.throttle.add_key(self._addresses.client(exchange), digest)
        raise TurnedAway(status=401, message=message, code="INVALID_KEY")

    def check_login(self, exchange: HttpExchange, key: str) -> str:
        """Check the key of a login; returns its fingerprint."""
        shown = fingerprint(key)
        if not self.is_valid(shown):
            self.throttle.add_login(self._addresses.client(exchange))
            raise TurnedAway(status=401, message="the API key is not valid", code="INVALID_KEY")
        return shown

    def apply_forwarded_scheme(self, exchange: HttpExchange) -> None:
        """Set the scheme to https if a trusted proxy reports it."""
        if self._addresses.is_https(exchange):
            exchange.scope["scheme"] = "https"

    def is_open(self) -> bool:
        """Is no key needed?"""
        return self._loopback and self._read_keys().valid is None

    def is_valid(self, shown: str) -> bool:
        """Is this the fingerprint of a valid key?"""
        return _is_among(shown, self._read_keys().valid or ()) and not self._is_expired(shown)

    def _is_expired(self, shown: str) -> bool:
        record = self.record(shown)
        return record is not None and is_expired(record.rights, self._clock())

    def _report_burst(self, what: str, address: str) -> None:
        if self.on_burst is not None:
            self.on_burst(what, address)

    def record(self, shown: str) -> ApiKey | None:
        """The record of the key with this fingerprint; None where no key is needed."""
        return self._keys_read().records.get(shown)

    def _read_keys(self) -> AccessKeys:
        """The keys that are accepted now. A request reads them when its key is checked, then uses what was
        read."""
        known = self._known = self._keys()
        return known

    def _keys_read(self) -> AccessKeys:
        """The keys as they were read last."""
        return self._known if self._known is not None else self._read_keys()

    def scope(self, shown: str) -> KeyScope:
        """What the key with this fingerprint may do."""
        return self._keys_read().scopes.get(shown, FULL_SCOPE)

    def rights(self, shown: str) -> KeyRights:
        """The rights of the key with this fingerprint. Where no key is needed, everybody is the operator."""
        known = self._keys_read()
        record = known.records.get(shown)
        if record is not None:
            return record.rights
        is_open = not shown and self._loopback and known.valid is None
        return OPERATOR_RIGHTS if is_open else MEMBER_RIGHTS

    def owner(self, shown: str) -> str:
        """The owner of what the key with this fingerprint stores; empty where no key is needed."""
        return tenant_id(shown, self.rights(shown))

    def has_owner(self, owner: str) -> bool:
        """Has this owner a valid key? Where no key is needed, everybody is the owner of everything."""
        valid = self._read_keys().valid
        if valid is None:
            return True
        return any(self.owner(shown) == owner for shown in valid if not self._is_expired(shown))

    def check_route(self, shown: str, group: str, role: Role = "member") -> None:
        """Check that a key may use routes of this group, and has this role; raises `ForbiddenForKey`."""
        check_rights(self.rights(shown), group, role)

    def has_role(self, shown: str, role: Role) -> bool:
        """Has the key this role, or one with more rights?"""
        return _includes(self.rights(shown), role)

    def cors_headers(self, exchange: HttpExchange) -> Headers:
        """CORS headers for a configured origin; empty for others."""
        if not self._origins:
            return ()
        origin = exchange.headers.get("origin", "")
        if origin.lower() not in self._origins:
            return ()
        return (
            ("access-control-allow-origin", origin),
            (
                "access-control-expose-headers",
                "x-request-id, x-groundwire-provider, x-groundwire-warnings, x-groundwire-cache, age",
            ),
            ("vary", "origin"),
        )

    def preflight_headers(self, exchange: HttpExchange) -> Headers:
        """Response headers of a CORS preflight from a configured origin; empty for other requests."""
        if exchange.method != "OPTIONS" or "access-control-request-method" not in exchange.headers:
            return ()
        cors = self.cors_headers(exchange)
        requested = exchange.headers.get("access-control-request-headers", "")
        listed = ", ".join(name for name in _HEADER_NAME.findall(requested.lower())[:64])
        return (
            (
                *cors,
                ("access-control-allow-methods", "GET, POST"),
                ("access-control-allow-headers", listed),
                ("access-control-max-age", "600"),
            )
            if cors
            else ()
        )

    def _admits_host(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        return match is not None and (self._any_host or match["name"] in self._names)

    def _admits_origin(self, origin: str, host: str) -> bool:
        origin = origin.lower()
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")


def check_rights(rights: KeyRights, group: str, role: Role) -> None:
    """Check that these rights include the routes of this group, and this role; raises `ForbiddenForKey`."""
    groups = rights.scope.routes
    if groups and group not in groups:
        raise ForbiddenForKey(f"this API key may use only these groups of paths: {', '.join(groups)}")
    if not _includes(rights, role):
        raise ForbiddenForKey(f"this needs an API key with the role {role}")


def _includes(rights: KeyRights, role: Role) -> bool:
    return rights.role == role or ROLES.index(rights.role) >= ROLES.index(role)


def is_expired(rights: KeyRights, now: float) -> bool:
    """Has a key with these rights expired?"""
    return bool(rights.expires) and rights.expires <= format_time(now)


def _is_among(shown: str, known: Iterable[str]) -> bool:
    # Every key is compared, so that the time does not depend on which one matches.
    matches = [hmac.compare_digest(entry, shown) for entry in known]
    return any(matches)


def presented_keys(exchange: HttpExchange) -> Iterable[str]:
    """The keys in a request, from the headers of all dialects: some clients send a second key."""
    scheme, _, token = exchange.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    others = (exchange.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key"))
    return (key for key in (bearer, *others) if key)


def _is_repeated(exchange: HttpExchange, name: bytes) -> bool:
    received = exchange.scope["headers"]
    return len(received) != len(exchange.headers) and [one for one, _ in received].count(name) > 1


def _as_host(host: str) -> str:
    bare = host.lower().strip("[]")
    return f"[{bare}]" if ":" in bare else bare


def _is_any(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")  # noqa: S104  compared, not bound
